"""A server that says all it was given, wherever a server can say something: started with a mode as its first argument.

    python blab.py MODE ... -- ...     over stdio; what it was given are its arguments and its environment
    python blab_http.py MODE           over streamable HTTP, its origin on the first line; what it was given are headers

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

HARMLESS = {"name": "echo", "description": "Repeat it.", "inputSchema": {"type": "object"}}
PROTOCOL = "2025-06-18"


def answer(method: str, mode: str, given: str) -> dict:
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


if __name__ == "__main__":
    over_stdio(sys.argv[1], sys.argv[sys.argv.index("--") + 1 :])
