"""JSON values as TOML in one fixed layout, and back. Knows nothing of locks.

Every key and value is spelt by tomli-w; what is decided here is where it stands and what TOML cannot say. In each table
the plain values come first, then the sub-tables, both by code point; arrays of objects are `[[…]]`, other arrays have a
value a line. tomli-w's own choice between inline and `[[…]]` goes by the length of the line, so that one longer
description would reflow its neighbours.

The one-key table `{ "$json" = "<canonical JSON>" }` stands for what TOML cannot spell or would not bring back: null,
integers outside 64 bits, strings with a carriage return or a lone surrogate, the smallest object with such a key, an
array that holds one of these or an array, or that mixes objects with plain values, an object whose only key is `$json`,
and tables at the end of a path of more than `MAX_PATH` characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import tomli_w

from mcp_lock.canonical import Json, canonical, number, parse
from mcp_lock.text import is_hidden

ESCAPE = "$json"

MAX_PATH = 1000
"""Every table repeats its path, so a server could make a lock of gigabytes from a long name over many small objects."""

_UNSPEAKABLE = re.compile("[\r\ud800-\udfff]")
_MAYBE_HIDDEN = re.compile(
    r"(?P<always>[^\S\n](?=\n|\Z)|^[<=>|](?=<{6}|={6}|>{6}|\|{6}))|[^\n\t\x20-\x7e]", re.MULTILINE
)
"""What is escaped always, blanks at the end of a line and what git and editors take for a marker of a conflict; and
what may have to be, since it cannot be seen."""
_PLAIN = frozenset({str, bool, int, float})


class _Spelt(float):
    """A float that tomli-w writes in canonical spelling."""

    __slots__ = ()

    def __str__(self) -> str:
        return number(self)


def encode(value: Json, width: int = 0) -> Any:
    """`value` in terms of what TOML can hold; `width` is the length of the dotted path at which it will stand.

    Raises `Unpinnable` for a value that needs its canonical form and has none.
    """
    if value is None:
        return _as_json(value)
    if isinstance(value, str):
        return _as_json(value) if _UNSPEAKABLE.search(value) else value
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    return _object(value, width) if isinstance(value, Mapping) else _array(value, width)


def _as_json(value: Json) -> dict[str, str]:
    return {ESCAPE: canonical(value).decode()}


def _number(value: float) -> Any:
    spelt = number(value)
    if not spelt.lstrip("-").isdigit():
        return _Spelt(value)
    return int(spelt) if -(2**63) <= int(spelt) < 2**63 else {ESCAPE: spelt}


def _object(value: Mapping[str, Json], width: int) -> dict[str, Any]:
    if width > MAX_PATH or value.keys() == {ESCAPE} or any(map(_UNSPEAKABLE.search, value)):
        return _as_json(value)
    return {name: encode(item, width + 1 + len(key(name))) for name, item in value.items()}


def _array(value: Iterable[Json], width: int) -> Any:
    items = list(value)
    if items and all(isinstance(item, Mapping) for item in items):
        return _as_json(items) if width > MAX_PATH else [encode(item, width) for item in items]
    if any(isinstance(item, list | tuple | Mapping) for item in items):
        return _as_json(items)
    encoded = [encode(item) for item in items]
    return _as_json(items) if dict in map(type, encoded) else encoded


def decode(value: Any) -> Any:
    """The JSON value that TOML data stand for; changes fresh data in place.

    Raises ValueError for what is no JSON: dates, times, and an escape that holds none.
    """
    if isinstance(value, dict):
        if value.keys() == {ESCAPE}:
            return _from_json(value[ESCAPE])
        for name, item in value.items():
            if type(item) not in _PLAIN:
                value[name] = decode(item)
        return value
    if isinstance(value, list):
        return [item if type(item) in _PLAIN else decode(item) for item in value]
    if type(value) in _PLAIN:
        return value
    raise ValueError(f"a {type(value).__name__} is no JSON value")


def _from_json(text: Any) -> Any:
    if not isinstance(text, str):
        raise ValueError(f"{ESCAPE} stands for JSON text")  # noqa: TRY004  the caller turns ValueError into a message
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"the text of {ESCAPE} is no JSON: {error}") from None


def name_key(name: str) -> str:
    """The key under which a thing called `name` is stored: the name, or an escape where TOML cannot bring it back."""
    if _UNSPEAKABLE.search(name) or name.startswith(ESCAPE):
        return f"{ESCAPE}:{canonical(name).decode()}"
    return name


def key_name(stored: str) -> str:
    """The name that `name_key` stored. Raises ValueError for an escape that it never writes."""
    if not stored.startswith(ESCAPE):
        return stored
    name = _from_json(stored.removeprefix(f"{ESCAPE}:"))
    if not isinstance(name, str) or name_key(name) != stored:
        raise ValueError(f"a key that begins with {ESCAPE} stands for a name in JSON")
    return name


@lru_cache(maxsize=4096)
def key(name: str) -> str:
    """One key as TOML spells it, bare where it can be."""
    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def dotted(path: Iterable[str]) -> str:
    """A path of keys as a table header spells it, without the brackets."""
    return _revealed(".".join(map(key, path)))


def emit(document: Mapping[str, Any]) -> str:
    """The text of a document whose values went through `encode`."""
    out: list[str] = []
    _emit_table(out, "", document, "[{}]")
    return _revealed("".join(out).removeprefix("\n"))


def _emit_table(out: list[str], path: str, table: Mapping[str, Any], header: str) -> None:
    names = sorted(table)
    nested = [name for name in names if _is_table(table[name])]
    if path and (len(nested) < len(names) or not nested or header != "[{}]"):
        out.append(f"\n{header.format(path)}\n")
    out.extend(_value(name, table[name]) for name in names if not _is_table(table[name]))
    for name in nested:
        below = f"{path}.{key(name)}" if path else key(name)
        inner = table[name]
        if isinstance(inner, list):
            for element in inner:
                _emit_table(out, below, element, "[[{}]]")
        else:
            _emit_table(out, below, inner, "[{}]")


def _is_table(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict)
    return isinstance(value, dict) and value.keys() != {ESCAPE}


def _value(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"{key(name)} = {{ {tomli_w.dumps(value).strip()} }}\n"
    return tomli_w.dumps({name: value}, multiline_strings=True)


def _revealed(text: str) -> str:
    r"""`text` with hidden characters, blanks at the end of a line and markers of conflicts as escapes.

    All strings are basic strings by now, so this one pass over the finished text changes no value.
    """
    return _MAYBE_HIDDEN.sub(lambda found: _escaped(found[0], always=found["always"] is not None), text)


@lru_cache(maxsize=4096)
def _escaped(char: str, *, always: bool) -> str:
    if not always and not is_hidden(char):
        return char
    if char == "\t":
        return "\\t"
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
