"""Three locks into one: what changed on one side is taken, what both changed is a conflict, and no pin is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_lock import lockfile
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.errors import LockError
from mcp_lock.launch import LaunchSpec
from mcp_lock.lockfile import Lock, ServerPin
from mcp_lock.lockfile.pieces import head, pieces
from mcp_lock.merging import merge, merge_files
from tests.test_lockfile import locks

FEW = settings(max_examples=40)
NPX = LaunchSpec("stdio", command="npx", args=("-y", "pkg@1.0.0"), env={"TOKEN": "${TOKEN}"})


def tool(name: str, description: str = "Does it.", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, **more}


def pin(*tools: dict[str, Any], launch: LaunchSpec | None = NPX, **more: Any) -> ServerPin:
    items = {kind: {one[kind.key]: Contract(kind, one) for one in more.pop(kind.name.lower(), ())} for kind in Kind}
    items[Kind.TOOL] = {one["name"]: Contract(Kind.TOOL, one) for one in tools}
    return ServerPin(launch, Surface({kind: held for kind, held in items.items() if held}, **more))


def one(*tools: dict[str, Any], **more: Any) -> Lock:
    return Lock({"s": pin(*tools, **more)})


def merged(base: Lock, ours: Lock, theirs: Lock) -> Lock:
    """The merge, which must be clean, and the same from the other side."""
    results = [merge(base, ours, theirs), merge(base, theirs, ours)]
    assert [result.conflict_lines() for result in results] == [[], []]
    texts = {result.text() for result in results}
    assert len(texts) == 1
    return lockfile.parse(texts.pop().encode(), "merged")


def same(found: Lock, meant: Lock) -> bool:
    return lockfile.dumps(found) == lockfile.dumps(meant)


def taken(text: str, side: str) -> str:
    """What a person gets who takes one side of every conflict."""
    out, now = [], "both"
    for line in text.splitlines(keepends=True):
        turn = {"<<<<<<< ours\n": "ours", "=======\n": "theirs", ">>>>>>> theirs\n": "both"}.get(line)
        if turn:
            now = turn
        elif now in ("both", side):
            out.append(line)
    return "".join(out)


A, B, C = tool("a"), tool("b"), tool("c")
CLEAN = {
    "different tools": (one(A, B), one(tool("a", "x"), B), one(A, tool("b", "y")), one(tool("a", "x"), tool("b", "y"))),
    "the same change": (one(A), one(tool("a", "x")), one(tool("a", "x")), one(tool("a", "x"))),
    "tools added side by side": (one(A), one(A, B), one(A, C), one(A, B, C)),
    "a first tool on either side": (one(), one(A), one(B), one(A, B)),
    "one removed and one added": (one(A), one(), one(A, B), one(B)),
    "both remove": (one(A, B), one(B), one(B), one(B)),
    "servers added": (Lock({}), Lock({"x": pin(A)}), Lock({"y": pin(A)}), Lock({"x": pin(A), "y": pin(A)})),
    "the same server added with other tools": (Lock({}), one(A), one(B), one(A, B)),
    "a server removed": (Lock({"x": pin(A), "y": pin()}), Lock({"y": pin()}), Lock({"x": pin(A)}), Lock({})),
    "launch and tool": (
        one(A),
        one(A, launch=replace(NPX, args=("-y", "pkg@2.0.0"))),
        one(tool("a", "x")),
        one(tool("a", "x"), launch=replace(NPX, args=("-y", "pkg@2.0.0"))),
    ),
    "arguments and a variable": (
        one(A),
        one(A, launch=replace(NPX, args=("-y", "pkg@2.0.0"))),
        one(A, launch=replace(NPX, env={"TOKEN": "${TOKEN}", "LOG": "error"})),
        one(A, launch=replace(NPX, args=("-y", "pkg@2.0.0"), env={"TOKEN": "${TOKEN}", "LOG": "error"})),
    ),
    "two variables": (
        one(A, launch=replace(NPX, env={})),
        one(A, launch=replace(NPX, env={"X": "1"})),
        one(A, launch=replace(NPX, env={"Y": "2"})),
        one(A, launch=replace(NPX, env={"X": "1", "Y": "2"})),
    ),
    "the env file and a header": (
        one(A),
        one(A, launch=replace(NPX, env_file=".env", env_file_digest="d")),
        one(A, launch=replace(NPX, headers={"X": "1"})),
        one(A, launch=replace(NPX, env_file=".env", env_file_digest="d", headers={"X": "1"})),
    ),
    "instructions and a tool": (one(A), one(A, instructions="Do."), one(A, B), one(A, B, instructions="Do.")),
    "every kind": (
        one(A),
        one(A, prompt=[tool("p")], resource=[{"uri": "u"}]),
        one(A, template=[{"uriTemplate": "t"}], prompt=[tool("q")]),
        one(A, prompt=[tool("p"), tool("q")], resource=[{"uri": "u"}], template=[{"uriTemplate": "t"}]),
    ),
    "what a server says of itself": (
        one(A, server_version="1", protocol="2025-06-18"),
        one(A, server_version="2", protocol="2025-06-18"),
        one(A, server_version="3", protocol="2025-11-25"),
        one(A, server_version="3", protocol="2025-11-25"),
    ),
    "a tool of the same name elsewhere": (
        Lock({"x": pin(A), "y": pin(A)}),
        Lock({"x": pin(tool("a", "x")), "y": pin(A)}),
        Lock({"x": pin(A), "y": pin(tool("a", "y"))}),
        Lock({"x": pin(tool("a", "x")), "y": pin(tool("a", "y"))}),
    ),
}


@pytest.mark.parametrize("case", CLEAN)
def test_what_changed_on_one_side_only_is_merged(case):
    base, ours, theirs, meant = CLEAN[case]
    assert same(merged(base, ours, theirs), meant)


def test_a_build_number_that_both_sides_refreshed_is_no_conflict():
    base, ours, theirs = (one(tool("a", _meta={"build": build})) for build in (1, 2, 3))
    result = merge(base, ours, theirs)
    assert result.conflicts == ()
    assert result.text() == lockfile.dumps(ours)


CONFLICTS = {
    "the same tool": (
        (one(A, B), one(tool("a", "x"), B), one(tool("a", tit="y"), B)),
        "conflict in s/a: ours changes description, theirs changes tit; take either side, then run `mcplock lock s/a`",
    ),
    "changed and removed": (
        (one(A, B), one(tool("a", "x"), B), one(B)),
        "conflict in s/a: ours changes description, theirs removes it; take either side, then run `mcplock lock s/a`",
    ),
    "both add": (
        (one(B), one(A, B), one(tool("a", "x"), B)),
        "conflict in s/a: ours adds it, theirs adds it; take either side, then run `mcplock lock s/a`",
    ),
    "both bump": (
        tuple(one(A, launch=replace(NPX, args=(version,))) for version in "123"),
        (
            "conflict in s, launch: ours changes args: 1 → 2, theirs changes args: 1 → 3; "
            "take either side, then run `mcplock lock s`"
        ),
    ),
    "a variable": (
        (one(A), *(one(A, launch=replace(NPX, env={"TOKEN": value})) for value in ("${X}", "${Y}"))),
        "conflict in s, env.TOKEN: ours changes it, theirs changes it; take either side, then run `mcplock lock s`",
    ),
    "instructions": (
        (one(A), one(A, instructions="x"), one(A, instructions="y")),
        "conflict in s, instructions: ours adds it, theirs adds it; take either side, then run `mcplock lock s`",
    ),
    "a server renamed and changed": (
        (Lock({"s": pin(A, B)}), Lock({"t": pin(A, B)}), Lock({"s": pin(A, tool("b", "x"))})),
        "conflict in server s: ours removes it, theirs changes s/b; take either side, then run `mcplock lock s`",
    ),
    "the only server removed and changed": (
        (one(A), Lock({}), one(B)),
        "conflict in server s: ours removes it, theirs changes s/a, s/b; take either side, then run `mcplock lock s`",
    ),
    "a prompt": (
        (one(A), one(A, prompt=[tool("p")]), one(A, prompt=[tool("p", "x")])),
        "conflict in prompt s/p: ours adds it, theirs adds it; take either side, then run `mcplock lock s`",
    ),
    "how it is started, told on one side only": (
        (one(A, launch=None), one(A, launch=NPX), one(A, launch=replace(NPX, env={}))),
        "conflict in s, launch: ours adds it, theirs adds it; take either side, then run `mcplock lock s`",
    ),
    "a name that a shell would obey": (
        (Lock({}), Lock({"-s": pin(tool("$(x)"))}), Lock({"-s": pin(tool("$(x)", "x"))})),
        "conflict in -s/$(x): ours adds it, theirs adds it; take either side, then run `mcplock lock -- '-s/$(x)'`",
    ),
    "a name that nobody can read": (
        (Lock({}), one(tool("a\u202e\n")), one(tool("a\u202e\n", "x"))),
        'conflict in s/"a\\u{202e}\\u{a}": ours adds it, theirs adds it; take either side, then run `mcplock lock s`',
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_what_both_sides_changed_is_a_conflict_and_either_side_of_it_is_a_valid_lock(case):
    (base, ours, theirs), line = CONFLICTS[case]
    result = merge(base, ours, theirs)
    assert result.conflict_lines() == [line]
    assert result.text().count("<<<<<<< ours\n") == 1
    assert same(lockfile.parse(taken(result.text(), "ours").encode(), "x"), result.ours)
    assert same(lockfile.parse(taken(result.text(), "theirs").encode(), "x"), result.theirs)
    with pytest.raises(LockError, match=r":\d+: merge conflict markers; take either side"):
        lockfile.parse(result.text().encode(), "mcp.lock")


def test_beside_a_conflict_everything_else_is_merged():
    base = one(A, B, C)
    result = merge(base, one(tool("a", "x"), tool("b", "x"), C), one(tool("a", "y"), B, tool("c", "y")))
    assert same(result.ours, one(tool("a", "x"), tool("b", "x"), tool("c", "y")))
    assert same(result.theirs, one(tool("a", "y"), tool("b", "x"), tool("c", "y")))
    assert result.text().count("<<<<<<<") == 1


def test_a_server_started_otherwise_whose_contracts_the_other_side_changed_deserves_a_look():
    bumped = replace(NPX, args=("-y", "pkg@2.0.0"))
    both = merge(one(A, B), one(tool("a", "x"), B, launch=bumped), one(A, tool("b", "y")))
    assert both.notes() == ["s: one side starts it otherwise and the other changes contracts: run `mcplock verify`"]
    assert merge(one(A, B), one(tool("a", "x"), B, launch=bumped), one(A, B)).notes() == []


@pytest.mark.parametrize("bad", ["", "version = 2\n[servers]\n", "<<<<<<< ours\n", "\xff"])
@pytest.mark.parametrize("side", ["base", "ours", "theirs"])
def test_a_side_that_cannot_be_read_is_told_and_nothing_is_written(tmp_path, side, bad):
    files = {name: tmp_path / name for name in ("base", "ours", "theirs")}
    for name, file in files.items():
        file.write_bytes(bad.encode("latin-1") if name == side else lockfile.dumps(one(A)).encode())
    before = files["ours"].read_bytes()
    if side == "base" and not bad:  # git's way to say that there is no ancestor
        assert merge_files(*files.values(), "mcp.lock").conflicts == ()
        return
    called = "common ancestor" if side == "base" else side
    with pytest.raises(LockError, match=rf"^mcp\.lock \({called}\):1: "):
        merge_files(*files.values(), "mcp.lock")
    assert files["ours"].read_bytes() == before


@FEW
@given(locks())
def test_the_pieces_of_a_lock_are_its_text(lock):
    assert head() + "".join(pieces(lock).values()) == lockfile.dumps(lock)


@FEW
@given(locks(), locks(), locks())
def test_merging_keeps_what_either_side_has_and_settles_what_only_one_changed(base, ours, theirs):
    assert merge(base, ours, base).text() == lockfile.dumps(ours)
    assert merge(base, base, theirs).text() == lockfile.dumps(theirs)
    assert merge(base, ours, ours).text() == lockfile.dumps(ours)
    result = merge(base, ours, theirs)
    for side, kept in (("ours", result.ours), ("theirs", result.theirs)):
        assert same(lockfile.parse(taken(result.text(), side).encode(), "x") if result.conflicts else kept, kept)


TOOLS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4)


def listed(tools: dict[str, str]) -> Lock:
    return one(*(tool(name, text) for name, text in tools.items()))


@settings(max_examples=200)
@given(TOOLS, TOOLS, TOOLS)
def test_every_tool_ends_as_the_rule_of_three_says(base, ours, theirs):
    result = merge(*map(listed, (base, ours, theirs)))
    for name in "abcd":
        old, mine, yours = (side.get(name) for side in (base, ours, theirs))
        settled = mine if yours in {mine, old} else yours if mine == old else "conflict"
        got = [side.servers["s"].surface.contracts(Kind.TOOL).get(name) for side in (result.ours, result.theirs)]
        texts = [contract and contract.definition["description"] for contract in got]
        assert texts == ([mine, yours] if settled == "conflict" else [settled, settled])
    open_tools = {conflict.slot[2] for conflict in result.conflicts}
    assert open_tools == {n for n in "abcd" if len({base.get(n), ours.get(n), theirs.get(n)}) == 3}
