"""JSON and JSON Schema in a line: `filter: object {tags: array of string, since?: string (date)}`.

Said for people, not for machines: long parts are cut and say so, and keywords that have no words here are named.
Texts are as the server wrote them; whoever shows them makes them visible.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_lock.outcome import ABSENT
from mcp_lock.text import clip, visible_name

_DEEPEST = 3
_MOST_MEMBERS = 8
_MOST_VALUES = 8
_TOLD = frozenset(
    {
        *("type", "format", "pattern", "enum", "const", "default", "description", "title", "$ref", "$schema"),
        *("properties", "required", "additionalProperties", "items", "prefixItems", "anyOf", "oneOf", "allOf"),
        *(
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
        ),
        *("examples", "$defs", "definitions"),
    }
)
"""The keywords that a line says, or leaves out because it would not be a line with them."""


def value(said: Any, limit: int = 200) -> str:
    """A JSON value, compact and clipped; `absent` where there is none."""
    return "absent" if said is ABSENT else clip(json.dumps(said, ensure_ascii=False), limit)


def spread(said: Any, limit: int) -> str:
    """A JSON value, a member on a line; clipped."""
    return clip(json.dumps(said, ensure_ascii=False, indent=2), limit)


def member(name: str, schema: Any, optional: bool = False, limit: int = 400) -> str:
    """A property as its caller sees it: `limit?: integer = 10 — "max results"`."""
    text = schema.get("description") if isinstance(schema, Mapping) else None
    about = f" — {value(text, 160)}" if isinstance(text, str) and text else ""
    return clip(_member(name, schema, optional, 0), limit) + about


def signature(definition: Mapping[str, Any], described: bool = True) -> str:
    """A tool as its caller sees it, without its name: `(query: string, limit?: integer = 10) — "Search the docs"`."""
    schema = definition.get("inputSchema")
    inside = _members(schema, 1) if isinstance(schema, Mapping) else ["no valid input schema"]
    text = definition.get("description") if described else ""
    about = f" — {value(text, 200)}" if isinstance(text, str) and text else ""
    return f"({clip(', '.join(inside), 300)}){about}"


def schema_line(schema: Any, limit: int = 400) -> str:
    """What a schema takes."""
    return clip(_kind(schema, 0), limit)


def _member(name: str, schema: Any, optional: bool, depth: int) -> str:
    default = f" = {value(schema['default'], 60)}" if isinstance(schema, Mapping) and "default" in schema else ""
    return f"{visible_name(name)}{'?' if optional else ''}: {_kind(schema, depth)}{default}"


def _members(schema: Mapping[str, Any], depth: int) -> list[str]:
    """The properties of an object, as many as a line holds."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return []
    needed = set(filter(_is_text, required)) if isinstance(required, list | tuple) else set()
    said = [_member(name, properties[name], name not in needed, depth) for name in list(properties)[:_MOST_MEMBERS]]
    return [*said, *_more(len(properties) - _MOST_MEMBERS)]


def _is_text(name: object) -> bool:
    return isinstance(name, str)


def _more(count: int) -> list[str]:
    return [f"… {count} more"] if count > 0 else []


def _kind(schema: Any, depth: int) -> str:
    """The type of a schema in words, with what limits it."""
    if isinstance(schema, bool):
        return "anything" if schema else "nothing"
    if not isinstance(schema, Mapping):
        return value(schema, 60)
    if depth > _DEEPEST:
        return "…"
    parts = [part for part in (*_bases(schema, depth), *_unions(schema, depth)) if part]
    limits = [*_limits(schema), *_untold(schema)]
    return " & ".join(parts or ["anything"]) + (f" ({', '.join(limits)})" if limits else "")


def _bases(schema: Mapping[str, Any], depth: int) -> list[str]:
    """What the schema itself says of the value, unions aside."""
    if "const" in schema:
        return [value(schema["const"], 60)]
    values = schema.get("enum")
    if isinstance(values, Sequence) and not isinstance(values, str):
        said = [value(one, 40) for one in values[:_MOST_VALUES]]
        return [" | ".join([*said, *_more(len(values) - _MOST_VALUES)]) or "nothing"]
    target = schema.get("$ref")
    types = schema.get("type")
    named = types if isinstance(types, list | tuple) else [types] if types is not None else _implied(schema)
    return [
        " | ".join(_typed(str(one), schema, depth) for one in named),
        str(target).removeprefix("#/$defs/").removeprefix("#/definitions/") if target is not None else "",
    ]


def _implied(schema: Mapping[str, Any]) -> list[str]:
    """The type that a schema without one is about."""
    return ["object"] if "properties" in schema else ["array"] if "items" in schema or "prefixItems" in schema else []


def _typed(name: str, schema: Mapping[str, Any], depth: int) -> str:
    said = {"object": _object, "array": _array}.get(name)
    return said(schema, depth) if said else name


def _object(schema: Mapping[str, Any], depth: int) -> str:
    inside = _members(schema, depth + 1)
    rest = schema.get("additionalProperties")
    if isinstance(rest, Mapping) and rest:
        inside.append(f"*: {_kind(rest, depth + 1)}")
    if rest is False:
        inside.append("nothing else")
    return f"object {{{', '.join(inside)}}}" if inside else "object"


def _array(schema: Mapping[str, Any], depth: int) -> str:
    first, rest = schema.get("prefixItems"), schema.get("items")
    first, rest = (rest, None) if isinstance(rest, list | tuple) else (first, rest)
    if isinstance(first, list | tuple):
        said = [_kind(one, depth + 1) for one in first[:_MOST_VALUES]]
        return f"[{', '.join([*said, *_more(len(first) - _MOST_VALUES)])}]"
    return "array" if rest is None else f"array of {_bracketed(_kind(rest, depth + 1))}"


def _bracketed(kind: str) -> str:
    return f"({kind})" if " | " in kind and not kind.startswith("object {") else kind


_UNIONS = {"anyOf": " | ", "oneOf": " | ", "allOf": " & "}


def _unions(schema: Mapping[str, Any], depth: int) -> list[str]:
    said = []
    for keyword, sign in _UNIONS.items():
        branches = schema.get(keyword)
        if isinstance(branches, list | tuple) and branches:
            kinds = [_kind(one, depth + 1) for one in branches[:_MOST_VALUES]]
            said.append(sign.join([*kinds, *_more(len(branches) - _MOST_VALUES)]))
    return said


def _limits(schema: Mapping[str, Any]) -> list[str]:
    """What narrows the type: format, pattern, bounds."""
    said = [str(schema["format"])] if "format" in schema else []
    if "pattern" in schema:
        said.append(f"matching {clip(str(schema['pattern']), 60)}")
    for low, high, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ):
        said += _range(schema.get(low), schema.get(high), unit)
    said += [f"> {value(schema['exclusiveMinimum'], 30)}"] if "exclusiveMinimum" in schema else []
    return said + ([f"< {value(schema['exclusiveMaximum'], 30)}"] if "exclusiveMaximum" in schema else [])


def _range(low: Any, high: Any, unit: str) -> list[str]:
    if low is None and high is None:
        return []
    if high is None:
        return [f"at least {value(low, 30)}{unit}"]
    return [f"at most {value(high, 30)}{unit}" if low is None else f"{value(low, 30)} to {value(high, 30)}{unit}"]


def _untold(schema: Mapping[str, Any]) -> list[str]:
    rest = sorted(key for key in schema if key not in _TOLD)
    return [f"with {', '.join(rest[:5] + _more(len(rest) - 5))}"] if rest else []
