"""What changed between two contracts: every rule has its cases, and no difference escapes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.diff import diff_contract, diff_surface
from mcp_lock.diff.walk import differences
from mcp_lock.outcome import Impact
from mcp_lock.rules import RULES
from tests.definitions import edited, tools

CASES = Path(__file__).parent / "cases" / "diff"
FILES = sorted(CASES.glob("*/*.json"))
NOT_FROM_A_DIFF = {"tool-list-unstable"}
"""Rules about two lists of one moment: `verify` names them."""


def surface(listed: dict) -> Surface:
    items = {kind: {c.name: c for c in (Contract(kind, d) for d in listed.get(kind.member, []))} for kind in Kind}
    return Surface(items, listed.get("instructions"), listed.get("serverInfo", {}).get("name", ""))


def pointers(changes: list) -> set[str]:
    return {pointer for change in changes for pointer in change.pointers}


def load(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_case_is_reported_as_its_changes_and_nothing_else(file):
    case = load(file)
    changes = list(diff_surface(surface(case["old"]), surface(case["new"])))
    assert sorted([c.rule.id, c.item.name, c.place] for c in changes) == case["changes"]
    assert sorted({c.impact.word for c in changes if c.rule.id == file.parent.name}) == case["impact"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_each_side_of_a_case_is_the_same_as_itself(file):
    case = load(file)
    for side in ("old", "new"):
        assert list(diff_surface(surface(case[side]), surface(json.loads(json.dumps(case[side]))))) == []


def test_every_rule_has_a_case_and_every_case_a_rule():
    assert {file.parent.name for file in FILES} == set(RULES) - NOT_FROM_A_DIFF


def test_the_immaterial_rules_are_the_closed_set_that_the_design_names():
    immaterial = {rule.id for rule in RULES.values() if rule.input is Impact.IMMATERIAL}
    assert immaterial == {
        *("required-order-changed", "type-order-changed", "enum-reordered", "dependent-required-order-changed"),
        *("def-renamed", "null-spelled-out", "task-support-spelled-out", "meta-changed"),
        *("resource-added", "resource-removed", "resource-size-changed"),
    }
    assert immaterial == {rule.id for rule in RULES.values() if rule.output is Impact.IMMATERIAL}


@given(tools().flatmap(lambda tool: st.tuples(st.just(tool), edited(tool))))
def test_digests_differ_exactly_when_a_change_is_reported_and_at_the_same_places(pair):
    old, new = (Contract(Kind.TOOL, side) for side in pair)
    changes = list(diff_contract(old, new))
    assert (old.digest != new.digest) is bool(changes)
    assert pointers(changes) == {edit.pointer for edit in differences(*pair)}


@given(tools(), tools())
def test_tools_drawn_apart_are_reported_at_the_places_of_their_raw_difference(left, right):
    right = {**right, "name": left["name"]}
    changes = list(diff_contract(Contract(Kind.TOOL, left), Contract(Kind.TOOL, right)))
    assert pointers(changes) == {edit.pointer for edit in differences(left, right)}
