"""Hostile text made visible: the one place through which text of servers reaches a terminal, a log or a message.

It escapes, it never strips: a reader must see that something is there. Markup of a format (Markdown, workflow
commands, rich) is the format's own business and comes after this.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_EMOJI_STYLE = "\ufe0f"
_TAGS = range(0xE0020, 0xE007F)


_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159")
"""Letters, marks and symbols by category that leave nothing on the page (Default_Ignorable_Code_Point and blanks)."""


def is_hidden(char: str) -> bool:
    """Whether a reader cannot see this character: controls, formats, tags, variation selectors, private use."""
    if unicodedata.category(char) in _HIDDEN or char in _BLANK:
        return True
    return 0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF


def _shown(char: str, before: str, keep: str) -> str:
    if char in keep or not is_hidden(char):
        return char
    if char == _EMOJI_STYLE and unicodedata.category(before or " ") in ("So", "Sk", "Sm", "Po", "Nd"):
        return char  # ordinary typography after an emoji base
    return f"\\u{{{ord(char):x}}}"


_JOINERS = "\u200c\u200d"
_JOINED = (
    "ARABIC",
    "DEVANAGARI",
    "BENGALI",
    "GUJARATI",
    "GURMUKHI",
    "KANNADA",
    "MALAYALAM",
    "ORIYA",
    "SINHALA",
    "TAMIL",
    "TELUGU",
)
"""Scripts in which joiners are letters of ordinary words, as first words of Unicode names."""


_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
"""The flags of England, Scotland and Wales: the only emoji that are spelt with tag characters (UTS 51, RGI)."""
_FLAG_LENGTH = 7
"""Characters of each of them."""


def hidden_in(text: str) -> list[str]:
    """The characters of `text` that a reader cannot see and that ordinary typography does not explain, in order.

    Explained are line breaks and tabs, the emoji style, joiners inside emoji or in scripts that need them, and the tags
    of a flag.
    """
    if text.isascii() and text.isprintable():
        return []
    return [char for at, char in enumerate(text) if is_hidden(char) and not _is_ordinary(text, at)]


def _is_ordinary(text: str, at: int) -> bool:
    char, before = text[at], text[at - 1 : at]
    if char in "\n\r\t":
        return True
    if char in _JOINERS:
        return (
            unicodedata.category(before or " ") in ("So", "Sk")
            or unicodedata.name(before or " ", "").startswith(_JOINED)
            or before == _EMOJI_STYLE
        )
    if 0xE0020 <= ord(char) <= 0xE007F:
        return any(_FLAG.match(text, max(at - back, 0)) for back in range(1, _FLAG_LENGTH))
    return char == _EMOJI_STYLE and _shown(char, before, "") == char


def visible(text: str, keep: str = "") -> str:
    r"""`text` with every character that a reader could not see spelt `\u{hex}`, but those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char, text[at - 1 : at], keep) for at, char in enumerate(text))


_WORD = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])+")
_SCRIPTS = frozenset(
    {"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "FULLWIDTH", "GREEK", "LATIN", "LISU", "MATHEMATICAL"}
)
"""The scripts with letters that pass for those of another, as the first word of a letter's Unicode name."""

_ODD_SPACES = frozenset("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f")
_UNLIKE = frozenset("ΓΔΘΛΞΠΣΦΨΩαβγδεζηθλμξπσςφψω")
"""Greek letters that nobody takes for Latin ones: `Δt` and `μs` are ordinary."""


def _script(letter: str) -> str:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return first if first in _SCRIPTS else ""


def _odd_in(word: str) -> set[str]:
    """The letters of `word` that are of another script than most of it, and what NFC would replace."""
    scripts = Counter(filter(None, map(_script, word)))
    home = max(scripts, key=lambda script: (scripts[script], script == "LATIN"), default="")
    strays = {letter for letter in word if _script(letter) not in ("", home)} - _UNLIKE
    if unicodedata.is_normalized("NFC", word):
        return strays
    loose = {char for char in word if unicodedata.combining(char) or unicodedata.normalize("NFC", char) != char}
    return strays | (loose or set(word))


def scripts_in(name: str) -> list[str]:
    """The scripts that one word of `name` mixes, such as `["Cyrillic", "Latin"]`; none if no word does."""
    for word in _WORD.findall(name):
        scripts = sorted({_script(letter) for letter in word} - {""})
        if len(scripts) > 1:
            return [script.capitalize() for script in scripts]
    return []


def odd_letters(text: str) -> str:
    r"""`text` with the letters spelt `\u{hex}` that make one word look like another: `r\u{435}ad_file`.

    Odd is a letter of another script than most of its word (Cyrillic in a Latin word, or the other way round), and in a
    word that is not composed (NFC) whatever composing would replace. A word all in one script stays as it is.
    """
    if text.isascii():
        return text
    return _WORD.sub(lambda found: _spelt(found[0], _odd_in(found[0])), text)


def _spelt(word: str, odd: AbstractSet[str]) -> str:
    return "".join(f"\\u{{{ord(char):x}}}" if char in odd else char for char in word)


def visible_name(name: str) -> str:
    """A name fit to be compared by eye: `visible`, and `odd_letters` and odd spaces spelt out."""
    return odd_letters(_spelt(visible(name), _ODD_SPACES))


def hidden_message(text: str) -> str:
    """What the invisible Unicode tag characters in `text` spell, flags aside, or an empty string."""
    return "".join(chr(ord(char) - 0xE0000) for char in _FLAG.sub("", text) if ord(char) in _TAGS)


_COMMAND = re.compile(r"#(?=#\w*\[)|^(?P<before>(?:\s|\x1b\[[\d;]*m)*):(?=(?:\x1b\[[\d;]*m)*:)")


def harmless(line: str) -> str:
    """A line with what a build server would obey spelt out: workflow commands, which may come from anybody's text."""
    return _COMMAND.sub(lambda found: f"{found['before'] or ''}\\u{{{ord(found[0][-1]):x}}}", line)


def clip(text: str, limit: int) -> str:
    """`text` cut in the middle to at most `limit` characters, saying how many are left out."""
    if len(text) <= limit:
        return text
    mark = f" … {len(text) - limit} more … "
    head = (limit - len(mark)) * 2 // 3
    return text[: max(head, 0)] + mark + text[len(text) - max(limit - len(mark) - head, 0) :]


def one_line(text: str, limit: int = 200) -> str:
    """`text` on one line, visible and clipped: for messages and logs."""
    return clip(visible(" ".join(text.split())), limit)
