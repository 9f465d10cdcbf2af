"""The lock that `mcp.lock.example` shows: small, but with every part of the layout in it."""

from __future__ import annotations

from typing import Any

from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.launch import REDACTED, LaunchSpec
from mcp_lock.lockfile import Lock, ServerPin

_SEARCH_DOCS = {
    "name": "search_docs",
    "description": "Search the documentation.\nReturns at most `limit` pages.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "default": 10, "description": "max results"},
            "query": {"type": "string"},
            "section": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["query"],
    },
    "annotations": {"readOnlyHint": True},
}
_SUMMARIZE = {"name": "summarize", "arguments": [{"name": "page", "required": True}, {"name": "style"}]}
_PAGE = {"uriTemplate": "docs://{page}", "name": "page", "mimeType": "text/markdown"}
_INDEX = {"uri": "docs://index", "name": "index"}
_CREATE = {
    "name": "create_ticket",
    "inputSchema": {"type": "object", "properties": {"priority": {"enum": ["low", "high", None]}}},
}


def _listed(kind: Kind, *definitions: dict[str, Any]) -> dict[str, Contract]:
    return {definition[kind.key]: Contract(kind, definition) for definition in definitions}


_SEARCH = Surface(
    {
        Kind.TOOL: _listed(Kind.TOOL, _SEARCH_DOCS),
        Kind.PROMPT: _listed(Kind.PROMPT, _SUMMARIZE),
        Kind.RESOURCE: _listed(Kind.RESOURCE, _INDEX),
        Kind.TEMPLATE: _listed(Kind.TEMPLATE, _PAGE),
    },
    instructions="Prefer search_docs over guessing.",
    server="acme-search",
    server_version="1.4.0",
    protocol="2025-11-25",
)
_TICKETS = Surface({Kind.TOOL: _listed(Kind.TOOL, _CREATE)}, protocol="2025-06-18", server="tickets")

SAMPLE = Lock(
    {
        "search": ServerPin(
            LaunchSpec(
                "stdio",
                command="npx",
                args=("-y", "@acme/search-mcp@1.4.0"),
                env={"ACME_TOKEN": "${ACME_TOKEN}", "LOG_LEVEL": "error"},
            ),
            _SEARCH,
        ),
        "tickets": ServerPin(
            LaunchSpec(
                "http",
                url="https://mcp.example.com/tickets",
                headers={"Authorization": "Bearer ${TICKETS_TOKEN}", "X-Api-Key": REDACTED},
            ),
            _TICKETS,
        ),
    }
)
