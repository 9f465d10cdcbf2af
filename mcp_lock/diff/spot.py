"""Where inside a JSON Schema an edit lies: the schema around it, the keyword, and the parameter it is about.

Reads paths by what their keywords hold, so a property that is called `items` is a property. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcp_lock.diff.walk import Edit
from mcp_lock.outcome import ABSENT
from mcp_lock.pointer import place


class Found(NamedTuple):
    """What a check has to say."""

    rule: str
    name: str
    part: tuple[str, ...] = ()
    """Below the edit, where one edit is several changes: the names in a map that is gone as a whole."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One edit and what surrounds it."""

    edit: Edit
    schema: tuple[str, ...]
    """Path of the schema that holds the keyword."""
    keyword: str
    rest: tuple[str, ...]
    """What the path has after the keyword."""
    old: Mapping[str, Any]
    """The schema around it on the old side; empty if that is no object."""
    new: Mapping[str, Any]
    is_output: bool
    is_negated: bool
    """Under an odd number of `not`, where wider is narrower."""

    @property
    def name(self) -> str:
        """The parameter or field that the keyword is about."""
        return self.below(())

    def below(self, path: tuple[str, ...]) -> str:
        """The parameter or field at `path` below the schema."""
        said, _ = place(Edit((*self.schema, *path), None, None).pointer)
        return said or ("result" if self.is_output else "arguments")


_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_BRANCHES = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset(
    {
        *("items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties"),
        *("propertyNames", "not", "if", "then", "else", "contentSchema"),
    }
)


def spot(edit: Edit, old: Mapping[str, Any], new: Mapping[str, Any]) -> Spot:
    """Where `edit` lies: `old` and `new` are the definitions, and the edit is inside one of their schemas."""
    at, negated = 1, False
    left, right = old.get(edit.path[0]), new.get(edit.path[0])
    while (step := _step(edit.path[at:], left, right)) and at + step < len(edit.path):
        negated ^= edit.path[at] == "not"
        for key in edit.path[at : at + step]:
            left, right = child(left, key), child(right, key)
        at += step
    schema, keyword, rest = edit.path[:at], edit.path[at], edit.path[at + 1 :]
    is_output = edit.path[0] == "outputSchema"
    return Spot(edit, schema, keyword, rest, as_object(left), as_object(right), is_output, negated)


def _step(path: tuple[str, ...], left: Any, right: Any) -> int:
    """How many tokens lead from a schema to the next one inside it; 0 where the path ends in this one."""
    keyword = path[0]
    held = child(left, keyword) if isinstance(left, Mapping) and keyword in left else child(right, keyword)
    if keyword in _NAMED and isinstance(held, Mapping):
        return 2
    if keyword in _BRANCHES or (keyword == "items" and is_array(held)):
        return 2 if is_array(held) else 0
    return 1 if keyword in _SINGLE and isinstance(held, Mapping) else 0


def child(value: Any, key: str) -> Any:
    """What a JSON value holds under one reference token; None where it holds nothing."""
    if isinstance(value, Mapping):
        return value.get(key)
    if is_array(value) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return None


def is_array(value: Any) -> bool:
    """Whether a JSON value is an array."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def as_object(value: Any) -> Mapping[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def names(value: Any) -> set[str]:
    """The strings in an array; none if it is no array."""
    return {name for name in value if isinstance(name, str)} if is_array(value) else set()


def is_open(value: Any) -> bool:
    """Whether a subschema takes anything."""
    return value is ABSENT or value is True or (isinstance(value, Mapping) and not value)
