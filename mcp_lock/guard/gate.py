"""The decision: what of a list may be shown, and whether a call may go on. No I/O, no clock, no event loop.

Compares with the pins alone, never with an earlier list. A digest that is another one is still as pinned when every
difference falls under an immaterial rule or is one that the project ignores; what cannot be judged blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_lock.canonical import same
from mcp_lock.contract import Contract, Kind
from mcp_lock.errors import Unpinnable
from mcp_lock.outcome import ABSENT, Impact
from mcp_lock.policy import EVERYTHING_COUNTS, Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_lock.contract import Surface


@dataclass(frozen=True)
class Listing:
    """One list as a server gave it just now, all pages, or why there is none."""

    kind: Kind
    definitions: tuple[Any, ...] = ()
    fault: str = ""
    """Why it is not the whole list, in mcplock's own words; empty if it is."""
    code: int | None = None
    """The code of the JSON-RPC error that the server answered with, if it did."""
    head: Mapping[str, Any] = field(default_factory=dict)
    """What the first page holds beside the list."""

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Every definition under its name; those without one are left out."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for definition in self.definitions:
            name = name_of(self.kind, definition)
            if name is not None:
                found.setdefault(name, []).append(definition)
        return found


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the live contract is not the pinned one."""

    rule: str
    pointer: str
    old: Any
    """A JSON value, or ABSENT."""
    new: Any


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may go on."""

    pinned: Contract | None
    """None for what the lock does not pin and the guard does not judge."""
    live: str = ""
    """The digest of what is listed; another one than the pin's where the difference is immaterial."""


@dataclass(frozen=True, slots=True)
class Block:
    """The call must not reach the server."""

    rules: tuple[str, ...]
    """What fired: ids of the catalogue, or one of `REASONS`."""
    reason: str
    """In mcplock's own words, without any of the server's."""
    pinned: Contract | None = None
    live: str = ""
    """The digest of what is listed, where it has one."""
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Relist:
    """Nothing can be said without a fresh list."""


Decision: TypeAlias = Allow | Block | Relist

REASONS = {
    "not-locked": "it is not in mcp.lock",
    "list-failed": "what the server lists could not be read whole",
    "not-listed": "the server no longer lists it",
    "listed-twice": "the server lists it twice, with different definitions",
    "unreadable-definition": "its definition can be read in two ways",
}
"""What blocks beside the rules of the catalogue."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What becomes of a list."""

    definitions: tuple[Mapping[str, Any], ...]
    """What the client is shown: pinned definitions, in the server's order."""
    held: Mapping[str, Block]
    """What was held back and why, by name: the live text of what drifted, and all of what is not pinned."""


class Gate:
    """The pins of one server, and what follows from them."""

    def __init__(self, pins: Surface, server: str = "", policy: Policy = EVERYTHING_COUNTS) -> None:
        self._pins = pins
        self._server = server
        self._policy = policy

    def pinned(self, kind: Kind, name: str) -> Contract | None:
        """The pin of that name, if there is one."""
        return self._pins.contracts(kind).get(name)

    @property
    def instructions(self) -> str | None:
        """The server's instructions as pinned."""
        return self._pins.instructions

    def called(self, kind: Kind, name: str, listing: Listing | None) -> Decision:
        """Whether what `name` calls may be asked for, by a list that is younger than the request."""
        pinned = self.pinned(kind, name)
        if pinned is None:
            # resources come and go with data, so what is read beside the pins is none of the lock's business
            return Allow(None) if kind is Kind.RESOURCE else _blocked("not-locked")
        if listing is None:
            return Relist()
        if listing.fault:
            return _blocked("list-failed", pinned, listing.fault)
        live = listing.by_name.get(name, ())
        if not live:
            return Allow(pinned) if kind is Kind.RESOURCE else _blocked("not-listed", pinned)
        if any(not same(live[0], other) for other in live[1:]):
            return _blocked("listed-twice", pinned)
        return self._compared(pinned, Contract(kind, live[0]))

    def listed(self, listing: Listing) -> Shown:
        """What to show of a list: what is pinned and listed, as pinned."""
        shown: dict[str, Mapping[str, Any]] = {}
        held: dict[str, Block] = {}
        for name in listing.by_name:
            pinned = self.pinned(listing.kind, name)
            if pinned:
                shown[name] = pinned.definition
            decision = self.called(listing.kind, name, listing)
            if isinstance(decision, Block):
                held[name] = decision
            elif not pinned:
                held[name] = _blocked("not-locked")
        for name in self._pins.contracts(listing.kind):
            if name not in shown and listing.kind is not Kind.RESOURCE:
                held[name] = _blocked("not-listed", self.pinned(listing.kind, name))
        return Shown(tuple(shown.values()), held)

    def _compared(self, pinned: Contract, live: Contract) -> Allow | Block:
        try:
            if live.digest == pinned.digest:
                return Allow(pinned, live.digest)
        except Unpinnable:
            return _blocked("unreadable-definition", pinned)
        differences = tuple(self._differences(pinned, live))
        if not differences:
            return Allow(pinned, live.digest)
        rules = tuple(sorted({difference.rule for difference in differences}))
        return Block(rules, "it is not as pinned in mcp.lock", pinned, live.digest, differences)

    def _differences(self, pinned: Contract, live: Contract) -> Iterator[Difference]:
        """Every place that counts. Without a proof: a server must not decide how long a call is held."""
        from mcp_lock.diff import unjudged_changes  # the catalogue and all checks, needed once something has moved

        changes = unjudged_changes(pinned, live, self._server)
        for change in map(self._policy.applied, changes):
            if change.impact > Impact.IMMATERIAL:
                yield Difference(change.rule.id, change.place, change.old, change.new)
        if not changes:  # two digests and no change between them would be a fault of ours, and doubt never passes
            yield Difference("unknown-field-changed", "", ABSENT, ABSENT)


def name_of(kind: Kind, definition: Any) -> str | None:
    """What an entry of a list is called; None where it is no object or its name no text."""
    name = definition.get(kind.key) if isinstance(definition, dict) else None
    return name if isinstance(name, str) else None


def _blocked(reason: str, pinned: Contract | None = None, more: str = "") -> Block:
    return Block((reason,), REASONS[reason] + (f": {more}" if more else ""), pinned)
