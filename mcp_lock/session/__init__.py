"""What a server offers, read over any transport: era agreed on, every list walked, tools twice.

The surface is raw: definitions as they were sent. What cannot be pinned is kept beside what can. Knows no process, no
URL, no time limit of its own and no lock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from mcp_lock.canonical import same
from mcp_lock.contract import Kind, Surface
from mcp_lock.errors import ConnectError
from mcp_lock.session.dialogue import STATELESS, Dialogue, Greeting, Refused
from mcp_lock.session.listing import MAX_RESOURCES, Entries, Listed, sort, walk
from mcp_lock.transport.leak import Secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcp_lock.contract import Contract

SETTLE = 0.5
"""Seconds after the first list in which a server may still register what it has; it may also say so itself."""
PATIENCE = 10.0
"""Seconds that `server/discover` may stay unanswered: `npx` and `uvx` need most of it to start."""
UNDECLARED = 2.0
"""Seconds that a list may stay unanswered which the server did not say it had."""
MAX_RELISTS = 5
"""Times that a server may announce another list before its last two are compared as they are."""

_NO_METHOD = -32601
_NOT_THERE = frozenset({400, 404, 405, 406, 410, 415, 422})
"""HTTP statuses by which a server says that it does not know a request, as against refusing whoever sends it."""
_CAPABILITY = {Kind.TOOL: "tools", Kind.PROMPT: "prompts", Kind.RESOURCE: "resources", Kind.TEMPLATE: "resources"}
EVERYTHING = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Asking:
    """How a server is to be asked."""

    protocol: str = ""
    """The version to ask for first, as the lock stores it; empty for the newest."""
    probe: bool = True
    """Whether `server/discover` may be asked; not of a server that has died of it."""
    patience: float = PATIENCE
    """Seconds that `server/discover` may stay unanswered."""
    kinds: Collection[Kind] = EVERYTHING
    twice: bool = True
    """Whether the tools are listed a second time and compared."""
    secrets: Secrets = field(default_factory=lambda: Secrets({}))


async def read_surface(dialogue: Dialogue, asking: Asking) -> Surface:
    """All that the server at the other end offers. Raises `ConnectError` when that could not be read whole."""
    greeting = await dialogue.greet(asking.protocol, probe=asking.probe, patience=asking.patience)
    _refuse_leaks(greeting, asking.secrets)
    reading = _Reading(dialogue, greeting, asking)
    listed, second = await reading.all()
    moved = second is not None and _differ(reading.tools, second)
    return Surface(
        items={kind: _first_resources(kind, found.contracts, dialogue) for kind, found in listed.items()},
        instructions=greeting.instructions,
        server=greeting.server,
        server_version=greeting.version,
        protocol=greeting.protocol,
        flaws=tuple(flaw for found in listed.values() for flaw in found.flaws),
        notes=(*dialogue.transport.notes, *dict.fromkeys(dialogue.notes)),
        second={Kind.TOOL: sort(second, asking.secrets).contracts} if second and moved else None,
    )


@dataclass(slots=True)
class _Reading:
    """The lists of one connection, in the order that gives a server time to register its tools."""

    dialogue: Dialogue
    greeting: Greeting
    asking: Asking
    tools: Entries = field(default_factory=lambda: Entries(Kind.TOOL))
    """The list of tools that the second one is compared with."""
    ignores_unknown: bool = False
    """Whether it leaves a request unanswered that it does not know, so that asking for more of them is no use."""

    async def all(self) -> tuple[dict[Kind, Listed], Entries | None]:
        """Every list, and the second one of the tools."""
        found: dict[Kind, Entries | None] = {}
        first_at = anyio.current_time()
        for kind in sorted(self.asking.kinds, key=list(Kind).index):
            found[kind] = await self._list(kind)
            if kind is Kind.TOOL:
                first_at = anyio.current_time()
        second = None
        first = found.get(Kind.TOOL)
        if first is not None:
            self.tools, second = await self._settled(first, first_at)
            found[Kind.TOOL] = self.tools
        for kind in found:
            if kind is not Kind.TOOL and self.dialogue.changed(kind, forget=True):
                found[kind] = await self._again(kind)
        listed = {kind: sort(entries, self.asking.secrets) for kind, entries in found.items() if entries is not None}
        return listed, second

    async def _settled(self, first: Entries, first_at: float) -> tuple[Entries, Entries | None]:
        """The list of tools once the server is done with registering them, and the same list asked for again."""
        if self._may_grow(first):
            await self.dialogue.listen(first_at + SETTLE - anyio.current_time(), Kind.TOOL)
        lists = [first]
        while len(lists) <= MAX_RELISTS:
            announced = self.dialogue.changed(Kind.TOOL, forget=True)
            if lists[-1].count and not announced and not self.asking.twice:
                return lists[-1], None
            lists.append(await self._again(Kind.TOOL))
            late = not lists[-2].count and lists[-1].count
            if not late and not announced and not self.dialogue.changed(Kind.TOOL):
                break
        return lists[-2], lists[-1]

    def _may_grow(self, first: Entries) -> bool:
        """Whether the first list may have come before the tools were registered.

        In the stateless version nothing is announced on this connection, so that only an empty list is doubted.
        """
        announces = self.greeting.protocol != STATELESS and self._declared(Kind.TOOL).get("listChanged") is True
        return announces or (not first.count and "tools" in self.greeting.capabilities)

    def _declared(self, kind: Kind) -> Mapping[str, Any]:
        capability = self.greeting.capabilities.get(_CAPABILITY[kind])
        return capability if isinstance(capability, dict) else {}

    async def _list(self, kind: Kind) -> Entries | None:
        """One list; None when the server has none of that kind.

        A server may answer a list that it did not declare, and a client may show that: so it is asked for all the same.
        """
        declared = _CAPABILITY[kind] in self.greeting.capabilities
        if self.ignores_unknown and not declared:
            return None
        try:
            entries = await walk(self.dialogue, kind, math.inf if declared else UNDECLARED)
        except Refused as refused:
            if declared and refused.code != _NO_METHOD:
                raise
            return None
        except ConnectError as error:
            if declared or error.status not in _NOT_THERE:
                raise
            return None
        self.ignores_unknown = entries is None
        return entries

    async def _again(self, kind: Kind) -> Entries:
        """A list that was there before; one that is gone is empty."""
        try:
            return await walk(self.dialogue, kind) or Entries(kind)
        except Refused as refused:
            if refused.code != _NO_METHOD:
                raise
            return Entries(kind)


def _refuse_leaks(greeting: Greeting, secrets: Secrets) -> None:
    leak = secrets.found(greeting.instructions)
    if leak:
        raise ConnectError(f"its instructions hold the value of ${leak[1]}, which must not reach the lock")


def _differ(first: Entries, second: Entries) -> bool:
    """Whether two lists are not the same, their order aside."""
    one, other = first.named, second.named
    return one.keys() != other.keys() or not all(_agree(one[name], other[name]) for name in one)


def _agree(one: Any, other: Any) -> bool:
    """Whether two definitions are one. Their texts nearly always are, and comparing those is ten times as fast."""
    return repr(one) == repr(other) or same(one, other)


def _first_resources(kind: Kind, contracts: Mapping[str, Contract], dialogue: Dialogue) -> Mapping[str, Contract]:
    """The same, but of resources only so many as are pinned: the first by URI, so that the order does not matter."""
    if kind is not Kind.RESOURCE or len(contracts) <= MAX_RESOURCES:
        return contracts
    dialogue.notes.append(f"lists {len(contracts)} resources; the first {MAX_RESOURCES} by URI are pinned")
    return {uri: contracts[uri] for uri in sorted(contracts)[:MAX_RESOURCES]}
