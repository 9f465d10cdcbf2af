"""How each server stands: its rank in a report, its state in words, and the notices to be told of it.

Words alone, as in `told`; how they look is the business of each format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_lock.outcome import Notice, ServerReport, Status
from mcp_lock.report import told
from mcp_lock.text import clip, visible_name

if TYPE_CHECKING:
    from collections.abc import Callable

_ORDER = tuple(
    Status[name]
    for name in ("DRIFTED", "HELD", "LAUNCH_CHANGED", "NOT_LOCKED", "GONE", "UNREADABLE", "UNCHANGED", "SKIPPED")
)
_LONGEST_POINTER = 120


def rank(server: ServerReport) -> tuple[int, int]:
    """What sorts servers: what a reader has to act on first, and among equals the worst."""
    return _ORDER.index(server.status), -server.worst


@dataclass(frozen=True, slots=True)
class State:
    """What is to be said of a server that is neither as locked nor merely drifted."""

    words: str
    role: str
    """How grave it is, as a role of the screen."""
    because: str = ""
    """Where `{}` stands for the reason, behind the words; said only where there is a reason."""
    after: str = ""
    """What follows the reason."""
    hint: str = ""
    """What leads on to the command."""
    command: str = ""
    """What to do next; empty where nothing is left to do."""


def state(server: ServerReport) -> State | None:
    """The state of a server in words; None if only its changes are to be told."""
    said = _STATE.get(server.status)
    return said(server) if said else None


def _launch_changed(server: ServerReport) -> State:
    words, because, name = "launch spec changed", " ({})", told.quoted(server.name)
    if server.drift:
        return State(words, "breaking", because, f"; {counted(server)}")
    if server.unchanged:
        after, hint = "; its contracts are as locked", "; accept it with"
        return State(words, "breaking", because, after, hint, f"mcplock lock {name}")
    command = f"mcplock diff --run-changed --live {name}"
    return State(words, "breaking", because, ", not started", "; see the contracts with", command)


def _not_locked(server: ServerReport) -> State:
    if server.drift:
        return State("not locked yet", "silent", ": {}")
    return State(
        "not locked yet", "silent", ": {}", hint="; pin it with", command=f"mcplock lock {told.quoted(server.name)}"
    )


def _gone(_: ServerReport) -> State:
    words = "in the lock, but no longer configured"
    return State(words, "silent", hint="; take it out with", command="mcplock lock")


_STATE: dict[Status, Callable[[ServerReport], State]] = {
    Status.LAUNCH_CHANGED: _launch_changed,
    Status.NOT_LOCKED: _not_locked,
    Status.GONE: _gone,
    Status.HELD: lambda _: State("held back", "breaking", ": {}"),
    Status.UNREADABLE: lambda _: State("could not be checked", "error", ": {}"),
}


def counted(server: ServerReport) -> str:
    """How many items of a server changed, and how many did not."""
    changed = len({change.item for change in server.drift})
    counts = [f"{changed} changed"] * bool(changed) + [f"{server.unchanged} unchanged"] * bool(server.unchanged)
    return ", ".join(counts) or "as locked"


def notices(server: ServerReport, *, everything: bool, with_own: bool) -> list[Notice]:
    """The facts about what drifts, and those about the server itself if `with_own`."""
    drifting = {change.item for change in server.drift}
    return [one for one in server.notices if everything or one.item in drifting or (with_own and one.item is None)]


def about(notice: Notice) -> str:
    """What a notice is about, leading up to its text; empty for the server itself."""
    item = told.said_item(notice.item) if notice.item else ""
    where = " ".join(filter(None, (item, clip(visible_name(notice.pointer), _LONGEST_POINTER))))
    return f"{where}: " if where else ""
