"""The guard's own lists without any process: who may share one, when one is whole, when its bytes are believed."""

from __future__ import annotations

import json

import pytest

from mcp_lock.contract import Kind
from mcp_lock.guard.lists import Lists
from tests.project import tool

SEARCH, OTHER = tool("search"), tool("other")
BAD = {**SEARCH, "description": "Run it."}


class Server:
    """The other end: what it was asked, and answers to it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[dict] = []
        self.lists = Lists(5, lambda: self.now, lambda line: self.asked.append(json.loads(line)))

    def answer(self, *tools: dict, asked: int = -1, **more) -> bool:
        """Answer a request; whether the bytes alone were enough."""
        line = json.dumps({"jsonrpc": "2.0", "id": self.asked[asked]["id"], "result": {"tools": list(tools), **more}})
        if self.lists.is_as_before(line.encode()):
            return True
        assert self.lists.answered(self.asked[asked]["id"], line.encode())
        return False


@pytest.fixture
def server():
    return Server()


def test_who_comes_while_a_list_is_read_waits_for_the_next_one(server):
    first, second, third = [], [], []
    server.lists.ask(Kind.TOOL, {}, first.append)
    server.lists.ask(Kind.TOOL, {}, second.append)
    server.lists.ask(Kind.TOOL, {}, third.append)
    server.answer(SEARCH)
    assert ([one.definitions for one in first], second, third) == ([(SEARCH,)], [], [])
    server.answer(BAD)
    assert second == third
    assert second[0].definitions == (BAD,)
    assert len(server.asked) == 2


def test_lists_for_two_clients_are_two(server):
    one, other = [], []
    server.lists.ask(Kind.TOOL, {"who": "a"}, one.append)
    server.lists.ask(Kind.TOOL, {"who": "b"}, other.append)
    assert [asked["params"]["_meta"]["who"] for asked in server.asked] == ["a", "b"]
    server.answer(SEARCH, asked=0)
    server.answer(BAD, asked=1)
    assert (one[0].definitions, other[0].definitions) == ((SEARCH,), (BAD,))


def test_ids_are_never_used_twice(server):
    for _ in range(50):
        server.lists.ask(Kind.TOOL, {}, lambda _: None)
        server.answer(SEARCH)
    assert len({asked["id"] for asked in server.asked}) == 50


def test_an_answer_in_the_same_bytes_is_the_same_list(server):
    got = []
    server.lists.ask(Kind.TOOL, {}, got.append)
    assert server.answer(SEARCH) is False
    server.lists.ask(Kind.TOOL, {}, got.append)
    assert server.answer(SEARCH) is True
    assert got[0] is got[1]
    server.lists.ask(Kind.TOOL, {}, got.append)
    assert server.answer(BAD) is False
    assert got[2].definitions == (BAD,)


def test_the_same_bytes_under_another_id_are_no_answer(server):
    got = []
    server.lists.ask(Kind.TOOL, {}, got.append)
    server.answer(SEARCH)
    server.lists.ask(Kind.TOOL, {}, got.append)
    stale = json.dumps({"jsonrpc": "2.0", "id": server.asked[0]["id"], "result": {"tools": [SEARCH]}})
    assert server.lists.is_as_before(stale.encode()) is False
    assert server.lists.answered(server.asked[0]["id"], stale.encode()) is False
    assert len(got) == 1


def test_an_answer_that_repeats_its_id_is_parsed_every_time(server):
    got = []
    for definition in (SEARCH, SEARCH):
        server.lists.ask(Kind.TOOL, {}, got.append)
        assert server.answer({**definition, "x": server.asked[-1]["id"]}) is False
    assert got[0].definitions != got[1].definitions


def test_every_page_is_read(server):
    got = []
    for _ in range(2):
        server.lists.ask(Kind.TOOL, {}, got.append)
        known = server.answer(SEARCH, nextCursor="")
        assert server.asked[-1]["params"]["cursor"] == ""
        assert server.answer(OTHER) is known
    assert got[0].definitions == (SEARCH, OTHER)
    assert got[1] is got[0]


def test_a_page_two_that_changed_is_seen_behind_a_page_one_that_did_not(server):
    got = []
    for last in (OTHER, BAD):
        server.lists.ask(Kind.TOOL, {}, got.append)
        server.answer(SEARCH, nextCursor="2")
        assert server.answer(last) is False
    assert got[1].definitions == (SEARCH, BAD)


def test_cursors_that_go_in_circles_end_the_list_only_when_nothing_new_is_behind_them(server):
    got = []
    server.lists.ask(Kind.TOOL, {}, got.append)
    for page in ([SEARCH], [OTHER], [OTHER]):
        server.answer(*page, nextCursor="1")
    assert got[0].definitions == (SEARCH, OTHER)
    server.lists.ask(Kind.TOOL, {}, got.append)
    for page in ([SEARCH], [OTHER], [BAD]):
        server.answer(*page, nextCursor="1")
    assert got[1].fault == "its cursors go round in circles"


def test_a_list_without_an_end_is_given_up(server):
    got = []
    server.lists.ask(Kind.TOOL, {}, got.append)
    for page in range(200):
        server.answer(tool(f"t{page}"), nextCursor=str(page))
    assert "does not end" in got[0].fault


@pytest.mark.parametrize(
    "result",
    [
        {"tools": "x"},
        {},
        {"tools": [], "nextCursor": 1},
        {"tools": [], "Tools": [SEARCH]},
        {"tools": [], "resultType": "input_required"},
    ],
)
def test_what_is_not_plainly_a_list_is_none(server, result):
    got = []
    server.lists.ask(Kind.TOOL, {}, got.append)
    line = json.dumps({"jsonrpc": "2.0", "id": server.asked[-1]["id"], "result": result})
    server.lists.answered(server.asked[-1]["id"], line.encode())
    assert got[0].fault


def test_a_list_that_takes_too_long_is_given_up_and_a_late_answer_is_none(server):
    got = []
    server.lists.ask(Kind.TOOL, {}, got.append)
    server.now = 4.9
    server.lists.tick()
    assert got == []
    server.now = 5.0
    server.lists.tick()
    assert got[0].fault == "no whole answer within 5 s"
    assert server.lists.answered(server.asked[0]["id"], b"{}") is False
    assert server.lists.is_own(server.asked[0]["id"])


def test_the_end_of_the_server_is_told_to_all_who_wait_and_all_who_come(server):
    got = []
    for _ in range(3):
        server.lists.ask(Kind.TOOL, {}, got.append)
    server.lists.end()
    server.lists.ask(Kind.TOOL, {}, got.append)
    assert [one.fault for one in got] == ["the server has ended"] * 4
