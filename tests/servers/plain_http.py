"""A server behind a URL in the standard library alone: streamable HTTP at /mcp and HTTP with SSE at /sse, on loopback.

    python plain_http.py SURFACE.json [options of plain.py] [--script FILE]

serves what `plain.py` serves; the first line on stdout is the origin, and the server ends when stdin does. It answers
by the book in both eras and refuses whoever does not keep to it, unless a rule of its script says otherwise:

    {"on": "tools/list", "times": 1, "reply": {...}}      `on` is a JSON-RPC or an HTTP method; the first rule wins

    reply   status, headers, text | b64 | chunks, gzip    $ID, $SELF, $OTHER stand for request id, origin, second origin
            drop        close the connection unanswered
            cut         close it after the body, in the middle of what the framing promised
            hang        answer nothing until the server is closed
            big         append that many bytes of spaces, for bodies that are too large for a file
            stream      with HTTP with SSE: chunks for the event stream, the POST itself being accepted
            end         with HTTP with SSE: end the event stream

Every request is kept in `requests`, those of the second origin, which answers nothing useful, in `other.requests`.
"""

from __future__ import annotations

import base64
import gzip
import json
import queue
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if __package__:
    from tests.servers.plain import LEGACY, MODERN, Core, options
else:
    from plain import LEGACY, MODERN, Core, options

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

TOOLS = '[{"name":"echo","description":"Repeat the text.","inputSchema":{"type":"object"}}]'


@dataclass
class Script:
    """What to serve and how to misbehave."""

    tools: str = TOOLS
    """The raw text of `result.tools`: spellings, repeated keys and all."""
    era: str = "both"
    """`legacy`, `modern` or `both`."""
    framed: bool = False
    """Whether answers of streamable HTTP come as an event stream."""
    session: bool = True
    """Whether a legacy client gets a session id, and must send it."""
    rules: list[dict[str, Any]] = field(default_factory=list)


class ScriptedCore(Core):
    """What `plain.py` answers, for a script in place of a file."""

    def __init__(self, script: Script) -> None:
        super().__init__(SimpleNamespace(surface="", era=script.era, page_size=0, fault=[], log=""))
        self.script = script

    def surface(self) -> dict[str, str]:
        return {"tools": self.script.tools}


def is_modern(message: dict[str, Any]) -> bool:
    return "_meta" in (message.get("params") or {})


