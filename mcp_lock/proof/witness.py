"""A concrete call that proves an impact: searched for where two schemas differ, then cut down to what is needed.

The search is directed and bounded, so that it answers the same on every machine. A call that is found is a proof; that
none is found proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_lock.outcome import ABSENT
from mcp_lock.proof.arrays import Arrays
from mcp_lock.proof.objects import Objects
from mcp_lock.proof.values import SCALARS, Values

if TYPE_CHECKING:
    from mcp_lock.proof.refs import Schema

Test: TypeAlias = Callable[[Any], bool]
"""Whether a value is the witness that is looked for."""

CANDIDATES = 4000
_CUTS = 400

_READABLE = 24
"""Characters of a string that needs no shortening."""


_MAKES = {
    **SCALARS,
    "array": lambda *place: Arrays(*place).values(),
    "object": lambda *place: Objects(*place).values(),
}


def candidates(source: Schema, hint: Schema) -> Iterator[Any]:
    """Values that may tell `source` from `hint`, the likeliest first; most are members of `source`."""
    return islice(Values(source, hint, _MAKES), CANDIDATES)


def search(tried: Iterable[Any], proves: Test) -> Any:
    """The first of these that `proves` it, cut down to what is needed; ABSENT where none does."""
    return next((shrink(value, proves) for value in tried if proves(value)), ABSENT)


def shrink(value: Any, proves: Test) -> Any:
    """The least that still proves it: members and items dropped, then long values shortened, as long as the proof
    holds.
    """
    left = _CUTS
    while left > 0:
        for smaller in _smaller(value):
            left -= 1
            if proves(smaller):
                value = smaller
                break
            if left <= 0:
                break
        else:
            break
    return value


def _smaller(value: Any) -> Iterator[Any]:
    """Values that are one step simpler, the boldest step first."""
    if isinstance(value, dict):
        yield from ({name: value[name] for name in value if name != gone} for gone in value)
        for name in value:
            yield from ({**value, name: item} for item in _smaller(value[name]))
    elif isinstance(value, list):
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        for at, item in enumerate(value):
            yield from ([*value[:at], simpler, *value[at + 1 :]] for simpler in _smaller(item))
    elif isinstance(value, str) and len(value) > _READABLE:
        yield from (value[: len(value) // 2], value[:-1])
