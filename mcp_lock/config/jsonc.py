"""JSON as client configs are written: with comments and trailing commas, and nothing else beyond RFC 8259.

Keeps the place of every key, and every repeated key, which `json` would drop in silence. Comments are what VS Code's
JSONC takes: `// …` and `/* … */`. Strings and numbers are decoded by `json`, so that JSON proper stays strict.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any, NoReturn

from mcp_lock.config.document import Document, MalformedError, Path, Place, Repeat
from mcp_lock.text import visible

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*[\s\S]*?\*/)*+")
_STRING = re.compile(r'"(?:[^"\\]|\\[\s\S])*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"\w+")
_WORDS = {"true": True, "false": False, "null": None}
_NEWLINE = re.compile(r"\r\n|\n|\r")

MAX_DEPTH = 100
"""Levels of nesting; a config has less than ten."""

_BACKSLASH = "a backslash begins an escape: paths need doubled backslashes, as in C:\\\\Users"


def parse(text: str) -> Document:
    """The document that `text` spells. Raises `MalformedError`, which holds the place."""
    return _Parser(text).document()


class _Parser:
    """One pass over a text, from `at` to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.starts = [0, *(newline.end() for newline in _NEWLINE.finditer(text))]
        self.places: dict[Path, Place] = {}
        self.repeats: list[Repeat] = []

    def document(self) -> Document:
        value = self._value(())
        if self._next():
            advice = ": put { and } around it all" if isinstance(value, str) else ""
            self._fail(f"there is text after the end of the value{advice}")
        return Document(value, self.places, tuple(self.repeats))

    def _place(self, at: int) -> Place:
        line = bisect_right(self.starts, at)
        return Place(line, at - self.starts[line - 1] + 1)

    def _fail(self, why: str, at: int | None = None) -> NoReturn:
        raise MalformedError(why, self._place(self.at if at is None else at))

    def _next(self) -> str:
        """The next character that counts, which `at` then stands at; empty at the end."""
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        if self.text.startswith("/*", self.at):
            self._fail("the comment is not closed")
        return self.text[self.at : self.at + 1]

    def _take(self, char: str) -> bool:
        if self._next() != char:
            return False
        self.at += 1
        return True

    def _value(self, path: Path) -> Any:
        if len(path) > MAX_DEPTH:
            self._fail(f"nested over {MAX_DEPTH} levels deep")
        match self._next():
            case "{":
                return self._object(path)
            case "[":
                return self._array(path)
            case '"':
                return self._string()
            case _:
                return self._scalar()

    def _object(self, path: Path) -> dict[str, Any]:
        opened, value = self.at, dict[str, Any]()
        self.at += 1
        while not self._take("}"):
            if self._next() != '"':
                self._expected("a key in double quotes, or }", opened)
            place = self._place(self.at)
            key = self._string()
            self._note((*path, key), place)
            if not self._take(":"):
                self._expected("a colon after the key", opened)
            value[key] = self._value((*path, key))
            if not self._take(",") and self._next() != "}":
                self._expected("a comma or }", opened)
        return value

    def _note(self, path: Path, place: Place) -> None:
        first = self.places.setdefault(path, place)
        if first is not place:
            self.repeats.append(Repeat(path[:-1], str(path[-1]), first, place))

    def _array(self, path: Path) -> list[Any]:
        opened, items = self.at, list[Any]()
        self.at += 1
        while not self._take("]"):
            self._next()
            here = (*path, len(items))
            self.places[here] = self._place(self.at)
            items.append(self._value(here))
            if not self._take(",") and self._next() != "]":
                self._expected("a comma or ]", opened)
        return items

    def _string(self) -> str:
        quoted = _STRING.match(self.text, self.at)
        if not quoted:
            self._fail("the string is not closed")
        try:
            value = str(json.loads(quoted[0]))
        except json.JSONDecodeError as error:
            at = error.pos - (quoted[0][error.pos - 1] == "\\")  # a faulty \\u is placed behind its backslash
            self._fail(_string_fault(quoted[0], at), self.at + at)
        if any("\ud800" <= char <= "\udfff" for char in value):
            self._fail("the string holds one half of a surrogate pair")
        self.at = quoted.end()
        return value

    def _scalar(self) -> Any:
        number = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if number and not _WORD.match(self.text, number.end()):
            self.at = number.end()
            return self._number(number[0])
        if word and word[0] in _WORDS:
            self.at = word.end()
            return _WORDS[word[0]]
        return self._expected("a value")

    def _number(self, text: str) -> int | float:
        try:
            value = json.loads(text)
        except ValueError:  # int() takes no more than some thousand digits
            value = float("inf")
        if not -1e308 < value < 1e308:
            self._fail("the number is out of range", self.at - len(text))
        return value  # type: ignore[no-any-return]  # _NUMBER leaves json no other choice

    def _expected(self, what: str, opened: int | None = None) -> NoReturn:
        found = self._next()
        if not found and opened is not None:
            self._fail(f"the file ends inside the {self.text[opened]} of line {self._place(opened).line}")
        self._fail(f"expected {what}, found {_named(found)}")


def _named(char: str) -> str:
    if char == "'":
        return "a single quote; strings take double quotes"
    return f"“{visible(char)}”" if char else "the end of the file"


def _string_fault(quoted: str, at: int) -> str:
    """Why `json` refuses a string at this offset."""
    if quoted[at] in "\r\n":
        return "the string is not closed on its line"
    if quoted[at] < " ":
        return f"the string holds a control character: write {json.dumps(quoted[at])[1:-1]}"
    return _BACKSLASH
