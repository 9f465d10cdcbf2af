"""The raw difference of two JSON values: where they differ, and nothing about what that means.

This is the ground the catalogue stands on: every place found here is reported under some rule, and no rule reports a
place that is not found here. Equality is that of the canonical form, so it finds a place exactly where digests differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import canonical, same
from mcp_lock.outcome import ABSENT
from mcp_lock.pointer import token

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Edit:
    """One place where two values differ."""

    path: tuple[str, ...]
    """The reference tokens from the root, unescaped."""
    old: Any
    """A JSON value, or ABSENT."""
    new: Any

    @property
    def pointer(self) -> str:
        """`path` as a JSON Pointer."""
        return "".join(f"/{token(part)}" for part in self.path)


def differences(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[Edit]:
    """Where two values differ, each at the deepest place that both sides reach.

    Objects are compared member by member. Arrays of objects are compared item by item after what they share at both
    ends; every other array is one place. An item that only one side has is named by its index on that side.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from _member(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif _is_objects(old) and _is_objects(new):
        yield from _items(old, new, path)
    elif not same(old, new):
        yield Edit(path, old, new)


def _member(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[Edit]:
    if old is ABSENT or new is ABSENT:
        yield Edit(path, old, new)
    else:
        yield from differences(old, new, path)


def _is_objects(value: Any) -> bool:
    is_array = isinstance(value, Sequence) and not isinstance(value, str)
    return is_array and bool(value) and all(isinstance(item, Mapping) for item in value)


def _items(old: Sequence[Any], new: Sequence[Any], path: tuple[str, ...]) -> Iterator[Edit]:
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    for at in range(max(len(left), len(right))):
        below = (*path, str(head + at))
        yield from _member(left[at] if at < len(left) else ABSENT, right[at] if at < len(right) else ABSENT, below)


def _shared(old: Sequence[Any], new: Sequence[Any]) -> int:
    """How many items at the start are the same on both sides."""
    for at, (left, right) in enumerate(zip(old, new, strict=False)):
        if not same(left, right):
            return at
    return min(len(old), len(new))


def is_reordered(old: Any, new: Any) -> bool:
    """Whether two arrays hold the same items, repeats aside, in whatever order."""
    arrays = all(isinstance(side, Sequence) and not isinstance(side, str) for side in (old, new))
    return arrays and {canonical(item) for item in old} == {canonical(item) for item in new}
