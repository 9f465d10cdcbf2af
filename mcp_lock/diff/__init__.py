"""Contract by contract: what changed between two surfaces, each change under its rule.

Two digests differ if and only if at least one change is reported, and the pointers of the changes are the places where
the two definitions differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.diff.hidden import hidden_added
from mcp_lock.diff.renames import differs_by_identifier, pairs, tool_score
from mcp_lock.diff.tool import diff_contract, is_immaterial, noun, unjudged_changes
from mcp_lock.outcome import ABSENT, Change, Item, Rule
from mcp_lock.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["diff_contract", "diff_surface", "is_immaterial", "unjudged_changes"]


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
            yield Change(row, Item(None), pointer, before or ABSENT, after or ABSENT, row.input, server, hits=row.hits)
            if hidden_added(before, after):
                row = RULES["invisible-characters"]
                yield Change(
                    row, Item(None), pointer, before or ABSENT, after or ABSENT, row.input, server, name=pointer[1:]
                )


def _items(old: Mapping[str, Contract], new: Mapping[str, Contract], kind: Kind, server: str) -> Iterator[Change]:
    renamed = _renamed(old, new, kind)
    origins = {after: before for before, after in renamed.items()}
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before and after:
            if before.digest != after.digest:
                yield from diff_contract(before, after, server)
        elif before and name in renamed:
            to = renamed[name]
            row = RULES[_rename(kind, name, to)]
            yield _whole(row, before.definition, new[to].definition, server, Item(kind, name), name, to)
        elif before:
            row = RULES[f"{noun(kind)}-removed"]
            yield _whole(row, before.definition, ABSENT, server, Item(kind, name), name)
        elif after:
            trusted = kind is Kind.TOOL and name in origins
            row = RULES[f"{noun(kind)}-added{'-renamed' if trusted else ''}"]
            yield _whole(row, ABSENT, after.definition, server, Item(kind, name), origins.get(name, name), name)
            if hidden_added(ABSENT, after.definition):
                row = RULES["invisible-characters"]
                yield _whole(row, ABSENT, after.definition, server, Item(kind, name), name)


def _rename(kind: Kind, name: str, to: str) -> str:
    if kind is Kind.RESOURCE:
        return "resource-moved"
    return "tool-identifier-changed" if differs_by_identifier(name, to) else "tool-renamed"


def _whole(rule: Rule, old: object, new: object, server: str, item: Item, name: str, to: str = "") -> Change:
    return Change(rule, item, "", old, new, rule.input, server, hits=rule.hits, name=name, to=to)


def _renamed(old: Mapping[str, Contract], new: Mapping[str, Contract], kind: Kind) -> dict[str, str]:
    """Old names of things that stand there under another name, to the new ones."""
    if kind is Kind.RESOURCE:
        return dict(_moved(old, new))
    if kind is not Kind.TOOL:
        return {}
    gone = {name: contract.definition for name, contract in old.items() if name not in new}
    come = {name: contract.definition for name, contract in new.items() if name not in old}
    return pairs(gone, come, tool_score)


def _moved(old: Mapping[str, Contract], new: Mapping[str, Contract]) -> Iterator[tuple[str, str]]:
    """Resources that are described word for word as one that is gone, and stand under another URI."""
    come = {_said(contract): uri for uri, contract in new.items() if uri not in old}
    for uri, contract in old.items():
        if uri not in new and _said(contract) in come:
            yield uri, come[_said(contract)]


def _said(contract: Contract) -> tuple[str, str]:
    return str(contract.definition.get("name")), str(contract.definition.get("description"))
