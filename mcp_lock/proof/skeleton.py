"""Which names a schema reads, apart from what it asks of their values.

A value that a schema takes, and whose names its skeleton takes, is taken by the schema closed. So whether a value is
still read whole can be asked of the skeleton alone, which is far easier to prove.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_lock.proof.refs import resolve
from mcp_lock.proof.unions import are_apart

if TYPE_CHECKING:
    from mcp_lock.proof.refs import Schema

_NAMED = ("properties", "patternProperties")
_ONE = ("additionalProperties", "items", "unevaluatedProperties")
_FORBIDDEN = ("additionalProperties", False)
_APART = ("const", "enum", "required", "type")
"""What tells the branches of a union apart."""
_UNION = frozenset({"anyOf", "type"})
_PARTS = frozenset({"allOf", "anyOf", "dependentSchemas", "else", "if", "oneOf", "then"})
"""Keywords whose schemas are for the same value: which of them names a member may hang on all they ask."""
_NAMING = frozenset(
    {"$ref", "additionalProperties", "items", "patternProperties", "prefixItems", "properties", "unevaluatedProperties"}
)


def skeleton(document: Schema) -> Schema:
    """The skeleton of a closed schema, as `closed` writes it."""
    made = _Skeleton(document)
    body = made.read(document, is_branch=False)
    return {**body, "$defs": made.definitions} if made.definitions else body


class _Skeleton:
    """One document; definitions keep their names, with a prefix that says how they were read."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.definitions: dict[str, Any] = dict(root.get("$defs", {})) if isinstance(root, dict) else {}

    def read(self, schema: Any, *, is_branch: bool) -> Any:
        if not isinstance(schema, dict):
            return schema
        if schema.keys() - {"$defs"} == {"$ref"}:
            return {"$ref": self._reference(schema["$ref"], is_branch=is_branch)}
        if "anyOf" in schema and schema.keys() - {"$defs"} <= _UNION and are_apart(self.root, schema["anyOf"]):
            return {"anyOf": [self.read(branch, is_branch=True) for branch in schema["anyOf"]]}
        if "$ref" in schema or any(_is_naming(schema[keyword]) for keyword in schema.keys() & _PARTS):
            return {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
        return self._plain(schema, is_branch=is_branch)

    def _plain(self, schema: dict[str, Any], *, is_branch: bool) -> dict[str, Any]:
        kept = {keyword: schema[keyword] for keyword in _APART if is_branch and keyword in schema}
        for keyword in (word for word in _NAMED if word in schema):
            kept[keyword] = {name: self._member(part, is_branch=is_branch) for name, part in schema[keyword].items()}
        # what is forbidden in so many words, the schema itself refuses
        for keyword in (word for word in _ONE if word in schema and (word, schema[word]) != _FORBIDDEN):
            kept[keyword] = self.read(schema[keyword], is_branch=False)
        if "prefixItems" in schema:
            kept["prefixItems"] = [self.read(part, is_branch=False) for part in schema["prefixItems"]]
        return kept

    def _member(self, schema: Any, *, is_branch: bool) -> Any:
        tells_apart = is_branch and isinstance(schema, dict) and bool(schema.keys() & {"const", "enum"})
        return schema if tells_apart else self.read(schema, is_branch=False)

    def _reference(self, ref: str, *, is_branch: bool) -> str:
        name = ("branch-" if is_branch else "names-") + ref.removeprefix("#/$defs/")
        if name not in self.definitions:
            self.definitions[name] = True  # taken before it is read, which may come back here
            self.definitions[name] = self.read(resolve(self.root, ref), is_branch=is_branch)
        return f"#/$defs/{name}"


def _is_naming(value: Any) -> bool:
    """Whether the value of a keyword says anything about names, or about what lies below them."""
    if isinstance(value, dict):
        return bool(value.keys() & _NAMING) or any(map(_is_naming, value.values()))
    return isinstance(value, list) and any(map(_is_naming, value))
