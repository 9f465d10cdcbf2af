"""How far two texts differ: in layout, in words, or in what they mean to a caller.

A text is the specification of most parameters, and many changes live in it alone: a default, a unit, an index. Words
that carry such facts weigh more than others. No model is asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

from mcp_lock.text import is_hidden

_UNITS = """
    ms millisecond s sec second minute min hour day week month year byte bit kb mb gb kib mib gib kilobyte
    megabyte gigabyte cent dollar usd eur pixel px pt percent percentage fraction ratio degree radian meter
    metre m km kilometer kilometre mile foot feet celsius fahrenheit kelvin token character char word line
    page item result row record utc local epoch unix iso iso8601 rfc3339 timezone base64 base64url hex utf8
    json yaml xml csv markdown html
"""
_MODALITY = """
    not no never none without unless except only must required optional always cannot exclude include
    inclusive exclusive zero one two based ascending descending asc desc before after older oldest newer
    newest deprecated ignored unused unlimited max min least most default index offset count number cursor
    absolute relative recursive overwrite append replace delete remove create read write permanent permanently
    irreversibly dry instead
"""
_OPPOSITES = """
    source destination start end first last enable disable public private lower upper width height latitude
    longitude sender recipient input output open closed allow deny id name username email path url file
    directory folder key value true false on off strip keep
"""
_ALIASES = {"maximum": "max", "minimum": "min", "including": "include", "excluding": "exclude", "milli": "ms"}


def _stem(word: str) -> str:
    word = _ALIASES.get(word, word)
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@cache
def _weighty() -> frozenset[str]:
    return frozenset(_stem(word) for word in f"{_UNITS} {_MODALITY} {_OPPOSITES}".split())


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).lower()
    return [_stem(word) for word in re.findall(r"[^\W_]+(?:\.\d+)?", plain)]


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", unicodedata.normalize("NFKC", text).casefold())


def tier(old: str, new: str) -> str:
    """`whitespace`, `reworded` or `meaning-changed`: the end of a rule's id.

    Layout and punctuation are forgiven, but not what they may carry: a number, an operator, the end of a sentence.
    """
    if _hidden(old) != _hidden(new):
        return "meaning-changed"  # a model reads what a reviewer cannot see
    left, right = _words(old), _words(new)
    if _signs(old) != _signs(new) or (left == right and _numbers(old) != _numbers(new)):
        return "meaning-changed"
    if _letters(old) == _letters(new) and _numbers(old) == _numbers(new):
        return "whitespace" if _sentences(old) == _sentences(new) else "reworded"
    moved = Counter(left)
    moved.subtract(right)
    changed = {word for word, count in moved.items() if count}
    if any(word in _weighty() or re.match(r"\d", word) for word in changed):
        return "meaning-changed"
    if _negations(old) != _negations(new) or (not changed and left != right):
        return "meaning-changed"  # the same words in another order: roles may have swapped
    return "reworded"


def _hidden(text: str) -> Counter[str]:
    return Counter(char for char in text if is_hidden(char) and char not in "\t\n\r\ufe0f")


_SIGN = re.compile(
    r"[<=$\u20ac\u00a3\u00a5%\u2265\u2264\u2260\u00b1^|~@&+/\\]|!(?==)|(?<!^)>|(?<![*\w])\*(?=[./])", re.MULTILINE
)
"""Operators, currencies and paths; not what Markdown uses for layout."""


def _signs(text: str) -> Counter[str]:
    return Counter(_SIGN.findall(text))


def _sentences(text: str) -> list[str]:
    """The marks that end a sentence or a clause in the middle of a text."""
    return re.findall(r"\w[\"')\]`*]*([.;:?!])(?=\s+\w)", text)


def _numbers(text: str) -> list[str]:
    return re.findall(r"[-+]?\d+(?:[.,:/]\d+)*", text)


def _negations(text: str) -> int:
    return len(re.findall(r"n['\u2019]t\b", text))
