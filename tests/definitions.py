"""Tool definitions drawn at random, realistic and odd, and one-place edits of them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

names = st.sampled_from(["query", "limit", "items", "type", "required", "$ref", "a/b", "~", "", "ü", "properties"])
texts = st.sampled_from(["max results", "page index", "", "Default: 10.", "in seconds", "é", "e\u0301", "a\u200bb"])
numbers = st.sampled_from([0, 1, -1, 1.0, 0.5, 2**53, 2**53 + 1, float(2**53), 1e300, True, False])
values = st.recursive(
    st.none() | texts | numbers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
KEYWORDS: dict[str, Any] = {
    "type": st.sampled_from(["string", "integer", "object", ["string", "null"], ["null", "string"], None]),
    "description": texts | st.none(),
    "title": texts,
    "default": values,
    "enum": st.lists(values, max_size=3),
    "const": values,
    "required": st.lists(names, max_size=3, unique=True) | st.none(),
    "minimum": numbers,
    "exclusiveMaximum": numbers,
    "minLength": st.integers(0, 2),
    "multipleOf": st.sampled_from([0, 1, 2, 0.1, 0.2]),
    "pattern": st.sampled_from(["^a", "^b"]),
    "uniqueItems": st.booleans(),
    "additionalProperties": st.booleans() | st.none(),
    "$ref": st.sampled_from(["#", "#/$defs/a", "https://example.test/x"]),
    "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2), max_size=2),
    "dependencies": st.dictionaries(names, st.lists(names, max_size=2) | st.booleans(), max_size=2),
    "x-vendor": values,
    "nullable": st.booleans(),
    "examples": st.lists(values, max_size=2),
}
NESTED = ("items", "not", "contains", "additionalProperties", "propertyNames", "if", "then", "unevaluatedProperties")
MAPS = ("properties", "$defs", "patternProperties", "dependentSchemas", "definitions")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")


def _one_of(keywords: tuple[str, ...], inside: Any) -> Any:
    return st.dictionaries(st.sampled_from(keywords), inside, max_size=1)


def _larger(inner: Any) -> Any:
    parts = st.tuples(
        st.fixed_dictionaries({}, optional=KEYWORDS),
        _one_of(NESTED, inner),
        _one_of(MAPS, st.dictionaries(names, inner, max_size=3)),
        _one_of(LISTS, st.lists(inner, max_size=3)),
    )
    return parts.map(lambda dicts: {key: value for one in dicts for key, value in one.items()})


schemas = st.recursive(st.booleans() | st.fixed_dictionaries({}, optional=KEYWORDS), _larger, max_leaves=6)
annotations = st.dictionaries(
    st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title", "x"]),
    st.booleans() | st.none() | texts,
    max_size=4,
)


def tools() -> Any:
    """Definitions of a tool, whole."""
    return st.fixed_dictionaries(
        {"name": st.just("tool"), "inputSchema": schemas | st.none()},
        optional={
            "description": texts | st.none(),
            "title": texts,
            "outputSchema": schemas | st.none(),
            "annotations": annotations | st.none(),
            "execution": st.dictionaries(st.sampled_from(["taskSupport", "x"]), texts | st.none(), max_size=2),
            "_meta": st.dictionaries(st.sampled_from(["ui", "build"]), values, max_size=2) | st.none(),
            "icons": st.lists(st.dictionaries(names, texts, max_size=2), max_size=2),
            "id": values,
        },
    )


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, held in inside for place in _places(held, (*path, key)))]


@st.composite
def edited(draw: Any, tool: dict[str, Any]) -> dict[str, Any]:
    """`tool` edited at one place: a value replaced, a member or item added or taken away."""
    new = copy.deepcopy(tool)
    path = draw(st.sampled_from([place for place in _places(new) if place and place != ("name",)] or [("id",)]))
    holder = new
    for key in path[:-1]:
        holder = holder[key]
    how = draw(st.sampled_from(["replace", "remove", "add"]))
    if how == "remove":
        holder.pop(path[-1], None) if isinstance(holder, dict) else holder.pop(path[-1])
    elif how == "add" and isinstance(holder, dict):
        holder[draw(names)] = draw(values | schemas)
    elif how == "add":
        holder.insert(path[-1], draw(values | schemas))
    else:
        holder[path[-1]] = draw(values | schemas)
    return {**new, "name": tool["name"]}
