"""The decision alone: what of a list is shown, and whether a call may go on."""

from __future__ import annotations

import copy
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.canonical import canonical
from mcp_lock.contract import Contract, Kind
from mcp_lock.diff import diff_contract, is_immaterial
from mcp_lock.errors import Unpinnable
from mcp_lock.guard.gate import REASONS, Allow, Block, Gate, Listing, Relist
from mcp_lock.outcome import Impact
from mcp_lock.policy import Ignore, Policy
from mcp_lock.rules import RULES
from tests.definitions import edited, tools
from tests.guarded import pins
from tests.project import tool

SEARCH = tool("search", "Search the notes.", query={"type": "string"})
OTHER = tool("other")


def gate(*pinned: dict, **more) -> Gate:
    return Gate(pins(tools=list(pinned), **more))


def called(pinned: list[dict], live: list, name: str = "search"):
    return gate(*pinned).called(Kind.TOOL, name, Listing(Kind.TOOL, tuple(live)))


def test_a_tool_listed_as_pinned_may_be_called():
    decision = called([SEARCH], [OTHER, SEARCH])
    assert isinstance(decision, Allow)
    assert decision.live == decision.pinned.digest


def test_a_difference_that_the_project_knows_does_not_block_and_any_other_one_does():
    live = {**SEARCH, "description": "Search the memos."}
    ignore = Ignore(
        "mcplock.toml:1", "renamed", "s", "search", "tool-description-reworded", pattern=re.compile("notes|memos")
    )
    policy = Policy(ignores=(ignore,))
    known = Gate(pins(tools=[SEARCH]), "s", policy).called(Kind.TOOL, "search", Listing(Kind.TOOL, (live,)))
    assert isinstance(known, Allow)
    assert known.live != known.pinned.digest
    for server, description in (("other", live["description"]), ("s", "Delete the memos.")):
        listing = Listing(Kind.TOOL, ({**live, "description": description},))
        assert isinstance(Gate(pins(tools=[SEARCH]), server, policy).called(Kind.TOOL, "search", listing), Block)


def test_without_a_list_a_pinned_tool_needs_one_and_another_is_blocked_at_once():
    assert isinstance(gate(SEARCH).called(Kind.TOOL, "search", None), Relist)
    assert gate(SEARCH).called(Kind.TOOL, "nope", None).rules == ("not-locked",)


@pytest.mark.parametrize("name", ["SEARCH", "search ", " search", "search\u200b", "", "s\u0435arch", "se\u0301arch"])
def test_names_are_compared_exactly(name):
    live = [SEARCH, {**SEARCH, "name": name}]
    assert called([SEARCH], live, name).rules == ("not-locked",)


def test_a_name_that_is_composed_otherwise_is_another_name():
    composed, decomposed = {**SEARCH, "name": "r\u00e9sum\u00e9"}, {**SEARCH, "name": "re\u0301sume\u0301"}
    assert called([composed], [decomposed], decomposed["name"]).rules == ("not-locked",)
    assert called([composed], [decomposed], composed["name"]).rules == ("not-listed",)


@pytest.mark.parametrize(
    ("live", "rules"),
    [
        ([], ("not-listed",)),
        ([OTHER], ("not-listed",)),
        ([{**SEARCH, "description": "Run it."}, SEARCH], ("listed-twice",)),
        ([SEARCH, {**SEARCH, "description": "Run it."}], ("listed-twice",)),
        ([{**SEARCH, "x": float("inf")}], ("unreadable-definition",)),
        ([None, 1, "search", {"name": None}, {"description": "search"}], ("not-listed",)),
    ],
    ids=["empty", "gone", "poisoned first", "poisoned second", "unreadable", "no tools"],
)
def test_what_cannot_be_told_from_the_list_blocks(live, rules):
    decision = called([SEARCH], live)
    assert isinstance(decision, Block)
    assert decision.rules == rules
    assert set(rules) <= set(REASONS)


def test_the_same_definition_listed_twice_is_one():
    assert isinstance(called([SEARCH], [SEARCH, copy.deepcopy(SEARCH)]), Allow)


def test_a_faulty_list_blocks_whatever_else_it_holds():
    decision = gate(SEARCH).called(Kind.TOOL, "search", Listing(Kind.TOOL, (SEARCH,), fault="cut off"))
    assert decision.rules == ("list-failed",)


def test_a_difference_is_told_by_rule_place_and_digest():
    decision = called([SEARCH], [{**SEARCH, "description": "Delete the notes."}])
    assert isinstance(decision, Block)
    (difference,) = decision.differences
    assert difference.pointer == "/description"
    assert decision.rules == (difference.rule,)
    assert difference.rule in RULES
    assert decision.live == Contract(Kind.TOOL, {**SEARCH, "description": "Delete the notes."}).digest


def test_what_is_shown_is_pinned_and_in_the_order_of_the_server():
    drifted = {**SEARCH, "description": "Run it."}
    shown = gate(SEARCH, OTHER, tool("gone")).listed(Listing(Kind.TOOL, (OTHER, tool("new"), drifted)))
    assert list(shown.definitions) == [OTHER, SEARCH]
    assert {name: block.rules for name, block in shown.held.items()} == {
        "new": ("not-locked",),
        "search": ("tool-description-reworded",),
        "gone": ("not-listed",),
    }


def test_resources_beside_the_pins_may_be_read_and_those_that_are_gone_too():
    pinned = {"uri": "file:///a", "name": "a"}
    with_resource = gate(resources=[pinned])
    empty = Listing(Kind.RESOURCE)
    assert isinstance(with_resource.called(Kind.RESOURCE, "file:///b", None), Allow)
    assert isinstance(with_resource.called(Kind.RESOURCE, "file:///a", empty), Allow)
    moved = Listing(Kind.RESOURCE, ({**pinned, "name": "b"},))
    assert isinstance(with_resource.called(Kind.RESOURCE, "file:///a", moved), Block)


@given(tools(), st.data())
def test_no_tool_is_allowed_whose_digest_is_not_pinned_immaterial_changes_aside(definition, data):
    live = data.draw(edited(definition))
    pinned, fresh = Contract(Kind.TOOL, definition), Contract(Kind.TOOL, live)
    if pinned.name != fresh.name:
        return
    decision = Gate(pins(tools=[definition])).called(Kind.TOOL, pinned.name, Listing(Kind.TOOL, (live,)))
    if isinstance(decision, Allow):
        assert fresh.digest == pinned.digest or all(
            change.impact is Impact.IMMATERIAL for change in diff_contract(pinned, fresh)
        )
    else:
        assert fresh.digest != pinned.digest
        assert decision.rules


@given(tools(), st.data())
def test_whether_a_change_is_immaterial_needs_no_proof(definition, data):
    old, new = Contract(Kind.TOOL, definition), Contract(Kind.TOOL, data.draw(edited(definition)))
    try:
        canonical(new.definition)
    except Unpinnable:
        return
    slowly = all(change.impact is Impact.IMMATERIAL for change in diff_contract(old, new))
    assert is_immaterial(old, new) is slowly


def test_a_decision_is_plain_data():
    decision = called([SEARCH], [{**SEARCH, "description": "Run it."}])
    assert json.dumps(list(decision.rules))
    with pytest.raises(AttributeError):
        decision.reason = "fine"
