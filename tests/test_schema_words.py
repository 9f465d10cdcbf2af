"""Schemas and values, said in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.outcome import ABSENT
from mcp_lock.report import schema_words

CASES = json.loads((Path(__file__).parent / "cases" / "schema_words.json").read_text("utf-8"))
KEYWORDS = sorted(schema_words._TOLD | {"not", "if", "x"})
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_a_schema_is_said_in_a_line(case):
    assert schema_words.schema_line(case["schema"]) == case["line"]


def test_a_property_is_said_as_its_caller_sees_it():
    schema = {"type": "integer", "default": 10, "description": "max results"}
    assert schema_words.member("limit", schema, optional=True) == 'limit?: integer = 10 — "max results"'
    assert schema_words.member("limit", True) == "limit: anything"


def test_a_tool_is_said_by_its_parameters():
    definition = {"description": "Find.", "inputSchema": {"properties": {"q": {"type": "string"}}, "required": ["q"]}}
    assert schema_words.signature(definition) == '(q: string) — "Find."'
    assert schema_words.signature(definition, described=False) == "(q: string)"
    assert schema_words.signature({"inputSchema": None}) == "(no valid input schema)"


def test_an_absent_value_is_not_null():
    assert schema_words.value(ABSENT) == "absent"
    assert schema_words.value(None) == "null"


def test_a_long_value_is_cut_in_the_middle_and_says_so():
    said = schema_words.value("x" * 1000, 100)
    assert len(said) == 100
    assert " … 902 more … " in said


@given(schema=ANYTHING)
def test_whatever_stands_in_a_schema_it_is_said(schema):
    assert schema_words.schema_line(schema)
    assert schema_words.member("x", schema).startswith("x: ")
    assert schema_words.signature({"inputSchema": schema, "description": schema}).startswith("(")
