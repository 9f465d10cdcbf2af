from __future__ import annotations

import json
import sys
import time

import anyio
import pytest

from mcp_lock.config import StdioServer
from mcp_lock.errors import ConnectError
from mcp_lock.transport import lines
from mcp_lock.transport.child import MAX_LINE, STDERR_KEPT, Child
from mcp_lock.transport.stdio import StdioTransport, environment

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}


def python(tmp_path, program):
    return StdioServer((sys.executable, "-c", program), tmp_path, {})


@pytest.mark.anyio
async def test_a_message_goes_there_and_its_answer_comes_back(serve):
    async with StdioTransport(serve({})) as transport:
        await transport.send(PING | {"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}})
        assert await transport.receive() == PONG


@pytest.mark.anyio
async def test_messages_that_come_in_pieces_and_several_at_once_are_told_apart(tmp_path):
    text = json.dumps(PONG)
    program = f"""import os, time
for piece in {[text[:7], text[7:] + chr(10) + text + chr(10) + text[:3], text[3:] + chr(13) + chr(10)]!r}:
    os.write(1, piece.encode()); time.sleep(0.05)"""
    async with StdioTransport(python(tmp_path, program)) as transport:
        assert [await transport.receive() for _ in range(3)] == [PONG] * 3


@pytest.mark.anyio
async def test_a_last_message_without_a_newline_counts(tmp_path):
    async with StdioTransport(python(tmp_path, f"print({json.dumps(PONG)!r}, end='')")) as transport:
        assert await transport.receive() == PONG


@pytest.mark.anyio
async def test_a_line_of_many_megabytes_is_read_in_linear_time(tmp_path):
    program = """import sys
sys.stdout.write('{"jsonrpc":"2.0","id":1,"result":{"x":"' + "y" * int(sys.argv[1]) + '"}}\\n')"""

    async def seconds(size):
        begin = time.process_time()
        async with StdioTransport(StdioServer((sys.executable, "-c", program, str(size)), tmp_path, {})) as transport:
            assert len((await transport.receive())["result"]["x"]) == size
        return time.process_time() - begin

    small, large = await seconds(3_000_000), await seconds(30_000_000)
    assert large < 40 * max(small, 0.005)


@pytest.mark.anyio
async def test_a_line_that_is_too_long_ends_the_reading(tmp_path):
    with pytest.raises(ConnectError, match="longer than 32 MB"):
        async with StdioTransport(python(tmp_path, f"print('x' * {MAX_LINE + 1})")) as transport:
            await transport.receive()


@pytest.mark.anyio
async def test_a_child_that_is_gone_is_told_when_it_is_written_to(tmp_path):
    async def send_for_ever(transport):
        with anyio.fail_after(20):
            while True:
                await transport.send(PING | {"method": "initialize"})
                await anyio.sleep(0)

    async with StdioTransport(python(tmp_path, "raise SystemExit(4)")) as transport:
        with pytest.raises(ConnectError, match=r"^exited with status 4 before answering$"):
            await send_for_ever(transport)


@pytest.mark.anyio
async def test_a_child_that_was_killed_is_told_with_its_signal(tmp_path):
    with pytest.raises(ConnectError, match=r"^was ended by SIGSEGV before answering"):
        async with StdioTransport(python(tmp_path, "import os; os.kill(os.getpid(), 11)")) as transport:
            await transport.receive()


@pytest.mark.anyio
async def test_a_grandchild_that_holds_the_pipe_does_not_hold_the_reader(tmp_path):
    program = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); sys.exit(5)"
    )
    with pytest.raises(ConnectError, match="exited with status 5"), anyio.fail_after(20):
        async with StdioTransport(python(tmp_path, program)) as transport:
            await transport.receive()


@pytest.mark.anyio
async def test_only_the_end_of_stderr_is_kept(tmp_path):
    child = await Child.start([sys.executable, "-c", "import os; os.write(2, b'x' * 5_000_000 + b'end')"], tmp_path, {})
    await child.silent(20)
    await child.end()
    assert len(child.stderr) == STDERR_KEPT
    assert child.stderr.endswith(b"xend")


@pytest.mark.anyio
async def test_a_child_that_neither_reads_nor_stops_writing_does_not_fill_the_memory(tmp_path):
    program = "import os\nwhile True: os.write(1, b'y' * 65535 + b'\\n')"
    child = await Child.start([sys.executable, "-c", program], tmp_path, {})
    try:
        with anyio.move_on_after(1):
            while True:
                await child.write(b"z" * 65536)
        assert child._waiting + child._part_size <= MAX_LINE + (1 << 20)
    finally:
        await child.end()


@pytest.mark.anyio
async def test_ending_is_not_cut_short_by_cancellation(tmp_path, is_running):
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    child = await Child.start([sys.executable, "-c", program], tmp_path, {})
    pid = child._transport.get_pid()
    await child.line()
    with anyio.move_on_after(0.1):
        try:
            await anyio.sleep_forever()
        finally:
            await child.end()
    assert not is_running(pid)


def test_the_environment_is_the_usual_names_and_the_declared_ones(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("https_proxy", "http://p")
    monkeypatch.setenv("SSL_CERT_FILE", "/ca.pem")
    env = environment({"HOME": "/elsewhere", "OWN": "1"})
    assert (env["HOME"], env["OWN"], env["https_proxy"], env["SSL_CERT_FILE"]) == (
        "/elsewhere",
        "1",
        "http://p",
        "/ca.pem",
    )
    assert "AWS_SECRET_ACCESS_KEY" not in env


@pytest.mark.parametrize(
    "line",
    ["", "}", "42", "null", "[]", '"text"', "[1", '{"level":"info"}', '{"id":1,"result":{}}', f"[{json.dumps(PONG)}]"],
)
def test_a_line_that_is_no_message_is_junk(line):
    assert lines.read(line.encode()) == lines.Line(None, line.encode())


@pytest.mark.parametrize("junk", ["loading ", "\ufeff", "}", "\ud83d", '{"a":1}'])
def test_an_answer_is_found_behind_junk_without_a_newline(junk):
    before = junk.encode("utf-8", "surrogatepass")
    assert lines.read(before + json.dumps(PONG).encode()) == lines.Line(PONG, before)


def test_a_request_quoted_in_a_log_line_is_junk():
    line = f"got {json.dumps(PING)}".encode()
    assert lines.read(line) == lines.Line(None, line)


def test_an_answer_cut_in_a_log_line_is_junk():
    line = b'sending {"jsonrpc":"2.0","id":1,"result":{"tools":[{"na...'
    assert lines.read(line) == lines.Line(None, line)


def test_a_notification_that_cannot_be_read_is_junk_and_an_answer_is_an_error():
    broken = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"caf\xe9"}}'
    assert lines.read(broken).message is None
    with pytest.raises(lines.Unreadable, match="not UTF-8 at byte 40"):
        lines.read(b'{"result":{"tools":[{"description":"caf\xe9"}]},"jsonrpc":"2.0","id":1}')


def test_a_value_deeper_than_can_be_read_becomes_null_and_its_neighbours_stay():
    deep = "[" * 100_000 + '"]"' + "]" * 100_000
    value = json.loads(lines.shallow(f'{{"before":"]}}","deep":{deep},"after":[1,{{"x":"\\"["}}]}}'))
    assert (value["before"], value["after"]) == ("]}", [1, {"x": '"['}])
    depth, inner = 0, value["deep"]
    while inner:
        depth, (inner,) = depth + 1, inner
    assert depth == lines.DEEP - 1
