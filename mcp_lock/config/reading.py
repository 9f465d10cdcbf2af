"""One entry of a client config while it is read: its fields under every spelling, checked and expanded.

Collects what the reader learns on the way: notes, the values that were used, and what has no value. What the fields
mean together is the business of `entries`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_lock.config.expand import Expanded, Values, expand
from mcp_lock.config.spellings import NESTED, SPELLINGS
from mcp_lock.launch import MARKS
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mcp_lock.config.client import Client
    from mcp_lock.config.document import Document, Place
    from mcp_lock.config.given import Given
    from mcp_lock.config.shapes import RawEntry


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A config file that was found and parsed."""

    shown: str
    """As messages name it: relative to the project root where it lies below it."""
    client: Client
    known: bool
    """Whether it is where that client keeps its file."""
    document: Document
    owner: Path
    """The directory whose project it configures: servers are started there."""
    base: str
    """`owner` relative to the project root, with `/`; empty for the root."""
    beside: Path
    """The directory the file is in."""


LONGEST = 131_071
"""Characters of one string: the bytes that Linux hands to a program in one argument or variable (MAX_ARG_STRLEN)."""


class EntryError(Exception):
    """An entry that is wrong whatever the machine; `str()` says why and what to do, visible and without a value."""

    def __init__(self, why: str, place: Place) -> None:
        super().__init__(why)
        self.place = place


class Reading:
    """The entry `raw` of `file`."""

    def __init__(self, raw: RawEntry, file: ConfigFile, given: Given) -> None:
        self.raw, self.file, self.given = raw, file, given
        self.notes: list[str] = []
        self.missing: dict[str, list[str]] = {}
        self.used: dict[str, str] = {}
        self.values = Values(given.variables, file.owner, file.beside)
        self.fields = self._fields()

    def wrong(self, why: str, *path: str | int) -> EntryError:
        """The error that this entry is wrong at `path` within it."""
        return EntryError(why, self.file.document.place((*self.raw.path, *path)))

    def note(self, text: str) -> None:
        """Keep what a person should know."""
        if text not in self.notes:
            self.notes.append(text)

    def lacks(self, why: str, field: str) -> None:
        """Keep what has no value on this machine, and the field that needs it."""
        fields = self.missing.setdefault(why, [])
        if field not in fields:
            fields.append(field)

    def _fields(self) -> Mapping[str, Any]:
        """The members of the entry, those of a nested `transport` and its like among them."""
        value = self.raw.value
        if not isinstance(value, dict):
            raise self.wrong("must be an object: write { … }")
        if self.raw.repeats:
            raise EntryError(one_line(str(self.raw.repeats[0])), self.raw.repeats[0].second)
        if self.raw.unnamed:
            raise self.wrong("has no name: write one beside its command or url")
        inner = {name: value[name] for name in self.file.client.nested if isinstance(value.get(name), dict)}
        fields = {
            NESTED[name].get(member, member): held
            for name, members in inner.items()
            for member, held in members.items()
        }
        return {**fields, **{name: held for name, held in value.items() if name not in inner}}

    def spelling(self, field: str) -> str:
        """How this entry spells `field`; empty when it does not have it. `null` is as good as absent."""
        return next((name for name in SPELLINGS[field] if self.fields.get(name) is not None), "")

    def get(self, field: str) -> Any:
        """The value of `field`, unchecked; None when it is not there."""
        return self.fields.get(self.spelling(field))

    def string(self, field: str) -> str:
        """The value of `field`, unexpanded; empty when it is not there."""
        value = self.get(field)
        if not isinstance(value, str | None):
            raise self.wrong(f"{self.spelling(field)} must be a string: write it in quotes", self.spelling(field))
        return self._sound(value or "", self.spelling(field))

    def strings(self, field: str) -> list[str]:
        """The value of `field`, a list, unexpanded; a number in it counts as its text, and that is noted."""
        name, value = self.spelling(field), self.get(field)
        if isinstance(value, str):
            raise self.wrong(f'{name} is one string: write a list, ["first", "second"]', name)
        if not isinstance(value, list | None):
            raise self.wrong(f'{name} must be a list of strings: write ["first", "second"]', name)
        return [self._sound(self._scalar(item, name, at), name, at) for at, item in enumerate(value or [])]

    def pairs(self, field: str) -> dict[str, str]:
        """The value of `field`, an object of strings, unexpanded; members that are `null` are left out."""
        name, value = self.spelling(field), self.get(field)
        if not isinstance(value, dict | None):
            raise self.wrong(f'{name} must be an object of strings: write {{"NAME": "value"}}', name)
        members = {key: member for key, member in (value or {}).items() if member is not None}
        return {key: self._sound(self._scalar(member, name, key), name, key) for key, member in members.items()}

    def _scalar(self, value: Any, field: str, member: str | int) -> str:
        if isinstance(value, str):
            return value
        label = _label(field, member)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(f"{label} must be a string: write it in quotes", field, member)
        self.note(f"{label} is a number, read as its text")
        return str(value)

    def _sound(self, text: str, field: str, *member: str | int) -> str:
        label = _label(field, *member)
        if "\0" in text:
            raise self.wrong(f"{label} holds a NUL character", field, *member)
        if MARKS & set(text):
            raise self.wrong(f"{label} holds a character that is not assigned: take it out", field, *member)
        if len(text) > LONGEST:
            raise self.wrong(f"{label} has over {LONGEST} characters, which no program can be given", field, *member)
        return text

    def expanded(self, text: str, field: str, *, needed: bool = True) -> Expanded:
        """`text` in the dialect of the file; `field` is what messages call it."""
        result = expand(text, self.file.client.dialect, self.values)
        self.used |= result.used
        for why in result.missing if needed else ():
            self.lacks(one_line(why, 120), field)
        for kind in result.literal:
            reader = self.file.client.title if self.file.known else "mcplock"
            runs = "which nobody runs" if kind == "$(…)" else f"which {reader} does not expand here"
            self.note(f"{field} holds {kind}, {runs}: passed as it is")
        return result

    def given_variable(self, name: str, field: str, *, needed: bool = True) -> str:
        """The value of a variable that the entry names without a dialect; empty when it has none."""
        value = self.values.variables.get(name, "")
        if value:
            self.used[name] = value
        elif needed:
            self.lacks(f"variable {one_line(name, 80)} is not set", field)
        return value

    def all_expanded(self, texts: Mapping[str, str], field: str) -> dict[str, Expanded]:
        """Every value of an object expanded."""
        return {name: self.expanded(text, _label(field, name)) for name, text in texts.items()}

    def words(self, texts: Sequence[str]) -> list[Expanded]:
        """A command and its arguments expanded."""
        labels = ("command", *(f"args[{at}]" for at in range(len(texts) - 1)))
        return [self.expanded(text, label) for text, label in zip(texts, labels, strict=True)]


def _label(field: str, *member: str | int) -> str:
    """A field as messages call it: `args[0]`, `env.NAME`."""
    return field + "".join(f"[{key}]" if isinstance(key, int) else f".{one_line(key, 60)}" for key in member)
