"""The published JSON Schema of `mcp.lock` once TOML is read, for editors and other readers.

It says the layout. That a digest belongs to its contract, no schema can say.
"""

from __future__ import annotations

from typing import Any

from mcp_lock.contract import Kind
from mcp_lock.lockfile import VERSION
from mcp_lock.lockfile.layout import ESCAPE

_TEXT = {"$ref": "#/$defs/text"}
_DIGEST = {"$ref": "#/$defs/digest"}
_TEMPLATES = {"type": "object", "additionalProperties": _TEXT}
_LAUNCH: dict[str, Any] = {
    "command": {**_TEXT, "description": "The program of a stdio server."},
    "args": {
        "description": "Its arguments, as templates.",
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"$ref": "#/$defs/spelt"}],
    },
    "cwd": {**_TEXT, "description": "Its working directory, relative to the project root."},
    "env-file": {**_TEXT, "description": "A file of variables, relative to the project root."},
    "env-file-digest": {**_TEXT, "description": "The digest of that file."},
    "url": {**_TEXT, "description": "Where a remote server is reached."},
    "env": {
        **_TEMPLATES,
        "description": "Variables and their templates; a literal that looks like a secret is redacted.",
    },
    "headers": {**_TEMPLATES, "description": "Headers and their templates, redacted likewise."},
}


def _table(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


_TRANSPORT = {"description": "How it is reached.", "enum": ["stdio", "http", "sse", "remote"]}
_TOLD = {
    "protocol": {**_TEXT, "description": "The protocol version that was negotiated."},
    "server": {**_TEXT, "description": "What the server calls itself."},
    "server-version": {**_TEXT, "description": "The version it reports; a change of it alone is no drift."},
}
_PINS = {"type": "object", "additionalProperties": {"$ref": "#/$defs/pin"}}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"urn:mcplock:lock:{VERSION}",
    "title": "mcp.lock",
    "description": "Pinned contracts of MCP servers. Written by mcplock; this describes the file once TOML is read.",
    **_table(
        {
            "version": {"const": VERSION},
            "servers": {"type": "object", "additionalProperties": {"$ref": "#/$defs/server"}},
        },
        "version",
        "servers",
    ),
    "$defs": {
        "spelt": _table(
            {ESCAPE: {"type": "string"}}, ESCAPE, description="A value that TOML cannot spell, as canonical JSON."
        ),
        "text": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/spelt"}]},
        "digest": {
            "description": "SHA-256 over the canonical form (RFC 8785) of the definition.",
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$",
        },
        "pin": _table(
            {
                "digest": _DIGEST,
                "contract": {
                    "description": "The definition as listed, but for its name or URI, which is the key of the table.",
                    "type": "object",
                },
            },
            "digest",
            "contract",
        ),
        "server": _table(
            {
                "transport": _TRANSPORT,
                **_LAUNCH,
                **_TOLD,
                "instructions": _table({"digest": _DIGEST, "text": _TEXT}, "digest", "text"),
                **{kind.value: _PINS for kind in Kind},
            },
            dependentRequired={key: ["transport"] for key in _LAUNCH},
        ),
    },
}
