"""How much work a schema can be, told from its size alone: before anything is asked of a validator or a prover."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from mcp_lock.proof.refs import children, resolve
from mcp_lock.proof.unions import are_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_lock.proof.refs import Schema

LIGHT = 1000
"""Up to this weight a judgement took well under a second wherever it was measured."""
_DEEP = 40
_CAP = 10**6
_LONG = 300
"""Characters of a pattern."""
_UNIONS = ("anyOf", "oneOf")


def is_light(schema: Schema) -> bool:
    """Whether a schema, in any dialect, can be judged without a time limit: small, shallow, with few ways through
    it.
    """
    try:
        return weight(schema) <= LIGHT
    except RecursionError:
        return False


def weight(schema: Schema) -> int:
    """The schemas in `schema`, what references lead to counted in full, and each as often as there are ways through it.

    Where the branches of a union overlap, every set of them has values of its own, so that each branch more doubles all
    that is in them.
    """
    return _Weighing(schema).weight(schema, 0)


class _Weighing:
    """One document; every reference is weighed once and counted wherever it is used."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.weights: dict[str, int] = {}
        self.ways: dict[str, int] = {}

    def weight(self, schema: Any, depth: int) -> int:
        if not isinstance(schema, dict):
            return 1
        if depth > _DEEP or len(str(schema.get("pattern", ""))) > _LONG:
            return _CAP
        below = sum(self.weight(child, depth + 1) for child in children(schema))
        below += self._followed(schema, self.weights, lambda target: self.weight(target, depth + 1))
        ways = self._ways(schema, depth)
        is_crossed = sum(word in schema for word in (*_UNIONS, "allOf", "if")) > 1
        return min(ways + below * self._overlap(schema) * (ways if is_crossed else 1), _CAP)

    def _overlap(self, schema: dict[str, Any]) -> int:
        unions = [_listed(schema, word) for word in _UNIONS]
        overlapping = sum(len(branches) for branches in unions if not are_apart(self.root, branches))
        return 2 ** min(overlapping, 20) if overlapping > 1 else 1

    def _ways(self, schema: Any, depth: int) -> int:
        """How many flat views a schema has, at most."""
        if not isinstance(schema, dict) or depth > _DEEP:
            return 1
        unions = [sum(self._ways(part, depth + 1) for part in _listed(schema, word)) or 1 for word in _UNIONS]
        parts = [self._ways(part, depth + 1) for part in _listed(schema, "allOf")]
        followed = self._followed(schema, self.ways, lambda target: self._ways(target, depth + 1))
        return min(prod((*unions, *parts, 2 if "if" in schema else 1, followed or 1)), _CAP)

    def _followed(self, schema: dict[str, Any], known: dict[str, int], measure: Callable[[Any], int]) -> int:
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return 0
        if ref not in known:
            known[ref] = 1  # what a cycle finds when it comes back
            known[ref] = measure(resolve(self.root, ref))
        return known[ref]


def _listed(schema: dict[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []
