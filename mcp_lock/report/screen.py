"""Rows of text fitted to a width and painted: the only module that knows rich.

Of rich it takes the widths of characters and the spelling of colours. No text ever reaches rich's markup, emoji codes,
links or highlighters, since none of them is loaded. Server text comes in through `said`, which makes it harmless.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len  # noqa: TID253 - this module is imported only when something is drawn

from mcp_lock.text import harmless, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Span(NamedTuple):
    """A run of text in one role."""

    text: str
    role: str = ""
    solid: bool = False
    """Never broken and never cut: names, digests, commands."""


@dataclass(frozen=True, slots=True)
class Row:
    """One paragraph."""

    spans: tuple[Span, ...]
    indent: int = 0
    hang: int | None = None
    """The indent of every line but the first; None for the same as `indent`."""
    right: tuple[Span, ...] = ()
    """Flush right on the last line, or on a line of its own where there is no room."""


ROLES = {
    "": "",
    "name": "bold",
    "dim": "dim",
    "gone": "red",
    "come": "green",
    "old": "red strike",
    "new": "green",
    "old blank": "reverse red",
    "new blank": "reverse green",
    "hidden": "bold reverse magenta",
    "old hidden": "bold reverse magenta",
    "new hidden": "bold reverse magenta",
    "command": "cyan",
    "error": "bold red",
    "good": "green",
    "immaterial": "dim",
    "cosmetic": "dim",
    "compatible": "green",
    "silent": "yellow",
    "unproven": "magenta",
    "breaking": "bold red",
    "security": "bold reverse red",
}
"""What each role looks like, in rich's words for styles. Every role must be readable without it."""

_ESCAPED = re.compile(r"(\\u\{[0-9a-f]+\})")


def said(text: str, role: str = "", solid: bool = False) -> tuple[Span, ...]:
    """Text of a server as spans: what cannot be seen is spelt out and marked; line breaks stay, tabs become spaces."""
    shown = visible(text.replace("\t", "    "), keep="\n")
    if shown == text:
        return (Span(shown, role, solid),)
    parts = _ESCAPED.split(shown)
    hidden = f"{role} hidden" if role in ("old", "new") else "hidden"
    return tuple(Span(part, hidden if at % 2 else role, solid) for at, part in enumerate(parts) if part)


def draw(rows: Iterable[Row], width: int, colour: bool, unicode: bool) -> str:
    """`rows` as text, a newline after each line."""
    lines = (line for row in rows for line in _lines(row if unicode else _ascii(row), width))
    return "".join(harmless(_painted(line, colour)) + "\n" for line in lines)


_PLAIN = str.maketrans({"→": "->", "…": "...", "—": "--", "·": "-", "“": '"', "”": '"', "‘": "'", "’": "'"})  # noqa: RUF001 - the signs that have a spelling in ASCII


def _ascii(row: Row) -> Row:
    """The same row for an output that holds ASCII alone."""

    def spelt(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(span._replace(text=ascii_only(span.text)) for span in spans)

    return Row(spelt(row.spans), row.indent, row.hang, spelt(row.right))


def ascii_only(text: str) -> str:
    r"""`text` in ASCII: our own signs by what they stand for, every other character as `\u{hex}`."""
    return _NOT_ASCII.sub(_code, text.translate(_PLAIN))


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def _code(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):x}}}"


# A runner obeys `::name::` at the start of a line after any white space, and `##[name]` anywhere in a line
# (actions/runner, src/Runner.Common/ActionCommand.cs); Azure and TeamCity write `##vso[` and `##teamcity[`.
def _lines(row: Row, width: int) -> Iterator[list[Span]]:
    """The lines of a row, greedily filled; what is solid, and a word longer than a line, runs over the edge."""
    hang = row.indent if row.hang is None else row.hang
    line, used = _start(row.indent)
    for word in _words(row.spans):
        text = "".join(span.text for span in word)
        size = cell_len(text)
        if text == "\n" or (used + size > width and not text.isspace() and used > hang):
            yield _trimmed(line)
            line, used = _start(hang)
            if text == "\n":
                continue
        line += word
        used += size
    yield from _with_right(_trimmed(line), row.right, width)


def _start(indent: int) -> tuple[list[Span], int]:
    return ([Span(" " * indent)] if indent else []), indent


def _with_right(line: list[Span], right: tuple[Span, ...], width: int) -> Iterator[list[Span]]:
    room = width - size(line) - size(right)
    if right and room >= 2:
        yield [*line, Span(" " * room), *right]
        return
    yield line
    if right:
        yield [Span(" " * max(width - size(right), 2)), *right]


def size(spans: Iterable[Span]) -> int:
    """How many columns `spans` take."""
    return sum(cell_len(span.text) for span in spans)


def _trimmed(line: list[Span]) -> list[Span]:
    """Without the spaces that a broken line would end in."""
    while line and not line[-1].solid and line[-1].text.isspace():
        line = line[:-1]
    return line


_PART = re.compile(r"\n| +|[^\n ]+")


def _words(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """What must stay on one line: words, though their parts differ in role; runs of spaces; line breaks."""
    word: list[Span] = []
    for text, role, solid in (span for span in spans if span.text):
        for part in [text] if solid else _parts(text):
            blank = not solid and part[0] in " \n"
            loose = not solid and (role.endswith("hidden") or _wide(part[0]))
            if word and (blank or loose or (not solid and _wide(word[-1].text[-1]))):
                yield word
                word = []
            if blank:
                yield [Span(part, role)]
            else:
                word.append(Span(part, role, solid))
    if word:
        yield word


def _parts(text: str) -> Iterator[str]:
    """`text` cut where a line may be broken: at spaces, and round every wide character."""
    for part in _PART.findall(text):
        if part.isascii():
            yield part
        else:
            yield from _runs(part)


def _runs(part: str) -> Iterator[str]:
    run = ""
    for char in part:
        if run and (_wide(char) or _wide(run[-1])):
            yield run
            run = ""
        run += char
    yield run


def _wide(char: str) -> bool:
    return char > "\u1100" and cell_len(char) == 2


@cache
def _ink(role: str) -> tuple[str, str]:
    """The control sequences that switch a role on and off."""
    from rich.color import ColorSystem
    from rich.style import Style

    before, _, after = Style.parse(ROLES[role]).render("\0", color_system=ColorSystem.STANDARD).partition("\0")
    return before, after


def _painted(line: list[Span], colour: bool) -> str:
    if not colour:
        return "".join(span.text for span in line)
    runs: list[Span] = []
    for span in line:
        if runs and runs[-1].role == span.role:
            runs[-1] = Span(runs[-1].text + span.text, span.role)
        else:
            runs.append(span)
    return "".join(span.text.join(_ink(span.role)) if ROLES[span.role] else span.text for span in runs)
