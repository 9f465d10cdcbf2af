"""JSON Pointers (RFC 6901): written, read, and said in the words of a tool's caller.

Pointers here start at a definition, so `/inputSchema/properties/query/description` is the description of a parameter.
"""

from __future__ import annotations


def token(key: str) -> str:
    """One reference token, escaped (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1")


def tokens(pointer: str) -> list[str]:
    """The reference tokens of a pointer, unescaped; none for the whole document."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def place(pointer: str) -> tuple[str, str]:
    """A pointer as callers say it: the parameter or field it is about, and what of it.

    `/inputSchema/properties/tags/items/enum` is `("tags[]", "enum")`; a place outside the parameters has no first half,
    and neither has a place in the schema's own root. A name that could be read as two is quoted.
    """
    names, rest = _split(tokens(pointer)[1:]) if _in_schema(pointer) else ("", tokens(pointer))
    return names, ".".join(map(_quoted, rest))


def _in_schema(pointer: str) -> bool:
    return pointer.startswith(("/inputSchema/", "/outputSchema/")) or pointer in (
        "/inputSchema",
        "/outputSchema",
    )


def _split(parts: list[str], said: str = "") -> tuple[str, list[str]]:
    """The path of property names that `parts` begins with, and what is left after it."""
    if parts[:1] == ["properties"] and len(parts) > 1:
        return _split(parts[2:], said + ("." if said else "") + _quoted(parts[1]))
    if len(parts) > 1 and parts[0] in _INSIDE and not parts[1].isdecimal():
        return _split(parts[1:], said + _INSIDE[parts[0]])
    if len(parts) > 2 and parts[0] in _BRANCHES:
        names, rest = _split(parts[2:], said)
        return (names, rest) if names != said else (said, parts)
    return said, parts


_INSIDE = {"items": "[]", "additionalProperties": ".*"}
_BRANCHES = ("anyOf", "oneOf", "allOf")
"""An alternative of a parameter is still that parameter: its number is told only where nothing inside it has a name."""


def _quoted(name: str) -> str:
    return name if name and not set(name) & set('.[]()*" ') else '"' + name.replace('"', '\\"') + '"'
