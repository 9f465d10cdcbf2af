"""The dialects of JSON Schema, and every one of them said in 2020-12, so that two schemas can be compared.

Draft-04, -06, -07, 2019-09 and 2020-12 are read. A keyword that a dialect does not know is dropped, since there it
asserts nothing. What cannot be said in 2020-12 without a doubt comes back as `NotEvaluated`. Nothing here validates: a
schema that breaks its own dialect's rules stays broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_lock.pointer import token, tokens
from mcp_lock.proof.refs import DATA, MANY, NAMED, ONE, Schema, subschemas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LATEST = "https://json-schema.org/draft/2020-12/schema"
"""What an MCP schema without `$schema` is written in (MCP 2025-11-25, Tools)."""

_DRAFT_04, _DRAFT_06, _DRAFT_07, _2019_09, _2020_12 = range(5)

_DIALECTS = {
    "json-schema.org/draft-04/schema": _DRAFT_04,
    "json-schema.org/draft-06/schema": _DRAFT_06,
    "json-schema.org/draft-07/schema": _DRAFT_07,
    "json-schema.org/draft/2019-09/schema": _2019_09,
    "json-schema.org/draft/2020-12/schema": _2020_12,
}

_SINCE = {
    "const": _DRAFT_06,
    "contains": _DRAFT_06,
    "propertyNames": _DRAFT_06,
    "if": _DRAFT_07,
    "then": _DRAFT_07,
    "else": _DRAFT_07,
    "$anchor": _2019_09,
    "$recursiveAnchor": _2019_09,
    "$recursiveRef": _2019_09,
    "dependentRequired": _2019_09,
    "dependentSchemas": _2019_09,
    "maxContains": _2019_09,
    "minContains": _2019_09,
    "unevaluatedItems": _2019_09,
    "unevaluatedProperties": _2019_09,
    "$dynamicAnchor": _2020_12,
    "$dynamicRef": _2020_12,
    "prefixItems": _2020_12,
}
"""Keywords that assert something, by the dialect that brought them; the rest is as old as draft-04."""

_UNTIL = {
    "dependencies": _DRAFT_07,
    "additionalItems": _2019_09,
    "$recursiveAnchor": _2019_09,
    "$recursiveRef": _2019_09,
}
"""Keywords that assert nothing after this dialect."""

_DYNAMIC = ("$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """Why nothing can be said about a schema."""

    reason: str
    """Part of a sentence, without server text."""


def normalise(schema: Any) -> Schema | NotEvaluated:
    """`schema` said in 2020-12, without `$schema` and `$id`; never the same object, and `schema` stays as it is."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        return NotEvaluated("the schema is neither an object nor a boolean")
    dialect = _dialect(schema)
    if dialect is None:
        return NotEvaluated("its $schema names a dialect that is not evaluated")
    return _unfit(schema, dialect) or _Translation(schema, dialect).schema(schema)


def _dialect(schema: Mapping[str, Any]) -> int | None:
    uri = schema.get("$schema", LATEST)
    if not isinstance(uri, str):
        return None
    return _DIALECTS.get(uri.removeprefix("https://").removeprefix("http://").removesuffix("#"))


def _unfit(root: dict[str, Any], dialect: int) -> NotEvaluated | None:
    """What stands in the way of saying the whole document in 2020-12."""
    for schema in subschemas(root):
        if schema is not root and "$schema" in schema and _dialect(schema) != dialect:
            return NotEvaluated("a part of it is written in another dialect")
        if schema is not root and _is_document(schema, dialect):
            return NotEvaluated("it holds another schema document with an identifier of its own")
        if any(_known(keyword, dialect) and keyword in schema for keyword in _DYNAMIC):
            return NotEvaluated("it refers to a part of itself dynamically")
        if dialect == _2019_09 and "contains" in schema and "unevaluatedItems" in schema:
            return NotEvaluated("it combines contains with unevaluatedItems, which 2019-09 reads otherwise")
    return None


def _id_of(schema: Mapping[str, Any], dialect: int) -> str:
    value = schema.get("id" if dialect == _DRAFT_04 else "$id", "")
    return value if isinstance(value, str) else ""


def _is_document(schema: Mapping[str, Any], dialect: int) -> bool:
    # beside a $ref an identifier is as ignored as its other siblings
    ignored = dialect <= _DRAFT_07 and "$ref" in schema
    return not ignored and not _id_of(schema, dialect).startswith("#") and _id_of(schema, dialect) != ""


def _known(keyword: str, dialect: int) -> bool:
    return _SINCE.get(keyword, _DRAFT_04) <= dialect <= _UNTIL.get(keyword, _2020_12)


