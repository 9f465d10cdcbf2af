"""Strings that a regular expression finds something in, for the calls that a witness search tries.

Look-arounds and back references are not followed: what comes out is a good guess, and whoever uses it asks a validator.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from mcp_lock.proof.regex import Chars, Choice, Node, Repeat, Sequence, read

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 300
"""Characters of a sample; a repetition stops there."""
_FAVOURITES = "a1A-_b2B /.@:#%é"
_TAKES = ((0, 0), (1, 0), (0, 1), (2, 1), (9, 2), (40, 3))
"""How many repetitions more than needed, and which of every choice."""


@lru_cache(maxsize=256)
def samples(pattern: str) -> tuple[str, ...]:
    """Some strings that `pattern` should find something in, the plainest first; none where it is not understood."""
    tree = read(pattern)
    if tree is None:
        return ()
    return tuple(dict.fromkeys(_written(tree, more, turn, _LONGEST) for more, turn in _TAKES))


def _written(node: Node, more: int, turn: int, room: int) -> str:
    if isinstance(node, Chars):
        return _char(node, turn)
    if isinstance(node, Choice):
        return _written(node.branches[turn % len(node.branches)], more, turn, room)
    if isinstance(node, Repeat):
        times = node.least + more if node.most is None else min(node.least + more, node.most)
        return _joined((node.part for _ in range(min(times, room))), more, turn, room)
    return _joined(node.parts, more, turn, room) if isinstance(node, Sequence) else ""


def _joined(nodes: Iterable[Node], more: int, turn: int, room: int) -> str:
    text = ""
    for node in nodes:
        if len(text) >= room:
            break
        text += _written(node, more, turn, room - len(text))
    return text


def _char(node: Chars, turn: int) -> str:
    liked = [char for char in _FAVOURITES if any(low <= ord(char) <= high for low, high in node.ranges)]
    if liked:
        return liked[turn % len(liked)]
    return chr(node.ranges[0][0]) if node.ranges else ""
