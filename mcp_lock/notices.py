"""Facts about one surface alone that a reviewer should know: never drift, and never a reason to refuse a contract.

Reads definitions and follows nothing: no reference is fetched, no schema is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.outcome import Item, Notice
from mcp_lock.pointer import token, tokens
from mcp_lock.text import one_line, scripts_in, visible_name

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""What the specification says a tool's name should be (2026-07-28, server/tools)."""
_CLIENT_NAME_LIMIT = 64
"""Several clients and model providers refuse longer names."""

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
)


def notices(surface: Surface, kind: Kind, name: str) -> Iterator[Notice]:
    """Every notice about one contract of a surface."""
    contract = surface.contracts(kind)[name]
    item = Item(kind, name)
    if kind is Kind.TOOL:
        yield from (Notice(text, item, pointer) for pointer, text in _tool(contract))
    yield from (Notice(text, item) for text in _name(kind, name, surface))


def _name(kind: Kind, name: str, surface: Surface) -> Iterator[str]:
    if kind is Kind.TOOL and not _NAME.fullmatch(name):
        yield "the name is not of 1 to 128 letters, digits, `_`, `.` and `-`, as the specification asks"
    elif kind is Kind.TOOL and len(name) > _CLIENT_NAME_LIMIT:
        yield f"the name has {len(name)} characters; clients refuse more than {_CLIENT_NAME_LIMIT}"
    if kind in (Kind.TOOL, Kind.PROMPT) and len(scripts := scripts_in(name)) > 1:
        others = (other for other in surface.contracts(kind) if other != name and _looks(other) == _looks(name))
        alike = next(others, "")
        said = f"; looks like {visible_name(alike)}" if alike else ""
        yield f"mixed {' and '.join(scripts)} in one name{said}"


_LOOKS = str.maketrans("асеорхуіјѕԁһԛԝАВЕКМНОРСТХαορνικτ", "aceopxyijsdhqwABEKMHOPCTXaopvikt")


def _looks(name: str) -> str:
    return name.translate(_LOOKS)


def _tool(contract: Contract) -> Iterator[tuple[str, str]]:
    definition = contract.definition
    description = definition.get("description", "")
    if not isinstance(description, str):
        yield "/description", f"{_type(description)}, where the specification has a text"
    schema = definition.get("inputSchema")
    if not isinstance(schema, Mapping):
        yield (
            "/inputSchema",
            f"{_type(schema) if 'inputSchema' in definition else 'missing'}; the specification wants an object",
        )
    elif schema.get("type") != "object":
        yield "/inputSchema", 'no `"type": "object"`, which the specification wants at the root'
    for field in ("inputSchema", "outputSchema"):
        if isinstance(definition.get(field), Mapping):
            yield from _schema(definition[field], f"/{field}", definition[field])
    for hint, value in _pairs(definition.get("annotations")):
        if hint.endswith("Hint") and not isinstance(value, bool | None):
            yield f"/annotations/{token(hint)}", f"{_type(value)}, where the specification has true or false"


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    yield from value.items() if isinstance(value, Mapping) else ()


def _type(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", type(None): "null"}
    return names.get(type(value), "an array" if isinstance(value, Sequence) else "an object")


def _schema(schema: Any, pointer: str, root: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping):
        if not isinstance(schema, bool):
            yield pointer, f"{_type(schema)} is not a schema"
        return
    yield from _keywords(schema, pointer, root)
    for below, part in _parts(schema):
        yield from _schema(part, pointer + below, root)


def _keywords(schema: Mapping[str, Any], pointer: str, root: Any) -> Iterator[tuple[str, str]]:
    for keyword in ("required", "enum", *_LISTS):
        if keyword in schema and not _is_array(schema[keyword]):
            yield f"{pointer}/{keyword}", f"{_type(schema[keyword])} is not an array"
    for keyword in _MAPS:
        if keyword in schema and not isinstance(schema[keyword], Mapping):
            yield f"{pointer}/{keyword}", f"{_type(schema[keyword])} is not an object"
    if why := _default(schema):
        yield f"{pointer}/default", why
    for keyword in ("$ref", "$dynamicRef"):
        if isinstance(ref := schema.get(keyword), str) and (why := _reference(ref, root)):
            yield f"{pointer}/{keyword}", why


_TYPES = {
    "null": "null",
    "boolean": "a boolean",
    "string": "a text",
    "array": "an array",
    "object": "an object",
    "number": "a number",
    "integer": "a number",
}


def _default(schema: Mapping[str, Any]) -> str:
    """What is wrong with the default of a schema; empty if it is of a type that the schema takes, as far as it says."""
    said = schema.get("type")
    types = [one for one in (said if _is_array(said) else [said]) if isinstance(one, str)]
    if "default" not in schema or schema.get("nullable") is True or not types:
        return ""
    value = schema["default"]
    if any(_is_of(value, one) for one in types):
        return ""
    return f"{_type(value)}, which the schema itself does not take: {one_line(' or '.join(types), 80)}"


def _is_of(value: Any, wanted: str) -> bool:
    """Whether a value is of a JSON Schema type; a type that nobody knows decides nothing."""
    is_fraction = isinstance(value, float) and value % 1 != 0
    return _TYPES.get(wanted, _type(value)) == _type(value) and not (wanted == "integer" and is_fraction)


def _reference(ref: str, root: Any) -> str:
    """What is wrong with a reference; empty if it leads to a place inside its own schema."""
    if not ref.startswith("#"):
        return f"remote reference not followed: {one_line(ref, 80)}"
    if ref == "#" or not ref.startswith("#/"):
        return ""  # the root, or an anchor
    for key in tokens(ref[1:]):
        if isinstance(root, Mapping) and key in root:
            root = root[key]
        elif _is_array(root) and key.isdecimal() and int(key) < len(root):
            root = root[int(key)]
        else:
            return f"unresolved reference {one_line(ref, 80)}"
    return ""


def _is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas directly inside a schema, with their pointers below it."""
    for keyword in _MAPS:
        yield from ((f"/{token(keyword)}/{token(name)}", part) for name, part in _pairs(schema.get(keyword)))
    for keyword in (*_LISTS, "items"):
        if _is_array(schema.get(keyword)):
            yield from ((f"/{keyword}/{at}", part) for at, part in enumerate(schema[keyword]))
    for keyword in _SCHEMAS:
        if keyword in schema and not _is_array(schema[keyword]):
            yield f"/{keyword}", schema[keyword]
