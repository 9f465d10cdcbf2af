"""Values of one schema, most of them where another version of it differs.

Deterministic, bounded and lazy: where both versions say the same only a value or two are made, and nothing is made
before it is asked for. The values are candidates; whoever uses them asks a validator.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_lock.proof import scalars
from mcp_lock.proof.refs import subschemas
from mcp_lock.proof.views import View, views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcp_lock.proof.refs import Schema

Trail: TypeAlias = "tuple[frozenset[str], ...]"
"""The way into a value: for every level the references that led to it."""

Makes: TypeAlias = "Callable[[Values, View, Sequence[View], Trail], Iterator[Any]]"
"""What makes the values of one type: of a view, steered by the views on the other side."""

DEEPEST = 7
"""Levels of a value; below that only what is required is filled in, and no array has items."""

_FEW = 2
_MANY = 96
_STEPS = 60_000
"""Values made for one search, those inside others counted."""

_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_SCALARS = _TYPES[2:]


class Column:
    """Values for one place, made as they are asked for."""

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = iter(source)
        self._made: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        at = 0
        while self._has(at):
            yield self._made[at]
            at += 1

    def __bool__(self) -> bool:
        return self._has(0)

    @property
    def first(self) -> Any:
        """The likeliest value; there must be one."""
        return self.take(1)[0]

    def take(self, most: int, skipped: int = 0) -> list[Any]:
        """At most so many values, after those that are skipped."""
        return list(islice(self, skipped, skipped + most))

    def _has(self, at: int) -> bool:
        while len(self._made) <= at:
            if (value := next(self._source, _NONE)) is _NONE:
                return False
            self._made.append(value)
        return True


_NONE = object()


class Values:
    """The values of `source`, steered by `hint`: another schema for the same place, closed alike so that they
    compare.
    """

    def __init__(self, source: Schema, hint: Schema, makes: Mapping[str, Makes]) -> None:
        self.source, self.hint, self.makes = source, hint, makes
        self.left = _STEPS

    def __iter__(self) -> Iterator[Any]:
        """Candidates for the whole of `source`, without repetitions."""
        hints = views(self.hint, self.hint)
        return _once(in_turn([self._of_view(view, hints, ()) for view in views(self.source, self.source)]))

    @cached_property
    def names(self) -> list[str]:
        """Names that `hint` speaks of, wherever it does."""
        return list(dict.fromkeys(chain.from_iterable(map(told, subschemas(self.hint)))))

    def of(self, schema: Any, hint: Any, trail: Trail) -> Column:
        """Candidates for a schema inside `source`; `hint` is what stands for them in the other, or None."""
        return Column(_once(self._of(schema, hint, trail)))

    def _of(self, schema: Any, hint: Any, trail: Trail) -> Iterator[Any]:
        refs = _references(schema)
        # what comes back inside itself differs there as it did before
        is_steered = hint is not None and not are_same(schema, hint) and refs.isdisjoint(chain.from_iterable(trail))
        trail = (*trail, refs)
        hints = views(self.hint, hint) if is_steered else []
        flat = views(self.source, schema)
        most = _MANY if is_steered else max(_FEW, len(flat[:4]))
        for value in islice(in_turn([self._of_view(view, hints, trail) for view in flat]), most):
            if self.left <= 0:
                return
            self.left -= 1
            yield value

    def _of_view(self, view: View, hints: Sequence[View], trail: Trail) -> Iterator[Any]:
        if "const" in view:
            return iter((view["const"],))
        if "enum" in view:
            return iter(view["enum"])
        types = view.get("type") or (_TYPES if len(trail) < DEEPEST // 2 and (hints or not trail) else _SCALARS)
        names = [types] if isinstance(types, str) else types
        return in_turn([self.makes[name](self, view, hints, trail) for name in names])


def _references(schema: Any) -> frozenset[str]:
    """Where a schema leads, itself or in the branches of a union."""
    parts = [schema, *schema.get("anyOf", ())] if isinstance(schema, dict) else []
    return frozenset(part["$ref"] for part in parts if isinstance(part, dict) and "$ref" in part)


def are_same(one: Any, other: Any) -> bool:
    """Whether two schemas say the same in the same words."""
    return one is other or (bool(one == other) and repr(one) == repr(other))


def in_turn(sources: Sequence[Iterable[Any]]) -> Iterator[Any]:
    """One of each, again and again, until all are spent."""
    waiting = [iter(source) for source in sources]
    while waiting:
        for source in list(waiting):
            if (value := next(source, _NONE)) is _NONE:
                waiting.remove(source)
            else:
                yield value


def _once(values: Iterable[Any]) -> Iterator[Any]:
    seen: set[str] = set()
    for value in values:
        text = repr(value)
        if text not in seen:
            seen.add(text)
            yield value


def told(schema: View) -> Iterator[str]:
    """Names of members that a schema speaks of."""
    for keyword in ("properties", "required", "dependentRequired", "dependentSchemas"):
        yield from schema.get(keyword, ())


def _booleans(_: Values, view: View, *__: object) -> Iterator[bool]:
    yield from (value for value in (view.get("default"),) if isinstance(value, bool))
    yield from (True, False)


SCALARS: dict[str, Makes] = {
    "boolean": _booleans,
    "integer": lambda _, view, hints, __: scalars.numbers(view, hints, whole=True),
    "null": lambda *_: iter((None,)),
    "number": lambda _, view, hints, __: scalars.numbers(view, hints, whole=False),
    "string": lambda _, view, hints, __: scalars.strings(view, hints),
}
"""What makes the values of a type that has no parts."""
