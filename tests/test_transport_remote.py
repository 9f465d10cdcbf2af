"""Servers behind URLs, real ones on loopback: what arrives is what was sent, and every failure is one exact line.

A case of `cases/remote` is a script for `servers/plain_http.py`, what comes of reading that server (`$SELF`, `$OTHER`
and `$HOST` stand for its origins and its host), and every request that it may see. Whatever the case, no secret is in
any line, and the second origin sees no request at all.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_lock.canonical import RepeatedKeys, digest
from mcp_lock.config import HttpServer
from mcp_lock.errors import ConnectError
from mcp_lock.transport.events import EventReader, OversizeError
from mcp_lock.transport.mask import Mask
from mcp_lock.transport.wire import headers
from tests.servers.plain import LEGACY, MODERN
from tests.servers.plain_http import PlainHttp, Script, serving

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcp_lock.transport.remote import RemoteTransport

CASES = sorted((Path(__file__).parent / "cases" / "remote").glob("*.json"))
CLIENT = {"name": "test", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
ERROR = {"code": -32601, "message": "no"}


@pytest.fixture(autouse=True)
def scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies and certificates of this machine are none of the tests' business."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name.startswith("SSL_CERT")]:
        monkeypatch.delenv(name)


class Peer:
    """The least of a session: asks, and refuses whatever the server asks."""

    def __init__(self, transport: RemoteTransport, mode: str) -> None:
        self.transport = transport
        self.mode = mode
        self.asked = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.asked += 1
        if self.mode == "modern":
            params["_meta"] = META
        await self.transport.send({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        while True:
            message = await self.transport.receive()
            if "method" not in message and message["id"] == self.asked:
                return message
            if "method" in message and "id" in message:
                await self.transport.send({"jsonrpc": "2.0", "id": message["id"], "error": ERROR})

    async def greet(self) -> dict[str, Any]:
        if self.mode == "modern":
            answer = await self.ask("server/discover")
        else:
            answer = await self.ask("initialize", protocolVersion=LEGACY[0], capabilities={}, clientInfo=CLIENT)
        if "result" in answer:
            self.transport.negotiated(answer["result"].get("protocolVersion", MODERN))
        if "result" in answer and self.mode == "legacy":
            await self.transport.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer


async def listed(server: HttpServer, mode: str) -> dict[str, Any]:
    """What becomes of listing a server's tools, in the words of a case."""
    from mcp_lock.transport.remote import RemoteTransport

    kind = "sse" if server.transport == "sse" else "http"
    try:
        async with RemoteTransport(server, kind) as transport:
            peer = Peer(transport, mode)
            answer = await peer.greet()
            if "result" in answer:
                answer = await peer.ask("tools/list")
    except ConnectError as error:
        lost = {"session_lost": True} if error.session_lost else {}
        return {"error": str(error), "status": error.status, **lost}
    if "error" in answer:
        return {"rpc_error": answer["error"]}
    notes = {"notes": list(transport.notes)} if transport.notes else {}
    return {"tools": answer["result"]["tools"], **notes}


def run(work: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    """`work`, which is never waited for longer than ten seconds."""

    async def bounded() -> Any:
        with anyio.fail_after(10):
            return await work(*args)

    return anyio.run(bounded)


def read(server: HttpServer, mode: str = "legacy") -> dict[str, Any]:
    outcome = run(listed, server, mode)
    assert isinstance(outcome, dict)
    return outcome


def put_in_place(value: Any, server: PlainHttp) -> Any:
    assert server.other is not None
    text = json.dumps(value).replace("$SELF", server.origin).replace("$OTHER", server.other.origin)
    return json.loads(text.replace("$HOST", server.origin.partition("://")[2]))


@pytest.fixture
def plain() -> Iterator[PlainHttp]:
    with serving(Script()) as server:
        yield server


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_ends_as_its_file_says(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    kind, secrets = case.get("kind", "http"), case.get("secrets", {})
    with serving(Script(**case.get("script", {}))) as server:
        url = server.origin + ("/mcp" if kind == "http" else "/sse") + case.get("query", "")
        outcome = read(HttpServer(url, kind, case.get("headers", {}), secrets), case.get("mode", "legacy"))
        expected, other = put_in_place(case["expect"], server), server.other
    assert outcome == expected
    assert [request.rpc or ("reply" if request.message else request.method) for request in server.requests] == case[
        "asked"
    ]
    assert other is not None
    assert other.requests == []
    assert not any(secret in json.dumps(outcome) for secret in secrets.values())


def test_every_case_says_why() -> None:
    assert CASES
    assert all(json.loads(path.read_text(encoding="utf-8"))["why"] for path in CASES)


RAW = (
    r'[{"name":"a","description":"lone \ud800","zzz":{"readOnlyHint":"true"},'
    r'"inputSchema":{"maximum":18446744073709551615}},'
    r'{"name":"b","name":"c","inputSchema":{"type":"object","default":1.50}}]'
)


@pytest.mark.parametrize(("kind", "framed"), [("http", False), ("http", True), ("sse", False)])
@pytest.mark.parametrize("mode", ["legacy", "modern"])
def test_what_arrives_is_the_servers_own_json(kind: str, framed: bool, mode: str) -> None:
    with serving(Script(tools=RAW, framed=framed)) as server:
        first, second = read(HttpServer(f"{server.origin}/{'sse' if kind == 'sse' else 'mcp'}", kind), mode)["tools"]
    assert digest(first) == digest(json.loads(RAW)[0])
    assert isinstance(second, RepeatedKeys)
    assert second.repeated == "name"


@pytest.mark.parametrize(("kind", "framed"), [("http", False), ("http", True), ("sse", False)])
def test_a_list_of_two_megabytes_arrives_whole(kind: str, framed: bool) -> None:
    tools = [{"name": f"t{n}", "description": "d" * 2000, "inputSchema": {"type": "object"}} for n in range(1000)]
    with serving(Script(tools=json.dumps(tools), framed=framed)) as server:
        assert read(HttpServer(f"{server.origin}/{'sse' if kind == 'sse' else 'mcp'}", kind))["tools"] == tools


def test_a_value_nested_too_deeply_costs_only_its_own_tool() -> None:
    bomb = '{"name":"bomb","inputSchema":' + '{"a":' * 5000 + "1" + "}" * 5000 + "}"
    text = f'{{"jsonrpc":"2.0","id":$ID,"result":{{"tools":[{bomb},{{"name":"good"}}]}}}}'
    reply = {"headers": {"Content-Type": "application/json"}, "text": text}
    with serving(Script(rules=[{"on": "tools/list", "reply": reply}])) as server:
        tools = read(HttpServer(f"{server.origin}/mcp", "http"))["tools"]
    assert [tool["name"] for tool in tools] == ["bomb", "good"]


def test_the_headers_of_the_config_go_with_every_request(plain: PlainHttp) -> None:
    given = {"Authorization": "Bearer tok-123456789", "X-Team": " blue ", "Accept": "text/plain", "User-Agent": "mine"}
    read(HttpServer(f"{plain.origin}/mcp", "http", given))
    assert len(plain.requests) == 4
    for request in plain.requests:
        assert request.headers["authorization"] == "Bearer tok-123456789"
        assert (request.headers["x-team"], request.headers["user-agent"]) == ("blue", "mine")
        assert "application/json" in request.headers["accept"]


def test_only_codings_that_can_be_undone_are_offered(plain: PlainHttp) -> None:
    read(HttpServer(f"{plain.origin}/mcp", "http", {"Accept-Encoding": "br"}))
    assert {request.headers["accept-encoding"] for request in plain.requests} == {"gzip, deflate"}


def test_userinfo_of_the_url_becomes_basic_credentials_and_is_never_shown(plain: PlainHttp) -> None:
    plain.script.rules = [{"on": "tools/list", "reply": {"status": 403, "text": "not pa55word, basil"}}]
    outcome = read(HttpServer(plain.origin.replace("//", "//basil:pa55word@") + "/mcp", "http"))
    assert plain.requests[0].headers["authorization"] == "Basic YmFzaWw6cGE1NXdvcmQ="
    assert outcome["error"].startswith(f"403 Forbidden from {plain.origin}/mcp to tools/list: not ***, ***")


def test_a_retry_begins_without_the_lost_session() -> None:
    lost = {"on": "tools/list", "times": 1, "reply": {"status": 404}}
    with serving(Script(rules=[lost])) as server:
        url = HttpServer(f"{server.origin}/mcp", "http")
        assert read(url)["session_lost"]
        assert "tools" in read(url)
    sessions = [(request.rpc, request.headers.get("mcp-session-id")) for request in server.requests]
    again = ("initialize", None), ("notifications/initialized", "s-2"), ("tools/list", "s-2"), ("", "s-2")
    assert sessions == [("initialize", None), ("notifications/initialized", "s-1"), ("tools/list", "s-1"), *again]


def test_a_refused_request_leaves_the_transport_usable(plain: PlainHttp) -> None:
    plain.script.rules = [{"on": "server/discover", "reply": {"status": 400, "text": "what?"}}]

    async def probe() -> list[Any]:
        from mcp_lock.transport.remote import RemoteTransport

        async with RemoteTransport(HttpServer(f"{plain.origin}/mcp", "http"), "http") as transport:
            with pytest.raises(ConnectError, match="400 Bad Request"):
                await Peer(transport, "modern").greet()
            peer = Peer(transport, "legacy")
            await peer.greet()
            answer = await peer.ask("tools/list")
            return list(answer["result"]["tools"])

    assert len(run(probe)) == 1


@pytest.mark.parametrize(("kind", "asked"), [("http", "initialize"), ("sse", "GET")])
def test_a_mute_server_is_left_when_time_is_up(plain: PlainHttp, kind: str, asked: str) -> None:
    plain.script.rules = [{"on": asked, "reply": {"hang": True}}]

    async def limited() -> None:
        with anyio.fail_after(0.3):
            await listed(HttpServer(f"{plain.origin}/{'sse' if kind == 'sse' else 'mcp'}", kind), "legacy")

    with pytest.raises(TimeoutError):
        run(limited)


def test_an_error_of_the_caller_leaves_the_transport_as_it_is(plain: PlainHttp) -> None:
    async def fail() -> None:
        from mcp_lock.transport.remote import RemoteTransport

        async with RemoteTransport(HttpServer(f"{plain.origin}/sse", "sse"), "sse"):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(fail)


def test_a_server_that_will_not_end_its_session_is_not_waited_for(
    plain: PlainHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_lock.transport import remote

    monkeypatch.setattr(remote, "GOODBYE", 0.1)
    plain.script.rules = [{"on": "DELETE", "reply": {"hang": True}}]
    assert "tools" in read(HttpServer(f"{plain.origin}/mcp", "http"))


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://127.0.0.1:1/mcp", "connection refused by 127.0.0.1:1: nothing listens there"),
        ("http://no-such-host.invalid/x", "the name of no-such-host.invalid cannot be resolved"),
        ("ftp://u:sesame-1@x/y", "the URL in the config does not start with http:// or https:// and a host"),
        ("", "the URL in the config does not start with http:// or https:// and a host"),
        ("http://[::1", "the URL in the config is not a valid URL"),
    ],
)
def test_an_address_that_leads_nowhere_is_said(url: str, line: str) -> None:
    assert read(HttpServer(url, "http")) == {"error": line, "status": None}


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("X-Key", "sesame-1\nX: y", "the value of header X-Key has a line break in it"),
        ("X-Key", "sesame-\u2019", "the value of header X-Key holds characters that a header cannot carry"),
        ("X Key", "sesame-1", "the config names a header that HTTP does not allow: X Key"),
    ],
)
def test_a_header_that_cannot_be_sent_is_named_without_its_value(name: str, value: str, line: str) -> None:
    assert read(HttpServer("http://127.0.0.1:1/", "http", {name: value})) == {"error": line, "status": None}


