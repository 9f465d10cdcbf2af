"""A config file as it was read: its values, and where each key of it stands.

What the readers of the formats (`jsonc`, `toml`, `yaml_`) return and raise. Nothing here knows what a server is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Path: TypeAlias = "tuple[str | int, ...]"
"""The keys and indices that lead from the top of a document to a value."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a text; both count from 1, and a column is a character."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A key that one object names twice, which readers resolve in different ways."""

    path: Path
    """Of the object."""
    key: str
    first: Place
    second: Place
    noun: str = "key"
    """`server` for an item of a list, which has its name inside."""

    def __str__(self) -> str:
        return f"duplicate {self.noun} {self.key} (lines {self.first.line} and {self.second.line})"


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file."""

    value: Any = field(repr=False)
    places: Mapping[Path, Place]
    """Of every key, and of every item of an array, as far as the format's reader knows them."""
    repeats: tuple[Repeat, ...] = ()

    def place(self, path: Path) -> Place:
        """Where `path` is written, or the nearest thing around it whose place is known."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))


class MalformedError(ValueError):
    """A text that is not of its format; `str()` says why in words that quote at most one character or key of it."""

    def __init__(self, why: str, place: Place) -> None:
        super().__init__(why)
        self.place = place
