"""Markdown that no text of a server gets out of: the one place where it is escaped.

Such text stands in `<code>` or in a fence, and nowhere else. Two kinds of machines read a comment. Those that read the
source (Markdown itself, autolinks, tables, mathematics) find character references where a mark could begin. Those that
read the page made of it (mentions, issue and commit numbers, emoji codes, a forge's own references) leave code alone,
however it was written. Nothing is taken out and no character is put in: the page shows the text as it is.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from mcp_lock.report.screen import ascii_only
from mcp_lock.text import clip, harmless, visible, visible_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_lock.report import Options
    from mcp_lock.report.screen import Span

LONGEST = 200
"""Characters of a name that are shown."""

# What is ordinary inside words and sentences stays as it is, for whoever reads the source: `_` between letters, `:` and
# `.` before a space. All else by which a mark, an address, a table cell or a line of its own begins is a reference.
_MARKS = re.compile(
    r"[&<>\\`*~\[\]|@#$]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    r"|:(?=\S)"
    r"|\.(?=\S)|(?<=[wW])\."
)


_REFERENCES = {"@": "<wbr>&#64;"}
"""GitHub's renderer looks for addresses of mail in the text of the page, where references are characters again; a tag
before the sign leaves it without a name to begin with."""
_BREAK = "&#10;<br>"
"""A line break inside code: GitHub shows line breaks there and hides `<br>`, others do it the other way round."""


def escaped(text: str) -> str:
    """`text` where Markdown or HTML is read, on one line of the source."""
    shown = visible(text.replace("\t", "    "), keep="\n")
    return _MARKS.sub(lambda found: _REFERENCES.get(found[0], f"&#{ord(found[0])};"), shown).replace("\n", _BREAK)


def code(text: str) -> str:
    """Text of a server, or of anybody, as code within a line."""
    return f"<code>{escaped(text)}</code>"


_TAGS = {"old": ("<del>", "</del>"), "new": ("<ins>", "</ins>")}


def dressed(spans: Iterable[Span]) -> str:
    """Spans as code within a line, what is on one side alone struck out or underlined."""
    return f"<code>{''.join(escaped(text).join(tags) for tags, text in _runs(spans))}</code>"


def _runs(spans: Iterable[Span]) -> Iterator[tuple[tuple[str, str], str]]:
    """The texts of `spans` with their tags, neighbours of one tag as one: a mark may lie across two spans."""
    for tags, together in groupby(spans, key=lambda span: _TAGS.get(span.role.partition(" ")[0], ("", ""))):
        yield tags, "".join(span.text for span in together)


def fitted(spans: Sequence[Span], most: int, options: Options) -> str:
    """`dressed` in at most about `most` bytes: text in the middle is left out, and counted."""
    total = sum(len(span.text) for span in spans)
    kept, text = total, dressed(spans) if total <= most else ""
    while not text or size(text, options) > most:
        kept = min(most, kept // 2)
        if kept < 8:
            return f"(<b>{total} characters</b> that are too long to show here)"
        head, tail = _first(spans, kept * 2 // 3), _first(spans[::-1], kept - kept * 2 // 3, backwards=True)[::-1]
        text = f"{dressed(head)} <b>… {total - kept} more characters …</b> {dressed(tail)}"
    return text


def _first(spans: Iterable[Span], most: int, *, backwards: bool = False) -> list[Span]:
    """The first `most` characters of `spans`; of spans that come last first, the last ones."""
    found = []
    for span in spans:
        if most <= 0:
            break
        found.append(span._replace(text=span.text[-most:] if backwards else span.text[:most]))
        most -= len(span.text)
    return found


def size(text: str, options: Options) -> int:
    """How many bytes `text` takes in the end, which is never less than its characters."""
    return len(text.encode()) if options.unicode else len(ascii_only(text))


def some(pieces: Iterable[str], total: int, most: int, options: Options) -> list[str]:
    """As many of `total` pieces, from the first, as fit into `most` bytes, and how many more there are."""
    kept: list[str] = []
    for piece in pieces:
        most -= size(piece, options)
        if most < 0:
            break
        kept.append(piece)
    return kept + [f"… {total - len(kept)} more"] * (len(kept) < total)


def fence(lines: Iterable[str], language: str) -> str:
    """Lines as they are, as code of their own, to be copied."""
    inside = [harmless(visible(line)) for line in lines]
    longest = max((len(found) for line in inside for found in re.findall("`+", line)), default=0)
    mark = "`" * max(3, longest + 1)
    return "\n".join([f"{mark}{language}", *inside, mark])


_QUOTED = re.compile(r"`([^`]*)`|(\{name\}|\{to\})")


def sentence(words: str, name: str = "", to: str = "") -> str:
    """Words of mcplock's own, what they quote as code; `{name}` and `{to}` stand for names that a server gave."""
    names = {"{name}": visible_name(clip(name, LONGEST)), "{to}": visible_name(clip(to, LONGEST))}
    parts = _QUOTED.split(words)
    plain, quoted = parts[::3], [a or b or "" for a, b in zip(parts[1::3], parts[2::3], strict=True)]
    said = [code(re.sub(r"\{name\}|\{to\}", lambda found: names[found[0]], one)) for one in quoted]
    return "".join(escaped(text) + after for text, after in zip(plain, [*said, ""], strict=True))
