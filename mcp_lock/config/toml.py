"""TOML with the places of its tables and keys, which `tomllib` does not tell.

`tomllib` alone decides what a file says; a scan of the lines only says where. A line inside a multi-line string that
looks like a header can mislead a message, never a value.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

from mcp_lock.config.document import Document, MalformedError, Path, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_KEY}(?:[ \t]*\.[ \t]*{_KEY})*)[ \t]*\]\]?[ \t]*(?:#.*)?")
_MEMBER = re.compile(rf"[ \t]*({_KEY}(?:[ \t]*\.[ \t]*{_KEY})*)[ \t]*=")
MAX_DEPTH = 100
"""Parts of a key; a config has less than ten."""
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def parse(text: str) -> Document:
    """The document that `text` spells. Raises `MalformedError`, which holds the place."""
    lines = text.splitlines()
    _bound(lines)
    headers = list(_headers(lines))
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _malformed(error, headers, len(lines)) from None
    except RecursionError:
        raise MalformedError("nested too deeply", Place(1, 1)) from None
    except ValueError:  # of Python, not of TOML
        raise MalformedError("a number has too many digits", Place(1, 1)) from None
    return Document(value, _places(headers, lines))


def _bound(lines: list[str]) -> None:
    """Raises `MalformedError` for a key of so many parts that reading it takes seconds."""
    for number, line in enumerate(lines, 1):
        if line.count(".") > MAX_DEPTH:
            found = _HEADER.fullmatch(line) or _MEMBER.match(line)
            if found and found[0].count(".") > MAX_DEPTH:
                raise MalformedError("nested too deeply", Place(number, 1))


def _headers(lines: list[str]) -> Iterator[tuple[Path, Place]]:
    """Every `[table]` and `[[item]]` header with its place; the path of an item ends in its index."""
    items: Counter[Path] = Counter()
    for number, line in enumerate(lines, 1):
        if (found := _HEADER.fullmatch(line)) and (path := _dotted(found[2])):
            if found[1] == "[[":
                items[path] += 1
                path = (*path, items[path] - 1)
            yield path, Place(number, found.start(2) + 1)


def _dotted(text: str) -> Path:
    """The keys of a dotted key, or none where it is not one after all."""
    try:
        value = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    inner: Any = value
    while isinstance(inner, dict):
        key, inner = next(iter(inner.items()))
        path.append(key)
    return tuple(path)


def _places(headers: list[tuple[Path, Place]], lines: list[str]) -> dict[Path, Place]:
    places: dict[Path, Place] = {}
    by_line = {place.line: path for path, place in headers}
    for path, place in headers:
        places.setdefault(path, place)
    table: Path = ()
    for number, line in enumerate(lines, 1):
        table = by_line.get(number, table)
        if number not in by_line and (found := _MEMBER.match(line)):
            path = (*table, *_dotted(found[1]))
            for length in range(len(table) + 1, len(path) + 1):
                places.setdefault(path[:length], Place(number, found.start(1) + 1))
    return places


def _malformed(error: tomllib.TOMLDecodeError, headers: list[tuple[Path, Place]], last: int) -> MalformedError:
    seen: dict[Path, Place] = {}
    for path, place in headers:
        first = seen.setdefault(path, place)
        if first is not place:
            return MalformedError(f"duplicate key {path[-1]} (lines {first.line} and {place.line})", place)
    message = str(error)
    at = _AT.search(message)
    place = Place(int(at[1]), int(at[2])) if at and at[1] else Place(max(last, 1), 1)
    return MalformedError(_AT.sub("", message), place)
