"""Contract by contract: what changed between two surfaces, each change under its rule.

Two digests differ if and only if at least one change is reported, and the pointers of the changes are the places where
the two definitions differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.diff.tool import diff_contract, noun
from mcp_lock.outcome import ABSENT, Change, Item
from mcp_lock.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["diff_contract", "diff_surface"]


def diff_surface(old: Surface, new: Surface, server: str = "") -> Iterator[Change]:
    """Every change between what a server offered and what it offers."""
    yield from _server(old, new, server)
    for kind in Kind:
        yield from _items(old.contracts(kind), new.contracts(kind), kind, server)


def _server(old: Surface, new: Surface, server: str) -> Iterator[Change]:
    facts = (
        ("server-instructions-changed", "/instructions", old.instructions, new.instructions),
        ("server-name-changed", "/server", old.server, new.server),
    )
    for rule, pointer, before, after in facts:
        if (before or "") != (after or ""):
            row = RULES[rule]
            yield Change(row, Item(None), pointer, before or ABSENT, after or ABSENT, row.input, server)


def _items(old: Mapping[str, Contract], new: Mapping[str, Contract], kind: Kind, server: str) -> Iterator[Change]:
    moved = dict(_moved(old, new)) if kind is Kind.RESOURCE else {}
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before and after:
            if before.digest != after.digest:
                yield from diff_contract(before, after, server)
        elif before and name in moved:
            yield _whole("resource-moved", kind, name, name, moved[name], server)
        elif before:
            yield _whole(f"{noun(kind)}-removed", kind, name, before.definition, ABSENT, server)
        elif after:
            yield _whole(f"{noun(kind)}-added", kind, name, ABSENT, after.definition, server)


def _whole(rule: str, kind: Kind, name: str, old: object, new: object, server: str) -> Change:
    row = RULES[rule]
    return Change(row, Item(kind, name), "", old, new, row.input, server, name=name)


def _moved(old: Mapping[str, Contract], new: Mapping[str, Contract]) -> Iterator[tuple[str, str]]:
    """Resources that are described word for word as one that is gone, and stand under another URI."""
    come = {_said(contract): uri for uri, contract in new.items() if uri not in old}
    for uri, contract in old.items():
        if uri not in new and _said(contract) in come:
            yield uri, come[_said(contract)]


def _said(contract: Contract) -> tuple[str, str]:
    return str(contract.definition.get("name")), str(contract.definition.get("description"))
