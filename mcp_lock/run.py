"""What `verify` and `diff` do: from configs and locks to a `Report`.

Decides which servers may be contacted. Prints nothing; whoever wants to follow passes `Talk`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mcp_lock import launch, lockfile, verify
from mcp_lock.config import Entry, Found, HttpServer, NotReady, Server
from mcp_lock.contract import Kind, Surface
from mcp_lock.errors import ConnectError, LockMissing, UsageError
from mcp_lock.lockfile import Lock, ServerPin
from mcp_lock.outcome import Report, Status
from mcp_lock.settings import Settings
from mcp_lock.text import visible
from mcp_lock.verify import Side, Unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcp_lock.connect import Limits
    from mcp_lock.report.inventory import Configured, Inventory
    from mcp_lock.trust import Trusted


@dataclass(frozen=True, slots=True)
class Talk:
    """How a run tells what it is doing while it is at it. Every text is visible already."""

    starting: Callable[[str], None]
    """A launch command that nobody has reviewed yet is about to be started."""
    progress: Callable[[Any], None] | None = None
    """Takes each `connect.Progress`."""


@dataclass(frozen=True, slots=True)
class Project:
    """What a run works on: the servers that are configured, and the lock."""

    found: Found
    lockfile: Path
    limits: Limits
    talk: Talk
    run_changed: bool = False
    """Whether a server may be started whose launch spec is not the locked one."""
    runs: int = 1
    """How often each list is read, from fresh processes."""
    settings: Settings = field(default_factory=Settings)
    """Those that count: the trusted ones if there are any."""
    trusted: Trusted | None = None
    """What a reviewed revision says, if it is to decide which servers may be started."""
    makes_room: bool = False
    """Whether the lock's directory is made where there is none."""


def diff_project(project: Project, names: Sequence[str]) -> Report:
    """As `verify_project`, for people, who want to see two sides. Raises also `LockMissing` when one is not there."""
    if project.found.entries and not project.lockfile.exists():
        lockfile.read(project.lockfile)
    return verify_project(project, names)


def verify_project(project: Project, names: Sequence[str]) -> Report:
    """The lock against the live servers. Writes nothing, and starts no server that is not as it was locked.

    A lock that is missing is told in the report. Raises `UsageError` when there is nothing to check, or a name that
    nobody knows.
    """
    lock, missing = _read_lock(project.lockfile, project.found)
    known = in_scope(project.found, lock.servers)
    require_servers(known, project.found)
    chosen = choose(names, known)
    pins = {name: pin for name, pin in lock.servers.items() if name in chosen}
    entries = {name: entry for name, entry in project.found.entries.items() if name in chosen}
    unseen = dict(_unreviewed(project, pins, entries))
    live = read_live(project, pins, {name: entry for name, entry in entries.items() if name not in unseen})
    report = verify.compare(pins, {**unseen, **live}, project.settings.policy)
    report = report.with_notes(*missing, *project.found.notes, *_trust_notes(project, lock))
    return as_configured(report, entries)


def as_configured(report: Report, entries: Mapping[str, Entry]) -> Report:
    """The report with what the configs say of each server: where it stands, and what is called without asking."""
    sources = {name: (first.file, first.line) for name, entry in entries.items() for first in entry.sources[:1]}
    return report.with_sources(sources).with_approved({name: entry.approved for name, entry in entries.items()})


def check_project(found: Found, lock: Path) -> Report:
    """The lock against the configs alone: servers that came, went, or are started otherwise. Contacts nothing.

    Raises as `verify_project`.
    """
    held, missing = _read_lock(lock, found)
    known = in_scope(found, held.servers)
    require_servers(known, found)
    pins = {name: pin for name, pin in held.servers.items() if name in known}
    live = {name: _configured_side(pins.get(name), entry) for name, entry in found.entries.items()}
    return as_configured(verify.compare(pins, live).with_notes(*missing, *found.notes), found.entries)