class _Translation:
    """One document on its way to 2020-12."""

    def __init__(self, root: dict[str, Any], dialect: int) -> None:
        self.root, self.dialect = root, dialect
        self.base = _id_of(root, dialect).split("#", maxsplit=1)[0]

    def schema(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        if self.dialect <= _DRAFT_07 and isinstance(schema.get("$ref"), str):
            schema = {key: schema[key] for key in ("$ref", "definitions", "$defs") if key in schema}
        said: dict[str, Any] = {}
        for keyword, value in schema.items():
            if _known(keyword, self.dialect):
                _KEYWORDS.get(keyword, _Translation.same)(self, said, keyword, value, schema)
        return said

    def same(self, said: dict[str, Any], keyword: str, value: Any, _: dict[str, Any]) -> None:
        """A keyword that means the same in every dialect; only what is below it may need other words."""
        if keyword in DATA:
            said[keyword] = value
        elif keyword in MANY and isinstance(value, list):
            said[keyword] = [self.schema(item) for item in value]
        elif keyword in NAMED and isinstance(value, dict):
            said.setdefault(keyword, {}).update({name: self.schema(item) for name, item in value.items()})
        elif keyword in ONE:
            said[keyword] = self.schema(value)
        else:
            said[keyword] = value

    def items(self, said: dict[str, Any], keyword: str, value: Any, schema: dict[str, Any]) -> None:
        if self.dialect == _2020_12 or not isinstance(value, list):
            self.same(said, keyword, value, schema)
            return
        said["prefixItems"] = [self.schema(item) for item in value]
        if "additionalItems" in schema:
            said["items"] = self.schema(schema["additionalItems"])

    def nothing(self, *_: object) -> None:
        """A keyword that is said elsewhere, or that only identifies."""

    def dependencies(self, said: dict[str, Any], _: str, value: Any, __: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            said["dependentRequired"] = value  # as wrong as it was
            return
        names = {name: item for name, item in value.items() if isinstance(item, list)}
        schemas = {name: self.schema(item) for name, item in value.items() if not isinstance(item, list)}
        said.update({"dependentRequired": names} if names else {})
        said.update({"dependentSchemas": schemas} if schemas else {})

    def bound(self, said: dict[str, Any], keyword: str, value: Any, schema: dict[str, Any]) -> None:
        """Draft-04 says with a boolean that the bound beside it is exclusive."""
        exclusive = "exclusive" + keyword[0].upper() + keyword[1:]
        is_exclusive = self.dialect == _DRAFT_04 and schema.get(exclusive) is True
        said[exclusive if is_exclusive else keyword] = value

    def exclusive(self, said: dict[str, Any], keyword: str, value: Any, _: dict[str, Any]) -> None:
        if not (self.dialect == _DRAFT_04 and isinstance(value, bool)):
            said[keyword] = value

    def identifier(self, said: dict[str, Any], keyword: str, value: Any, _: dict[str, Any]) -> None:
        """Until draft-07 an identifier that is only a fragment names its place, as `$anchor` does now."""
        used = "id" if self.dialect == _DRAFT_04 else "$id"
        if keyword != used:
            said[keyword] = value
        elif isinstance(value, str) and len(value) > 1 and value.startswith("#") and self.dialect <= _DRAFT_07:
            said["$anchor"] = value[1:]
        elif not isinstance(value, str):
            said["$id"] = value  # as wrong as it was

    def reference(self, said: dict[str, Any], keyword: str, value: Any, _: dict[str, Any]) -> None:
        said[keyword] = self._moved(value) if isinstance(value, str) else value

    def _moved(self, ref: str) -> str:
        """Where the target of a reference lies in the translated document."""
        if self.base and ref.split("#", maxsplit=1)[0] == self.base:
            ref = ref[len(self.base) :] or "#"
        if not ref.startswith("#/") or self.dialect == _2020_12:
            return ref
        path, here, is_name = "", self.root, False
        for part in tokens(ref[1:]):
            path += "/" + token(part if is_name else _new_place(part, here))
            here, is_name = _step(here, part), not is_name and part in NAMED
        return "#" + path


def _step(here: Any, name: str) -> Any:
    if isinstance(here, list):
        return here[int(name)] if name.isdecimal() and int(name) < len(here) else None
    return here.get(name) if isinstance(here, dict) else None


def _new_place(keyword: str, here: Any) -> str:
    if isinstance(here, dict) and isinstance(here.get("items"), list):
        return {"items": "prefixItems", "additionalItems": "items"}.get(keyword, keyword)
    return "dependentSchemas" if keyword == "dependencies" else keyword


_KEYWORDS: Mapping[str, Callable[[_Translation, dict[str, Any], str, Any, dict[str, Any]], None]] = {
    "$schema": _Translation.nothing,
    "$id": _Translation.identifier,
    "id": _Translation.identifier,
    "$ref": _Translation.reference,
    "items": _Translation.items,
    "additionalItems": _Translation.nothing,
    "dependencies": _Translation.dependencies,
    "minimum": _Translation.bound,
    "maximum": _Translation.bound,
    "exclusiveMinimum": _Translation.exclusive,
    "exclusiveMaximum": _Translation.exclusive,
}
