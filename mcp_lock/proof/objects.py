"""The objects of one view, for the search of `values`."""

from __future__ import annotations

from functools import cached_property
from itertools import chain, combinations, islice, repeat
from typing import TYPE_CHECKING, Any

from mcp_lock.proof import scalars
from mcp_lock.proof.language import finds
from mcp_lock.proof.pattern import samples
from mcp_lock.proof.refs import subschemas
from mcp_lock.proof.unions import are_apart
from mcp_lock.proof.values import DEEPEST, Column, Values, are_same, in_turn, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.proof.values import Trail
    from mcp_lock.proof.views import View

_NAMES = 24
"""Names that are tried beside the declared ones."""
_GROWTH = 60


class Objects:
    """Objects with few and with many members, and every member that differs with every value."""

    def __init__(self, made: Values, view: View, hints: Sequence[View], trail: Trail) -> None:
        self.made, self.view, self.trail = made, view, trail
        # of a union on the other side only the branches that this object could be of
        self.hints = [hint for hint in hints if not are_apart(made.source, [view, hint])]
        self.required = list(view.get("required", ()))
        self.schemas = {**dict.fromkeys(self.required, True), **view.get("properties", {})}
        if len(trail) >= DEEPEST:
            self.schemas = {name: self.schemas[name] for name in self.required}
        self.told = {name: self._hint(name) for name in self.schemas}
        self.differing = [name for name, schema in self.schemas.items() if not are_same(schema, self.told[name])]
        self.columns = {name: made.of(schema, self.told[name], trail) for name, schema in self.schemas.items()}

    def _hint(self, name: str) -> Any:
        """What the other side asks of a member, as far as it is one schema."""
        for hint in self.hints:
            patterns = hint.get("patternProperties", {}).items()
            asked = [schema for text, schema in patterns if finds(text, name)]
            asked += [hint["properties"][name]] if name in hint.get("properties", {}) else []
            if asked:
                return asked[0] if len(asked) == 1 else {"allOf": asked}
        return next((rest for hint in self.hints if isinstance(rest := hint.get("additionalProperties"), dict)), None)

    @cached_property
    def small(self) -> dict[str, Any]:
        """The required members alone."""
        return {name: self.columns[name].first for name in self.required if self.columns[name]}

    @cached_property
    def full(self) -> dict[str, Any]:
        """Every declared member."""
        return {**self.small, **{name: column.first for name, column in self.columns.items() if column}}

    @cached_property
    def extras(self) -> dict[str, Column]:
        """Names that are not declared, as far as the view takes some, and values for them."""
        return {name: column for name, column in self._extras() if name not in self.schemas and column}

    def _extras(self) -> Iterator[tuple[str, Column]]:
        for text, schema in self.view.get("patternProperties", {}).items():
            for name in [*samples(text), *self._told_here()]:
                yield name, self.made.of(schema, self._hint(name), self.trail)
        rest = self.view.get("additionalProperties", self.view.get("unevaluatedProperties", True))
        if rest is False or len(self.trail) >= DEEPEST or (len(self.trail) > 1 and not self.hints and rest is True):
            return
        for name in dict.fromkeys([*self._told_here(), "a", "b", "A1", "x y", *self.made.names[:4]]):
            yield name, self.made.of(rest, self._hint(name), self.trail)

    def _told_here(self) -> list[str]:
        """Names that the other side speaks of at this place."""
        here = [name for hint in self.hints for part in subschemas(hint) for name in told(part)]
        texts = [text for hint in self.hints for text in hint.get("patternProperties", ())]
        sampled = [text for pattern in texts for text in samples(pattern)[:2]]
        rules = [hint["propertyNames"] for hint in self.hints if isinstance(hint.get("propertyNames"), dict)]
        ruled = [name for rule in rules for name in (*scalars.named(rule), *scalars.strings({}, [rule]))]
        return list(dict.fromkeys(name for name in (*here, *sampled, *ruled) if isinstance(name, str)))[:_NAMES]

    def values(self) -> Iterator[dict[str, Any]]:
        """All objects that are tried, those that the search is most likely about first."""
        if len(self.small) < len(set(self.required)):
            return
        yield self._filled(self.small)
        yield self.full
        others = chain(self._one_extra(), self._one_value())
        several = chain(self._two_names(), self._two_values(), self._growing())
        rest = [self._one_name(), others, several]
        if self._is_alike():
            yield from chain(self._one_differing(), in_turn(rest))
        else:
            yield from in_turn([self._one_differing(), *rest])

    def _is_alike(self) -> bool:
        """Whether the versions differ only in what they ask of members, so that combinations of members tell
        nothing.
        """
        ours = {keyword: value for keyword, value in self.view.items() if keyword != "properties"}
        named = self.view.get("properties", {}).keys()
        return any(
            named == hint.get("properties", {}).keys()
            and are_same(ours, {keyword: value for keyword, value in hint.items() if keyword != "properties"})
            for hint in self.hints
        )

    def _filled(self, value: dict[str, Any]) -> dict[str, Any]:
        """`value` with as many more members as the view asks for."""
        least = self.view.get("minProperties", 0)
        if len(value) < least:
            spare = {name: column for name, column in {**self.columns, **self.extras}.items() if column}
            for name in [name for name in spare if name not in value][: int(least) - len(value)]:
                value = {**value, name: spare[name].first}
        return value

    def _one_differing(self) -> Iterator[dict[str, Any]]:
        columns = [zip(repeat(name), self.columns[name], strict=False) for name in self.differing]
        for name, value in in_turn(columns):
            yield {**self.small, name: value}
            yield {**self.full, name: value}

    def _one_name(self) -> Iterator[dict[str, Any]]:
        for name in self.full:
            if name not in self.small:
                yield {**self.small, name: self.full[name]}
                yield {other: value for other, value in self.full.items() if other != name}

    def _one_extra(self) -> Iterator[dict[str, Any]]:
        yield from ({**self.small, name: value} for name, column in self.extras.items() for value in column.take(8))

    def _one_value(self) -> Iterator[dict[str, Any]]:
        for name, column in self.columns.items():
            if name not in self.differing:
                yield from ({**self.small, name: value} for value in column.take(11, skipped=1))
                yield from ({**self.full, name: value} for value in column.take(5, skipped=1))

    def _two_names(self) -> Iterator[dict[str, Any]]:
        for one, other in combinations([name for name in self.full if name not in self.small][:8], 2):
            yield {**self.small, one: self.full[one], other: self.full[other]}

    def _two_values(self) -> Iterator[dict[str, Any]]:
        """Rules between two members are only met by the right values of both."""
        columns = {**self.columns, **dict(islice(self.extras.items(), 4))}
        for one, other in combinations(list(columns)[:10], 2):
            for first in columns[one].take(4):
                yield from ({**self.small, one: first, other: second} for second in columns[other].take(4))

    def _growing(self) -> Iterator[dict[str, Any]]:
        """One member more each time, for rules that count them."""
        words = ("minProperties", "maxProperties")
        most = max(int(part.get(word, 0)) for part in (self.view, *self.hints) for word in words)
        spare = {**self.full, **{name: column.first for name, column in self.extras.items()}}
        if self.extras:
            value = next(iter(self.extras.values())).first
            spare.update({f"k{at}": value for at in range(min(most, _GROWTH) + 1)})
        grown = dict(self.small)
        for name, item in islice(spare.items(), max(most + 2, 4)):
            grown = {**grown, name: item}
            yield grown
