"""Whether one regular expression finds something in every string that another does, and if not, in which it does not.

Expressions are read as automata over whole strings and walked together, the narrow one state by state, the wide one in
all its states at once. Bounded in states and steps; what is too large or not regular is not proved.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from itertools import chain, pairwise

from mcp_lock.proof.regex import (
    ANY,
    LAST,
    Anchor,
    Chars,
    Choice,
    Node,
    Ranges,
    Repeat,
    Sequence,
    complement,
    read,
    union,
)

_STATES = 800
_STEPS = 2500

_EVERY = Repeat(Chars(union((*ANY, *complement(ANY)))), 0, None)
"""Any text: what may stand around a match that is not anchored."""


class _TooMuch(Exception):
    """An expression that no automaton of the size allowed says."""


@lru_cache(maxsize=128)
def is_included(narrow: str, wide: str) -> bool:
    """Whether every string that `narrow` is found in is proved to be one that `wide` is found in; False says
    nothing.
    """
    return _compared(narrow, wide) is None


@lru_cache(maxsize=128)
def outside(narrow: str, wide: str) -> str | None:
    """A short string that `narrow` is found in and `wide` is not, or None where none was found."""
    return _compared(narrow, wide) or None


@lru_cache(maxsize=512)
def finds(pattern: str, text: str) -> bool:
    """Whether `pattern` is found in `text`, as far as it is understood."""
    try:
        automaton = _Automaton(_whole(pattern))
    except (_TooMuch, RecursionError):
        return False
    states = automaton.closure(frozenset({automaton.start}))
    for char in text:
        states = automaton.read(states, ord(char))
    return automaton.end in states


def _compared(narrow: str, wide: str) -> str | None:
    """None for a proof, a string that refutes it, and an empty one where nothing is known."""
    try:
        return _walk(_Automaton(_whole(narrow)), _Automaton(_whole(wide)))
    except (_TooMuch, RecursionError):
        return ""


def _whole(pattern: str) -> Node:
    """The expression for the whole strings in which `pattern` is found."""
    tree = read(pattern)
    if tree is None:
        raise _TooMuch
    return _unanchored(tree)


def _unanchored(tree: Node) -> Node:
    if isinstance(tree, Choice):
        return Choice(tuple(map(_unanchored, tree.branches)))
    parts = tree.parts if isinstance(tree, Sequence) else (tree,)
    if len(parts) == 1 and isinstance(parts[0], Choice | Sequence):
        return _unanchored(parts[0])
    begins, ends = parts[:1] == (Anchor("^"),), parts[-1:] == (Anchor("$"),)
    middle = parts[begins : len(parts) - ends]
    return Sequence((*(() if begins else (_EVERY,)), *middle, *(() if ends else (_EVERY,))))


class _Automaton:
    """States with edges: `free` ones that read nothing, and ones that read a character out of ranges."""

    def __init__(self, tree: Node) -> None:
        self.free: list[list[int]] = []
        self.edges: list[list[tuple[Ranges, int]]] = []
        self.start = self._state()
        self.end = self._build(tree, self.start)

    def _state(self) -> int:
        if len(self.free) >= _STATES:
            raise _TooMuch
        self.free.append([])
        self.edges.append([])
        return len(self.free) - 1

    def _build(self, node: Node, start: int) -> int:
        """Adds what reads `node` from `start` on, and says where it ends."""
        if isinstance(node, Chars) and node.is_exact:
            end = self._state()
            self.edges[start].append((node.ranges, end))
            return end
        if isinstance(node, Sequence):
            for part in node.parts:
                start = self._build(part, start)
            return start
        if isinstance(node, Choice):
            ends = [self._build(branch, self._after(start)) for branch in node.branches]
            return self._joined(ends)
        if isinstance(node, Repeat):
            return self._repeat(node, start)
        raise _TooMuch

    def _after(self, start: int) -> int:
        state = self._state()
        self.free[start].append(state)
        return state

    def _joined(self, ends: list[int]) -> int:
        end = self._state()
        for state in ends:
            self.free[state].append(end)
        return end

    def _repeat(self, node: Repeat, start: int) -> int:
        if node.least > _STATES or (node.most or 0) > _STATES:
            raise _TooMuch
        for _ in range(node.least):
            start = self._build(node.part, start)
        if node.most is None:
            loop = self._after(start)
            self.free[self._build(node.part, loop)].append(loop)
            return self._after(loop)
        ends = [start]
        for _ in range(node.most - node.least):
            start = self._build(node.part, self._after(start))
            ends.append(start)
        return self._joined(ends)

    def closure(self, states: frozenset[int]) -> frozenset[int]:
        """All states that are reached without reading."""
        found, waiting = set(states), list(states)
        while waiting:
            for state in self.free[waiting.pop()]:
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return frozenset(found)

    def read(self, states: frozenset[int], point: int) -> frozenset[int]:
        """All states that are reached by reading one character and then nothing."""
        edges = chain.from_iterable(self.edges[state] for state in states)
        return self.closure(frozenset(to for ranges, to in edges if _holds(ranges, point)))

    def bounds(self, states: frozenset[int]) -> set[int]:
        """Where the character read begins to make a difference."""
        edges = chain.from_iterable(self.edges[state] for state in states)
        return {bound for ranges, _ in edges for low, high in ranges for bound in (low, high + 1) if bound <= LAST}


def _holds(ranges: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def _walk(narrow: _Automaton, wide: _Automaton) -> str | None:
    """The shortest string that `narrow` ends on and `wide` does not; None where there is none."""
    first = (narrow.closure(frozenset({narrow.start})), wide.closure(frozenset({wide.start})))
    texts, waiting = {first: ""}, deque([first])
    left = _STEPS
    while waiting:
        ours, theirs = pair = waiting.popleft()
        if narrow.end in ours and wide.end not in theirs:
            return texts[pair]
        for point in _points(narrow.bounds(ours) | wide.bounds(theirs) | {0}):
            left -= 1
            if left < 0:
                raise _TooMuch
            after = (narrow.read(ours, point), wide.read(theirs, point))
            if after[0] and after not in texts:
                texts[after] = texts[pair] + chr(point)
                waiting.append(after)
    return None


def _points(bounds: set[int]) -> list[int]:
    """One character for every stretch between bounds, readable ones first."""
    ends = [*sorted(bounds), LAST + 1]
    found = [_readable(low, high) for low, high in pairwise(ends)]
    return sorted(found, key=lambda point: (not chr(point).isalnum(), not chr(point).isprintable(), point))


def _readable(low: int, high: int) -> int:
    liked = (ord(char) for char in "ax1A-_ #é" if low <= ord(char) < high)
    return next(liked, low)