def test_tls_where_there_is_none_is_said(plain: PlainHttp) -> None:
    host = plain.origin.partition("://")[2]
    line = f"no TLS with {host}: wrong version number (is it an http:// server?)"
    assert read(HttpServer(f"https://{host}/mcp", "http")) == {"error": line, "status": None}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that nobody trusts, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl program to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out", str(cert)]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, "req", *kind, *subject], check=True, capture_output=True, timeout=60)
    return cert, key


def test_a_certificate_is_trusted_only_when_its_authority_is(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)
    with serving(Script(), tls=tls) as server:
        url = HttpServer(f"{server.origin}/mcp", "http")
        refused = read(url)
        seen = list(server.requests)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        accepted = read(url)
    host = server.origin.partition("://")[2]
    assert refused["error"].startswith(f"the TLS certificate of {host} is not trusted: self-signed certificate")
    assert seen == []
    assert "tools" in accepted


def test_a_missing_certificate_file_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    line = "the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: No such file or directory"
    assert read(HttpServer("https://127.0.0.1:1/", "http")) == {"error": line, "status": None}


def test_the_proxy_of_the_environment_is_used_but_not_where_no_proxy_says(
    plain: PlainHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Script()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        read(HttpServer("http://mcp.invalid/mcp", "http"))
        assert [request.path for request in proxy.requests] == ["http://mcp.invalid/mcp"]
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert "tools" in read(HttpServer(f"{plain.origin}/mcp", "http"))
        assert len(proxy.requests) == 1


def test_a_proxy_that_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:sesame-1@127.0.0.1:1")
    line = "connection refused by mcp.invalid (through the proxy of HTTPS_PROXY): nothing listens there"
    assert read(HttpServer("https://mcp.invalid/", "http")) == {"error": line, "status": None}


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_chunk_borders_do_not_matter(size: int) -> None:
    stream = "\ufeffdata: a\r\ndata:b\r\n\r\n: c\revent: x\rdata:  日本\r\rdata\n\nid: 1\n\ndata: cut".encode()
    reader = EventReader()
    events = [event for at in range(0, len(stream), size) for event in reader.feed(stream[at : at + size])]
    assert [(event.name, event.data.decode()) for event in events] == [("message", "a\nb"), ("x", " 日本")]


@pytest.mark.parametrize("line", [b"data: 123456789\n", b"data: 12\n", b"x", b"data:\n"])
def test_an_event_that_outgrows_the_limit_is_refused_before_it_ends(line: bytes) -> None:
    reader = EventReader(limit=64)

    def fed() -> list[Any]:
        return [event for _ in range(100) for event in reader.feed(line)]

    with pytest.raises(OversizeError):
        fed()


def test_comments_and_finished_events_do_not_count_towards_the_limit() -> None:
    reader = EventReader(limit=64)
    assert [event.data for _ in range(100) for event in reader.feed(b": ping\ndata: 1\n\n")] == [b"1"] * 100
    assert [event for _ in range(100) for event in reader.feed(b": pong\nid: 1\n")] == []


def test_a_secret_is_masked_in_every_spelling_and_short_words_are_left_alone() -> None:
    mask = Mask(['p"ss/w', "on"])
    assert mask('one p"ss/w p%22ss%2Fw cCJzcy93 p\\"ss/w') == "one *** *** *** ***"


def test_a_new_handshake_carries_nothing_of_the_old_one() -> None:
    assert "mcp-session-id" in headers({"method": "tools/list"}, LEGACY[0], "s-1")
    assert not headers({"method": "initialize"}, LEGACY[0], "s-1").keys() & {"mcp-session-id", "mcp-protocol-version"}


def test_a_name_that_a_header_cannot_carry_is_sent_in_base64() -> None:
    def name(value: str) -> str:
        return headers({"method": "tools/call", "params": {"name": value}}, MODERN, "")["mcp-name"]

    assert name("plain name") == "plain name"
    assert name(" edge") == "=?base64?IGVkZ2U=?="
    assert name("日本") == "=?base64?5pel5pys?="
    assert name("=?base64?eA==?=") == "=?base64?PT9iYXNlNjQ/ZUE9PT89?="


SURFACE = {
    "tools": [
        {"name": "echo", "description": "Répète 日本", "inputSchema": {"type": "object", "properties": {"n": {}}}},
        {"name": "add", "inputSchema": {"type": "object", "required": ["a"]}},
    ]
}


@pytest.mark.parametrize(("kind", "path"), [("http", "/mcp"), ("sse", "/sse")])
def test_the_sdks_own_server_is_read_alike_in_both_eras(kind: str, path: str, tmp_path: Path) -> None:
    surface = tmp_path / "surface.json"
    surface.write_text(json.dumps(SURFACE), encoding="utf-8")
    command = [sys.executable, str(Path(__file__).parent / "servers" / "official.py"), str(surface), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            server = HttpServer(process.stdout.readline().strip() + path, kind)
            assert read(server, "legacy") == SURFACE
            assert read(server, "modern") == SURFACE
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(10) == 0
        finally:
            process.kill()


def test_reading_a_server_behind_a_url_never_loads_the_sdk() -> None:
    slow = ("mcp", "mcp_types", "pydantic")
    code = f"import sys, mcp_lock.transport.remote; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
