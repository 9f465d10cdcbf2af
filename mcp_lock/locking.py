"""What `lock` does: from the live servers to a new lock, and what may not be written.

A server that this machine could not see keeps its pins. Immaterial differences never rewrite a server's part of it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_lock import launch, lockfile, run, verify
from mcp_lock.canonical import digest
from mcp_lock.config import NotReady
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.errors import LockError, LockMissing, UsageError
from mcp_lock.lockfile import Lock, ServerPin
from mcp_lock.outcome import GONE, Notice, Report, ServerReport, Status
from mcp_lock.text import visible
from mcp_lock.verify import Side, Unseen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mcp_lock.config import Entry, Found

SHORTEST_EXPECTATION = 12
"""Hex digits that an expected digest must have at least."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What `lock` is asked to do."""

    names: Sequence[str] = ()
    """`SERVER` or `SERVER/ITEM`; none is everything."""
    expect: Sequence[str] = ()
    """Digests, or beginnings of them: nothing is written unless every changed item has one of them."""
    dry_run: bool = False
    force: bool = False
    """Whether a damaged lock may be replaced."""
    allow_empty: bool = False
    """Whether an empty list may replace pins."""
    start_unreviewed: bool = True
    """Whether servers may be started that are new or configured otherwise: so for people, not so in CI."""


@dataclass(frozen=True, slots=True)
class Locked:
    """What `lock` did."""

    report: Report
    lock: Lock
    written: bool
    dry_run: bool
    refused: str = ""
    """Why nothing was written; one line, made visible."""

    @property
    def exit_code(self) -> int:
        """0 written or left as it is; 1 refused; 2 a config is wrong; 3 something, or everything, was not read."""
        code = self.report.exit_code(forgives_findings=True)
        held = any(server.status is Status.HELD for server in self.report.servers)
        return 1 if code != 2 and (self.refused or held) else code

    def closing(self, name: str) -> str:
        """What became of the file called `name`, in one line; empty where the report itself says why nothing did."""
        if self.refused:
            return ""
        pinned = sum(len(pin.surface.contracts(kind)) for pin in self.lock.servers.values() for kind in Kind)
        what = f"{_count(len(self.lock.servers), 'server')}, {_count(pinned, 'contract')}"
        if self.dry_run:
            return f"{name} not written (dry run): it would hold {what}"
        if not self.written and not self.lock.servers:
            return f"{name} not written: there is nothing to pin"
        return f"{name} {'written' if self.written else 'left as it is'}: {what}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def lock_project(project: run.Project, wish: Wish) -> Locked:
    """Read the servers that `wish` names, and write the lock unless something speaks against it.

    Raises `LockError` for a damaged lock (but with `force`), and `UsageError` for names or digests that fit nothing.
    """
    before = _content(project.lockfile)
    old = _old_lock(project.lockfile, force=wish.force)
    known = run.in_scope(project.found, old.servers)
    run.require_servers(known, project.found)
    chosen = _choose(wish.names, known)
    pins = {name: pin for name, pin in old.servers.items() if name in chosen}
    live = _live(project, wish, pins, {n: e for n, e in project.found.entries.items() if n in chosen})
    live = {name: _narrowed(side, pins.get(name), chosen[name]) for name, side in live.items()}
    report = verify.compare(pins, live, project.settings.policy)
    report = replace(report, servers=tuple(_held(server, pins, live, wish) for server in report.servers))
    fresh = _new_pins(report, pins, live)
    report = replace(report, servers=tuple(_noticed(server, fresh, project.found) for server in report.servers))
    report = run.as_configured(report.with_notes(*project.found.notes), project.found.entries)
    new = Lock({**old.servers, **dict(pins.items()), **fresh})
    new = Lock({name: pin for name, pin in new.servers.items() if not _is_gone(name, report)})
    refused = _refusal(project, wish, old, report, live)
    if not refused and _content(project.lockfile) != before:
        refused = f"nothing written: somebody else wrote {project.lockfile.name} meanwhile; run this once more"
    is_empty = not new.servers and not project.lockfile.exists()  # an empty lock would hide that there is none
    written = not (refused or wish.dry_run or is_empty) and _write(project, new)
    return Locked(report.with_notes(*[refused] * bool(refused)), new, written, wish.dry_run, refused)


