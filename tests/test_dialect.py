from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_lock.proof.dialect import NotEvaluated, normalise

CASES = sorted((Path(__file__).parent / "cases" / "dialect").glob("*.json"))
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
OF_2019 = "https://json-schema.org/draft/2019-09/schema"


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_schema_is_said_in_2020_12(file: Path) -> None:
    case = json.loads(file.read_text(encoding="utf-8"))
    before = copy.deepcopy(case["schema"])
    assert normalise(case["schema"]) == case["said"], case["why"]
    assert case["schema"] == before


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_what_is_said_in_2020_12_stays_as_it_is(file: Path) -> None:
    said = json.loads(file.read_text(encoding="utf-8"))["said"]
    assert normalise(said) == said


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$schema": "https://example.test/mine"}, "dialect"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "dialect"),
        ({"$schema": "http://json-schema.org/schema#"}, "dialect"),
        ({"$schema": 7}, "dialect"),
        ({"$schema": DRAFT_07, "properties": {"a": {"$schema": OF_2019}}}, "another dialect"),
        ({"properties": {"a": {"$id": "https://example.test/a", "$ref": "#/x"}}}, "identifier"),
        ({"$dynamicRef": "#a"}, "dynamically"),
        ({"$schema": OF_2019, "$recursiveRef": "#"}, "dynamically"),
        ({"$schema": OF_2019, "contains": {}, "unevaluatedItems": False}, "contains"),
        ([], "neither"),
        ("string", "neither"),
        (None, "neither"),
    ],
)
def test_what_cannot_be_said_without_a_doubt_is_not_evaluated(schema: Any, reason: str) -> None:
    said = normalise(schema)
    assert isinstance(said, NotEvaluated)
    assert reason in said.reason


def test_a_reason_never_quotes_the_server() -> None:
    said = normalise({"$schema": "\x1b[2J"})
    assert isinstance(said, NotEvaluated)
    assert said.reason.isprintable()
