"""YAML with the place of every key, and every repeated key, which loaders drop in silence.

PyYAML takes the text apart; what its parts mean is decided here, so that nothing is ever built but plain data: tags are
refused, aliases and depth are bounded. A plain word means what YAML 1.2 says, as in the clients: `yes` and `on` are
text. `<<` merges, as most of them do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import yaml
from yaml import events

from mcp_lock.config.document import Document, MalformedError, Path, Place, Repeat
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 100
"""As for JSON."""
MAX_CHARS = 1 << 19
"""PyYAML reads some ten thousand characters in a tenth of a second; a config has some thousands."""
MAX_VALUES = 100_000
"""Values that a document may hold once its aliases are followed."""

_TAG = "tag:yaml.org,2002:"
_PLAIN = (
    (re.compile(r"|~|null|Null|NULL"), lambda _: None),
    (re.compile(r"true|True|TRUE|false|False|FALSE"), lambda text: text.lower() == "true"),
    (re.compile(r"[-+]?[0-9]{1,300}"), int),
    (re.compile(r"0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}"), lambda text: int(text, 0)),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), float),
)
"""What a word without quotes means (YAML 1.2, section 10.3.2); anything else is text."""


def parse(text: str) -> Document:
    """The document that `text` spells. Raises `MalformedError`, which holds the place."""
    if len(text) > MAX_CHARS:
        raise MalformedError(f"over {MAX_CHARS >> 10} Ki characters, which is no client config", Place(1, 1))
    return _Parser(text).document()


@dataclass(frozen=True, slots=True)
class _Value:
    """A value, and what it weighs where an alias repeats it."""

    value: Any
    size: int
    height: int


class _Parser:
    """One pass over the events of a text."""

    def __init__(self, text: str) -> None:
        self.events = _events(text)
        self.places: dict[Path, Place] = {}
        self.repeats: list[Repeat] = []
        self.anchors: dict[str, _Value | None] = {}
        """None while what an anchor names is still being read."""
        self.values = 0

    def document(self) -> Document:
        value: Any = {}
        seen = False
        for event in self.events:
            if isinstance(event, events.DocumentStartEvent):
                if seen:
                    _fail("holds a second document: one file, one document", event)
                seen = True
                value = self._value(next(self.events), ()).value
        return Document({} if value is None else value, self.places, tuple(self.repeats))

    def _value(self, event: Any, path: Path) -> _Value:
        if len(path) > MAX_DEPTH:
            _fail(f"nested over {MAX_DEPTH} levels deep", event)
        if isinstance(event, events.AliasEvent):
            return self._alias(event, path)
        anchor = getattr(event, "anchor", None)
        if anchor:
            self.anchors[anchor] = None
        value = self._own(event, path)
        self._count(1, event)
        if anchor:
            self.anchors[anchor] = value
        return value

    def _own(self, event: Any, path: Path) -> _Value:
        if isinstance(event, events.ScalarEvent):
            return _Value(_scalar(event), 1, 0)
        if event.tag not in (None, "!", f"{_TAG}map", f"{_TAG}seq"):
            _fail("tags are not read: write the value itself", event)
        return self._mapping(path) if isinstance(event, events.MappingStartEvent) else self._sequence(path)

    def _count(self, number: int, event: Any) -> None:
        self.values += number
        if self.values > MAX_VALUES:
            _fail(f"holds over {MAX_VALUES} values, aliases followed", event)

    def _alias(self, event: Any, path: Path) -> _Value:
        """The value that an alias repeats; the places inside it stay those of the alias."""
        if event.anchor not in self.anchors:
            _fail(f"the alias {event.anchor} has no anchor above it", event)
        known = self.anchors[event.anchor]
        if known is None:
            _fail(f"the alias {event.anchor} stands inside what it repeats", event)
        if len(path) + known.height > MAX_DEPTH:
            _fail(f"nested over {MAX_DEPTH} levels deep", event)
        self._count(known.size, event)
        return known

    def _sequence(self, path: Path) -> _Value:
        items: list[_Value] = []
        while not isinstance(event := next(self.events), events.SequenceEndEvent):
            here = (*path, len(items))
            self.places[here] = _place(event)
            items.append(self._value(event, here))
        return _whole([item.value for item in items], items)

    def _mapping(self, path: Path) -> _Value:
        members: dict[str, _Value] = {}
        merged: dict[str, _Value] = {}
        while not isinstance(event := next(self.events), events.MappingEndEvent):
            if not isinstance(event, events.ScalarEvent) or event.tag not in (None, "!", f"{_TAG}str"):
                _fail("a key must be plain text", event)
            key = str(event.value)
            if key == "<<" and event.style is None:
                merged = {**self._merged(path), **merged}
                continue
            self._note((*path, key), _place(event))
            members[key] = self._value(next(self.events), (*path, key))
        whole = {**merged, **members}
        return _whole({key: member.value for key, member in whole.items()}, [*whole.values()])

    def _note(self, path: Path, place: Place) -> None:
        first = self.places.setdefault(path, place)
        if first is not place:
            self.repeats.append(Repeat(path[:-1], str(path[-1]), first, place))

    def _merged(self, path: Path) -> dict[str, _Value]:
        """The members that a merge key brings; of several mappings, the first one counts."""
        event = next(self.events)
        found = self._value(event, (*path, "<<"))
        sources = found.value if isinstance(found.value, list) else [found.value]
        if not all(isinstance(source, dict) for source in sources):
            _fail("<< takes a mapping, or a list of them", event)
        every = {key: value for source in reversed(sources) for key, value in source.items()}
        self._count(len(every), event)
        return {key: _Value(value, found.size, found.height) for key, value in every.items()}


def _whole(value: Any, parts: list[_Value]) -> _Value:
    height = 1 + max((part.height for part in parts), default=0)
    return _Value(value, 1 + sum(part.size for part in parts), height)


def _scalar(event: Any) -> Any:
    tag = event.tag
    if tag not in (None, "!") and not (tag.startswith(_TAG) and tag.removeprefix(_TAG) in _BUILDS):
        _fail("tags are not read: write the value itself", event)
    text = str(event.value)
    if tag in ("!", f"{_TAG}str") or (tag is None and event.style is not None):
        return text
    for pattern, meaning in _PLAIN:
        if pattern.fullmatch(text):
            value = meaning(text)
            if isinstance(value, int | float) and not -1e308 < value < 1e308:
                _fail("the number is out of range", event)
            return value
    return text


_BUILDS = frozenset({"str", "int", "float", "bool", "null"})


def _events(text: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line = before.count("\n") + 1
        raise MalformedError("holds a control character", Place(line, len(before) - before.rfind("\n"))) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        raise MalformedError(one_line(error.problem or "is not YAML", 120), place) from None


def _place(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _fail(why: str, event: Any) -> NoReturn:
    raise MalformedError(one_line(why, 120), _place(event))
