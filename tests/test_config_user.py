"""The user's own files: where each platform keeps them, whose they are, and the lock that they have for themselves."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcp_lock import config
from mcp_lock.config import HttpServer, NotReady, StdioServer, user
from mcp_lock.config.client import PLATFORMS
from mcp_lock.config.clients import CLIENTS, by_name
from mcp_lock.errors import UsageError
from mcp_lock.launch import LaunchSpec
from mcp_lock.outcome import Status
from tests.project import PLAIN, Project, tool

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_lock.config import Entry, Found


def write(home: Path, name: str, value: object) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), "utf-8")


def one(**entry: object) -> dict[str, object]:
    return {"mcpServers": {"s": entry}}


def find(home: Path, platform: str = "linux", client: str | None = None, **environ: str) -> Found:
    known = {"USERPROFILE" if platform == "win32" else "HOME": str(home), **environ}
    return config.find(home, environ=known, scope="user", platform=platform, client=client)


def ready(entry: Entry) -> StdioServer | HttpServer:
    assert not isinstance(entry.server, NotReady), entry.server
    return entry.server


PLACES = {
    "vscode": (
        ".config/Code/User/mcp.json",
        "Library/Application Support/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
    ),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
        "AppData/Roaming/Claude/claude_desktop_config.json",
    ),
    "claude-code": (".claude.json",) * 3,
    "cursor": (".cursor/mcp.json",) * 3,
    "zed": (".config/zed/settings.json", ".config/zed/settings.json", "AppData/Roaming/Zed/settings.json"),
    "crush": (".config/crush/crush.json", ".config/crush/crush.json", "AppData/Local/crush/crush.json"),
    "trae": (
        ".config/Trae/User/mcp.json",
        "Library/Application Support/Trae/User/mcp.json",
        "AppData/Roaming/Trae/User/mcp.json",
    ),
}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("client", PLACES)
def test_a_platform_has_its_own_places(client: str, platform: str, tmp_path: Path) -> None:
    place = PLACES[client][PLATFORMS.index(platform)]
    value: Any = {"command": "srv"}
    for key in reversed(by_name(client)[0].at[0]):
        value = {key: value if "command" not in value else {"s": value}}
    write(tmp_path, place, value)
    found = find(tmp_path, platform)
    assert found.files == (f"~/{place}",)
    assert ready(found.entries["s"]).cwd == tmp_path  # type: ignore[union-attr]
    for other in PLATFORMS:
        kept = PLACES[client][PLATFORMS.index(other)] == place
        assert bool(find(tmp_path, other).entries) is kept


@pytest.mark.parametrize(
    ("variable", "name", "platform"),
    [
        ("CLAUDE_CONFIG_DIR", ".claude.json", "linux"),
        ("COPILOT_HOME", "mcp-config.json", "darwin"),
        ("XDG_CONFIG_HOME", "Claude/claude_desktop_config.json", "linux"),
        ("APPDATA", "Claude/claude_desktop_config.json", "win32"),
    ],
)
def test_a_variable_moves_the_files_that_begin_with_it(variable: str, name: str, platform: str, tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    write(elsewhere, name, one(command="srv"))
    assert find(home, platform).entries == {}
    found = find(home, platform, **{variable: str(elsewhere)})
    assert found.files == (str(elsewhere / name),)
    assert isinstance(ready(found.entries["s"]), StdioServer)


@pytest.mark.parametrize("variable", ["OPENCODE_CONFIG", "CLINE_MCP_SETTINGS_PATH"])
def test_a_variable_that_names_a_whole_file_is_read_where_it_is_set(variable: str, tmp_path: Path) -> None:
    write(tmp_path, "own.json", one(command="srv"))
    assert find(tmp_path).entries == {}
    assert find(tmp_path, **{variable: str(tmp_path / "own.json")}).files == ("~/own.json",)


def test_a_home_directory_that_nobody_names_is_a_usage_error(tmp_path: Path) -> None:
    for environ in ({}, {"HOME": "relative"}):
        with pytest.raises(UsageError, match="the home directory is not known: set HOME"):
            config.find(tmp_path, environ=environ, scope="user", platform="linux")
    with pytest.raises(UsageError, match="set USERPROFILE"):
        config.find(tmp_path, environ={}, scope="user", platform="win32")


def test_the_same_spec_in_several_files_is_one_server_and_another_one_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, ".cursor/mcp.json", one(command="srv"))
    write(tmp_path, ".lmstudio/mcp.json", one(command="srv"))
    assert len(find(tmp_path).entries["s"].sources) == 2
    write(tmp_path, ".lmstudio/mcp.json", one(command="other"))
    broken = find(tmp_path).entries["s"].server
    assert isinstance(broken, NotReady)
    assert broken.reason == (
        "~/.cursor/mcp.json:3 and ~/.lmstudio/mcp.json:3 configure server s differently (command: srv → other): make "
        "them equal, or choose with --config ~/.cursor/mcp.json or --client cursor"
    )
    assert isinstance(ready(find(tmp_path, client="lm-studio").entries["s"]), StdioServer)


def test_servers_for_a_project_are_started_there_and_named_for_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "work" / name).mkdir(parents=True)
    projects = {
        str(tmp_path / "work" / "a"): one(command="./srv"),
        str(tmp_path / "work" / "b"): one(command="./srv", cwd="sub"),
        str(tmp_path / "gone"): one(command="./srv"),
        "/": one(command="srv"),
        ".": one(command="srv"),
    }
    (tmp_path / "work" / "b" / "sub").mkdir()
    write(tmp_path, ".claude.json", {"projects": projects})
    entries = find(tmp_path).entries
    assert [*entries] == ["s (~/work/a)", "s (~/work/b)", "s (~/gone)", "s (/)", "s (.)"]
    assert entries["s (~/work/a)"].launch == LaunchSpec("stdio", "./srv", cwd="work/a")
    assert entries["s (~/work/b)"].launch == LaunchSpec("stdio", "./srv", cwd="work/b/sub")
    assert entries["s (/)"].launch == LaunchSpec("stdio", "srv", cwd="/")
    assert ready(entries["s (~/work/b)"]).cwd == tmp_path / "work" / "b" / "sub"  # type: ignore[union-attr]
    assert isinstance(entries["s (.)"].server, NotReady)
    gone = entries["s (~/gone)"].server
    assert isinstance(gone, NotReady)
    assert gone.status is Status.SKIPPED
    assert gone.reason.endswith(f"its project {tmp_path / 'gone'} is not there")


def test_a_client_without_files_of_one_kind_says_where_it_keeps_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--client goose: Goose keeps no file in a project; add --scope user$"):
        config.find(tmp_path, environ={}, client="goose")
    with pytest.raises(UsageError, match=r"^--client librechat: LibreChat keeps no file outside projects$"):
        find(tmp_path, client="librechat")


def test_every_client_keeps_a_file_somewhere() -> None:
    assert [row.name for row in CLIENTS if not row.files and not row.user] == []
    assert {platform for row in CLIENTS for platform in row.user} == set(PLATFORMS)


def test_the_lock_of_a_user_lies_in_the_config_directory_of_the_platform(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    assert user.lock_path(home, "linux") == tmp_path / ".config/mcplock/mcp.lock"
    assert user.lock_path(home, "darwin") == tmp_path / ".config/mcplock/mcp.lock"
    assert user.lock_path(home, "win32") == tmp_path / "AppData/Roaming/mcplock/mcp.lock"
    assert user.lock_path({**home, "XDG_CONFIG_HOME": "/x"}, "linux").as_posix() == "/x/mcplock/mcp.lock"
    assert user.lock_path({**home, "APPDATA": "/x"}, "win32").as_posix() == "/x/mcplock/mcp.lock"


@pytest.fixture
def home(project: Project, tmp_path: Path) -> Path:
    """A home directory with a real server in it, beside a project with another one."""
    project.serve("mine", tool("search"))
    own = tmp_path / "own-home"
    write(own, "tools.json", {"tools": [tool("remember")]})
    write(own, ".cursor/mcp.json", one(command=sys.executable, args=[str(PLAIN), "tools.json"]))
    return own


def test_a_user_locks_and_verifies_servers_apart_from_the_project(home: Path, project: Project) -> None:
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "cfg")}
    result = project.run("lock", "--scope", "user", **environ)
    assert (result.code, result.err.count("\n")) == (0, 1), result
    lock = home / "cfg" / "mcplock" / "mcp.lock"
    assert "remember" in lock.read_text("utf-8")
    assert not project.lock.exists()
    assert project.run("verify", "--scope", "user", **environ).out == "1 server, 1 contract: as locked.\n"
    assert project.run("lock", **environ).code == 0
    assert "remember" not in project.lock.read_text("utf-8")
    write(home, "tools.json", {"tools": [tool("remember", "Does something else entirely.")]})
    assert project.run("verify", "--scope", "user", **environ).code == 1
    assert project.run("verify", **environ).code == 0


def test_a_missing_lock_of_the_user_is_named_and_no_directory_made_for_it(home: Path, project: Project) -> None:
    result = project.run("verify", "--scope", "user", HOME=str(home), XDG_CONFIG_HOME=str(home / "cfg"))
    assert (result.code, str(home / "cfg" / "mcplock" / "mcp.lock") in result.out.replace("\n  ", "")) == (1, True)
    assert not (home / "cfg").exists()
