"""Strings and numbers of a view, with the boundary values that tell one version of a schema from another."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any

from mcp_lock.proof.language import outside
from mcp_lock.proof.pattern import samples
from mcp_lock.proof.refs import subschemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.proof.views import View

FORMATS = {
    "date": "2024-01-02",
    "date-time": "2024-01-02T03:04:05Z",
    "duration": "P1D",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "03:04:05Z",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
"""A value of each format that a caller could have sent."""

LONGEST = 100_000
"""Characters of a string that is tried for its length."""

_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_ODD_STRINGS = ("A1", "", " ", "é😀", "1", "true", "x" * 12)
_ODD_NUMBERS = (1, 0, 7, -1, 1_000_003)
_ODD_FRACTIONS = (0.5, 1.5, -0.25)


def named(view: View) -> Iterator[Any]:
    """Every value that a view names: a caller would copy it, and a rule that changed is likely about it."""
    yield from _shown(view)
    for part in subschemas(view):
        yield from part.get("enum", ())
        if "const" in part:
            yield part["const"]


def _shown(view: View) -> Iterator[Any]:
    examples = view.get("examples")
    yield from examples if isinstance(examples, list) else ()
    if "default" in view:
        yield view["default"]


def strings(view: View, hints: Sequence[View]) -> Iterator[str]:
    """Strings of a view, the most readable first; every one fits its lengths, not always its pattern."""
    least, most = view.get("minLength", 0), view.get("maxLength", math.inf)
    tried = chain(
        _shown(view),
        (FORMATS[view["format"]] for _ in "x" if view.get("format") in FORMATS),
        samples(view["pattern"]) if "pattern" in view else (),
        ("x" * max(1, math.ceil(least)),) if least <= LONGEST else (),
        *(named(hint) for hint in hints),
        _refused(view, hints),
        *(_near(samples(hint["pattern"])) for hint in hints if "pattern" in hint),
        ("x" * size for size in _sizes((view, *hints), "minLength", "maxLength")),
        (FORMATS[hint["format"]] for hint in hints if hint.get("format") in FORMATS),
        _ODD_STRINGS,
    )
    yield from (text for text in tried if isinstance(text, str) and least <= len(text) <= most)


def _refused(view: View, hints: Sequence[View]) -> Iterator[str]:
    """Texts that the view's pattern finds something in, and those of the hints do not."""
    found = (outside(view.get("pattern", ""), hint["pattern"]) for hint in hints if "pattern" in hint)
    yield from (text for text in found if text)


def _near(texts: Sequence[str]) -> Iterator[str]:
    """The texts, and each a little wrong."""
    for text in texts:
        yield from (text, text + "!", text[:-1])


def _sizes(views: Sequence[View], *keywords: str) -> list[int]:
    """The sizes that views name, and those next to them."""
    found = {int(view[keyword]) for view in views for keyword in keywords if keyword in view}
    return sorted({size + step for size in found for step in (-1, 0, 1) if 0 <= size + step <= LONGEST})


def numbers(view: View, hints: Sequence[View], *, whole: bool) -> Iterator[Any]:
    """Numbers of a view, `whole` ones alone where asked, the smallest first; every one lies within its bounds."""
    shown = [value for value in _shown(view) if _is_number(value)]
    found = set(_ODD_NUMBERS) | set(() if whole else _ODD_FRACTIONS)
    for part in (view, *hints):
        found |= {near for value in _marks(part) for near in _beside(value, whole=whole)}
        found |= set(_multiples(part, view))
    tried = chain(shown, sorted(found, key=lambda value: (value < 0, abs(value - 1))))
    yield from (_plain(value) for value in tried if _is_within(value, view) and (not whole or value == value // 1))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _marks(view: View) -> Iterator[Any]:
    yield from (view[keyword] for keyword in _LIMITS if keyword in view)
    yield from (value for value in named(view) if _is_number(value))


def _beside(value: Any, *, whole: bool) -> tuple[Any, ...]:
    near = (value, value - 1, value + 1, math.floor(value), math.ceil(value))
    return near if whole else (*near, value + 0.5, value - 0.5)


def _multiples(part: View, view: View) -> Iterator[Any]:
    """Small multiples of what a view asks for, from the lower bound on, and numbers beside them."""
    step = part.get("multipleOf")
    if not step:
        return
    low = max([view[keyword] for keyword in ("minimum", "exclusiveMinimum") if keyword in view], default=0)
    first = math.ceil(low / step)
    for times in (0, 1, 2, 3, 5, 7):
        multiple = (first + times) * step
        yield round(multiple, 12) if isinstance(multiple, float) else multiple
    yield from (step + 1, step / 2)


def _is_within(value: Any, view: View) -> bool:
    if value < view.get("minimum", -math.inf) or value > view.get("maximum", math.inf):
        return False
    return bool(view.get("exclusiveMinimum", -math.inf) < value < view.get("exclusiveMaximum", math.inf))


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
