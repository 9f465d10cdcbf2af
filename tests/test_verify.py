"""Two sides compared, server by server, and what that means for an exit code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_lock.contract import Contract, Flaw, Kind, Surface
from mcp_lock.launch import LaunchSpec
from mcp_lock.lockfile import ServerPin
from mcp_lock.outcome import Impact, Item, Report, Status
from mcp_lock.verify import Unseen, compare

LAUNCH = LaunchSpec("stdio", command="python3", args=("server.py",))


def tool(name: str, **members: object) -> Contract:
    return Contract(Kind.TOOL, {"name": name, "description": "Does it.", "inputSchema": {"type": "object"}, **members})


def pin(*tools: Contract, launch: LaunchSpec = LAUNCH, **members: object) -> ServerPin:
    return ServerPin(launch, Surface({Kind.TOOL: {one.name: one for one in tools}}, **members))


def only(report: Report):
    (server,) = report.servers
    return server


def test_the_same_surface_is_unchanged_and_counted():
    server = only(compare({"s": pin(tool("a"), tool("b"))}, {"s": pin(tool("b"), tool("a"))}))
    assert (server.status, server.changes, server.unchanged) == (Status.UNCHANGED, (), 2)


def test_a_changed_tool_is_drift_with_the_live_digest_to_accept():
    live = tool("a", title="A")
    server = only(compare({"s": pin(tool("a"), tool("b"))}, {"s": pin(live, tool("b"))}))
    assert (server.status, server.unchanged, server.digests) == (Status.DRIFTED, 1, {"tools/a": live.digest})
    assert [change.rule.id for change in server.changes] == ["title-changed"]


def test_an_immaterial_change_is_told_but_is_no_drift():
    server = only(compare({"s": pin(tool("a"))}, {"s": pin(tool("a", _meta={"build": "2"}))}))
    assert (server.status, [change.rule.id for change in server.changes]) == (Status.UNCHANGED, ["meta-changed"])


def test_changed_instructions_have_a_digest_to_accept_too():
    server = only(compare({"s": pin(instructions="a")}, {"s": pin(instructions="b")}))
    assert server.status is Status.DRIFTED
    assert list(server.digests) == ["instructions"]


def test_changes_come_worst_first():
    old, new = tool("a", title="A"), tool("a", title="B", annotations={"destructiveHint": True, "readOnlyHint": True})
    changes = only(compare({"s": pin(old)}, {"s": pin(new, tool("z"))})).changes
    assert [change.impact for change in changes] == sorted((change.impact for change in changes), reverse=True)


def test_a_server_that_is_no_longer_configured_is_gone():
    assert only(compare({"s": pin(tool("a"))}, {})).status is Status.GONE


def test_a_server_that_is_not_pinned_is_reported_with_all_it_lists():
    server = only(compare({}, {"s": pin(tool("a"))}))
    assert (server.status, [change.rule.id for change in server.changes]) == (Status.NOT_LOCKED, ["tool-added"])


def test_an_unseen_server_keeps_its_reason_and_no_tool_of_it_is_called_removed():
    server = only(compare({"s": pin(tool("a"))}, {"s": Unseen(Status.UNREADABLE, "exited")}))
    assert (server.status, server.error, server.changes) == (Status.UNREADABLE, "exited", ())


def test_another_launch_spec_is_said_even_where_the_contracts_are_the_same():
    moved = replace(LAUNCH, args=("other.py",))
    server = only(compare({"s": pin(tool("a"))}, {"s": pin(tool("a"), launch=moved)}))
    assert server.status is Status.LAUNCH_CHANGED
    assert "other.py" in server.error


def test_a_tool_that_cannot_be_pinned_is_an_error_and_not_a_removal():
    flaw = Flaw(Kind.TOOL, "a", "/inputSchema/default", "not valid JSON: Infinity")
    server = only(compare({"s": pin(tool("a"), tool("b"))}, {"s": pin(tool("b"), flaws=(flaw,))}))
    assert (server.status, server.changes) == (Status.UNREADABLE, ())
    assert server.error == "tool a cannot be pinned: /inputSchema/default: not valid JSON: Infinity"


def test_lists_that_do_not_stay_the_same_are_reported_as_unstable():
    live = pin(tool("a"), second={Kind.TOOL: {"a": tool("a", title="A")}})
    server = only(compare({"s": pin(tool("a"))}, {"s": live}))
    assert server.status is Status.DRIFTED
    assert [(c.rule.id, c.item) for c in server.changes] == [("tool-list-unstable", Item(Kind.TOOL, "a"))]


def test_lists_that_differ_in_what_is_immaterial_are_stable():
    live = pin(tool("a"), second={Kind.TOOL: {"a": tool("a", _meta={"served": 2})}})
    assert only(compare({"s": pin(tool("a"))}, {"s": live})).status is Status.UNCHANGED


def test_a_notice_is_told_when_the_old_side_lacked_it_and_not_again():
    odd = tool("a", inputSchema={"type": "object", "required": None})
    first = only(compare({"s": pin(tool("a"))}, {"s": pin(odd)}))
    assert [(n.pointer, n.text) for n in first.notices] == [("/inputSchema/required", "null is not an array")]
    assert only(compare({"s": pin(odd)}, {"s": pin(odd)})).notices == ()


COSMETIC = {"s": pin(tool("a", title="A"))}
COMPATIBLE = {"s": pin(tool("a"), tool("b"))}
SILENT = {"s": pin(tool("a", description="Does it twice."))}


@pytest.mark.parametrize(
    ("live", "fail_on", "code"),
    [
        ({"s": pin(tool("a"))}, Impact.COSMETIC, 0),
        (COSMETIC, Impact.COSMETIC, 1),
        (COSMETIC, Impact.COMPATIBLE, 0),
        (COMPATIBLE, Impact.COMPATIBLE, 1),
        (COMPATIBLE, Impact.SILENT, 0),
        (SILENT, Impact.SILENT, 1),
        (SILENT, Impact.SECURITY, 1),
        ({}, Impact.SILENT, 1),
        ({"s": Unseen(Status.UNREADABLE, "exited")}, Impact.COSMETIC, 3),
        ({"s": Unseen(Status.SKIPPED, "disabled")}, Impact.COSMETIC, 3),
        ({"s": Unseen(Status.UNREADABLE, "no command", is_invalid=True)}, Impact.COSMETIC, 2),
        ({**COSMETIC, "t": Unseen(Status.UNREADABLE, "exited")}, Impact.COSMETIC, 1),
        ({**COSMETIC, "t": Unseen(Status.UNREADABLE, "no command", is_invalid=True)}, Impact.COSMETIC, 2),
    ],
)
def test_the_exit_code_follows_from_the_report(live, fail_on, code):
    pins = {"s": pin(tool("a"))}
    assert compare(pins, live).exit_code(fail_on) == code


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ({"type": "string", "default": None}, "null, which the schema itself does not take: string"),
        ({"type": "integer", "default": 1.5}, "a number, which the schema itself does not take: integer"),
        (
            {"type": ["string", "integer"], "default": []},
            "an array, which the schema itself does not take: string or integer",
        ),
        ({"type": "integer", "default": True}, "a boolean, which the schema itself does not take: integer"),
        ({"type": "integer", "default": 2.0}, None),
        ({"type": ["string", "null"], "default": None}, None),
        ({"type": "string", "nullable": True, "default": None}, None),
        ({"type": "text", "default": 1}, None),
        ({"type": [1], "default": 1}, None),
        ({"default": None}, None),
    ],
)
def test_a_default_that_its_own_schema_refuses_is_noticed(parameter, said):
    live = tool("a", inputSchema={"type": "object", "properties": {"p": parameter}})
    found = [(one.pointer, one.text) for one in only(compare({}, {"s": pin(live)})).notices]
    assert found == ([("/inputSchema/properties/p/default", said)] if said else [])


def test_the_place_of_what_cannot_be_pinned_is_cut_where_it_is_very_deep():
    flaw = Flaw(Kind.TOOL, "a", "/items" * 200, "too large")
    error = only(compare({}, {"s": pin(flaws=(flaw,))})).error
    assert error.startswith("tool a cannot be pinned: /items/items/")
    assert error.endswith(": too large")
    assert len(error) < 200
