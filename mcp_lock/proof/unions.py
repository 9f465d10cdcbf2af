"""Unions whose branches share no value, so that a value is of one branch or of none.

There `oneOf` says what `anyOf` says, and every branch can be looked at alone.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from mcp_lock.proof.refs import Schema, resolve
from mcp_lock.proof.views import key

_TYPES = frozenset({"array", "boolean", "null", "number", "object", "string"})
_MOST = 64
"""Branches of a union that are compared with each other."""


def are_apart(root: Schema, branches: Any) -> bool:
    """Whether it is plain that no value is in two of these schemas."""
    if not isinstance(branches, list) or len(branches) > _MOST:
        return False
    targets = [_target(root, branch) for branch in branches]
    if not all(isinstance(target, dict) for target in targets):
        return False
    return all(_are_two_apart(root, one, other) for one, other in combinations(targets, 2))


def _target(root: Schema, schema: Any) -> Any:
    """The schema that a chain of plain references leads to."""
    for _ in range(8):
        if not (isinstance(schema, dict) and isinstance(schema.get("$ref"), str)):
            return schema
        if schema.keys() & {"type", "properties", "required", "enum", "const"}:
            return schema
        schema = resolve(root, schema["$ref"])
    return None


def _are_two_apart(root: Schema, one: dict[str, Any], other: dict[str, Any]) -> bool:
    if not _kinds(one) & _kinds(other) or _exclude(_values(one), _values(other)):
        return True
    if "object" not in (one.get("type"), other.get("type")):
        return False
    sent = {name for schema in (one, other) for name in _listed(schema.get("required"))}
    return any(_exclude(_member(root, one, name), _member(root, other, name)) for name in sent)


def _kinds(schema: dict[str, Any]) -> set[str]:
    types = schema.get("type", _TYPES)
    named = {types} if isinstance(types, str) else set(types) if isinstance(types, list | frozenset) else _TYPES
    return {"number" if name == "integer" else name for name in named}


def _values(schema: Any) -> set[str] | None:
    """The values that a schema lists, or None where it lists none."""
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return {key(schema["const"])}
    return set(map(key, schema["enum"])) if isinstance(schema.get("enum"), list) else None


def _member(root: Schema, schema: dict[str, Any], name: Any) -> set[str] | None:
    members = schema.get("properties")
    return _values(_target(root, members.get(name))) if isinstance(members, dict) and isinstance(name, str) else None


def _exclude(one: set[str] | None, other: set[str] | None) -> bool:
    return one is not None and other is not None and not one & other


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
