"""The lists of a server: every page, then every entry sorted into what can be pinned and what cannot.

Paging rules are the specification's (server/utilities/pagination) and what public servers made of them: only an absent
or null cursor ends a list, the empty string does not; a cursor that comes again ends it when nothing new is behind it.
Any doubt that a list is whole raises, since a missing item would read as a removed one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from mcp_lock.canonical import canonical
from mcp_lock.contract import Contract, Flaw, Kind
from mcp_lock.errors import ConnectError, Unpinnable
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_lock.session.dialogue import Dialogue
    from mcp_lock.transport.leak import Secrets

MAX_PAGES = 200
MAX_ITEMS = 10_000
MAX_RESOURCES = 200
"""Resources that are pinned; they come and go with data."""


@dataclass(slots=True)
class Entries:
    """What the pages of one list brought, identical repeats once."""

    kind: Kind
    named: dict[str, Any] = field(default_factory=dict)
    """Definitions by name, in the order they came."""
    nameless: dict[int, Any] = field(default_factory=dict)
    """Entries that are no object or have no name, by their place in the list from 1."""
    repeated: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, entry: Any) -> bool:
        """Take an entry; whether it is new. Raises `ConnectError` for a second definition of one name."""
        self.count += 1
        name = entry.get(self.kind.key) if isinstance(entry, dict) else None
        if not isinstance(name, str):
            if any(_identical(entry, known) for known in self.nameless.values()):
                return False
            self.nameless[self.count] = entry
            return True
        if name not in self.named:
            self.named[name] = entry
            return True
        if not _identical(entry, self.named[name]):
            raise ConnectError(f"lists {self.kind.noun} {one_line(name)} twice with different definitions")
        self.repeated.append(name)
        return False


@dataclass(frozen=True, slots=True)
class Listed:
    """One list, sorted."""

    contracts: Mapping[str, Contract]
    flaws: tuple[Flaw, ...]


def _identical(one: Any, other: Any) -> bool:
    try:
        return canonical(one) == canonical(other)
    except Unpinnable:
        return False  # two readers may read them as two


async def walk(dialogue: Dialogue, kind: Kind, patience: float = math.inf) -> Entries | None:
    """Every page of one list; None when the first does not come within `patience` seconds.

    Raises `Refused` for an error in place of the first page, `ConnectError` when what came is not the whole list.
    """
    entries, asked, page, repeating = Entries(kind), set[str](), 1, False
    result = None
    with anyio.move_on_after(patience):
        result = await _page(dialogue, kind, {}, page)
    while result is not None:
        new = [entries.add(entry) for entry in result[kind.member]]
        if entries.count > MAX_ITEMS:
            raise ConnectError(f"{kind.method} lists more than {MAX_ITEMS} items; what lies behind them was not read")
        if repeating:
            if any(new):
                raise ConnectError(
                    f"{kind.method} does not end: the cursor of page {page} came before, its items did not"
                )
            dialogue.notes.append(f"{kind.method} repeats a cursor with nothing new behind it; stopped there")
            return entries
        cursor = result.get("nextCursor")
        if cursor is None:
            _tell_repeats(dialogue, entries)
            return entries
        page += 1
        if page > MAX_PAGES:
            raise ConnectError(
                f"{kind.method} does not end: {page - 1} pages with {entries.count} items, and still more"
            )
        repeating = cursor in asked
        asked.add(cursor)
        result = await _page(dialogue, kind, {"cursor": cursor}, page)
    return None


async def _page(dialogue: Dialogue, kind: Kind, params: Mapping[str, Any], page: int) -> dict[str, Any]:
    what = f"{kind.method} page {page}" if page > 1 else kind.method
    try:
        result = await dialogue.request(kind.method, params, what)
    except ConnectError as error:
        if page == 1:
            raise
        said = str(error).removeprefix(f"{what} failed: ")
        raise ConnectError(f"{what} failed: {said}", status=error.status, session_lost=error.session_lost) from error
    if not isinstance(result.get(kind.member), list):
        raise ConnectError(f"the answer to {what} holds no list of {kind.noun}s")
    if not isinstance(result.get("nextCursor"), str | None):
        raise ConnectError(f"the answer to {what} holds a cursor that is no text")
    return result


def _tell_repeats(dialogue: Dialogue, entries: Entries) -> None:
    if entries.repeated:
        names = ", ".join(one_line(name, 60) for name in sorted(set(entries.repeated))[:5])
        dialogue.notes.append(f"{entries.kind.method} lists twice, with one definition: {names}")


def sort(entries: Entries, secrets: Secrets) -> Listed:
    """Contracts and flaws. The digest of every contract is known afterwards."""
    contracts: dict[str, Contract] = {}
    flaws = [_nameless(entries.kind, place, entry) for place, entry in entries.nameless.items()]
    for name, definition in entries.named.items():
        contract = Contract(entries.kind, definition)
        flaw = _flaw(contract, secrets)
        if flaw:
            flaws.append(flaw)
        else:
            contracts[name] = contract
    return Listed(contracts, tuple(flaws))


def _nameless(kind: Kind, place: int, entry: Any) -> Flaw:
    if not isinstance(entry, dict):
        return Flaw(kind, f"#{place}", "", "not a JSON object")
    why = f"the {kind.key} is no text" if kind.key in entry else f"there is no {kind.key}"
    return Flaw(kind, f"#{place}", f"/{kind.key}" if kind.key in entry else "", why)


def _flaw(contract: Contract, secrets: Secrets) -> Flaw | None:
    try:
        _ = contract.digest
    except Unpinnable as error:
        return Flaw(contract.kind, secrets(contract.name), secrets(error.pointer), secrets(error.why))
    leak = secrets.found(contract.definition)
    if leak is None:
        return None
    pointer, variable = leak
    return Flaw(contract.kind, secrets(contract.name), secrets(pointer), f"holds the value of ${variable}")
