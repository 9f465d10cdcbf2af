from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mcp_lock.config import HttpServer, StdioServer
from mcp_lock.connect import Limits, Phase, read_all
from mcp_lock.contract import Kind, Surface
from mcp_lock.errors import ConnectError
from mcp_lock.transport import child
from tests.conftest import SERVERS
from tests.servers.plain_http import Script, serving

CASES = sorted((Path(__file__).parent / "cases" / "connect").glob("*.json"))
TWO = {"tools": [{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b", "inputSchema": {"type": "object"}}]}


@pytest.fixture(autouse=True)
def little_grace(monkeypatch):
    """Servers that do not want to end would cost every test four seconds."""
    monkeypatch.setattr(child, "GRACE", 0.3)


def read_one(server, *, timeout=20.0, protocol=""):
    return read_all({"s": server}, protocols={"s": protocol}, limits=Limits(timeout=timeout))["s"]


def expect_error(case, found):
    assert isinstance(found, ConnectError), found
    if "error" in case:
        assert str(found) == case["error"]
    else:
        assert re.search(case["error_match"], str(found))


def expect_surface(case, found):
    assert isinstance(found, Surface), found
    tools = found.items.get(Kind.TOOL)
    assert (None if tools is None else sorted(tools)) == case["tools"]
    assert (found.second is not None) is bool(case.get("unstable"))
    assert found.instructions == case.get("instructions")
    assert f"{found.server} {found.server_version}" == case.get("server", "plain 1.0.0")
    if "protocol" in case:
        assert found.protocol == case["protocol"]
    for kind, names in case.get("kinds", {}).items():
        assert list(found.contracts(Kind(kind))) == names
    expect_notes(case, found.notes)
    expect_flaws(case, found.flaws)


def expect_notes(case, notes):
    if "notes_match" in case:
        assert len(notes) == 1
        assert re.search(case["notes_match"], notes[0]), notes[0]
    else:
        assert list(notes) == case.get("notes", [])


def expect_flaws(case, flaws):
    found = [[flaw.name, flaw.pointer, flaw.why] for flaw in flaws]
    if "flaws_match" not in case:
        assert sorted(found) == sorted(case.get("flaws", []))
        return
    assert len(found) == len(case["flaws_match"])
    for texts, patterns in zip(found, case["flaws_match"], strict=True):
        assert all(map(re.search, patterns, texts)), texts


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_server_is_read_as_its_case_says(path, serve):
    case = json.loads(path.read_text(encoding="utf-8"))
    server = serve(case["surface"], faults=case.get("faults"), **case.get("options", {}))
    found = read_one(server, timeout=case.get("timeout", 20), protocol=case.get("ask", ""))
    (expect_error if "error" in case or "error_match" in case else expect_surface)(case, found)


def test_a_command_that_is_not_there_is_named(tmp_path):
    found = read_one(StdioServer(("no-such-cmd-xyz",), tmp_path, {}))
    assert str(found) == "command not found: no-such-cmd-xyz (is it installed, and on PATH?)"


def test_a_file_that_is_not_executable_is_named(tmp_path):
    (tmp_path / "server").write_text("#!/bin/sh\n")
    found = read_one(StdioServer((str(tmp_path / "server"),), tmp_path, {}))
    assert str(found) == f"cannot be started: {tmp_path / 'server'} is not executable"


def test_a_script_without_its_interpreter_is_not_called_missing(tmp_path):
    script = tmp_path / "server"
    script.write_text("#!/no/such/python\n")
    script.chmod(0o755)
    found = read_one(StdioServer((str(script),), tmp_path, {}))
    assert str(found) == f"cannot be started: {script} names an interpreter that is not there (see its first line)"


def test_a_working_directory_that_is_not_there_is_named(tmp_path):
    found = read_one(StdioServer((sys.executable,), tmp_path / "gone", {}))
    assert str(found) == f"cannot be started: no directory {tmp_path / 'gone'} to start it in"


def test_a_null_byte_in_an_argument_is_no_traceback(tmp_path):
    found = read_one(StdioServer((sys.executable, "a\0b"), tmp_path, {}))
    assert isinstance(found, ConnectError)
    assert "cannot be started" in str(found)


def test_one_bad_server_costs_its_siblings_nothing(serve, tmp_path):
    found = read_all(
        {
            "dead": serve(TWO, faults=["exit=1"]),
            "missing": StdioServer(("no-such-cmd-xyz",), tmp_path, {}),
            "good": serve(TWO),
        }
    )
    assert list(found) == ["dead", "missing", "good"]
    assert [type(result) for result in found.values()] == [ConnectError, ConnectError, Surface]


def test_ten_slow_servers_are_read_at_the_same_time(serve):
    servers = {f"s{number}": serve(TWO, faults=["sleep=1"]) for number in range(10)}
    steps = []
    found = read_all(servers, limits=Limits(jobs=10), progress=steps.append)
    assert all(isinstance(result, Surface) for result in found.values())
    started = [step.phase for step in steps[:10]]
    assert started == [Phase.STARTED] * 10, "one was done before the last had started"


def test_at_most_so_many_servers_run_as_there_are_places(serve):
    steps = []
    read_all({f"s{number}": serve(TWO) for number in range(5)}, limits=Limits(jobs=2), progress=steps.append)
    assert max(len(step.waiting) for step in steps) == 2
    assert [step.phase for step in steps].count(Phase.DONE) == 5


def test_waiting_for_a_place_costs_a_server_none_of_its_time(serve):
    servers = {f"s{number}": serve(TWO, faults=["sleep=1"]) for number in range(3)}
    found = read_all(servers, limits=Limits(timeout=2.9, jobs=1))
    assert all(isinstance(result, Surface) for result in found.values())


def test_progress_tells_who_failed(serve):
    steps = []
    read_all({"dead": serve(TWO, faults=["exit=1"])}, progress=steps.append)
    assert [(step.server, step.phase, step.waiting) for step in steps] == [
        ("dead", Phase.STARTED, ("dead",)),
        ("dead", Phase.FAILED, ()),
    ]


SECRET = "tok-4f/9+c1 é-xyz"


@pytest.mark.parametrize(
    "spelling",
    [
        "tok-4f/9+c1 é-xyz",
        "tok-4f%2F9%2Bc1%20%C3%A9-xyz",
        "dG9rLTRmLzkrYzEgw6kteHl6",
    ],
)
def test_a_secret_never_reaches_a_message(serve, spelling):
    server = serve(TWO, faults=[f"stderr=invalid token {spelling}\n", "exit=1"], secrets={"TOKEN": SECRET})
    said = str(read_one(server))
    assert spelling not in said
    assert said.startswith("exited with status 1 before answering: invalid token ")


def test_a_secret_never_reaches_a_note(serve):
    found = read_one(serve(TWO, faults=[f"print=using {SECRET}"], secrets={"TOKEN": SECRET}))
    assert "using" in found.notes[0]
    assert SECRET not in found.notes[0]


def test_a_secret_is_not_cut_in_front_of_the_mask(serve):
    long = "s3cret" * 100
    # of stderr the end is kept, which here begins in the middle of the secret
    said = long + "y" * (child.STDERR_KEPT - 300)
    found = read_one(serve(TWO, faults=[f"stderr={said}", "exit=1"], secrets={"TOKEN": long}))
    assert "yyy" in str(found)
    assert "s3cret" not in str(found)


def test_a_credential_in_the_config_is_masked_like_an_expanded_one(serve):
    server = serve(TWO, faults=["stderr=bad key literal-credential\n", "exit=1"], env={"API_KEY": "literal-credential"})
    assert "literal-credential" not in str(read_one(server))


def test_a_definition_that_holds_a_secret_is_not_pinned(serve):
    surface = {"tools": [{"name": "a", "inputSchema": {"default": f"Bearer {SECRET}"}}, {"name": "b"}]}
    found = read_one(serve(surface, secrets={"TOKEN": SECRET}))
    assert list(found.contracts(Kind.TOOL)) == ["b"]
    assert [(flaw.name, flaw.pointer, flaw.why) for flaw in found.flaws] == [
        ("a", "/inputSchema/default", "holds the value of $TOKEN")
    ]


def test_a_short_value_is_no_secret(serve):
    found = read_one(serve({"tools": [{"name": "a", "description": "short"}]}, secrets={"WORD": "short"}))
    assert list(found.contracts(Kind.TOOL)) == ["a"]


def test_instructions_that_hold_a_secret_are_an_error(serve):
    found = read_one(serve(TWO | {"instructions": f"Use {SECRET}."}, secrets={"TOKEN": SECRET}))
    assert str(found) == "its instructions hold the value of $TOKEN, which must not reach the lock"


def test_a_remote_server_that_is_not_there_is_tried_again_and_told(unused_port):
    server = HttpServer(f"http://127.0.0.1:{unused_port}/mcp", "remote")
    found = read_all({"s": server}, limits=Limits(retries=1))["s"]
    assert "connection refused" in str(found)


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def read_url(url, transport, *, secrets=None):
    return read_one(HttpServer(url, transport, {}, secrets or {}))


def test_a_url_without_a_type_is_tried_as_sse_when_it_is_not_streamable_http():
    with serving(Script(era="legacy")) as server:
        found = read_url(f"{server.origin}/sse", "remote")
    assert isinstance(found, Surface), found
    assert (list(found.contracts(Kind.TOOL)), found.notes) == (["echo"], ())


@pytest.mark.parametrize(("path", "wrong", "right"), [("sse", "http", "sse"), ("mcp", "sse", "http")])
def test_a_wrong_type_is_tried_the_other_way_with_a_note_of_the_fix(path, wrong, right):
    with serving(Script()) as server:
        found = read_url(f"{server.origin}/{path}", wrong)
    assert isinstance(found, Surface), found
    assert found.notes == (f'is configured as "{wrong}" but speaks "{right}": put "type": "{right}" into the config',)


def test_when_both_ways_fail_the_first_failure_is_told():
    rules = [
        {"on": "GET", "reply": {"status": 405}},
        {"on": "server/discover", "reply": {"status": 404, "text": "no such tenant"}},
        {"on": "initialize", "reply": {"status": 404, "text": "no such tenant"}},
    ]
    with serving(Script(rules=rules)) as server:
        found = read_url(f"{server.origin}/mcp", "remote")
        assert "GET" in [request.method for request in server.requests]
    assert "404 Not Found" in str(found)
    assert "no such tenant" in str(found)


def test_a_server_that_is_out_of_order_is_not_tried_the_other_way():
    broken = {"status": 500, "text": "upstream database down"}
    with serving(
        Script(rules=[{"on": method, "reply": broken} for method in ("server/discover", "initialize")])
    ) as server:
        found = read_url(f"{server.origin}/mcp", "remote")
        assert "GET" not in [request.method for request in server.requests]
    assert "500 Internal Server Error" in str(found)
    assert "upstream database down" in str(found)


def test_a_gateway_without_its_server_is_tried_again():
    away = {"status": 503, "text": "starting"}
    rules = [{"on": method, "times": 1, "reply": away} for method in ("server/discover", "initialize")]
    with serving(Script(rules=rules)) as server:
        found = read_url(f"{server.origin}/mcp", "http")
    assert isinstance(found, Surface), found


def test_a_lost_session_is_opened_anew_once():
    gone = {"status": 404, "text": "Session not found"}
    with serving(Script(era="legacy", rules=[{"on": "tools/list", "times": 1, "reply": gone}])) as server:
        found = read_url(f"{server.origin}/mcp", "http")
        assert [request.rpc for request in server.requests].count("initialize") == 2
    assert isinstance(found, Surface), found


def test_a_session_that_is_always_lost_is_an_error():
    gone = {"status": 404, "text": "Session not found"}
    with serving(Script(era="legacy", rules=[{"on": "tools/list", "reply": gone}])) as server:
        found = read_url(f"{server.origin}/mcp", "remote")
        assert [request.rpc for request in server.requests].count("initialize") == 2
    assert "Session not found" in str(found)


STUBBORN = ["ignore-term", "ignore-eof"]


def read_in_a_process(faults, surface, *, timeout=30):
    """Read one server in a program of its own, which can be sent signals."""
    program = f"""
        import sys
        from pathlib import Path
        from mcp_lock.config import StdioServer
        from mcp_lock.connect import Limits, read_all
        from mcp_lock.errors import McpLockError
        from mcp_lock.transport import child
        child.GRACE = 1.0
        argv = (sys.executable, {str(SERVERS / "plain.py")!r}, {str(surface)!r}, *{[f"--fault={f}" for f in faults]!r})
        try:
            print(read_all({{"s": StdioServer(argv, Path.cwd(), {{}})}}, limits=Limits(timeout={timeout}))["s"])
        except McpLockError as error:
            print(error)
            sys.exit(error.exit_code)
    """
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def surface_file(tmp_path):
    file = tmp_path / "surface.json"
    file.write_text(json.dumps(TWO))
    return file


def nobody_runs(pids, is_running):
    return not any(is_running(int(pid)) for pid in pids.read_text().split())


@pytest.mark.parametrize(
    "signals",
    [[signal.SIGINT], [signal.SIGINT] * 2, [signal.SIGTERM], [signal.SIGHUP]],
    ids=["1", "2", "term", "hangup"],
)
def test_ctrl_c_leaves_no_process_behind(signals, surface_file, tmp_path, until, is_running):
    pids = tmp_path / "pids"
    program = read_in_a_process([f"grandchild={pids}", *STUBBORN, "hang"], surface_file)
    until(lambda: pids.exists() and pids.read_text().count("\n") == 2, 20)
    try:
        program.send_signal(signals[0])
        for number in signals[1:]:
            with pytest.raises(subprocess.TimeoutExpired):
                program.wait(0.5)  # it is ending the server, which does not want to
            program.send_signal(number)
        said, _ = program.communicate(timeout=20)
    finally:
        program.kill()
    assert (program.returncode, said) == (130, "interrupted\n")
    until(lambda: nobody_runs(pids, is_running), 5)


@pytest.mark.parametrize("stubborn", [STUBBORN, []], ids=["stubborn", "tame"])
def test_a_whole_process_tree_is_ended(stubborn, serve, tmp_path, until, is_running):
    pids = tmp_path / "pids"
    found = read_one(serve(TWO, faults=[f"grandchild={pids}", *stubborn]))
    assert isinstance(found, Surface)
    until(lambda: nobody_runs(pids, is_running), 5)


def test_a_process_tree_is_ended_after_the_time_limit(serve, tmp_path, until, is_running):
    pids = tmp_path / "pids"
    found = read_one(serve(TWO, faults=[f"grandchild={pids}", *STUBBORN, "hang"]), timeout=2)
    assert isinstance(found, ConnectError)
    until(lambda: nobody_runs(pids, is_running), 5)


def test_a_child_gets_path_home_and_what_the_entry_declares_and_nothing_secret(serve, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "not for everyone")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    found = read_one(serve(TWO, faults=["env"], env={"DECLARED": "x"}))
    env = json.loads(found.contracts(Kind.TOOL)["env"].definition["description"])
    assert env["DECLARED"] == "x"
    assert {"PATH", "HOME", "LC_ALL", "HTTPS_PROXY"} <= env.keys()
    assert "SOME_API_KEY" not in env
