from __future__ import annotations

from pathlib import Path

import pytest

from mcp_lock.proof.questions import Side, side
from tests.suite import Judged, fault, groups, judged, verdicts

SUITE = Path(__file__).parent / "cases" / "suite"
EVERY = 61
"""A prime, so that over the rows every column has its turn."""


@pytest.fixture(scope="module")
def schemas() -> list[Judged]:
    return judged(groups(SUITE.glob("*.json")))


def test_a_normalised_schema_takes_what_the_official_suite_says_it_takes() -> None:
    for group in groups(SUITE.glob("*.json")):
        version = side(group["schema"])
        assert isinstance(version, Side)
        for test in group["tests"]:
            assert version.open.takes(test["data"]) is test["valid"], (group["schema"], test["data"])


def test_no_proof_and_no_witness_is_refuted_by_the_values_of_the_official_suite(schemas: list[Judged]) -> None:
    wrong = [
        (fault(*judgement), judgement[0].schema, judgement[1].schema, judgement[2:])
        for judgement in verdicts(schemas, EVERY)
        if fault(*judgement)
    ]
    assert len(schemas) > 300
    assert wrong == []
