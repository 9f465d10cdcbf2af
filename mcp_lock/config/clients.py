"""The clients whose project files are read: one row each. A client is added by adding a row, and a sample of its files
under `tests/cases/config/<name>/`.

Rows say what is particular to a client. How the fields of an entry are spelt is one table for all of them, since people
carry entries from one client to the next and every spelling means one thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mcp_lock.config.expand import BARE, BRACES, CURLY_ENV, CURLY_FILE, EDITOR, ENV, INPUT, Dialect, paths

if TYPE_CHECKING:
    from collections.abc import Mapping

Keys: TypeAlias = "tuple[str, ...]"
"""The keys that lead from the top of a document to something; none for the document itself."""


@dataclass(frozen=True, slots=True)
class Client:
    """One row."""

    name: str
    """As `--client` takes it."""
    title: str
    """As people say it."""
    files: Keys
    """Its files, relative to the directory that owns them. The format of a file is seen in the file."""
    at: tuple[Keys, ...]
    """Where the map of servers sits."""
    dialect: Dialect
    """The variables it expands."""
    untyped: str = "remote"
    """The transport of a URL without a type."""
    untyped_note: str = ""
    """What to say of such an entry."""
    switches: Mapping[str, bool] = field(default_factory=dict)
    """Members that turn an entry off, with the value that does. Others are not believed: the client would start it."""
    allowed: Keys = ()
    """Where a list stands of the only servers it starts."""
    excluded: Keys = ()
    """Where a list stands of servers it does not start."""
    env_file: bool = False
    """Whether it reads `envFile`."""
    overrides: bool = False
    """Whether an entry may do no more than switch on or off a server that is configured elsewhere."""
    own_shape: bool = False
    """Whether no other client puts its map there, so that the shape of a file alone says whose dialect it speaks."""
    map_expected: bool = False
    """Whether its file is there for servers alone, so that one without them deserves a word."""


_WORKSPACE = paths("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/")

CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        (".mcp.json",),
        (("mcpServers",), ()),
        Dialect((paths("CLAUDE_PROJECT_DIR"), INPUT, BRACES)),
        untyped_note='Claude Code refuses a url without a type: add "type": "http"',
        map_expected=True,
    ),
    Client(
        "vscode",
        "VS Code",
        (".vscode/mcp.json",),
        (("servers",),),
        Dialect((_WORKSPACE, paths("cwd"), INPUT, ENV, EDITOR)),
        env_file=True,
    ),
    Client(
        "cursor",
        "Cursor",
        (".cursor/mcp.json",),
        (("mcpServers",),),
        Dialect((_WORKSPACE, INPUT, ENV)),
        env_file=True,
    ),
    Client(
        "codex",
        "Codex",
        (".codex/config.toml",),
        (("mcp_servers",),),
        Dialect(()),
        untyped="http",
        switches={"enabled": False},
        own_shape=True,
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        (".gemini/settings.json",),
        (("mcpServers",),),
        Dialect((INPUT, BRACES, BARE)),
        allowed=("mcp", "allowed"),
        excluded=("mcp", "excluded"),
    ),
    Client(
        "opencode",
        "opencode",
        ("opencode.json", "opencode.jsonc"),
        (("mcp",),),
        Dialect((CURLY_ENV, CURLY_FILE)),
        switches={"enabled": False},
        overrides=True,
        own_shape=True,
    ),
)
"""In the order in which their files are looked for."""

ANY = Client(
    "file",
    "a file of no known client",
    (),
    (("mcpServers",), ("servers",), ("mcp_servers",), ("mcp", "servers"), ("mcp", "mcpServers"), ("mcp",), ()),
    Dialect((_WORKSPACE, paths("CLAUDE_PROJECT_DIR"), INPUT, ENV, BRACES)),
    switches={"enabled": False, "disabled": True},
    env_file=True,
)
"""What a file is read as that is named with `--config` and is where no client keeps one."""

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
"""How the fields of an entry are spelt; the first one that is there counts."""

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


def by_name(name: str) -> Client | None:
    """The row of that name."""
    return next((client for client in CLIENTS if client.name == name), None)


def by_file(path: str) -> tuple[Client, str] | None:
    """The client that keeps a file where `path` (with `/`) ends, and that ending."""
    endings = ((client, file) for client in CLIENTS for file in client.files)
    return next(((client, file) for client, file in endings if f"/{path}".endswith(f"/{file}")), None)
