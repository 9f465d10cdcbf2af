"""How the fields of an entry are spelt: one table for all clients, since people carry entries from one to the next and
every spelling means one thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_lock.config.expand import Keys

SPELLINGS: Mapping[str, Keys] = {
    "type": ("type", "transport", "transportType"),
    "command": ("command", "cmd"),
    "args": ("args",),
    "env": ("env", "environment", "envs"),
    "env names": ("env_vars", "env_keys"),
    "cwd": ("cwd", "working_directory"),
    "env file": ("envFile",),
    "url": ("httpUrl", "url", "serverUrl", "uri"),
    "headers": ("headers", "http_headers"),
    "header variables": ("env_http_headers",),
    "bearer variable": ("bearer_token_env_var",),
    "headers command": ("headersHelper",),
}
"""The first one that is there counts."""

NESTED: Mapping[str, Mapping[str, str]] = {
    "transport": {},
    "requestOptions": {},
    "command": {"path": "command"},
}
"""Members that may hold fields of the entry, as a client's row allows: how those are called where they are not called
as in the entry itself."""

URL_TYPES = {"httpUrl": "http"}
"""Spellings of `url` that name the transport."""

TYPES = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
    "remote": "remote",
    "ws": "ws",
    "websocket": "ws",
}
"""Type words in lower case, and the transport each means."""

APPROVALS = ("autoApprove", "alwaysAllow", "trust")
"""Members that let tools be called without asking: a list of names, or true for all."""


def starts(entry: object) -> bool:
    """Whether an entry says what to start or where to connect."""
    names = (*SPELLINGS["url"], *SPELLINGS["command"])
    return isinstance(entry, dict) and any(entry.get(name) for name in names)
