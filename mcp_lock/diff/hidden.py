"""Characters that came into a contract and that nobody can see: what a model reads and a reviewer does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_lock.text import hidden_in


def hidden_added(old: Any, new: Any) -> bool:
    """Whether `new` holds more of some invisible character than `old`, in its texts and its names."""
    come = Counter(char for text in texts(new) for char in hidden_in(text))
    return bool(come) and bool(come - Counter(char for text in texts(old) for char in hidden_in(text)))


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, the names of members included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield key
            yield from texts(held)
    elif isinstance(value, Sequence):
        for item in value:
            yield from texts(item)