def _configured_side(pin: ServerPin | None, entry: Entry) -> Side:
    """An entry as if its server listed what is pinned, if it is configured as it was locked."""
    if pin is None or (isinstance(entry.server, NotReady) and _is_final(entry.server)):
        return _not_locked(entry)
    moved = launch_moved(pin, entry)
    return Unseen(Status.LAUNCH_CHANGED, moved) if moved else ServerPin(entry.launch, pin.surface)


def _read_lock(path: Path, found: Found) -> tuple[Lock, tuple[str, ...]]:
    """The lock, and what is to be noted of it. One that is missing pins nothing, so that no server is locked."""
    try:
        return lockfile.read(path), ()
    except LockMissing as error:
        require_servers({*found.entries}, found)  # without any, a lock is not what is missing
        return Lock({}), (str(error),)


def _trust_notes(project: Project, lock: Lock) -> Iterator[str]:
    if project.trusted:
        yield from project.trusted.notes
        for name in sorted(project.trusted.pins.keys() - lock.servers.keys() - project.found.entries.keys()):
            yield f"{visible(name)} is in the lock of {project.trusted.name}, and neither configured nor locked here"


def in_scope(found: Found, pinned: Iterable[str]) -> set[str]:
    """The servers that a run is about: where only some files were read, what is pinned besides is none of them."""
    return {*found.entries} if found.is_partial else {*pinned, *found.entries}


def require_servers(known: set[str], found: Found) -> None:
    """Raises `UsageError` when neither the configs nor the lock name a server: nothing to do is never fine."""
    if not known:
        notes = "".join(f" ({note})" for note in found.notes)
        where = f" in {visible(str(found.root))}" if found.root else ""
        raise UsageError(f"no servers found{where}: looked for {', '.join(found.looked)}{notes}; --config names a file")


def choose(names: Sequence[str], known: set[str]) -> set[str]:
    """The servers that `names` names, or all. Raises `UsageError` for one that nobody knows."""
    for name in names:
        if name not in known:
            there = ", ".join(visible(one) for one in sorted(known)) or "none"
            raise UsageError(f"no server {visible(name)!r} in the configs or the lock; there are: {there}")
    return set(names) or known


def _unreviewed(
    project: Project, pins: Mapping[str, ServerPin], entries: Mapping[str, Entry]
) -> Iterator[tuple[str, Unseen]]:
    """The configured servers that a check must not start, and why."""
    for name, entry in entries.items():
        ready = not isinstance(entry.server, NotReady)
        if name not in pins and not (project.run_changed and ready):
            yield name, _not_locked(entry)
        elif moved := _moved(project, pins, name, entry):
            yield name, Unseen(Status.LAUNCH_CHANGED, moved)


def _moved(project: Project, pins: Mapping[str, ServerPin], name: str, entry: Entry) -> str:
    """Why a server may not be started as it is configured; empty if it may."""
    if project.run_changed:
        return ""
    trusted = project.trusted
    if not trusted:
        return launch_moved(pins[name], entry)
    if name not in trusted.pins:
        return f"nobody has reviewed it: not in the lock of {trusted.name}"
    moved = launch_moved(trusted.pins[name], entry)
    return f"against {trusted.name}: {moved}" if moved else ""


def _not_locked(entry: Entry) -> Unseen:
    if isinstance(entry.server, NotReady) and _is_final(entry.server):
        return not_ready(entry.server)
    where = ", ".join(map(str, entry.sources))
    return Unseen(Status.NOT_LOCKED, f"configured in {where}, not in the lock")


def _is_final(why: NotReady) -> bool:
    """Whether no other machine could contact it either."""
    return why.invalid or why.status is Status.SKIPPED


def not_ready(why: NotReady) -> Unseen:
    """An entry that cannot be contacted, as a side of a comparison."""
    return Unseen(why.status, why.reason, why.invalid)


