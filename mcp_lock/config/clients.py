"""The clients whose files are read: one row each. A client is added by adding a row, and a sample of its files under
`tests/cases/config/<name>/`.

Rows say what is particular to a client. How the fields of an entry are spelt is in `spellings`.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from mcp_lock.config import expand
from mcp_lock.config.client import ANY_KEY, HOMES, Client, app, both, everywhere
from mcp_lock.config.expand import BARE, BRACES, CURLY_ENV, CURLY_FILE, EDITOR, ENV, INPUT, Dialect, paths

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORKSPACE = paths("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/")
_SERVERS = (("mcpServers",),)
_DISABLED = {"disabled": True}
_ENABLED = {"enabled": False}
_EITHER = Dialect((_WORKSPACE, INPUT, ENV, BRACES))
_EDITOR = Dialect((_WORKSPACE, paths("cwd"), INPUT, ENV, EDITOR))
_ENV = Dialect((ENV,))
_NONE = Dialect(())

CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        (".mcp.json",),
        (("mcpServers",), (), ("projects", ANY_KEY, "mcpServers")),
        Dialect((paths("CLAUDE_PROJECT_DIR"), INPUT, BRACES)),
        everywhere("$CLAUDE_CONFIG_DIR/.claude.json"),
        untyped_note='Claude Code refuses a url without a type: add "type": "http"',
        excluded=("projects", ANY_KEY, "disabledMcpServers"),
    ),
    Client(
        "copilot-cli",
        "Copilot CLI",
        (".mcp.json", ".github/mcp.json"),
        (("mcpServers",), ()),
        Dialect((INPUT, BRACES, BARE)),
        everywhere("$COPILOT_HOME/mcp-config.json"),
    ),
    Client(
        "vscode",
        "VS Code",
        (".vscode/mcp.json",),
        (("servers",),),
        _EDITOR,
        {
            **app("Code/User/mcp.json"),
            "linux": ("$XDG_CONFIG_HOME/Code/User/mcp.json", "~/.vscode-server/data/User/mcp.json"),
        },
        env_file=True,
    ),
    Client(
        "visual-studio",
        "Visual Studio",
        (".mcp.json", ".vs/mcp.json"),
        (("servers",),),
        Dialect((INPUT,)),
        {"win32": ("~/.mcp.json",)},
        untyped="http",
    ),
    Client(
        "cursor",
        "Cursor",
        (".cursor/mcp.json",),
        _SERVERS,
        Dialect((_WORKSPACE, INPUT, ENV)),
        everywhere("~/.cursor/mcp.json"),
        env_file=True,
    ),
    Client(
        "codex",
        "Codex",
        (".codex/config.toml",),
        (("mcp_servers",),),
        _NONE,
        everywhere("$CODEX_HOME/config.toml"),
        untyped="http",
        switches=_ENABLED,
        own_shape=True,
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        (".gemini/settings.json",),
        _SERVERS,
        Dialect((INPUT, BRACES, BARE)),
        everywhere("~/.gemini/settings.json"),
        allowed=("mcp", "allowed"),
        excluded=("mcp", "excluded"),
    ),
    Client(
        "qwen",
        "Qwen Code",
        (".qwen/settings.json",),
        _SERVERS,
        Dialect((INPUT, BRACES, BARE)),
        everywhere("~/.qwen/settings.json"),
        untyped="sse",
        allowed=("mcp", "allowed"),
        excluded=("mcp", "excluded"),
    ),
    Client(
        "opencode",
        "opencode",
        ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc", ".agents/mcp.json"),
        (("mcp",),),
        Dialect((CURLY_ENV, CURLY_FILE)),
        everywhere(
            "$XDG_CONFIG_HOME/opencode/opencode.json",
            "$XDG_CONFIG_HOME/opencode/opencode.jsonc",
            "~/.agents/mcp.json",
            "$OPENCODE_CONFIG",
        ),
        switches=_ENABLED,
        overrides=True,
        own_shape=True,
    ),
    Client(
        "kiro",
        "Kiro",
        (".kiro/settings/mcp.json",),
        (("mcpServers",), ("powers", "mcpServers")),
        _EITHER,
        everywhere("~/.kiro/settings/mcp.json"),
        switches=_DISABLED,
    ),
    Client(
        "junie",
        "Junie",
        (".junie/mcp/mcp.json",),
        _SERVERS,
        _EITHER,
        everywhere("~/.junie/mcp/mcp.json"),
        switches=_DISABLED,
    ),
    Client(
        "amazon-q",
        "Amazon Q",
        (".amazonq/mcp.json", ".amazonq/cli-agents/*"),
        _SERVERS,
        _EITHER,
        everywhere("~/.aws/amazonq/mcp.json", "~/.aws/amazonq/cli-agents/*"),
        switches=_DISABLED,
    ),
    Client(
        "zed",
        "Zed",
        (".zed/settings.json",),
        (("context_servers",),),
        _NONE,
        {
            "linux": ("$XDG_CONFIG_HOME/zed/settings.json",),
            "darwin": ("~/.config/zed/settings.json",),
            "win32": ("$APPDATA/Zed/settings.json",),
        },
        switches=_ENABLED,
        own_shape=True,
        nested=("transport", "command"),
        elsewhere="configured by an extension of Zed, which alone knows how it is started",
    ),
    Client(
        "amp",
        "Amp",
        (".amp/settings.json", ".amp/settings.jsonc"),
        (("amp.mcpServers",),),
        Dialect((INPUT, BRACES)),
        everywhere("$XDG_CONFIG_HOME/amp/settings.json", "$XDG_CONFIG_HOME/amp/settings.jsonc"),
        own_shape=True,
    ),
    Client(
        "kilo",
        "Kilo Code",
        ("kilo.json", "kilo.jsonc", ".kilo/kilo.json", ".kilo/kilo.jsonc"),
        (("mcp",),),
        Dialect((CURLY_ENV, CURLY_FILE)),
        everywhere("$XDG_CONFIG_HOME/kilo/kilo.json", "$XDG_CONFIG_HOME/kilo/kilo.jsonc"),
        switches=_ENABLED,
        overrides=True,
    ),
    Client(
        "kilo",
        "Kilo Code",
        (".kilocode/mcp.json",),
        _SERVERS,
        _ENV,
        untyped_note='Kilo Code refuses a url without a type: add "type": "streamable-http"',
        switches=_DISABLED,
    ),
    Client(
        "roo",
        "Roo Code",
        (".roo/mcp.json",),
        _SERVERS,
        _ENV,
        app("Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
        untyped_note='Roo Code refuses a url without a type: add "type": "streamable-http"',
        switches=_DISABLED,
    ),
    Client(
        "factory",
        "Factory Droid",
        (".factory/mcp.json",),
        _SERVERS,
        _EITHER,
        everywhere("~/.factory/mcp.json"),
        switches=_DISABLED,
    ),
    Client(
        "warp",
        "Warp",
        (".warp/.mcp.json",),
        (("mcpServers",), ()),
        _EITHER,
        everywhere("~/.warp/.mcp.json"),
        switches=_DISABLED,
    ),
    Client(
        "trae",
        "Trae",
        (".trae/mcp.json",),
        _SERVERS,
        _EITHER,
        app("Trae/User/mcp.json"),
        switches=_DISABLED,
    ),
    Client(
        "continue",
        "Continue",
        (".continue/mcpServers/*", ".continue/config.yaml"),
        _SERVERS,
        Dialect((expand.SECRETS, expand.INPUTS)),
        everywhere("~/.continue/mcpServers/*", "~/.continue/config.yaml"),
        own_shape=True,
        is_list=True,
        nested=("transport", "requestOptions"),
        elsewhere="a block of Continue's hub, which only Continue can look up",
        elsewhere_by="uses",
    ),
    Client(
        "devcontainer",
        "VS Code in a dev container",
        (".devcontainer/devcontainer.json", ".devcontainer.json"),
        (("customizations", "vscode", "mcp", "servers"),),
        _EDITOR,
        env_file=True,
        own_shape=True,
    ),
    Client(
        "crush",
        "Crush",
        (".crush.json", "crush.json"),
        (("mcp",),),
        Dialect((expand.SHELL, INPUT, BRACES, BARE)),
        {**everywhere("$XDG_CONFIG_HOME/crush/crush.json"), "win32": ("$LOCALAPPDATA/crush/crush.json",)},
        switches=_DISABLED,
    ),
    Client(
        "librechat",
        "LibreChat",
        ("librechat.yaml",),
        _SERVERS,
        Dialect((expand.USERS, INPUT, BRACES)),
        untyped="sse",
    ),
    Client(
        "mcp-agent",
        "mcp-agent",
        ("mcp_agent.config.yaml", "mcp-agent.config.yaml"),
        (("mcp", "servers"),),
        Dialect((INPUT, BRACES)),
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        (),
        _SERVERS,
        _NONE,
        app("Claude/claude_desktop_config.json"),
    ),
    Client(
        "windsurf",
        "Windsurf",
        (),
        _SERVERS,
        _ENV,
        everywhere("~/.codeium/windsurf/mcp_config.json", "~/.codeium/mcp_config.json"),
        switches=_DISABLED,
    ),
    Client(
        "antigravity",
        "Antigravity",
        (),
        _SERVERS,
        _ENV,
        everywhere("~/.gemini/config/mcp_config.json", "~/.gemini/antigravity/mcp_config.json"),
        switches=_DISABLED,
    ),
    Client(
        "cline",
        "Cline",
        (),
        _SERVERS,
        _ENV,
        both(
            everywhere(
                "$CLINE_MCP_SETTINGS_PATH",
                "~/.cline/data/settings/cline_mcp_settings.json",
                "~/Documents/Cline/MCP/cline_mcp_settings.json",
            ),
            app("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        ),
        untyped="sse",
        switches=_DISABLED,
    ),
    Client(
        "lm-studio",
        "LM Studio",
        (),
        _SERVERS,
        _NONE,
        everywhere("~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json"),
    ),
    Client(
        "goose",
        "Goose",
        (),
        (("extensions",),),
        _NONE,
        {
            "linux": ("$XDG_CONFIG_HOME/goose/config.yaml",),
            "darwin": ("~/.config/goose/config.yaml",),
            "win32": ("$APPDATA/Block/goose/config/config.yaml",),
        },
        switches=_ENABLED,
        own_shape=True,
        own_types=("builtin", "platform", "frontend", "inline_python"),
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
    nested=("transport", "requestOptions", "command"),
)
"""What a file is read as that is named with `--config` and is where no client keeps one."""


def names() -> tuple[str, ...]:
    """What `--client` takes."""
    return tuple(dict.fromkeys(client.name for client in CLIENTS))


def by_name(name: str) -> tuple[Client, ...]:
    """The rows of that name."""
    return tuple(client for client in CLIENTS if client.name == name)


def by_file(path: str) -> tuple[tuple[Client, str], ...]:
    """The clients that keep a file where `path` (with `/`) ends, each with that ending: those of the longest one."""
    found = [(client, ending) for client in CLIENTS for ending in _endings(client) if PurePosixPath(path).match(ending)]
    longest = max((ending.count("/") for _, ending in found), default=0)
    return tuple((client, ending) for client, ending in found if ending.count("/") == longest)


def _endings(client: Client) -> Iterator[str]:
    """The project's files, then the user's, as they lie below the home directory."""
    yield from client.files
    for file in dict.fromkeys(file for files in client.user.values() for file in files):
        base, _, rest = file.partition("/")
        home = HOMES.get(base.removeprefix("$"), base)
        if rest and home.startswith("~"):
            yield f"{home}/{rest}".removeprefix("~/")
