"""What the guard did and why: one JSON object a line, for a person with a question and for machines.

Server text is in here in full where something was held back, spelt in ASCII so that nothing in it is hidden. Never the
arguments of a call, never a result, never the value of a secret that mcplock knows.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcp_lock import state
from mcp_lock.errors import UsageError
from mcp_lock.outcome import ABSENT
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcp_lock.guard.gate import Allow, Block, Difference


def default_path(environ: Mapping[str, str]) -> Path:
    """Where the log is unless `--log` says otherwise: in the XDG state directory."""
    return state.directory(environ) / "guard.log"


def open_log(path: Path | None, environ: Mapping[str, str]) -> int:
    """A descriptor to append to, readable by its owner alone.

    Raises `UsageError` for a file that was asked for and cannot be written; without one that can be, stderr takes its
    place.
    """
    wanted = path or default_path(environ)
    try:
        wanted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(wanted, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if path:
            raise UsageError(f"--log: {one_line(str(path))} cannot be written: {error.strerror}") from None
        return sys.stderr.fileno()


class Log:
    """The log of one guard."""

    def __init__(self, descriptor: int, server: str, mask: Callable[[str], str], *, calls: bool) -> None:
        self._descriptor = descriptor
        self._server = server
        self._mask = mask
        self._calls = calls
        self._told: set[tuple[str, str, str]] = set()
        """What was told in full already, by kind, name and live digest."""

    def note(self, decision: str, why: str, **facts: Any) -> None:
        """Something that concerns no single call."""
        self._write({"decision": decision, "reason": why, **facts})

    def allowed(self, kind: str, name: str, allow: Allow, seconds: float) -> None:
        """A call that went on; told with `--log-calls` alone."""
        if self._calls and allow.pinned:
            facts = {kind: name, "pinned": allow.pinned.digest, "live": allow.live or None}
            self._write({"decision": "allowed", **facts, "seconds": round(seconds, 6)})

    def blocked(self, kind: str, name: str, block: Block, seconds: float | None, decision: str = "blocked") -> None:
        """Something that was held back; the full difference once for each contract, then its digest alone."""
        pinned = block.pinned.digest if block.pinned else None
        facts: dict[str, Any] = {kind: name, "rules": list(block.rules), "reason": block.reason}
        facts |= {"pinned": pinned, "live": block.live or None}
        if seconds is not None:
            facts["seconds"] = round(seconds, 6)
        facts["places"] = [{"rule": one.rule, "pointer": one.pointer} for one in block.differences]
        known = (kind, name, block.live)
        if block.differences and known not in self._told:
            self._told.add(known)
            facts["differences"] = list(map(_difference, block.differences))
        self._write({"decision": decision, **facts})

    def _write(self, facts: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = self._mask(json.dumps({"time": now, "server": self._server, **facts}))
        # one write, so that the lines of several guards do not mix; a full disk must not let a call through or end one
        try:
            os.write(self._descriptor, line.encode() + b"\n")
        except OSError:
            return


def _difference(one: Difference) -> dict[str, Any]:
    sides = {name: value for name, value in (("old", one.old), ("new", one.new)) if value is not ABSENT}
    return {"rule": one.rule, "pointer": one.pointer, **sides}
