"""A schema seen flat: references followed, combinations merged, one view for every way through its unions.

Views steer the search for a witness. They are guesses: what a view cannot say (`not`, an overlap of `oneOf`) is left
out, and a validator has the last word.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_lock.proof.refs import Schema, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

View: TypeAlias = dict[str, Any]

MOST = 16
"""Views of one schema; a union of more is seen in part."""


def key(value: Any) -> str:
    """One text for values that are one JSON value: 1 and 1.0 are, 1 and true are not."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def views(root: Schema, schema: Any, seen: tuple[str, ...] = ()) -> list[View]:
    """The flat views of a schema that stands in `root`; none where it takes nothing."""
    if not isinstance(schema, dict):
        return [] if schema is False else [{}]
    found = [{keyword: value for keyword, value in schema.items() if keyword not in _PARTS}]
    for options in _options(root, schema, seen):
        found = _crossed(found, options)
    return found


_PARTS = frozenset({"$ref", "allOf", "anyOf", "dependentSchemas", "else", "if", "oneOf", "then"})


def _options(root: Schema, schema: View, seen: tuple[str, ...]) -> Iterator[list[View]]:
    """For every part of a schema that is for the same value, its views, one of which is to be taken."""
    ref = schema.get("$ref")
    if isinstance(ref, str):
        target = None if ref in seen else resolve(root, ref)
        seen = (*seen, ref)
        yield [] if target is None else views(root, target, seen)
    for part in _listed(schema.get("allOf")):
        yield views(root, part, seen)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield _in_turn([views(root, part, seen) for part in _listed(schema[keyword])])
    if "dependentSchemas" in schema:
        yield [{}, *_dependent(root, schema["dependentSchemas"], seen)]
    if "if" in schema:
        yield _sides(root, schema, seen)


def _dependent(root: Schema, dependent: Any, seen: tuple[str, ...]) -> list[View]:
    """The views where a name is there that brings more with it."""
    named = dependent.items() if isinstance(dependent, dict) else ()
    return [merged({"required": [name]}, view) for name, schema in named for view in views(root, schema, seen)]


def _sides(root: Schema, schema: View, seen: tuple[str, ...]) -> list[View]:
    """Both sides of a conditional; the side without the condition does not say that it fails."""
    condition, then, otherwise = (views(root, schema.get(word, True), seen) for word in ("if", "then", "else"))
    return _crossed(condition or [{}], then) + otherwise


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _in_turn(branches: list[list[View]]) -> list[View]:
    """The views of every branch, first of each first, so that a cut leaves no branch out."""
    longest = max(map(len, branches), default=0)
    return [branch[at] for at in range(longest) for branch in branches if at < len(branch)]


def _crossed(some: Iterable[View], others: list[View]) -> list[View]:
    return [merged(one, other) for one in some for other in others[:MOST]][: MOST * 2]


def merged(one: View, other: View) -> View:
    """A view of the values that both take, as far as a view can say it."""
    both = dict(one)
    for keyword, value in other.items():
        both[keyword] = _MERGE.get(keyword, _first)(both[keyword], value) if keyword in both else value
    return both


def _first(one: Any, _: Any) -> Any:
    return one


def _schemas(one: Any, other: Any) -> Any:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one
    return {**one, **other, **{name: _both(one[name], other[name]) for name in one.keys() & other.keys()}}


def _both(one: Schema, other: Schema) -> Schema:
    if one is True or other is True:
        return other if one is True else one
    return one if one == other else {"allOf": [one, other]}


def _types(one: Any, other: Any) -> list[str]:
    some, others = ({types} if isinstance(types, str) else set(types) for types in (one, other))
    wider = {"integer"} if "number" in some | others and "integer" in some | others else set()
    return sorted(some & others | wider)


def _least(one: Any, other: Any) -> Any:
    return min(one, other)


def _most(one: Any, other: Any) -> Any:
    return max(one, other)


def _values(one: list[Any], other: list[Any]) -> list[Any]:
    allowed = set(map(key, other))
    return [value for value in one if key(value) in allowed]


def _together(one: list[Any], other: list[Any]) -> list[Any]:
    return [*one, *(item for item in other if item not in one)]


_MERGE: Mapping[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("properties", "patternProperties"), _schemas),
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"), _most),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"), _least),
    "additionalProperties": _both,
    "items": _both,
    "required": _together,
    "type": _types,
    "enum": _values,
}
