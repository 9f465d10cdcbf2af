"""Where in the text of a lock something stands: for annotations and for messages about damage.

Reads lines, not TOML, so it also works on text that is no TOML any more. Numbers count from 1.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mcp_lock.lockfile.layout import dotted, name_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.contract import Kind

_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})( |$)")


def line_of(text: str, server: str, kind: Kind | None = None, name: str = "") -> int:
    """The header line of a pinned item; its server's if `kind` is None or there is no such item, else 1."""
    places, path = _places(text), ["servers", name_key(server)]
    item = places.get(dotted([*path, kind.value, name_key(name)])) if kind else None
    return item or _at_or_below(places, path) or 1


def line_at(text: str, path: Sequence[str]) -> int:
    """The line of the deepest key or table on `path` that the text names, or 1."""
    places = _places(text)
    lines = (_at_or_below(places, path[:depth]) for depth in range(len(path), 0, -1))
    return next(filter(None, lines), 1)


def _at_or_below(places: dict[str, int], path: Sequence[str]) -> int | None:
    place = dotted(path)  # a table that holds only tables has no header of its own
    return places.get(place) or next((line for key, line in places.items() if key.startswith(f"{place}.")), None)


@lru_cache(maxsize=1)  # many items are looked for in one text
def _places(text: str) -> dict[str, int]:
    """Dotted path to line, for every table and every plain value of it."""
    places: dict[str, int] = {}
    table = ""
    for number, line in _outside_strings(text):
        if line.startswith("["):
            table = line.strip("[]")
            places.setdefault(table, number)
        elif not line.startswith(" ") and " = " in line:
            name = line.partition(" = ")[0]
            places.setdefault(f"{table}.{name}" if table else name, number)
    return places


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    # inside a string every quote is escaped, so three in a row always begin or end a multi-line string
    number = 1
    for at, part in enumerate(text.split('"""')):
        if at % 2 == 0:
            yield from enumerate((line.rstrip("\r") for line in part.split("\n")), number)
        number += part.count("\n")


def conflict_at(text: str, line: int) -> int | None:
    """The line where the merge conflict begins that left a marker on `line`, or None if there is no marker."""
    lines = text.split("\n")[:line]
    if not lines or not _MARKER.match(lines[-1].rstrip("\r")):
        return None
    starts = (number for number in range(line, 0, -1) if lines[number - 1].startswith("<<<<<<<"))
    return next(starts, line)


def conflict_below(text: str, path: Sequence[str]) -> int | None:
    """The first line of a whole merge conflict inside the strings of the table at `path`, or None."""
    start = line_at(text, path)
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n")[start:], start + 1):
        if line.startswith("[") and not line.lstrip("[").startswith(f"{dotted(path)}."):
            break
        if marker := _MARKER.match(line.rstrip("\r")):
            found.append((number, marker[1][0]))
    return found[0][0] if {"<", "=", ">"} <= {kind for _, kind in found} else None
