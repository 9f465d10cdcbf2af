"""References inside one schema document: where a `$ref` leads.

Only places of the document itself are followed. What lies outside is never fetched; it is simply not found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from mcp_lock.pointer import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema: TypeAlias = dict[str, Any] | bool

DATA = frozenset({"const", "enum", "default", "examples"})
"""Keywords that hold values, never schemas."""

ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords that hold a schema."""

MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords that hold a list of schemas."""

NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords that hold schemas by name."""


def is_schema(value: Any) -> bool:
    """Whether a value can stand where a schema is expected."""
    return isinstance(value, dict | bool)


def resolve(root: Schema, ref: str) -> Schema | None:
    """The schema that `ref` names inside `root`, or None where it names nothing there."""
    if ref.startswith("#/") or ref == "#":
        return _at(root, [unquote(part) for part in tokens(ref[1:])])
    if ref.startswith("#"):
        return next((s for s in subschemas(root) if ref[1:] in (s.get("$anchor"), s.get("$dynamicAnchor"))), None)
    return None


def _at(value: Any, path: list[str]) -> Schema | None:
    for token in path:
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value if is_schema(value) else None


def children(schema: dict[str, Any]) -> Iterator[Any]:
    """What stands directly below a schema where schemas are expected, whatever it is."""
    for keyword, value in schema.items():
        if (keyword in MANY or keyword == "items") and isinstance(value, list):
            yield from value
        elif keyword in ONE:
            yield value
        elif (keyword in NAMED or keyword == "dependencies") and isinstance(value, dict):
            yield from value.values()


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object schema in a document, the document itself first; references are not followed."""
    if isinstance(schema, dict):
        yield schema
        for child in children(schema):
            yield from subschemas(child)
