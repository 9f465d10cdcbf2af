"""One server a name, from any number of entries.

Two files that say the same of one name are two sources of one server; two that say different things are an error: only
a person knows which is meant.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_lock.config import Entry, NotReady, StdioServer
from mcp_lock.launch import differences, unpinned
from mcp_lock.outcome import Status
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_lock.config.given import Given
    from mcp_lock.launch import LaunchSpec


def merged(entries: Iterable[Entry], extra: Iterable[Entry], given: Given) -> dict[str, Entry]:
    """The entries by name; an `extra` one takes the place of all others of its name."""
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        named.setdefault(entry.name, []).append(entry)
    found = {name: _merged(same) for name, same in named.items()} | {entry.name: entry for entry in extra}
    return {name: _left_out(_pinned(entry, given), given) for name, entry in found.items()}


def unknown(names: Mapping[str, Entry], given: Given) -> Iterator[str]:
    """A note on every server that is to be left out and is not there."""
    for name in given.skipped:
        if name not in names:
            yield f"MCPLOCK_SKIP names {one_line(name, 80)}, which is not configured"
    for name, why in given.excluded.items():
        if name not in names:
            yield f"server {one_line(name, 80)} is not configured: {why}"


def _pinned(entry: Entry, given: Given) -> Entry:
    """`entry`, with why its program is not pinned; not to be started where that is an error."""
    why = unpinned(entry.launch) if entry.launch and given.unpinned != "off" else ""
    if not why or given.unpinned != "error" or isinstance(entry.server, NotReady):
        return replace(entry, unpinned=why)
    reason = f"{entry.sources[0]}: server {one_line(entry.name, 80)}: {why}, as the settings demand"
    return replace(entry, unpinned=why, server=NotReady(Status.UNREADABLE, reason, invalid=True))


def _left_out(entry: Entry, given: Given) -> Entry:
    why = "left out by MCPLOCK_SKIP" if entry.name in given.skipped else given.excluded.get(entry.name)
    return replace(entry, server=NotReady(Status.SKIPPED, f"{entry.sources[0]}: {why}")) if why else entry


def _merged(same: list[Entry]) -> Entry:
    """One entry from all that go by its name. One that is switched off gives way to one that is not."""
    started = [entry for entry in same if not _is(entry, Status.SKIPPED)] or same
    broken = [entry for entry in started if isinstance(entry.server, NotReady) and entry.server.invalid]
    first = broken[0] if broken else started[0]
    for other in started:
        first = first if broken or other is first else _joined(first, other)
    sources = tuple(dict.fromkeys(source for entry in same for source in entry.sources))
    return replace(first, sources=sources, approved=frozenset[str]().union(*(entry.approved for entry in started)))


def _joined(one: Entry, other: Entry) -> Entry:
    """Two entries that say the same, or the error that they do not."""
    if one.launch is None or other.launch is None:
        return one
    apart = differences(_plain(one.launch), _plain(other.launch)) or _elsewhere(one, other)
    if apart:
        return replace(one, launch=None, server=_conflict(one, other, apart))
    kept = other if one.launch.transport == "remote" else one
    server = one.server if not isinstance(one.server, NotReady) else other.server
    if kept is other and not isinstance(other.server, NotReady):
        server = other.server
    return replace(kept, sources=one.sources, server=server, notes=tuple(dict.fromkeys((*one.notes, *other.notes))))


def _plain(spec: LaunchSpec) -> LaunchSpec:
    """`spec` with paths from the project root spelt relative: a server is started there, so they are the same files."""
    command, *args = (re.sub(r"^\$\{workspaceFolder\}/", "./", word) for word in (spec.command, *spec.args))
    return replace(spec, command=command, args=tuple(args))


def _elsewhere(one: Entry, other: Entry) -> list[str]:
    """Equal specs that start in different directories, as the same relative path in two owners' files does."""
    started = {entry.server.cwd for entry in (one, other) if isinstance(entry.server, StdioServer)}
    return ["they start in different directories"] if len(started) > 1 else []


def _conflict(one: Entry, other: Entry, apart: list[str]) -> NotReady:
    name = one_line(one.name, 80)
    here, there = one.sources[0], other.sources[0]
    what = f"{here} and {there} configure server {name} differently ({'; '.join(apart)})"
    ways = [
        f"--config {here.file}" if here.file != there.file else "",
        f"--client {here.client}" if here.client != there.client else "",
    ]
    choice = " or ".join(filter(None, ways))
    why = f"{what}: make them equal, or {f'choose with {choice}' if choice else 'rename one of them'}"
    return NotReady(Status.UNREADABLE, why, invalid=True)


def _is(entry: Entry, status: Status) -> bool:
    return isinstance(entry.server, NotReady) and entry.server.status is status