def launch_moved(pin: ServerPin, entry: Entry) -> str:
    """How an entry's launch spec differs from the pinned one, on one line; empty if it does not."""
    if entry.launch is None:
        return ""
    if pin.launch is None:
        return "the lock does not say how it is started"
    return "; ".join(launch.differences(pin.launch, entry.launch))


def read_live(project: Project, pins: Mapping[str, ServerPin], entries: Mapping[str, Entry]) -> dict[str, Side]:
    """The live side of every entry: its surface, or why it has none. Never raises for a single server."""
    sides: dict[str, Side] = {}
    ready: dict[str, Server] = {}
    for name, entry in entries.items():
        if isinstance(entry.server, NotReady):
            sides[name] = not_ready(entry.server)
        else:
            ready[name] = entry.server
    protocols = {name: pins[name].surface.protocol for name in ready if name in pins}
    for name, result in _read(project, ready, protocols).items():
        if isinstance(result, ConnectError):
            sides[name] = Unseen(Status.UNREADABLE, "; ".join([str(result), *entries[name].notes]))
        else:
            noted = replace(_wanted(result, project.settings), notes=(*entries[name].notes, *result.notes))
            sides[name] = ServerPin(entries[name].launch, noted)
    return sides


def _wanted(surface: Surface, settings: Settings) -> Surface:
    """What of a surface the project pins."""
    if settings.resources:
        return surface
    items = {**surface.items, Kind.RESOURCE: {}}
    return replace(surface, items=items, flaws=tuple(flaw for flaw in surface.flaws if flaw.kind is not Kind.RESOURCE))


def _read(
    project: Project, servers: Mapping[str, Server], protocols: Mapping[str, str]
) -> Mapping[str, Surface | ConnectError]:
    if not servers:
        return {}
    from mcp_lock import connect  # the slow half of mcplock, needed only now

    def once() -> Mapping[str, Surface | ConnectError]:
        return connect.read_all(servers, protocols=protocols, limits=project.limits, progress=project.talk.progress)

    results = once()
    for _ in range(project.runs - 1):
        again = once()
        results = {name: _both(results[name], again[name]) for name in results}
    return results


def _both(first: Surface | ConnectError, again: Surface | ConnectError) -> Surface | ConnectError:
    """Two runs from fresh processes: a failure, or the first surface, which knows how the second one differs."""
    if isinstance(first, ConnectError):
        return first
    if isinstance(again, ConnectError):
        return again
    moved = any(_digests(first, kind) != _digests(again, kind) for kind in Kind)
    return replace(first, second=again.items) if moved else first


def _digests(surface: Surface, kind: Kind) -> dict[str, str]:
    return {name: contract.digest for name, contract in surface.contracts(kind).items()}


def inventory(found: Found) -> Inventory:
    """Everything that is configured, in words, for `servers`."""
    from mcp_lock.report.inventory import Inventory

    return Inventory(tuple(map(_configured, found.entries.values())), found.files, found.looked, found.notes)


def _configured(entry: Entry) -> Configured:
    from mcp_lock.report.inventory import Configured

    why = entry.server if isinstance(entry.server, NotReady) else None
    state = why.status.value if why else "ready"
    return Configured(
        entry.name,
        "invalid" if why and why.invalid else state,
        why.reason if why else "",
        tuple((source.client, source.file, source.line) for source in entry.sources),
        entry.launch,
        (*entry.notes, *_login(entry)),
        entry.unpinned,
        tuple(sorted(entry.approved)),
    )


def _login(entry: Entry) -> Iterator[str]:
    """Whether somebody has logged in to a server behind a URL, which a file says that is quickly looked at."""
    if isinstance(entry.server, HttpServer):
        from mcp_lock.oauth import resource_of
        from mcp_lock.oauth.store import Store

        place = Store(os.environ, lambda _: None).place(resource_of(entry.server.url))
        if place:
            yield f"logged in; the token is {place.words}"
