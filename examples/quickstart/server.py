"""A small MCP server in the standard library alone: one line of JSON a message, on stdin and stdout.

It answers from `tools.json` beside it, so that you can edit that file and see what `mcplock verify` says.
"""

import json
import sys
from datetime import date
from pathlib import Path

TOOLS = Path(__file__).with_name("tools.json")
NOTES = [
    {"title": "Standup", "text": "Moved to ten o'clock.", "day": "2026-01-12"},
    {"title": "Release", "text": "Version 2 ships on Friday.", "day": "2026-01-14"},
    {"title": "Lunch", "text": "The place by the river is open again.", "day": "2026-01-15"},
]


def call(name: str, arguments: dict) -> str:
    if name == "search_notes":
        query = arguments.get("query", "").lower()
        found = [note for note in NOTES if query in (note["title"] + note["text"]).lower()]
        return json.dumps(found[: arguments.get("max_results", 10)])
    days = (date.fromisoformat(arguments["end"]) - date.fromisoformat(arguments["start"])).days
    return str(days)


def initialize(params: dict) -> dict:
    return {
        "protocolVersion": params.get("protocolVersion", "2025-11-25"),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "notes", "version": "1.0.0"},
        "instructions": "Search the notes before answering questions about the team.",
    }


def list_tools(_: dict) -> dict:
    return {"tools": json.loads(TOOLS.read_text(encoding="utf-8"))}


def call_tool(params: dict) -> dict:
    return {"content": [{"type": "text", "text": call(params["name"], params.get("arguments", {}))}]}


METHODS = {"initialize": initialize, "ping": lambda _: {}, "tools/list": list_tools, "tools/call": call_tool}


def answer(message: dict) -> dict:
    method = METHODS.get(message["method"])
    if method is None:
        return {"error": {"code": -32601, "message": "Method not found"}}
    return {"result": method(message.get("params", {}))}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and "method" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}), flush=True)
