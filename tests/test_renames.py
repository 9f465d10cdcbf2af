"""Names that went and names that came: which are one thing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_lock.contract import Contract, Kind
from mcp_lock.diff import diff_contract
from mcp_lock.diff.renames import RENAMED, pairs, property_score, tool_score

CASES = json.loads((Path(__file__).parent / "cases" / "renames.json").read_text(encoding="utf-8"))


def described(case: list) -> str:
    return f"{case[0][0]}-{case[1][0]}"


@pytest.mark.parametrize("case", CASES["renamed"], ids=described)
def test_a_renamed_parameter_is_taken_for_the_same(case):
    (old, old_schema), (new, new_schema) = case
    assert property_score(old, old_schema, new, new_schema) >= RENAMED


@pytest.mark.parametrize("case", CASES["unrelated"], ids=described)
def test_unrelated_parameters_are_not_paired(case):
    (old, old_schema), (new, new_schema) = case
    assert property_score(old, old_schema, new, new_schema) < RENAMED


def test_each_name_is_paired_once_with_the_one_most_like_it():
    old = {"query": {"type": "string"}, "page_size": {"type": "integer", "default": 20}}
    new = {"q": {"type": "string"}, "pageSize": {"type": "integer", "default": 20}, "size": {"type": "integer"}}
    assert pairs(old, new, property_score) == {"query": "q", "page_size": "pageSize"}


def test_parameters_whose_types_cannot_meet_are_never_one():
    assert property_score("count", {"type": "integer"}, "counts", {"type": "array"}) == 0


def test_a_tool_whose_name_differs_by_an_identifier_alone_is_the_same_tool():
    tool = {"inputSchema": {"properties": {"x": {"type": "string"}}}}
    old, new = (
        f"call_{uuid}" for uuid in ("0b8f5c3e-8d1a-4a4b-9c7e-1f2a3b4c5d6e", "6e5d4c3b-2a1f-7e9c-b4a4-a1d83e5c8f0b")
    )
    assert tool_score(old, tool, new, tool) == 1


def changes(old: dict, new: dict) -> list:
    sides = (Contract(Kind.TOOL, {"name": "t", "inputSchema": {"type": "object", **side}}) for side in (old, new))
    return list(diff_contract(*sides))


def test_a_rename_takes_the_required_list_that_follows_it_with_it():
    (change,) = changes(
        {"properties": {"query": {"type": "string"}}, "required": ["query"]},
        {"properties": {"q": {"type": "string"}}, "required": ["q"]},
    )
    assert (change.rule.id, change.name, change.to, change.witness) == (
        "property-renamed",
        "query",
        "q",
        {"query": "x"},
    )
    assert change.pointers == {"/inputSchema/properties/query", "/inputSchema/properties/q", "/inputSchema/required"}


def test_what_one_part_of_a_change_takes_another_may_give_back():
    found = changes(
        {"properties": {"a": {"type": "string"}}},
        {"allOf": [{"properties": {"a": {"type": "string"}}}]},
    )
    assert {change.impact.word for change in found} <= {"cosmetic", "compatible"}


def test_the_worst_part_carries_what_only_the_parts_together_do():
    found = changes(
        {"properties": {"a": {"type": "integer", "maximum": 10}, "b": {"type": "integer"}}, "anyOf": [{}, {}]},
        {"properties": {"a": {"type": "integer", "maximum": 10}, "b": {"type": "integer"}}, "anyOf": [False, False]},
    )
    assert max(change.impact.word for change in found) == "breaking"
