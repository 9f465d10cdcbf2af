from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mcp_lock.outcome import Confidence, Impact
from mcp_lock.proof import Direction, Verdict, judge
from mcp_lock.proof.closed import close
from mcp_lock.proof.dialect import normalise
from tests.mutators import MUTATORS, NESTINGS, Mutator, tool_schema


def is_valid(schema: Any, value: Any) -> bool:
    """Whether a value is valid, said by two validators that share nothing."""
    import jsonschema_rs
    from jsonschema import Draft202012Validator

    one = Draft202012Validator(schema).is_valid(value)
    assert jsonschema_rs.Draft202012Validator(schema, offline=True).is_valid(value) is one
    return one


def assert_shows(old: Any, new: Any, direction: Direction, verdict: Verdict) -> None:
    """A witness does what the impact says."""
    before, after = (old, new) if direction is Direction.INPUT else (new, old)
    if verdict.impact is Impact.BREAKING:
        assert is_valid(before, verdict.witness)
        assert not is_valid(after, verdict.witness)
    elif verdict.impact is Impact.SILENT:
        assert is_valid(old, verdict.witness)
        assert is_valid(new, verdict.witness)
        assert not is_valid(close(normalise(new), keep_promises=False), verdict.witness)
    else:
        assert verdict.confidence is Confidence.PROVED


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.name)
def test_an_edit_has_the_impact_that_it_is_known_to_have(mutator: Mutator, nesting: str) -> None:
    seed = list(NESTINGS).index(nesting)  # another tool for every nesting
    base = tool_schema(seed)
    edited = mutator.applied(base, Random(seed))
    old, new = NESTINGS[nesting](base), NESTINGS[nesting](edited)
    for direction, impact in ((Direction.INPUT, mutator.input), (Direction.OUTPUT, mutator.output)):
        verdict = judge(old, new, direction)
        assert verdict.impact is impact, verdict
        assert_shows(old, new, direction, verdict)


def test_there_are_enough_edits_of_every_impact() -> None:
    assert len(MUTATORS) >= 33
    assert {mutator.input for mutator in MUTATORS} == {
        Impact.COSMETIC,
        Impact.COMPATIBLE,
        Impact.SILENT,
        Impact.BREAKING,
    }
