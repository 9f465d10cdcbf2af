"""A server that says all it was given, wherever a server can say something: started with a mode as its first argument.

    python blab.py stdio MODE ...     over stdio; what it was given are its arguments and its environment
    python blab.py http MODE          over streamable HTTP, its origin on the first line; what it was given are headers

    die        says it on stderr, and ends with status 3
    error      answers every request with an error whose message says it
    noise      prints it among the messages, and on stderr, and lists a harmless tool
    list       says it in its name, its instructions and a tool, beside a harmless one

Only what stands after `--` or in a variable that begins with `BLAB` counts as given, so that no test tells its host.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HARMLESS = {"name": "echo", "description": "Repeat it.", "inputSchema": {"type": "object"}}
PROTOCOL = "2025-06-18"


def answer(method: str, mode: str, given: str) -> dict[str, Any]:
    """The result or error of a request."""
    if mode == "error":
        return {"error": {"code": -32603, "message": f"no: {given}", "data": {"given": given}}}
    blabs = mode == "list"
    if method == "initialize":
        info = {"name": f"blab {given}" if blabs else "blab", "version": "1"}
        result = {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": info}
        return {"result": result | ({"instructions": f"Use {given}."} if blabs else {})}
    if method == "tools/list":
        telling = {"name": "tell", "description": f"Knows {given}.", "inputSchema": {"type": "object"}}
        return {"result": {"tools": [HARMLESS, *([telling] if blabs else [])]}}
    return {"error": {"code": -32601, "message": f"no {method}" + (f": {given}" if blabs else "")}}


def over_stdio(mode: str, words: list[str]) -> None:
    given = " ".join([*words, *(value for name, value in os.environ.items() if name.startswith("BLAB"))])
    if mode in ("die", "noise"):
        sys.stderr.write(f"starting with {given}\n")
    if mode == "die":
        sys.exit(3)
    if mode == "noise":
        print(f"connected with {given}", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(
                json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], mode, given)}),
                flush=True,
            )


class Handler(BaseHTTPRequestHandler):
    mode = ""

    def do_POST(self) -> None:
        given = " ".join([self.path, *self.headers.values()])
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.mode == "die":
            return self.reply(401, {"error": f"not with {given}"})
        if "id" not in message:
            return self.reply(202, None)
        said = answer(message["method"], self.mode, given)
        return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], **said})

    def do_GET(self) -> None:
        self.reply(405, None)

    def reply(self, status: int, value: Any) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def over_http(mode: str) -> None:
    Handler.mode = mode
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "http":
        over_http(sys.argv[2])
    else:
        over_stdio(sys.argv[2], sys.argv[sys.argv.index("--") + 1 :])
