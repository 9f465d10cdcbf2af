"""What is pinned against what is live: any two sides, server by server, into one `Report`.

Knows no file and no network: whoever calls has read both sides, and says of a server that could not be read why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from mcp_lock import launch
from mcp_lock.canonical import digest
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.diff import diff_surface
from mcp_lock.lockfile import ServerPin
from mcp_lock.notices import notices
from mcp_lock.outcome import Change, Impact, Item, Notice, Report, ServerReport, Status, item_key
from mcp_lock.policy import EVERYTHING_COUNTS, Policy
from mcp_lock.rules import RULES
from mcp_lock.text import clip, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_LONGEST_POINTER = 120


@dataclass(frozen=True, slots=True)
class Unseen:
    """A server of which one side has not seen the surface, and why."""

    status: Status
    reason: str
    """One line, made visible."""
    is_invalid: bool = False
    """Whether the config is wrong, rather than the machine or the server."""


Side: TypeAlias = ServerPin | Unseen


def compare(old: Mapping[str, ServerPin], new: Mapping[str, Side], policy: Policy = EVERYTHING_COUNTS) -> Report:
    """The report over all servers that either side names, by name."""
    names = sorted({*old, *new})
    return Report(tuple(compare_server(name, old.get(name), new.get(name), policy) for name in names))


def compare_server(
    name: str, old: ServerPin | None, new: Side | None, policy: Policy = EVERYTHING_COUNTS
) -> ServerReport:
    """What became of one server."""
    if new is None:
        return ServerReport(name, Status.GONE, error="in the lock, but not configured any more")
    if isinstance(new, Unseen):
        return ServerReport(name, new.status, error=new.reason, is_invalid=new.is_invalid)
    before = old.surface if old else Surface({}, server=new.surface.server)
    after = without_flaws(new.surface, before)
    changes = [*map(policy.applied, diff_surface(before, after, name)), *_unstable(new.surface, name, policy)]
    changes.sort(key=lambda change: -change.impact)
    changed = {change.item for change in changes if change.impact > Impact.IMMATERIAL}
    same = _same(new.surface, changed) if old else ()
    report = ServerReport(
        name,
        Status.UNCHANGED,
        tuple(changes),
        tuple(_notices(old, new)),
        digests=dict(_digests(new.surface, changed)),
        unchanged=len(same),
        same=same,
    )
    return _with_status(report, old, new)


def _same(live: Surface, changed: set[Item]) -> tuple[Item, ...]:
    """What was read and is as pinned; an item that could not be read is not in the live contracts."""
    items = (Item(kind, name) for kind in Kind for name in live.contracts(kind))
    return tuple(item for item in items if item not in changed)


def _with_status(report: ServerReport, old: ServerPin | None, new: ServerPin) -> ServerReport:
    flaws = "; ".join(_flaws(new.surface))
    report = replace(report, flaws=flaws, error=flaws)
    if old is None:
        return replace(report, status=Status.NOT_LOCKED)
    if old.launch and new.launch and (moved := launch.differences(old.launch, new.launch)):
        return replace(report, status=Status.LAUNCH_CHANGED, error="; ".join([*moved, *([flaws] if flaws else [])]))
    if report.drift:
        return replace(report, status=Status.DRIFTED)
    return replace(report, status=Status.UNREADABLE) if flaws else report


def _flaws(surface: Surface) -> Iterator[str]:
    for flaw in surface.flaws:
        where = clip(visible(flaw.pointer), _LONGEST_POINTER) or "/"
        yield f"{flaw.kind.noun} {visible(flaw.name)} cannot be pinned: {where}: {flaw.why}"


def without_flaws(live: Surface, pinned: Surface) -> Surface:
    """The live surface with what is pinned in place of each item that could not be read: unread is not removed."""
    if not live.flaws:
        return live
    return replace(live, items={kind: dict(_kept(live, pinned, kind)) for kind in Kind})


def _kept(live: Surface, pinned: Surface, kind: Kind) -> Iterator[tuple[str, Contract]]:
    yield from live.contracts(kind).items()
    for flaw in live.flaws:
        if flaw.kind is kind and flaw.name in pinned.contracts(kind):
            yield flaw.name, pinned.contracts(kind)[flaw.name]


def _unstable(surface: Surface, server: str, policy: Policy) -> Iterator[Change]:
    """What moved between two walks of the same lists, immaterial and ignored differences aside."""
    if surface.second is None:
        return
    rule = RULES["tool-list-unstable"]
    first = replace(surface, second=None)
    second = replace(first, items={**first.items, **surface.second})
    for change in map(policy.applied, diff_surface(first, second, server)):
        if change.impact > Impact.IMMATERIAL:
            yield replace(change, rule=rule, impact=rule.input, name=change.item.name, ignored="")


def _digests(surface: Surface, changed: set[Item]) -> Iterator[tuple[str, str]]:
    for kind in Kind:
        for name, contract in surface.contracts(kind).items():
            if Item(kind, name) in changed:
                yield item_key(Item(kind, name)), contract.digest
    if Item(None) in changed and surface.instructions is not None:
        yield item_key(Item(None)), digest(surface.instructions)


def _notices(old: ServerPin | None, new: ServerPin) -> Iterator[Notice]:
    """The facts about the new side that the old side lacked, or the other way round, and what happened meanwhile."""
    yield from (Notice(note) for note in new.surface.notes)
    for kind in Kind:
        pinned = old.surface.contracts(kind) if old else {}
        for name, contract in new.surface.contracts(kind).items():
            if name in pinned and pinned[name].digest == contract.digest:
                continue
            before = list(notices(old.surface, kind, name)) if old and name in pinned else []
            after = list(notices(new.surface, kind, name))
            yield from (notice for notice in after if notice not in before)
            yield from (replace(notice, text=f"repaired: {notice.text}") for notice in before if notice not in after)
