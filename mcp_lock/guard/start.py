"""From a command line to a running guard: what is to be guarded, whether it is what was locked, and which pump.

Refuses what a guard cannot do its job for, before anything is started.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_lock import launch
from mcp_lock.config import HttpServer, NotReady, StdioServer
from mcp_lock.errors import UsageError
from mcp_lock.guard.log import Log, open_log
from mcp_lock.guard.pins import Pins
from mcp_lock.launch import REDACTED, LaunchSpec
from mcp_lock.policy import Policy
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_lock.config import Found, Server
    from mcp_lock.guard.passage import Settings

_VARIABLE = re.compile(r"\$\{[^}]*\}|" + re.escape(REDACTED))
_OTHER = "(another value)"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asks for."""

    lock: Path
    settings: Settings
    run_changed: bool
    log: Path | None
    log_calls: bool
    words: tuple[str, ...] = ()
    """The command to guard, as the client expanded it."""
    url: str = ""
    headers: Mapping[str, str] | None = None
    found: Callable[[], Found] | None = None
    """The client configs, where neither a command nor a URL is given."""
    policy: Callable[[], Policy] = Policy
    """What the project makes of changes."""


def guard(wish: Wish) -> int:
    """Guard until client or server is gone; returns the server's exit code.

    Raises `LockError` and `UsageError` when it refuses to start, `ConnectError` when the server cannot be started.
    """
    if sys.platform == "win32":
        raise UsageError("guard needs Linux or macOS")
    pins = Pins(wish.lock, wish.settings.server, wish.policy)
    server, spec = _given(wish, pins.pin.launch) if wish.words or wish.url else _configured(wish)
    if pins.pin.launch and spec and not wish.run_changed:
        _refuse_moved(wish.settings.server, launch.differences(pins.pin.launch, spec))
    descriptor = open_log(wish.log, os.environ)
    log = Log(descriptor, wish.settings.server, _LazyMask(server), calls=wish.log_calls)
    if wish.settings.ttl is not None:
        log.note("note", f"--check ttl={wish.settings.ttl:g}: a change is seen up to so many seconds after it was made")
    if isinstance(server, HttpServer):
        from mcp_lock.guard import bridge

        return bridge.run(wish.settings, pins, log, server)
    from mcp_lock.guard import stdio
    from mcp_lock.guard.child import Child

    return stdio.run(wish.settings, pins, log, Child(server.argv, server.cwd, {**os.environ, **server.env}))


def _refuse_moved(server: str, moved: Sequence[str]) -> None:
    if moved:
        raise UsageError(
            f"{visible(server)}: the launch spec is not the locked one, so it is not started: {'; '.join(moved)}; "
            f"look at it with `mcplock diff --run-changed --live {visible(server)}` and lock it, or use --run-changed"
        )


def _configured(wish: Wish) -> tuple[Server, LaunchSpec | None]:
    """The server of that name in the client configs."""
    found = wish.found() if wish.found else None
    entry = found.entries.get(wish.settings.server) if found else None
    if entry is None:
        there = ", ".join(map(visible, sorted(found.entries))) if found else ""
        raise UsageError(f"no server {visible(wish.settings.server)!r} in the configs; there are: {there or 'none'}")
    if isinstance(entry.server, NotReady):
        raise UsageError(entry.server.reason)
    return entry.server, entry.launch


def _given(wish: Wish, locked: LaunchSpec | None) -> tuple[Server, LaunchSpec]:
    """The server that the command line spells out, and its launch spec by the variables of the locked one.

    The client has put values in the place of variables already, so a word is the locked one when it fits the template.
    """
    plain = locked or LaunchSpec("")
    if wish.url:
        headers = dict(wish.headers or {})
        names = {name: plain.headers.get(name, _OTHER) for name in headers}
        spec = LaunchSpec("remote", url=_as_locked(wish.url, plain.url), headers=names)
        return HttpServer(wish.url, "remote", headers, headers), spec
    cwd = Path.cwd()
    templates = [plain.command, *plain.args]
    words = [_as_locked(word, template) for word, template in zip(wish.words, templates, strict=False)]
    words += wish.words[len(templates) :]
    spec = LaunchSpec("stdio", words[0], tuple(words[1:]), cwd=_directory(wish.lock.parent, cwd, plain.cwd))
    # the client has applied the variables to the guard itself; those that are locked as literals can be checked
    env = {name: _as_locked(os.environ.get(name, ""), template) or _OTHER for name, template in plain.env.items()}
    env = {name: value if value == plain.env[name] else _OTHER for name, value in env.items()}
    spec = replace(spec, env=env, env_file=plain.env_file, env_file_digest=plain.env_file_digest)
    return StdioServer(wish.words, cwd, {}), spec


def _as_locked(value: str, template: str) -> str:
    """`template` if `value` is what it may stand for, else `value`."""
    parts = [re.escape(part) for part in _VARIABLE.split(template)]
    return template if re.fullmatch(".*".join(parts), value, re.DOTALL) else value


def _directory(root: Path, cwd: Path, locked: str) -> str:
    """The working directory as the lock would spell it; one that the lock leaves to the client is the client's."""
    if not locked or _VARIABLE.search(locked):
        return locked
    return locked if (root / locked).resolve() == cwd.resolve() else str(cwd)


class _LazyMask:
    """Takes what may be a secret out of a line for the log; made when there is a line to write."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._mask: Callable[[str], str] | None = None

    def __call__(self, text: str) -> str:
        if self._mask is None:
            self._mask = self._made()
        return self._mask(text)

    def _made(self) -> Callable[[str], str]:
        from mcp_lock.transport import leak, mask

        if isinstance(self._server, HttpServer):
            return mask.of_http(self._server)
        whole = replace(self._server, env={**os.environ, **self._server.env})
        return leak.of_stdio(whole)


def ttl_of(check: str) -> float | None:
    """The seconds of `--check ttl=SECONDS`; None for `always`. Raises `UsageError`."""
    if check == "always":
        return None
    found = re.fullmatch(r"ttl=(\d+(?:\.\d+)?)", check)
    if not found:
        raise UsageError(f"--check takes always or ttl=SECONDS, not {one_line(check, 40)}")
    return float(found[1])
