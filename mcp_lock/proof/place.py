"""One change out of many: the old schema with a single edit of the new one, so that the edit can be judged alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_lock.outcome import ABSENT
from mcp_lock.pointer import tokens
from mcp_lock.proof.refs import resolve, subschemas

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFINITIONS = ("$defs", "definitions")


def edited(old: Any, new: Any, pointers: Sequence[str]) -> tuple[Any, Any]:
    """Two schemas that differ only at `pointers`: `old`, and `old` as `new` has it there.

    Pointers (RFC 6901) start at the schema. One that only `new` has adds, one that only `old` has removes; an item of a
    list is replaced where both lists are long enough. A definition that the edit refers to comes with it, and one that
    is still referred to does not go. Where the two are written in different dialects, both results are in the new one,
    so that the edit is judged by its own effect alone.
    """
    before = old
    if _dialect(old) != _dialect(new) and "/$schema" not in pointers:
        before = put(old, ["$schema"], _dialect(new))
    after = before
    # the last item of a list first, so that a removal leaves the places of the others
    for pointer in sorted(pointers, key=_order, reverse=True):
        after = _edit(after, new, tokens(pointer))
    return before, _completed(after, (new, old))


def _order(pointer: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in tokens(pointer)]


def _dialect(schema: Any) -> Any:
    return schema.get("$schema", ABSENT) if isinstance(schema, dict) else ABSENT


def _edit(value: Any, new: Any, path: list[str]) -> Any:
    """`value` with what `new` has at `path`; where `value` lacks a step on the way, with what `new` has at that
    step.
    """
    if not path:
        return new
    ours, theirs = _child(value, path[0]), _child(new, path[0])
    if ours is not ABSENT and theirs is not ABSENT:
        return put(value, path[:1], _edit(ours, theirs, path[1:]))
    return put(value, path[:1], theirs)


def _child(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name, ABSENT)
    is_item = isinstance(value, list) and name.isdecimal() and int(name) < len(value)
    return value[int(name)] if is_item else ABSENT


def put(value: Any, path: list[str], item: Any) -> Any:
    """A copy of `value` with `item` at `path`, or without anything there when it is ABSENT."""
    if len(path) > 1:
        below = _child(value, path[0])
        item = put({} if below is ABSENT else below, path[1:], item)
    if isinstance(value, list):
        at = int(path[0]) if path[0].isdecimal() else len(value)
        return [*value[:at], *(() if item is ABSENT else (item,)), *value[at + 1 :]]
    rest = {name: member for name, member in value.items() if name != path[0]} if isinstance(value, dict) else {}
    # a member that stays keeps its place, so that a schema reads as it did
    if item is ABSENT:
        return rest
    return {**value, path[0]: item} if isinstance(value, dict) else {path[0]: item}


def _completed(schema: Any, donors: Sequence[Any]) -> Any:
    """`schema` with the definitions that it refers to and lacks, from the first donor that has them."""
    missing = _missing(schema)
    for _ in range(256):
        ref = next((ref for ref in missing if any(resolve(donor, ref) is not None for donor in donors)), None)
        if ref is None:
            break
        found = next(target for target in (resolve(donor, ref) for donor in donors) if target is not None)
        schema = put(schema, tokens(ref[1:])[:2], found)
        missing = _missing(schema)
    return schema


def _missing(schema: Any) -> list[str]:
    """References to whole definitions that are not there."""
    refs = {part["$ref"] for part in subschemas(schema) if isinstance(part.get("$ref"), str)}
    paths = {ref: tokens(ref[1:]) for ref in refs if ref.startswith("#/")}
    return sorted(
        ref
        for ref, path in paths.items()
        if len(path) == 2 and path[0] in _DEFINITIONS and resolve(schema, ref) is None
    )
