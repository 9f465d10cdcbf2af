r"""Regular expressions of JSON Schema (ECMA-262, `u` flag) as trees; nothing here matches anything.

So no expression of a server can make it slow: reading takes one pass, and what is not understood is said to be so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Code points, as ordered ranges that include both ends."""

LAST = 0x10FFFF
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of some."""

    ranges: Ranges
    is_exact: bool = True
    """False where the ranges are only some of those that are meant (`\\p{…}`)."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after another."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part, again and again."""

    part: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Anchor:
    """The begin or the end of the text."""

    sign: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """What a tree cannot say: a look-around, a back reference, a word boundary."""


Node: TypeAlias = Chars | Sequence | Choice | Repeat | Anchor | Unclear


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ordered ranges of all that is in any."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """All that is in none."""
    found, low = [], 0
    for first, last in ranges:
        if first > low:
            found.append((low, first - 1))
        low = last + 1
    return (*found, (low, LAST)) if low <= LAST else tuple(found)


def _of(*texts: str) -> Ranges:
    """The ranges that `az` or a single character spell."""
    return union((ord(text[0]), ord(text[-1])) for text in texts)


DIGIT = _of("09")
_WORD = _of("az", "AZ", "09", "_")
_SPACE = _of("\t\r", " ", "\xa0", "\u1680", "\u2000\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff")
ANY = complement(_of("\n", "\r", "\u2028\u2029"))
_CLASSES = {
    "d": DIGIT,
    "w": _WORD,
    "s": _SPACE,
    "D": complement(DIGIT),
    "W": complement(_WORD),
    "S": complement(_SPACE),
}
_PROPERTIES = {"L": ("az", "AZ", "é"), "Lu": ("AZ", "É"), "Ll": ("az", "é"), "N": ("09",), "Nd": ("09",)}
"""Some members of what `\\p{…}` names; any other name gets a few letters."""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@lru_cache(maxsize=256)
def read(pattern: str) -> Node | None:
    """The tree of an expression, or None where it is not understood."""
    reader = _Reader(pattern)
    try:
        tree = reader.choice()
    except (_Unread, RecursionError):
        return None
    return tree if reader.at == len(pattern) else None


class _Unread(Exception):
    """An expression that is not understood."""


class _Reader:
    """A recursive descent over one expression."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.depth = pattern, 0, 0

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise _Unread
        self.at += 1
        return char

    def accept(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def until(self, end: str) -> str:
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            raise _Unread
        text, self.at = self.pattern[self.at : stop], stop + len(end)
        return text

    def choice(self) -> Node:
        branches = [self.sequence()]
        while self.accept("|"):
            branches.append(self.sequence())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def sequence(self) -> Node:
        parts = []
        while self.peek() and self.peek() not in "|)":
            parts.append(self.repeated(self.atom()))
        return Sequence(tuple(parts))

    def repeated(self, part: Node) -> Node:
        times = _QUANTIFIERS.get(self.peek())
        if times:
            self.at += 1
        elif self.peek() == "{":
            times = self.counted()
        if not times:
            return part
        self.accept("?")
        return Repeat(part, *times)

    def counted(self) -> tuple[int, int | None] | None:
        body, end, _ = self.pattern[self.at + 1 :].partition("}")
        least, comma, most = body.partition(",")
        if not (end and least.isdecimal() and (most == "" or most.isdecimal())) or len(body) > 12:
            return None  # a brace that counts nothing is a brace
        self.at += len(body) + 2
        return int(least), (int(most) if most else None if comma else int(least))

    def atom(self) -> Node:
        char = self.take()
        made = _ATOMS.get(char)
        return made(self) if made else Chars(_of(char))

    def group(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Unread
        is_look = any(self.accept(mark) for mark in ("?=", "?!", "?<=", "?<!"))
        if not is_look and not self.accept("?:") and self.accept("?"):
            self.accept("P")
            if not self.accept("<"):
                raise _Unread
            self.until(">")
        tree = self.choice()
        if not self.accept(")"):
            raise _Unread
        self.depth -= 1
        return Unclear() if is_look else tree

    def escape(self) -> Node:
        char = self.peek()
        if char in ("b", "B") or (char.isdecimal() and char != "0"):
            self.at += 1
            return Unclear()
        if self.accept("k<"):
            self.until(">")
            return Unclear()
        return self.escaped()

    def escaped(self) -> Chars:
        """What an escape stands for, in a class as outside."""
        char = self.take()
        if char in "pP":
            name = self.until("}").lstrip("{").split("=")[-1]
            return Chars(_of(*_PROPERTIES.get(name, ("az",))) if char == "p" else _of("-"), is_exact=False)
        if char in "xu":
            return Chars(_of(self.code_point(char)))
        if char == "c":
            return Chars(_of(chr(ord(self.take()) % 32)))
        return Chars(_CLASSES.get(char) or _of(_ESCAPES.get(char, char)))

    def code_point(self, char: str) -> str:
        digits = self.until("}")[1:] if char == "u" and self.peek() == "{" else ""
        if not digits:
            size = 2 if char == "x" else 4
            digits, self.at = self.pattern[self.at : self.at + size], self.at + size
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise _Unread from None

    def bracket(self) -> Node:
        is_negated = self.accept("^")
        members: list[Chars] = []
        while not self.accept("]"):
            members.append(self.member())
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", "") and _is_one(members[-1]):
                self.at += 1
                members[-1:] = _spanned(members[-1], self.member())
        ranges = union(pair for member in members for pair in member.ranges)
        is_exact = all(member.is_exact for member in members)
        return Chars(complement(ranges) if is_negated else ranges, is_exact)

    def member(self) -> Chars:
        if self.accept("\\b"):
            return Chars(_of("\b"))
        return self.escaped() if self.accept("\\") else Chars(_of(self.take()))


def _is_one(chars: Chars) -> bool:
    return len(chars.ranges) == 1 and chars.ranges[0][0] == chars.ranges[0][1]


def _spanned(first: Chars, last: Chars) -> list[Chars]:
    if not _is_one(last):
        return [first, Chars(_of("-")), last]
    return [Chars(((first.ranges[0][0], last.ranges[0][1]),))]


_ATOMS: dict[str, Callable[[_Reader], Node]] = {
    "(": _Reader.group,
    "[": _Reader.bracket,
    "\\": _Reader.escape,
    ".": lambda _: Chars(ANY),
    "^": lambda _: Anchor("^"),
    "$": lambda _: Anchor("$"),
}
