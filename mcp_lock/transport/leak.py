"""Secrets of ours in what a server says: kept out of its texts, and found in its definitions.

Values of fewer than eight characters are left alone (lockfile.md, "No secrets, ever"): they are words and numbers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp_lock.pointer import token
from mcp_lock.transport.mask import Mask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_lock.config import StdioServer

SHORTEST = 8
"""Characters from which on a value counts as a secret."""

_CREDENTIAL = re.compile(r"key|token|secret|password|passwd|credential|auth", re.IGNORECASE)


def of_stdio(server: StdioServer) -> Mask:
    """What must not be shown of a child: every value that was expanded, and literals under a name like API_KEY."""
    literal = [value for name, value in server.env.items() if _CREDENTIAL.search(name)]
    return Mask(value for value in (*server.secrets.values(), *literal) if len(value) >= SHORTEST)


class Secrets:
    """The values that were expanded, by variable."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        long = {name: value for name, value in secrets.items() if len(value) >= SHORTEST}
        self._masks = {name: Mask([value]) for name, value in long.items()}
        self._all = Mask(long.values())

    def learn(self, name: str, value: str) -> None:
        """Know one more value."""
        if len(value) >= SHORTEST:
            self._masks.setdefault(name, Mask([])).learn(value)
            self._all.learn(value)

    def __call__(self, text: str) -> str:
        """`text` without any of the values."""
        return self._all(text)

    def found(self, definition: Any) -> tuple[str, str] | None:
        """The pointer of the first place that holds a value, and the variable it is the value of."""
        if not self._masks:
            return None
        for pointer, text in _texts(definition, ""):
            for name, mask in self._masks.items():
                if mask(text) != text:
                    return pointer, name
        return None


def _texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, keys included, and where it stands."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield pointer, key
            yield from _texts(member, f"{pointer}/{token(key)}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, f"{pointer}/{at}")
