"""What differs between two texts, word by word, and as much of it as a reader needs to see.

Plain pieces, no colour and no markup: each format dresses them. Nothing is escaped here.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Kind(Enum):
    """What a piece of a difference is."""

    SAME = "same"
    OLD = "old"
    """In the old text alone."""
    NEW = "new"
    """In the new text alone."""
    GAP = "gap"
    """Stands for text left out that is in both; the piece itself is empty."""


class Piece(NamedTuple):
    """One run of a difference."""

    kind: Kind
    text: str


# A letter of Chinese, Japanese or Korean is a word of its own: those scripts do not put spaces between words.
_UNSPACED = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\w|[\u0300-\u036f])+|[^\S\n]+|\n|.", re.DOTALL)
_SENTENCE = re.compile(r".*?(?:[.!?](?=\s)\s*|[。！？]\s*|\n\s*|\Z)", re.DOTALL)  # noqa: RUF001 - full-width ends of sentences
_LAYOUT = re.compile("[ \\t\\r\\n\\f\\v\u00a0\u2000-\u200a\u202f\u3000]+")
_MOST = 1500
"""Sentences, or words of a passage, on both sides together, up to which they are compared: that is quadratic."""
_MOST_LETTERS = 100_000
"""Of both texts together, up to which words are compared; in longer ones sentences alone."""


def difference(old: str, new: str) -> list[Piece]:
    """The pieces that turn `old` into `new`: SAME and OLD together are `old`, SAME and NEW together are `new`."""
    return _joined(_cleaned(list(_joined(_compared(old, new)))))


def _compared(old: str, new: str) -> Iterator[Piece]:
    """Sentences first, then the words of the sentences that differ: so a long text costs little."""
    small = len(old) + len(new) <= _MOST_LETTERS
    for was, now in _blocks(_SENTENCE.findall(old), _SENTENCE.findall(new)):
        if small and was != now:
            for pair in _blocks(_TOKEN.findall("".join(was)), _TOKEN.findall("".join(now))):
                yield from _pieces(*pair)
        else:
            yield from _pieces(was, now)


def _pieces(old: list[str], new: list[str]) -> Iterator[Piece]:
    if old == new:
        yield Piece(Kind.SAME, "".join(old))
    else:
        yield Piece(Kind.OLD, "".join(old))
        yield Piece(Kind.NEW, "".join(new))


def _blocks(a: list[str], b: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """`a` and `b` in step, cut into runs that are equal and runs that are not."""
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    yield a[:head], b[:head]
    inner_a, inner_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if len(inner_a) + len(inner_b) > _MOST:
        yield inner_a, inner_b
    else:
        for _, i, j, k, m in SequenceMatcher(None, inner_a, inner_b).get_opcodes():
            yield inner_a[i:j], inner_b[k:m]
    yield a[len(a) - tail :], b[len(b) - tail :]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The same difference with one OLD and one NEW between two SAMEs, and no empty piece."""
    result: list[Piece] = []
    old = new = ""
    for kind, text in (*pieces, Piece(Kind.GAP, "")):
        if kind is Kind.OLD:
            old += text
        elif kind is Kind.NEW:
            new += text
        elif text or kind is Kind.GAP:
            if not (old or new) and result:
                result[-1] = Piece(Kind.SAME, result[-1].text + text)
            else:
                result += [Piece(Kind.OLD, old), Piece(Kind.NEW, new), Piece(kind, text)]
            old = new = ""
    return [piece for piece in result if piece.text]


def _cleaned(pieces: list[Piece]) -> list[Piece]:
    """Without SAMEs that are shorter than what changes on both sides: a rewritten sentence reads better whole."""
    at = 1
    while at < len(pieces) - 1:
        same = pieces[at]
        if same.kind is Kind.SAME and len(same.text.strip()) < min(_weight(pieces, at, -1), _weight(pieces, at, 1)):
            spelt = [Piece(Kind.OLD, same.text), Piece(Kind.NEW, same.text)]
            pieces = _joined([*pieces[:at], *spelt, *pieces[at + 1 :]])
            at = 0
        at += 1
    return pieces


def _weight(pieces: list[Piece], at: int, step: int) -> int:
    """How much changes right before (-1) or after (1) a SAME."""
    beside = (pieces[i] for i in (at + step, at + 2 * step) if 0 <= i < len(pieces))
    return max((len(piece.text) for piece in beside if piece.kind is not Kind.SAME), default=0)


def excerpt(pieces: Sequence[Piece], context: int = 60) -> list[Piece]:
    """`pieces` with long SAMEs cut to about `context` characters round each change, at the start of a sentence or word.

    What changes is never cut.
    """
    cut: list[Piece] = []
    for at, (kind, text) in enumerate(pieces):
        if kind is not Kind.SAME or len(text) <= 3 * context:
            cut.append(Piece(kind, text))
            continue
        if at > 0:
            cut.append(Piece(Kind.SAME, _head(text, context)))
        cut.append(Piece(Kind.GAP, ""))
        if at < len(pieces) - 1:
            cut.append(Piece(Kind.SAME, _tail(text, context)))
    return cut


def _tail(text: str, context: int) -> str:
    """The end of `text` that leads up to a change."""
    near = text[-2 * context :]
    starts = [found.end() for found in re.finditer(r"[.!?]\s+|\n\s*|[。！？]", near)]  # noqa: RUF001 - as above
    for start in reversed(starts):
        if len(near) - start >= context // 4:
            return near[start:]
    return text[-context:].partition(" ")[2] or text[-context:]


def _head(text: str, context: int) -> str:
    """The beginning of `text` that leads away from a change."""
    near = text[: 2 * context]
    end = next((found.end() for found in re.finditer(r"[.!?](?=\s)|(?=\n)|[。！？]", near)), 0)  # noqa: RUF001 - as above
    if end:
        return near[:end]
    return text[:context].rpartition(" ")[0] or text[:context]


def remark(old: str, new: str) -> str:
    """What to say instead of a difference that cannot be seen; empty if there is something to see."""
    if old != new and _LAYOUT.sub(" ", old).strip() == _LAYOUT.sub(" ", new).strip():
        return "whitespace only"
    if old != new and unicodedata.normalize("NFC", old) == unicodedata.normalize("NFC", new):
        return f"differs only in Unicode normalisation ({_form(old)} → {_form(new)})"
    return ""


def _form(text: str) -> str:
    return next((form for form in ("NFC", "NFD") if unicodedata.is_normalized(form, text)), "mixed")
