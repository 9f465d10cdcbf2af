"""What `login` and `logout` do: which server is meant, what a person is told and shown, and the proof that it works.

How OAuth goes is decided in `oauth`. stderr has the talk, whose URL is always there for whoever has no browser here.
"""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from mcp_lock.config import HttpServer, NotReady
from mcp_lock.errors import ConnectError, UsageError
from mcp_lock.oauth import has_its_own, is_private, origin_of, resource_of
from mcp_lock.oauth.store import Store
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mcp_lock.config import Found

_MISSING = "login needs the extra of that name: pip install 'mcp-lock[login]'"


def log_in(
    name: str,
    found: Callable[[], Found],
    say: Callable[[str], None],
    *,
    browser: bool,
    **given: Any,
) -> tuple[str, int]:
    """Log in at a configured server or a URL; returns what came of it, and the exit code.

    `say` is told what happens, line by line.

    Raises `UsageError` for what cannot be logged into, `ConnectError` when no login came of it.
    """
    server = _server(name, found)
    shown = visible(server.name)
    if not is_private(server.url):
        raise UsageError(f"{shown} is neither behind https nor on this machine, so no token is sent to it")
    if has_its_own(server):
        raise UsageError(f"the config itself says who asks {shown}, which goes before any login: take that out first")
    try:
        from mcp_lock.oauth import flow
    except ImportError:
        raise UsageError(_MISSING) from None

    wish = flow.wish_of(os.environ, **given)
    login = anyio.run(flow.log_in, server, wish, say, _Browser(server, say, is_wanted=browser))
    place = Store(os.environ, say).write(login)
    kept = f"logged in to {shown} at {one_line(login.issuer)}; the token is {place.words}"
    if login.client_secret and wish.machine:
        kept += "; the client's secret is with it, to renew it"
    return _proved(server, kept)


def _proved(server: HttpServer, kept: str) -> tuple[str, int]:
    """Whether the server now answers."""
    from mcp_lock.connect import Limits, read_all

    result = read_all({server.name: server}, limits=Limits(retries=0))[server.name]
    if isinstance(result, ConnectError):
        return f"{kept}\nbut the server cannot be read with it: {result}", result.exit_code
    listed = sum(len(items) for items in result.items.values())
    return f"{kept}\nit works: the server lists {listed} contract{'' if listed == 1 else 's'}", 0


def log_out(name: str, found: Callable[[], Found], say: Callable[[str], None]) -> str:
    """Forget the login at a configured server or a URL, and have it revoked where that can be; returns what was done.

    Raises `UsageError` when the token cannot be removed.
    """
    server = _server(name, found)
    store, resource = Store(os.environ, say), resource_of(server.url)
    place = store.place(resource)
    if place is None:
        return f"not logged in to {visible(server.name)}"
    said = "it cannot be revoked: the authorization server names no way"
    try:
        login = store.read(resource)
        if login and login.revocation_endpoint:
            from mcp_lock.oauth import tokens

            anyio.run(tokens.revoke, login)
            said = f"and revoked at {one_line(origin_of(login.revocation_endpoint))}"
    except ConnectError as error:
        said = f"but not revoked: {error}"
    store.remove(resource)
    return f"logged out of {visible(server.name)}: the token is no longer {place.words}, {said}"


def _server(name: str, found: Callable[[], Found]) -> HttpServer:
    """The server behind a URL that `name` means: its name in the config, or the URL itself."""
    if resource_of(name):
        return HttpServer(name, "remote", name=resource_of(name))
    entries = found().entries
    if name not in entries:
        there = ", ".join(map(visible, sorted(entries))) or "none"
        raise UsageError(f"no server {visible(name)!r} in the configs; there are: {there}")
    server = entries[name].server
    if isinstance(server, NotReady):
        raise UsageError(server.reason)
    if not isinstance(server, HttpServer):
        raise UsageError(f"{visible(name)} is a command, not a URL: there is nothing to log in to")
    return replace(server, name=name)


class _Browser:
    """Says where to log in, and opens a browser there if that is wanted and a person could see it."""

    def __init__(self, server: HttpServer, say: Callable[[str], None], *, is_wanted: bool) -> None:
        self._server, self._say, self._is_wanted = server, say, is_wanted

    def __call__(self, url: str) -> None:
        self._say(f"{visible(self._server.name)} asks you to log in at {visible(origin_of(url))}")
        self._say(f"open this page in a browser: {visible(url)}")
        if self._is_wanted and _has_display(os.environ):
            # in a thread that nobody waits for: some browsers end only when they are closed
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _has_display(environ: Mapping[str, str]) -> bool:
    """Whether a browser would have a window: without one Python may open a browser in the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
