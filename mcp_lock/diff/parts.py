"""Some changes of a schema by themselves: the new schema as it would be if they alone had happened.

Several changes share one place in the raw difference: names in a `required` list, values in an enum, members of a map
that came or went whole. Each takes its own part of it, and no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import canonical
from mcp_lock.diff.spot import child
from mcp_lock.pointer import place, token, tokens

if TYPE_CHECKING:
    from mcp_lock.outcome import Change

REMOVED = frozenset({"property-removed-ignored", "property-removed-rejected", "property-removed-required"})
ADDED = frozenset({"property-added-optional", "property-added-required"})
NAMED = REMOVED | ADDED | {"property-renamed"}
_ENUM = frozenset({"enum-value-added", "enum-value-removed"})


def edit_of(
    part: Sequence[Change], everything: Sequence[Change], field: str, old: Any, new: Any
) -> tuple[Any, list[str]]:
    """`new`, its shared places cut down to what `part` did there, and the places of `part` below the schema."""
    from mcp_lock.proof.place import put

    edit = new
    places = [pointer for change in part if not change.rule.id.startswith("required-") for pointer in _own(change)]
    for pointer, kept in (
        *_maps(part, everything, field, old, new),
        *_enums(part),
        *_lists(part, everything, field, old, new),
    ):
        edit = put(edit, tokens(pointer.removeprefix(f"/{field}")), kept)
        places.append(pointer)
    return edit, [pointer.removeprefix(f"/{field}") for pointer in dict.fromkeys(places)]


def _own(change: Change) -> list[str]:
    return [pointer for pointer in (change.pointer, *change.also) if not pointer.endswith("/required")]


def _maps(
    part: Sequence[Change], everything: Sequence[Change], field: str, old: Any, new: Any
) -> list[tuple[str, dict[str, Any]]]:
    """Maps of which only some of what came or went is in `part`."""
    held = []
    for pointer in dict.fromkeys(change.pointer for change in part if change.part):
        inside = [change for change in part if change.pointer == pointer]
        if len(inside) == len([change for change in everything if change.pointer == pointer and change.part]):
            continue
        before, after = (_at(side, pointer.removeprefix(f"/{field}")) for side in (old, new))
        kept = dict(before) if isinstance(before, Mapping) else {}
        for name in (tokens(change.part)[0] for change in inside):
            kept.pop(name, None)
            if isinstance(after, Mapping) and name in after:
                kept[name] = after[name]
        held.append((pointer, kept))
    return held


def _enums(part: Sequence[Change]) -> list[tuple[str, list[Any]]]:
    """Enums of which only what came, or only what went, is in `part`."""
    changes = [change for change in part if change.rule.id in _ENUM]
    return [
        (change.pointer, _values(change.old, change.new, adds=change.rule.id == "enum-value-added"))
        for change in changes
        if len([other for other in changes if other.pointer == change.pointer]) == 1
    ]


def _values(old: Sequence[Any], new: Sequence[Any], *, adds: bool) -> list[Any]:
    """The old values and the new ones among `new`, or those old ones that are still there."""
    there, kept = {canonical(value) for value in new}, {canonical(value) for value in old}
    if adds:
        return [*old, *(value for value in new if canonical(value) not in kept)]
    return [value for value in old if canonical(value) in there]


def _lists(
    part: Sequence[Change], everything: Sequence[Change], field: str, old: Any, new: Any
) -> list[tuple[str, list[str]]]:
    """The `required` lists that changed beside the names of `part`, with what is theirs."""
    changed = {pointer for change in everything for pointer in change.pointers}
    own: dict[str, set[str]] = defaultdict(set)
    for change in part:
        if change.rule.id in NAMED:
            own[required_beside(change)] |= names_of(change)
        elif change.rule.id.startswith("required-"):
            own[change.pointer] |= _said(change)
    held = []
    for pointer, names in own.items():
        before, after = (_required(side, pointer.removeprefix(f"/{field}")) for side in (old, new))
        wanted = [name for name in before if name not in names or name in after]
        wanted += [name for name in after if name in names and name not in before]
        if pointer in changed and wanted != before:
            held.append((pointer, wanted))
    return held


def _at(schema: Any, pointer: str) -> Any:
    for key in tokens(pointer):
        schema = child(schema, key)
    return schema


def _required(schema: Any, pointer: str) -> list[str]:
    """The names in the `required` list at `pointer`; none where it is no list."""
    held = _at(schema, pointer)
    return [name for name in held if isinstance(name, str)] if isinstance(held, list) else []


def required_beside(change: Change) -> str:
    """The pointer of the `required` list beside a property."""
    return change.place.rpartition("/properties")[0] + "/required"


def _said(change: Change) -> set[str]:
    """The member of a `required` list that a change is about, which it names by its path."""
    properties = change.pointer.removesuffix("/required") + "/properties"
    return {name for name in moved(change) if place(f"{properties}/{token(name)}")[0] == change.name}


def names_of(change: Change) -> set[str]:
    """The property that a change adds, removes or renames: its name, or both of them."""
    return {tokens(pointer)[-1] for pointer in (change.place, *change.also[:1])}


def moved(required: Change) -> set[str]:
    """The names that came into a `required` list or went."""
    old, new = (set(side) if isinstance(side, list) else set() for side in (required.old, required.new))
    return old ^ new
