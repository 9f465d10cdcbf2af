"""The arrays of one view, for the search of `values`."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from mcp_lock.proof.values import DEEPEST, Column, Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.proof.values import Trail
    from mcp_lock.proof.views import View

_LONGEST = 200


class Arrays:
    """Arrays with a value of every kind at every place, and of every length that matters."""

    def __init__(self, made: Values, view: View, hints: Sequence[View], trail: Trail) -> None:
        self.made, self.view, self.hints, self.trail = made, view, hints, trail
        self.least, self.most = math.ceil(view.get("minItems", 0)), view.get("maxItems", math.inf)
        self.others = view.get("items", view.get("unevaluatedItems", True))
        first = view.get("prefixItems", [])
        self.places = max([len(first), *(len(hint.get("prefixItems", ())) for hint in hints)])
        schemas = [*first, *[self.others] * (self.places - len(first))]
        self.columns = [made.of(schema, self._hint(at), trail) for at, schema in enumerate(schemas)]
        """Values for the places that one of the versions speaks of."""
        self.rest = made.of(self.others, self._hint(self.places), trail) if len(trail) < DEEPEST else Column(())

    def _hint(self, at: int) -> Any:
        for hint in self.hints:
            first = hint.get("prefixItems", [])
            if at < len(first):
                return first[at]
            if "items" in hint:
                return hint["items"]
        return None

    @cached_property
    def marks(self) -> list[Any]:
        """Values that a `contains` on either side asks for."""
        asked = (part["contains"] for part in (self.view, *self.hints) if "contains" in part)
        return [value for schema in asked for value in self.made.of(schema, None, self.trail).take(3)]

    def values(self) -> Iterator[list[Any]]:
        """The arrays that have a length that the view allows."""
        tried = chain(self._usual(), self._at_places(), self._of_lengths(), self._marked())
        yield from (value for value in tried if value is not None and self.least <= len(value) <= self.most)

    def _usual(self) -> Iterator[list[Any] | None]:
        yield self.of_length(max(self.least, 1))

    def _at_places(self) -> Iterator[list[Any] | None]:
        for at, column in enumerate(self.columns):
            whole = self.of_length(max(at + 1, self.least))
            yield from (([*whole[:at], value, *whole[at + 1 :]] if whole else None) for value in column)
        for value in self.rest:
            yield self.of_length(max(self.least, self.places + 1), value)

    def _of_lengths(self) -> Iterator[list[Any] | None]:
        yield from ([value, value] for value in self.rest.take(1))
        yield from map(self.of_length, self._lengths())

    def _marked(self) -> Iterator[list[Any] | None]:
        usual = self.rest.take(1)
        for mark in self.marks:
            yield from ([mark, *usual], [*usual, mark], [mark, mark], [mark])
            yield from (self.of_length(size, mark) for size in self._lengths())

    def of_length(self, size: int, last: Any = None) -> list[Any] | None:
        """An array of `size` usual values, with `last` at its end where one is given; None where there is no such
        array.
        """
        if size > _LONGEST or not all(self.columns[:size]):
            return None
        whole = [column.first for column in self.columns[:size]]
        missing = size - len(whole)
        pool = [*self.rest.take(missing), *self.marks] if missing > 0 else []
        if missing > 0 and not pool:
            return None
        whole += [pool[at % len(pool)] for at in range(missing)]
        return whole if last is None or not whole else [*whole[:-1], last]

    def _lengths(self) -> list[int]:
        parts = (self.view, *self.hints)
        found = {0, 1, 2, self.places, self.places + 1, *(len(part.get("prefixItems", ())) for part in parts)}
        for part in parts:
            for keyword in ("minItems", "maxItems", "minContains", "maxContains"):
                if keyword in part:
                    found |= {int(part[keyword]) + step for step in (-1, 0, 1)}
        return sorted(size for size in found if size >= 0)