def error_to(message: dict[str, Any], code: int, text: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": code, "message": text}})


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    message: dict[str, Any]

    @property
    def rpc(self) -> str:
        return str(self.message.get("method", ""))


class PlainHttp(ThreadingHTTPServer):
    """The server; `with serving(script) as server` runs it."""

    daemon_threads = True

    def __init__(
        self,
        script: Script,
        core: Core | None = None,
        tls: ssl.SSLContext | None = None,
        other: PlainHttp | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.script = script
        self.core = core or ScriptedCore(script)
        self.other = other
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_port}"
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self.streams: dict[str, queue.Queue[bytes | None]] = {}
        self._used: dict[int, int] = {}
        self._lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""

    def rule(self, request: Request) -> dict[str, Any] | None:
        """The reply of the first rule that is left for this request."""
        with self._lock:
            self.requests.append(request)
            for at, rule in enumerate(self.script.rules):
                fits = rule["on"] == (request.rpc or request.method)
                if fits and self._used.get(at, 0) < rule.get("times", sys.maxsize):
                    self._used[at] = self._used.get(at, 0) + 1
                    return dict(rule["reply"])
        return None

    def open_session(self) -> str:
        with self._lock:
            name = f"s-{len(self.streams) + 1}"
            self.streams[name] = queue.Queue()
            return name


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PlainHttp

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        self.talk(json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"))

    def do_GET(self) -> None:
        self.talk({})

    def do_DELETE(self) -> None:
        self.talk({})

    def talk(self, message: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, message)
        reply = self.server.rule(request)
        if self.server.other is None:
            self.reply({"text": "not me"}, message)
        elif reply is not None:
            self.scripted(reply, message)
        elif self.path.startswith("/mcp"):
            self.streamable(request)
        elif self.path.startswith("/sse") and self.command == "GET":
            self.event_stream(self.server.open_session())
        elif self.path.startswith("/messages?session=") and self.command == "POST":
            self.posted(message)
        else:
            self.reply({"status": 405 if self.path.startswith("/sse") else 404}, message)

    def scripted(self, reply: dict[str, Any], message: dict[str, Any]) -> None:
        stream = self.server.streams.get(self.path.partition("?session=")[2])
        if stream is None or not reply.keys() & {"stream", "end"}:
            self.reply(reply, message)
            return
        for chunk in reply.get("stream", ()):
            stream.put(self.bytes_of(chunk, message))
        if reply.get("end"):
            stream.put(None)
        self.reply({"status": 202}, message)

    def streamable(self, request: Request) -> None:
        message, script = request.message, self.server.script
        if self.command != "POST":
            self.reply({"status": 200 if self.command == "DELETE" else 405}, message)
        elif fault := misuse(script, request):
            self.reply({"status": 400, "headers": _JSON, "text": error_to(message, -32020, fault)}, message)
        elif "id" not in message or "method" not in message:
            self.reply({"status": 202}, message)
        else:
            session = message["method"] == "initialize" and script.session
            headers = {"Mcp-Session-Id": self.server.open_session()} if session else {}
            text = self.server.core.answer(message)
            if script.framed:
                self.reply({"headers": headers, "chunks": [f"event: message\ndata: {text}\n\n"]}, message)
            else:
                self.reply({"headers": headers | _JSON, "text": text}, message)

    def posted(self, message: dict[str, Any]) -> None:
        stream = self.server.streams[self.path.partition("=")[2]]
        self.reply({"status": 202, "text": "Accepted"}, message)
        if "id" in message and "method" in message:
            stream.put(f"event: message\ndata: {self.server.core.answer(message)}\n\n".encode())

    def event_stream(self, session: str) -> None:
        self.start(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        self.chunk(f"event: endpoint\ndata: /messages?session={session}\n\n".encode())
        while not self.server.closing.is_set():
            try:
                data = self.server.streams[session].get(timeout=0.05)
            except queue.Empty:
                continue
            self.chunk(data or b"")
            if data is None:
                return

    def bytes_of(self, text: Any, message: dict[str, Any]) -> bytes:
        if isinstance(text, dict):
            return base64.b64decode(text["b64"])
        other = self.server.other.origin if self.server.other else ""
        text = text.replace("$ID", json.dumps(message.get("id"))).replace("$SELF", self.server.origin)
        return str(text.replace("$OTHER", other)).encode("utf-8", "surrogatepass")

    def start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def reply(self, reply: dict[str, Any], message: dict[str, Any]) -> None:
        if reply.get("hang"):
            self.server.closing.wait(60)
        if reply.get("hang") or reply.get("drop"):
            self.close_connection = True
            return
        headers = {name: self.bytes_of(value, message).decode() for name, value in reply.get("headers", {}).items()}
        if "chunks" in reply:
            self.chunked(reply, headers, message)
            return
        data = base64.b64decode(reply["b64"]) if "b64" in reply else self.bytes_of(reply.get("text", ""), message)
        data += b" " * reply.get("big", 0)
        if reply.get("gzip"):
            data, headers["Content-Encoding"] = gzip.compress(data), "gzip"
        headers["Content-Length"] = str(len(data) + (1 if reply.get("cut") else 0))
        self.close_connection = bool(reply.get("cut"))
        self.start(reply.get("status", 200), headers)
        self.wfile.write(data)

    def chunked(self, reply: dict[str, Any], headers: dict[str, str], message: dict[str, Any]) -> None:
        headers.setdefault("Content-Type", "text/event-stream")
        self.start(reply.get("status", 200), headers | {"Transfer-Encoding": "chunked"})
        for part in reply["chunks"]:
            self.chunk(self.bytes_of(part, message))
        for _ in range(0, reply.get("big", 0), 1 << 20):
            self.chunk(b" " * (1 << 20))
        self.close_connection = bool(reply.get("cut"))
        if not reply.get("cut"):
            self.chunk(b"")


_JSON = {"Content-Type": "application/json"}


def misuse(script: Script, request: Request) -> str:
    """What a client does wrong by basic/transports of its era, or nothing."""
    headers, message = request.headers, request.message
    accepts = headers.get("accept", "")
    if "application/json" not in accepts or "text/event-stream" not in accepts:
        return "Not Acceptable"
    if is_modern(message):
        if script.era == "legacy":
            return "Unsupported protocol version"
        named = (headers.get("mcp-protocol-version"), headers.get("mcp-method"), headers.get("mcp-session-id"))
        return "" if named == (MODERN, message.get("method"), None) else "headers do not match"
    if message.get("method") == "initialize":
        bare = not headers.keys() & {"mcp-protocol-version", "mcp-session-id"}
        return "" if bare and script.era != "modern" else "no such handshake"
    if headers.get("mcp-protocol-version") not in LEGACY:
        return "missing MCP-Protocol-Version"
    sent = headers.get("mcp-session-id", "")
    return "" if sent.startswith("s-") == script.session else "No valid session ID"


@contextmanager
def serving(script: Script, core: Core | None = None, tls: ssl.SSLContext | None = None) -> Iterator[PlainHttp]:
    """A running server with a second origin beside it; both end with the block."""
    other = PlainHttp(Script())
    server = PlainHttp(script, core, tls, other)
    threads = [threading.Thread(target=each.serve_forever, args=(0.02,), daemon=True) for each in (other, server)]
    for thread in threads:
        thread.start()
    try:
        yield server
    finally:
        for each in (server, other):
            each.closing.set()
            each.shutdown()
            each.server_close()
        for thread in threads:
            thread.join(5)


def main() -> None:
    given = options(sys.argv[1:], script="")
    script = json.loads(Path(given.script).read_text(encoding="utf-8")) if given.script else {}
    with serving(Script(era=given.era, **script), Core(given)) as server:
        print(server.origin, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)
    main()
