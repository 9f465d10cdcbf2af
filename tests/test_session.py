from __future__ import annotations

import json

import pytest

from mcp_lock import __version__, session
from mcp_lock.contract import Kind
from mcp_lock.errors import ConnectError
from mcp_lock.session import Asking, dialogue
from mcp_lock.session.dialogue import Dialogue
from mcp_lock.transport.leak import Secrets
from mcp_lock.transport.stdio import StdioTransport

pytestmark = pytest.mark.anyio
TWO = {"tools": [{"name": "a"}, {"name": "b"}]}


async def read(server, **asking):
    client = asking.pop("client", ("mcplock", __version__))
    async with StdioTransport(server) as transport:
        return await session.read_surface(Dialogue(transport, Secrets({}), client), Asking(**asking))


def sent(log, method):
    return [message for message in map(json.loads, log.read_text().splitlines()) if message.get("method") == method]


async def test_definitions_arrive_word_for_word(serve):
    text = '{"name":"a","z":1.0,"x":{"big":18446744073709551615,"n":null,"t":"\\ud800"},"b":1e2}'
    surface = await read(serve(f'{{"tools":[{text}]}}'))
    assert surface.contracts(Kind.TOOL)["a"].definition == json.loads(text)


async def test_an_empty_cursor_is_sent_as_one(serve, tmp_path):
    log = tmp_path / "log"
    await read(serve(TWO, faults=["same-cursor="], log=log), twice=False)
    assert [message["params"].get("cursor") for message in sent(log, "tools/list")] == [None, "", ""]


async def test_the_client_says_it_can_do_everything(serve, tmp_path):
    log = tmp_path / "log"
    await read(serve(TWO, era="legacy", log=log))
    params = sent(log, "initialize")[0]["params"]
    assert params["capabilities"].keys() == {"elicitation", "roots", "sampling"}
    assert params["clientInfo"] == {"name": "mcplock", "version": __version__}


async def test_every_stateless_request_says_who_asks(serve, tmp_path):
    log = tmp_path / "log"
    await read(serve(TWO, era="modern", page_size=1, log=log), client=("other", "9"))
    for message in map(json.loads, log.read_text().splitlines()):
        meta = message["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientInfo"] == {"name": "other", "version": "9"}
        assert "sampling" in meta["io.modelcontextprotocol/clientCapabilities"]


async def test_the_handshake_is_finished_before_anything_is_listed(serve, tmp_path):
    log = tmp_path / "log"
    await read(serve(TWO, era="legacy", log=log), probe=False)
    methods = [json.loads(line).get("method") for line in log.read_text().splitlines()]
    assert methods[:3] == ["initialize", "notifications/initialized", "tools/list"]


async def test_the_tools_are_listed_twice_and_nothing_else_is(serve, tmp_path):
    log = tmp_path / "log"
    await read(serve(TWO, log=log))
    assert len(sent(log, "tools/list")) == 2
    assert len(sent(log, "prompts/list")) == 1


async def test_one_list_will_do_when_no_comparison_is_wanted(serve, tmp_path):
    log = tmp_path / "log"
    await read(serve(TWO, log=log), twice=False)
    assert len(sent(log, "tools/list")) == 1


async def test_only_the_kinds_that_are_wanted_are_asked_for(serve, tmp_path):
    log = tmp_path / "log"
    surface = await read(serve(TWO | {"resources": []}, log=log), kinds={Kind.TOOL})
    assert set(surface.items) == {Kind.TOOL}
    assert not sent(log, "resources/list")


async def test_a_second_list_in_another_order_is_the_same_list(serve, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"tools":[{"name":"b","x":1.0},{"name":"a"}]}')
    surface = await read(serve({"tools": [{"name": "a"}, {"name": "b", "x": 1}]}, faults=[f"second={other}"]))
    assert surface.second is None


async def test_a_second_list_that_differs_is_kept_beside_the_first(serve, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"tools":[{"name":"a","x":true},{"name":"c"},{"name":"d"}]}')
    first = {"tools": [{"name": "a", "x": 1}, {"name": "b"}, {"name": "d"}]}
    surface = await read(serve(first, faults=[f"second={other}"]))
    assert surface.contracts(Kind.TOOL)["a"].definition["x"] == 1
    assert surface.second is not None
    assert surface.second[Kind.TOOL]["a"].definition["x"] is True


async def test_more_items_than_any_server_has_are_not_read(serve):
    server = serve({"tools": [{"name": str(number)} for number in range(10_001)]})
    with pytest.raises(ConnectError, match=r"^tools/list lists more than 10000 items"):
        await read(server)


async def test_after_an_answer_to_no_question_the_right_one_gets_little_time(serve, monkeypatch):
    monkeypatch.setattr(dialogue, "STRAY_GRACE", 0.1)
    with pytest.raises(ConnectError) as caught:
        await read(serve(TWO, faults=["other-id-on=tools/list:0"]))
    expected = "got a response with unexpected id 0 while waiting for 2 (tools/list), and no answer after it"
    assert str(caught.value) == expected


async def test_an_answer_to_no_question_does_no_harm_when_the_right_one_comes(serve):
    stray = '{"jsonrpc":"2.0","id":99,"result":{"tools":[]}}'
    surface = await read(serve(TWO, faults=[f"before={stray}"]))
    assert list(surface.contracts(Kind.TOOL)) == ["a", "b"]


async def test_a_list_that_is_not_declared_and_not_answered_is_none(serve, monkeypatch):
    monkeypatch.setattr(session, "UNDECLARED", 0.1)
    surface = await read(serve(TWO, faults=["mute-on=prompts/list"]))
    assert set(surface.items) == {Kind.TOOL}


async def test_a_list_that_is_declared_is_waited_for(serve, monkeypatch):
    monkeypatch.setattr(session, "UNDECLARED", 0.0)
    surface = await read(serve(TWO | {"prompts": [{"name": "p"}]}))
    assert list(surface.contracts(Kind.PROMPT)) == ["p"]


async def test_a_discovery_that_comes_too_late_still_counts(serve):
    surface = await read(serve(TWO, era="modern", faults=["sleep=0.5"]), patience=0.1)
    assert surface.protocol == "2026-07-28"


async def test_the_reply_to_a_refused_request_is_an_error(serve, tmp_path):
    log = tmp_path / "log"
    await read(serve(TWO, faults=["ask-on=tools/list:elicitation/create"], log=log), twice=False)
    # the server goes on only once it has the reply, which it reads past its log
    assert len(sent(log, "tools/list")) == 1
