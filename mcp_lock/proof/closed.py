"""What a caller may send who keeps to what was declared: a schema, closed where it is open only by not saying.

`close(S)` is S plus `unevaluatedProperties: false` at every whole value that declares names and does not say what
becomes of others. Its members are the old-shaped calls: inclusion of one raw schema in another is the wrong question,
since it calls every new optional parameter breaking. Annotations are left out, but for those that make a witness
readable.

Every result is self-contained: its references lead to definitions that are named after what they say, so that two
documents with one definition under two names become one, and a definition that changed never passes for its old self.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any

from mcp_lock.proof.refs import DATA, MANY, NAMED, ONE, Schema, resolve
from mcp_lock.proof.unions import are_apart

if TYPE_CHECKING:
    from collections.abc import Iterator

HINTS = frozenset({"default", "examples", "format"})
"""Annotations that a witness is made from."""

ASSERTIONS = frozenset(
    {
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "if",
        "items",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "properties",
        "propertyNames",
        "required",
        "then",
        "type",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    }
)
"""The keywords of 2020-12 that decide whether a value is valid, `$dynamicRef` aside."""


class Dangling(Exception):
    """A reference that leads to no place in the document. Never reaches a user: the verdict is then unproven."""


class _As(Enum):
    """How a schema is read, by what it is applied to."""

    WORDS = "word for word"
    """Where a stricter schema would not make stricter calls: below not, if, contains and propertyNames."""
    PART = "a part"
    """One of several schemas for one value."""
    VALUE = "a whole value"


_READ_AS = {
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"), _As.PART),
    **dict.fromkeys(("not", "if", "contains", "propertyNames"), _As.WORDS),
}
"""How the schemas below a keyword are read; those of any other keyword are for whole values."""

_PARTS_MANY = ("allOf", "anyOf", "oneOf")
_PARTS_ONE = ("if", "then", "else")


def words(schema: Schema) -> Schema:
    """`schema`, normalised, with its references made comparable and nothing closed. Raises `Dangling`."""
    return _Reading(schema, keep_promises=True).document(_As.WORDS)


def close(schema: Schema, *, keep_promises: bool = True) -> Schema:
    """The old-shaped members of `schema`, which must be normalised, as a schema. Raises `Dangling`.

    With `keep_promises` an object that says `additionalProperties: true` beside its names stays open: a caller was told
    so. Without, it is closed too: whether a name is still read is asked of what is declared.
    """
    return _Reading(schema, keep_promises=keep_promises).document(_As.VALUE)


def without_hints(schema: Any) -> Any:
    """`schema` with nothing left but what decides whether a value is valid."""
    if not isinstance(schema, dict):
        return schema
    return {key: _below(key, value, without_hints) for key, value in schema.items() if key not in HINTS}


def _below(keyword: str, value: Any, read: Any) -> Any:
    """The value of a keyword with `read` applied to every schema in it."""
    if keyword in MANY and isinstance(value, list):
        return [read(item) for item in value]
    if keyword in NAMED and isinstance(value, dict):
        return {name: read(item) for name, item in value.items()}
    return read(value) if keyword in ONE else value


_MARK = "#/$defs/" + secrets.token_hex(16) + "-"
"""Begins every reference that is not yet named; no server can have written it."""
_MARKED = re.compile(re.escape(_MARK) + r"(\d+)")


class _Reading:
    """One document being read; collects the definitions that are referred to, each in every way it is read."""

    def __init__(self, root: Schema, *, keep_promises: bool) -> None:
        self.root, self.keep_promises = root, keep_promises
        self.whole = root
        """The root as it is being read; references lead into the root as it is written."""
        self.index: dict[tuple[str, _As], int] = {}
        self.bodies: list[Any] = []

    def document(self, read_as: _As) -> Schema:
        root = self.read(self.root, read_as)
        return _named(root, self.bodies) if self.bodies else root

    def read(self, schema: Any, read_as: _As) -> Any:
        if not isinstance(schema, dict):
            return schema
        schema = self._with_plain_union(schema)
        if read_as is _As.VALUE and self._is_apart(schema):
            # each branch is then closed for itself; to close the whole would say the same, but harder to prove with
            said = {key: value for key, value in schema.items() if self._is_said(key, schema)}
            return {key: _below(key, value, lambda branch: self.read(branch, _As.VALUE)) for key, value in said.items()}
        said = {key: self._keyword(key, value, read_as) for key, value in schema.items() if self._is_said(key, schema)}
        if isinstance(schema.get("$ref"), str):
            is_alone = said.keys() <= HINTS | {"$ref"}
            below = read_as if is_alone or read_as is not _As.VALUE else _As.PART
            said["$ref"] = self._reference(schema["$ref"], below)
            if is_alone:
                return said
        return self._closed(schema, said) if read_as is _As.VALUE else said

    def _with_plain_union(self, schema: dict[str, Any]) -> dict[str, Any]:
        """`schema` with `anyOf` for a `oneOf` whose branches share no value: the same, and easier to prove with."""
        if "oneOf" not in schema or "anyOf" in schema or not are_apart(self.root, schema["oneOf"]):
            return schema
        plain = {("anyOf" if key == "oneOf" else key): value for key, value in schema.items()}
        if schema is self.whole:
            self.whole = plain
        return plain

    def _is_apart(self, schema: dict[str, Any]) -> bool:
        """Whether a schema is nothing but a union whose branches share no value."""
        says = (schema.keys() & ASSERTIONS) - {"type"}
        return says == {"anyOf"} and are_apart(self.root, schema["anyOf"])

    def _is_said(self, keyword: str, schema: dict[str, Any]) -> bool:
        if not self.keep_promises and self._is_promise(keyword, schema):
            return False
        return keyword in ASSERTIONS or keyword in HINTS

    def _is_promise(self, keyword: str, schema: dict[str, Any]) -> bool:
        """Whether a keyword promises that names beside the declared ones are welcome."""
        if keyword not in ("additionalProperties", "unevaluatedProperties"):
            return False
        return schema[keyword] in (True, {}) and bool(schema.get("properties") or schema is self.whole)

    def _keyword(self, keyword: str, value: Any, read_as: _As) -> Any:
        if keyword in DATA:
            return value
        below = _As.WORDS if read_as is _As.WORDS else _READ_AS.get(keyword, _As.VALUE)
        return _below(keyword, value, lambda schema: self.read(schema, below))

    def _reference(self, ref: str, read_as: _As) -> str:
        at = self.index.get((ref, read_as))
        if at is None:
            target = resolve(self.root, ref)
            if target is None:
                raise Dangling(ref)
            at = self.index[ref, read_as] = len(self.bodies)
            self.bodies.append(None)  # taken before the body is read, which may come back here
            self.bodies[at] = self.read(target, read_as)
        return f"{_MARK}{at}"

    def _closed(self, schema: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
        if said.keys() & {"additionalProperties", "unevaluatedProperties"}:
            return said
        parts = list(self._parts(schema, set()))
        declared = {name for part in parts for name in _names(part.get("properties"))}
        required = {name for part in parts for name in _required(part)} - declared
        # an object that declares no names is free of form, but for one that says so, and for a tool without parameters
        is_empty = schema.get("properties") == {} or schema is self.whole
        if declared or required or is_empty or any(part.get("patternProperties") for part in parts):
            if required:
                said["properties"] = {**dict.fromkeys(sorted(required), True), **(said.get("properties") or {})}
            said["unevaluatedProperties"] = False
        return said

    def _parts(self, schema: Any, seen: set[str]) -> Iterator[dict[str, Any]]:
        """The schemas that are applied to the same value as `schema`, itself first."""
        if not isinstance(schema, dict):
            return
        yield schema
        lists = (schema[key] for key in _PARTS_MANY if isinstance(schema.get(key), list))
        dependent = schema.get("dependentSchemas")
        named = dependent.values() if isinstance(dependent, dict) else ()
        for part in chain(*lists, (schema[key] for key in _PARTS_ONE if key in schema), named):
            yield from self._parts(part, seen)
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in seen:
            seen.add(ref)
            yield from self._parts(resolve(self.root, ref), seen)


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, dict | list) else []


def _required(schema: dict[str, Any]) -> Iterator[str]:
    """The names that a schema asks for: whoever must send a name was told of it."""
    yield from _names(schema.get("required"))
    dependent = schema.get("dependentRequired")
    if isinstance(dependent, dict):
        for name, others in dependent.items():
            yield from (name, *_names(others))


def _named(root: Any, bodies: list[Any]) -> Schema:
    """One document of a root and its definitions, every definition named after what it says."""
    names = _content_names([json.dumps(without_hints(body), sort_keys=True) for body in bodies])
    rename = _renamer(names)
    document: dict[str, Any] = rename(root)  # a root that refers to something is an object
    document["$defs"] = {names[at]: rename(body) for at, body in enumerate(bodies)}
    return document


def _renamer(names: list[str]) -> Any:
    def rename(value: Any) -> Any:
        return json.loads(_MARKED.sub(lambda found: f"#/$defs/{names[int(found[1])]}", json.dumps(value)))

    return rename


def _content_names(texts: list[str]) -> list[str]:
    """A digest for every text, equal exactly where the texts say the same all the way down their references.

    Round by round each name takes in one more level. Without cycles that comes to rest; with cycles, two definitions
    that differ at all differ within as many levels as there are definitions in both documents, and a document with more
    than twice as many as another shares no name with it.
    """
    parts = [_MARKED.split(text) for text in texts]
    names = [""] * len(texts)
    for _ in range(1 << (len(texts).bit_length() + 1)):
        last, names = names, [_digest(part, names) for part in parts]
        if names == last:
            break
    return names


def _digest(parts: list[str], names: list[str]) -> str:
    text = "".join(names[int(part)] if at % 2 else part for at, part in enumerate(parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
