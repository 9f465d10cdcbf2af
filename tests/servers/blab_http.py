"""`blab.py` over streamable HTTP: what it was given are the path and the headers."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from blab import answer


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
    over_http(sys.argv[1])
