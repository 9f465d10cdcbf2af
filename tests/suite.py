"""Every schema of a test suite against every other, with every value that the suite tests anything with as a
referee.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from mcp_lock.outcome import ABSENT, Impact
from mcp_lock.proof.questions import Direction, Form, Side, Verdict, decide, side

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Judged:
    """A schema, and which of the pooled values it takes in each of its readings, one bit a value."""

    schema: Any
    side: Side
    open: int
    declared: int
    named: int


def groups(files: Iterable[Path]) -> list[dict[str, Any]]:
    """The groups of a suite: a schema and its tests each."""
    return [group for file in sorted(files) for group in json.loads(file.read_text(encoding="utf-8"))]


def judged(found: list[dict[str, Any]]) -> list[Judged]:
    """The schemas of these groups that are evaluated at all."""
    values = {json.dumps(test["data"], sort_keys=True): test["data"] for group in found for test in group["tests"]}
    sides = ((group["schema"], side(group["schema"])) for group in found)
    return [_judged(schema, version, list(values.values())) for schema, version in sides if isinstance(version, Side)]


def _judged(schema: Any, version: Side, pool: list[Any]) -> Judged:
    return Judged(schema, version, *(_mask(form, pool) for form in (version.open, version.declared, version.named)))


def _mask(form: Form, pool: list[Any]) -> int:
    return sum(1 << at for at, value in enumerate(pool) if form.takes(value))


def verdicts(found: list[Judged], every: int) -> Iterator[tuple[Judged, Judged, Direction, Verdict]]:
    """The verdict on each so manieth pair, in both directions."""
    for old, new in islice(product(found, found), 0, None, every):
        for direction in Direction:
            yield old, new, direction, decide(old.side, new.side, direction)


def fault(old: Judged, new: Judged, direction: Direction, verdict: Verdict) -> str:
    """How a verdict is wrong, as far as the pooled values tell; empty where they say nothing against it."""
    before, after = (old, new) if direction is Direction.INPUT else (new, old)
    loud = before.declared & before.open & ~after.open
    silent = old.named & old.open & new.open & ~new.named
    if verdict.impact is Impact.COSMETIC and old.open != new.open:
        return "cosmetic, but they take different values"
    if verdict.impact <= Impact.SILENT and loud:
        return "not breaking, but a value is refused"
    if verdict.impact <= Impact.COMPATIBLE and silent:
        return "not silent, but a value is no longer declared"
    return _witness_fault(before.schema, after.schema, verdict)


def _witness_fault(before: Any, after: Any, verdict: Verdict) -> str:
    """How the independent validator disagrees with a witness."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types

    # that validator divides floats, and is wrong about multiples of fractions
    if verdict.witness is ABSENT or '"multipleOf"' in json.dumps([before, after]):
        return ""
    is_before, is_after = (Draft202012Validator(schema).is_valid(verdict.witness) for schema in (before, after))
    is_right = is_before and is_after is (verdict.impact is Impact.SILENT)
    return "" if is_right else f"the witness {verdict.witness!r} shows nothing"