def _refusal(project: run.Project, wish: Wish, old: Lock, report: Report, live: Mapping[str, Side]) -> str:
    """Why nothing may be written; empty if it may."""
    if old.servers and not project.found.entries and not wish.allow_empty:
        return "nothing written: the configs hold no server any more; --allow-empty drops all pins"
    return _unexpected(report, live, wish.expect) if wish.expect else ""


def _write(project: run.Project, new: Lock) -> bool:
    if project.makes_room:
        with suppress(OSError):  # writing says better what is the matter
            project.lockfile.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return lockfile.write(project.lockfile, new)


def _content(path: Path) -> bytes | None:
    """The bytes of the lock as it is now; None where there is none to lose."""
    return path.read_bytes() if path.is_file() else None


def _old_lock(path: Path, *, force: bool) -> Lock:
    try:
        return lockfile.read(path)
    except LockMissing:
        return Lock({})
    except LockError:
        if force:
            return Lock({})
        raise


def _choose(names: Sequence[str], known: set[str]) -> dict[str, set[str] | None]:
    """The chosen servers, each with the items that alone are to be refreshed, or None for all of it."""
    if not names:
        return dict.fromkeys(known)
    chosen: dict[str, set[str] | None] = {}
    for name in names:
        found = lockfile.owner(name, known)
        server = name if found is None else found
        run.choose([server], known)
        items = chosen.get(server, set())
        chosen[server] = None if name == server or items is None else {*items, name[len(server) + 1 :]}
    return chosen


def _live(
    project: run.Project, wish: Wish, pins: Mapping[str, ServerPin], entries: Mapping[str, Entry]
) -> dict[str, Side]:
    unreviewed = {name: said for name, entry in entries.items() if (said := _unreviewed(pins.get(name), entry))}
    if not wish.start_unreviewed:
        readable = {name: entry for name, entry in entries.items() if name not in unreviewed}
        live = run.read_live(project, pins, readable)
        return {
            **live,
            **{name: Unseen(Status.UNREADABLE, _NOT_IN_CI.format(said)) for name, said in unreviewed.items()},
        }
    for name, said in unreviewed.items():
        project.talk.starting(f"{visible(name)}: {said}")
    return run.read_live(project, pins, entries)


_NOT_IN_CI = "{}; not started, since nobody has reviewed it: lock it on a machine of your own, or pass --run-changed"


def _unreviewed(pin: ServerPin | None, entry: Entry) -> str:
    """How an entry would be started, if that is not what the lock says; empty if it is, or if it cannot be started."""
    if isinstance(entry.server, NotReady) or entry.launch is None:
        return ""
    if pin and not run.launch_moved(pin, entry):
        return ""
    return launch.shown(entry.launch)


def _narrowed(side: Side, pin: ServerPin | None, items: set[str] | None) -> Side:
    """A live side in which nothing but `items` is other than pinned. Raises `UsageError` for an item nobody has."""
    if items is None or isinstance(side, Unseen):
        return side
    pinned = pin.surface if pin else Surface({})
    for item in items:
        if not any(item in surface.contracts(kind) for kind in Kind for surface in (pinned, side.surface)):
            raise UsageError(f"no tool, prompt or resource {visible(item)!r}, neither pinned nor live")
    if pin and pin.launch and side.launch and launch.differences(pin.launch, side.launch):
        raise UsageError("the launch spec changed: lock the whole server, not one of its tools")
    merged = {kind: dict(_merged(pinned, side.surface, kind, items)) for kind in Kind}
    told = replace(pinned, protocol=pinned.protocol or side.surface.protocol, notes=side.surface.notes)
    return ServerPin(pin.launch if pin else side.launch, replace(told, items=merged, second=side.surface.second))


def _merged(pinned: Surface, live: Surface, kind: Kind, items: set[str]) -> Iterator[tuple[str, Contract]]:
    for name, contract in pinned.contracts(kind).items():
        if name not in items:
            yield name, contract
    for name, contract in live.contracts(kind).items():
        if name in items:
            yield name, contract


def _held(server: ServerReport, pins: Mapping[str, ServerPin], live: Mapping[str, Side], wish: Wish) -> ServerReport:
    """The report on a server whose new surface is not to be written, saying why; else as it was."""
    side = live.get(server.name)
    if not isinstance(side, ServerPin):
        return server
    if any(change.rule.id == "tool-list-unstable" for change in server.drift):
        return replace(server, status=Status.HELD, error="its lists do not stay the same; not written")
    pin = pins.get(server.name)
    emptied = [kind for kind in Kind if pin and pin.surface.contracts(kind) and not side.surface.contracts(kind)]
    if emptied and not wish.allow_empty and not all(kind is Kind.RESOURCE for kind in emptied):
        what = " and ".join(kind.value.replace("-", " ") for kind in emptied)
        return replace(server, status=Status.HELD, error=f"lists no {what} any more; not written without --allow-empty")
    return server


def _noticed(server: ServerReport, fresh: Mapping[str, ServerPin], found: Found) -> ServerReport:
    """The report on a server, with a word on a launch spec that is locked and does not pin the program."""
    why = found.entries[server.name].unpinned if server.name in fresh else ""
    return replace(server, notices=(*server.notices, Notice(launch.may_change(why)))) if why else server


def _new_pins(report: Report, pins: Mapping[str, ServerPin], live: Mapping[str, Side]) -> dict[str, ServerPin]:
    new: dict[str, ServerPin] = {}
    for server in report.servers:
        side = live.get(server.name)
        rewritten = server.drift or server.status in (Status.NOT_LOCKED, Status.LAUNCH_CHANGED)
        if rewritten and server.status is not Status.HELD and isinstance(side, ServerPin):
            pinned = pins[server.name].surface if server.name in pins else Surface({})
            new[server.name] = ServerPin(side.launch, verify.without_flaws(side.surface, pinned))
    return new


def _is_gone(name: str, report: Report) -> bool:
    return any(server.name == name and server.status is Status.GONE for server in report.servers)


def _unexpected(report: Report, live: Mapping[str, Side], expect: Sequence[str]) -> str:
    """Why the live contracts are not the ones that were reviewed; empty if they are."""
    wanted = [said.removeprefix("sha256:") for said in expect if said != GONE]
    for start in wanted:
        if len(start) < SHORTEST_EXPECTATION or set(start) - set("0123456789abcdef"):
            raise UsageError(f"--expect takes a digest, its first {SHORTEST_EXPECTATION} digits or more, or `{GONE}`")
    now = [(server, key, found) for server in report.servers for key, found in server.now.items()]
    for server, key, found in now:
        item = visible(f"{server.name}/{key.partition('/')[2]}".rstrip("/"))
        if found == GONE and GONE not in expect:
            return f"nothing written: {item} is gone now, which was not expected"
        if found != GONE and not any(found.removeprefix("sha256:").startswith(start) for start in wanted):
            return f"nothing written: {item} is {found} now, which is not what was expected"
    gone = sum(found == GONE for _, _, found in now)
    if gone != list(expect).count(GONE):
        return (
            f"nothing written: {gone} gone, and {list(expect).count(GONE)} expected to be (`--expect {GONE}` for each)"
        )
    there = [found.removeprefix("sha256:") for side in live.values() for found in _all_digests(side)]
    for start in wanted:
        if not any(digest.startswith(start) for digest in there):
            return f"nothing written: no live contract has a digest that begins with {start}"
    return ""


def _all_digests(side: Side) -> Iterator[str]:
    if isinstance(side, ServerPin):
        yield from (contract.digest for kind in Kind for contract in side.surface.contracts(kind).values())
        if side.surface.instructions is not None:
            yield digest(side.surface.instructions)
