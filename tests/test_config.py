"""Client configs: samples of every client read as their `.expect.json` says, and the rules that hold between files."""

from __future__ import annotations

import codecs
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_lock import config
from mcp_lock.config import Entry, Extra, Found, HttpServer, NotReady, StdioServer, toml
from mcp_lock.config.clients import CLIENTS
from mcp_lock.config.given import env_file, headers, variables
from mcp_lock.config.root import project_root
from mcp_lock.config.spellings import SPELLINGS
from mcp_lock.errors import ConfigError, UsageError
from mcp_lock.launch import LaunchSpec
from mcp_lock.outcome import Status

if TYPE_CHECKING:
    from mcp_lock.config.client import Client

CASES = Path(__file__).parent / "cases" / "config"
SAMPLES = sorted(path for path in CASES.glob("*/*") if not path.name.endswith(".expect.json"))
ENVIRON = {
    "PATH": "/nowhere",
    "HOME": "/home/someone",
    "REGION": "eu-north-1",
    "TRACKER_TOKEN": "tracker-value",
    "BUILD_KEY": "",
    "MCPLOCK_INPUT_HOME_TOKEN": "home-value",
    "MCPLOCK_INPUT_HOME_HOST": "home.example.com",
}
BESIDE = {
    "settings.env": b"# settings\nLEVEL='deep'\nexport DB_PASSWORD=hush-hush-hush\n",
    "token.txt": b"file-value\n",
}
FIRST = {client.name: (*client.files, *client.user.get("linux", ()))[0] for client in reversed(CLIENTS)}


def place(root: Path, sample: Path) -> Path:
    """Where a sample is put: where its expectation says, else where its client keeps its first file."""
    name = expected(sample).get("at", FIRST.get(sample.parent.name, sample.name))
    name = name.replace("$XDG_CONFIG_HOME", "~/.config").removesuffix("*") + sample.name * name.endswith("*")
    return root / name.removeprefix("~/")


def project(root: Path, sample: Path, data: bytes | None = None) -> Path:
    """A project, or a home directory, whose one config is `sample`."""
    path = place(root, sample)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(sample.read_bytes() if data is None else data)
    (root / "sub").mkdir(exist_ok=True)
    for beside, content in BESIDE.items():
        (root / beside).write_bytes(content)
    return path


def load(root: Path, path: Path, sample: Path) -> Found:
    wanted = expected(sample)
    if sample.parent.name == "file":
        return config.read([path], root, environ=ENVIRON)
    if wanted.get("at", FIRST[sample.parent.name]).startswith(("~", "$")):
        home = {**ENVIRON, "HOME": str(root)}
        return config.find(root, environ=home, scope="user", platform=wanted.get("platform", "linux"))
    return config.find(root, environ=ENVIRON, client=wanted.get("client"))


def told(root: Path, path: Path, sample: Path) -> dict[str, Any]:
    """What reading comes to, in the form of an `.expect.json`."""
    try:
        found = load(root, path, sample)
    except ConfigError as error:
        return {"error": str(error)}
    return {
        "servers": {name: told_entry(entry, root) for name, entry in found.entries.items()},
        "notes": [*found.notes],
    }


def told_entry(entry: Entry, root: Path) -> dict[str, Any]:
    launch = {name: value for name, value in asdict(entry.launch).items() if value} if entry.launch else None
    (source,) = entry.sources
    result: dict[str, Any] = {"client": source.client, "line": source.line, "launch": launch}
    match entry.server:
        case NotReady(status, reason, invalid):
            result[status.value] = reason
            result |= {"invalid": True} if invalid else {}
        case StdioServer(argv, cwd, env, _):
            result |= {"argv": [*argv], "env": dict(env)} | ({"cwd": str(cwd)} if cwd != root else {})
        case HttpServer(url, transport, sent, _):
            result |= {"url": url, "transport": transport, "headers": dict(sent)}
    result |= {"notes": [*entry.notes]} if entry.notes else {}
    result |= {"approved": sorted(entry.approved)} if entry.approved else {}
    plain = json.dumps(result, ensure_ascii=False).replace(str(root), "ROOT")
    return json.loads(plain)


def expected(sample: Path) -> dict[str, Any]:
    return json.loads(sample.with_name(f"{sample.name}.expect.json").read_text("utf-8"))


def stdio(entry: Entry) -> StdioServer:
    assert isinstance(entry.server, StdioServer), entry.server
    return entry.server


def http(entry: Entry) -> HttpServer:
    assert isinstance(entry.server, HttpServer), entry.server
    return entry.server


def not_ready(entry: Entry) -> NotReady:
    assert isinstance(entry.server, NotReady), entry.server
    return entry.server


def write(root: Path, name: str, value: object) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), "utf-8")
    return path


def one(**entry: object) -> dict[str, object]:
    return {"mcpServers": {"s": entry}}


SETTINGS = ("why", "at", "client", "platform")
"""What an expectation says of the sample rather than of what it reads as."""


def outcome(sample: Path) -> dict[str, Any]:
    return {name: value for name, value in expected(sample).items() if name not in SETTINGS}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_sample_reads_as_its_expectation_says(sample: Path, tmp_path: Path) -> None:
    assert expected(sample)["why"]
    assert told(tmp_path, project(tmp_path, sample), sample) == outcome(sample)


def test_every_client_has_two_samples_and_every_sample_a_client() -> None:
    counts = {name: sum(sample.parent.name == name for sample in SAMPLES) for name in (*FIRST, "file")}
    assert {name: count for name, count in counts.items() if count < 2} == {}
    assert sum(counts.values()) == len(SAMPLES)


ENCODINGS = {
    "bom": lambda text: codecs.BOM_UTF8 + text.encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-be": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "sample", [s for s in SAMPLES if s.stem not in ("utf16", "windows", "bom")], ids=lambda s: s.name
)
def test_a_sample_reads_the_same_in_every_encoding(sample: Path, encoding: str, tmp_path: Path) -> None:
    data = ENCODINGS[encoding](sample.read_text("utf-8"))
    assert told(tmp_path, project(tmp_path, sample, data), sample) == outcome(sample)


def test_servers_with_odd_names_keep_them_to_the_letter(tmp_path: Path) -> None:
    names = ["Team Slack", "Craig's notes (test)", "a.b", "日本語サーバー", "my-server", "my_server", "My Server", ""]
    write(tmp_path, ".mcp.json", {"mcpServers": {name: {"command": "srv"} for name in names}})
    assert list(config.find(tmp_path, environ={}).entries) == names


def test_one_spec_in_several_files_is_one_server_with_several_sources(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command="srv", args=["${REGION}", "./run.py"]))
    write(tmp_path, ".cursor/mcp.json", one(command="srv", args=["${env:REGION}", "${workspaceFolder}/run.py"]))
    write(tmp_path, "opencode.json", {"mcp": {"s": {"type": "local", "command": ["srv", "{env:REGION}", "./run.py"]}}})
    found = config.find(tmp_path, environ={"REGION": "north"})
    assert [str(source) for source in found.entries["s"].sources] == [
        ".mcp.json:3",
        ".cursor/mcp.json:3",
        "opencode.json:3",
    ]
    assert [source.client for source in found.entries["s"].sources] == ["claude-code", "cursor", "opencode"]
    assert stdio(found.entries["s"]).argv == ("srv", "north", "./run.py")
    assert found.files == (".mcp.json", ".cursor/mcp.json", "opencode.json")


def test_a_url_without_a_type_is_the_same_server_as_one_with_a_type(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(url="https://mcp.example.com/mcp"))
    write(tmp_path, ".vscode/mcp.json", {"servers": {"s": {"type": "sse", "url": "https://mcp.example.com/mcp"}}})
    entry = config.find(tmp_path, environ={}).entries["s"]
    assert http(entry).transport == "sse"
    assert entry.launch == LaunchSpec("sse", url="https://mcp.example.com/mcp")
    assert len(entry.sources) == 2


def test_different_specs_under_one_name_are_an_error_that_says_how_to_choose(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {"s": {"command": "srv"}, "t": {"command": "t"}}})
    write(tmp_path, ".cursor/mcp.json", one(command="other", env={"API_KEY": "secret-literal"}))
    found = config.find(tmp_path, environ={})
    broken = not_ready(found.entries["s"])
    assert broken.invalid
    assert broken.reason == (
        ".mcp.json:3 and .cursor/mcp.json:3 configure server s differently (command: srv → other; env.API_KEY: added "
        "(<redacted>)): make them equal, or choose with --config .mcp.json or --client claude-code"
    )
    assert stdio(found.entries["t"])
    assert stdio(config.find(tmp_path, environ={}, client="cursor").entries["s"]).argv == ("other",)


def test_a_disabled_entry_gives_way_to_an_enabled_one(tmp_path: Path) -> None:
    write(tmp_path, "opencode.json", {"mcp": {"s": {"type": "local", "command": ["other"], "enabled": False}}})
    write(tmp_path, ".mcp.json", one(command="srv"))
    entry = config.find(tmp_path, environ={}).entries["s"]
    assert stdio(entry).argv == ("srv",)
    assert len(entry.sources) == 2


def test_a_broken_entry_is_not_hidden_by_a_good_one_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command="srv"))
    write(tmp_path, ".cursor/mcp.json", one(command=5))
    broken = not_ready(config.find(tmp_path, environ={}).entries["s"])
    assert broken.invalid
    assert broken.reason.startswith(".cursor/mcp.json:4:4: server s: command must be a string")


def test_disabled_servers_are_read_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "opencode.json", {"mcp": {"s": {"type": "local", "command": ["srv"], "enabled": False}}})
    assert not_ready(config.find(tmp_path, environ={}).entries["s"]).status is Status.SKIPPED
    entry = config.find(tmp_path, environ={}, include_disabled=True).entries["s"]
    assert stdio(entry).argv == ("srv",)
    assert entry.notes == ("opencode.json:3:3: disabled; read all the same",)


def test_mcplock_skip_leaves_servers_out_and_tells_of_names_that_are_not_there(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {"a b": {"command": "srv"}, "c": {"command": "srv"}}})
    found = config.find(tmp_path, environ={"MCPLOCK_SKIP": "a b, d"})
    assert not_ready(found.entries["a b"]) == NotReady(Status.SKIPPED, ".mcp.json:3: left out by MCPLOCK_SKIP")
    assert found.entries["a b"].launch == LaunchSpec("stdio", "srv")
    assert stdio(found.entries["c"])
    assert found.notes == ("MCPLOCK_SKIP names d, which is not configured",)


def test_what_was_looked_for_is_told_when_nothing_is_there(tmp_path: Path) -> None:
    found = config.find(tmp_path, environ={})
    assert found.entries == {}
    assert found.files == ()
    assert found.root == tmp_path
    assert found.looked == tuple(dict.fromkeys(file for client in CLIENTS for file in client.files))


def test_an_mcp_json_without_servers_gets_a_note_and_other_settings_none(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {})
    write(tmp_path, ".gemini/settings.json", {"ui": {}, "mcp": {"allowed": []}})
    write(tmp_path, "mcp.json", {})
    assert config.find(tmp_path, environ={}).notes == (
        ".mcp.json holds no servers: there is no mcpServers in it",
        "mcp.json is not read: no client looks for it; name it with --config mcp.json",
    )


def test_a_map_of_servers_inside_another_is_no_server(tmp_path: Path) -> None:
    inner = {"servers": {"a": {"command": "a"}}, "b": {"type": "local", "command": ["b"]}}
    path = write(tmp_path, "settings.json", {"mcp": inner})
    assert config.read([path], tmp_path, environ={}).entries.keys() == {"a", "b"}
    write(tmp_path, "opencode.json", {"mcp": inner})
    assert config.find(tmp_path, environ={}).entries.keys() == {"a", "b"}


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_bytes(b" \n")
    assert config.find(tmp_path, environ={}).entries == {}


@pytest.mark.parametrize("value", [[], "text", {"mcpServers": []}, {"mcpServers": "x"}])
def test_a_file_of_the_wrong_kind_is_an_error(value: object, tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", value)
    with pytest.raises(ConfigError, match=r"^\.mcp\.json:[0-9]+:[0-9]+: "):
        config.find(tmp_path, environ={})


def test_a_repeated_map_of_servers_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text(
        '{"mcpServers": {"a": {"command": "x"}},\n "mcpServers": {"b": {"command": "y"}}}'
    )
    with pytest.raises(ConfigError, match=r"^\.mcp\.json:2:2: duplicate key mcpServers \(lines 1 and 2\); remove one"):
        config.find(tmp_path, environ={})


def test_an_unknown_client_is_a_usage_error_that_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--client curser: known are claude-code, copilot-cli, vscode, .*goose$"):
        config.find(tmp_path, environ={}, client="curser")


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_named_file_that_cannot_be_read_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        config.read([tmp_path / name], tmp_path, environ={})


def test_text_that_is_not_unicode_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_bytes(b'{"mcpServers":\n {"\xff": 1}}')
    with pytest.raises(ConfigError, match=r"^\.mcp\.json:2: not UTF-8 text"):
        config.find(tmp_path, environ={})


def test_a_config_can_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(one(command="srv")).encode())))
    entry = config.read(["-"], tmp_path, environ={}).entries["s"]
    assert str(entry.sources[0]) == "<stdin>:1"
    assert entry.sources[0].client == "file"
    assert stdio(entry).cwd == tmp_path


def test_a_named_file_that_a_client_keeps_is_read_as_that_client_does(tmp_path: Path) -> None:
    path = write(tmp_path, "sub/.cursor/mcp.json", one(command="srv", args=["${env:A}", "${A}", "${workspaceFolder}"]))
    entry = config.read([path], tmp_path, environ={"A": "a"}).entries["s"]
    assert stdio(entry).argv == ("srv", "a", "${A}", str(tmp_path / "sub"))
    assert stdio(entry).cwd == tmp_path / "sub"
    assert entry.launch == LaunchSpec("stdio", "srv", ("${A}", "$${A}", "${workspaceFolder}"), cwd="sub")
    assert entry.sources[0].client == "cursor"


def test_one_relative_spec_in_two_directories_is_two_servers(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"{name}/.mcp.json", one(command="./srv")) for name in ("a", "b")]
    broken = not_ready(config.read(paths, tmp_path, environ={}).entries["s"])
    assert broken.reason.startswith("a/.mcp.json:3 and b/.mcp.json:3 configure server s differently")


def test_two_checkouts_give_one_launch_spec(tmp_path: Path) -> None:
    specs = []
    for name in ("one", "two"):
        (tmp_path / name / "srv").mkdir(parents=True)
        write(
            tmp_path / name,
            ".vscode/mcp.json",
            {
                "servers": {
                    "s": {
                        "command": "${workspaceFolder}/run",
                        "args": ["./srv/player.py", "${userHome}/x", "~/y", "${env:HOME}", "$HOME"],
                        "cwd": "./srv/.",
                        "env": {"P": "${workspaceFolderBasename}${/}"},
                    }
                }
            },
        )
        specs.append(config.find(tmp_path / name, environ={"HOME": f"/home/{name}"}).entries["s"].launch)
    assert specs[0] == specs[1]
    assert specs[0] == LaunchSpec(
        "stdio",
        "${workspaceFolder}/run",
        ("./srv/player.py", "${userHome}/x", "~/y", "${HOME}", "$HOME"),
        cwd="srv",
        env={"P": "${workspaceFolderBasename}${/}"},
    )


def test_a_command_that_is_a_file_with_blanks_is_never_taken_apart(tmp_path: Path) -> None:
    program = tmp_path / "dir with space" / "run me.sh"
    program.parent.mkdir()
    program.touch()
    write(tmp_path, ".mcp.json", one(command="./dir with space/run me.sh"))
    entry = config.find(tmp_path, environ={}).entries["s"]
    assert stdio(entry).argv == ("./dir with space/run me.sh",)
    assert entry.notes == ()


def test_a_whole_line_with_an_open_quote_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command="npx 'some"))
    assert not_ready(config.find(tmp_path, environ={}).entries["s"]).invalid


def test_a_missing_program_at_a_path_with_blanks_stays_whole(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command=r"C:\Program Files\nodejs\node.exe", args=["C:\\x y\\"]))
    assert stdio(config.find(tmp_path, environ={}).entries["s"]).argv == (
        r"C:\Program Files\nodejs\node.exe",
        "C:\\x y\\",
    )


@pytest.mark.parametrize(
    "words",
    [
        ["mcplock", "guard", "--server", "s", "--log", "g.log", "--", "npx", "-y", "real@1.0.0"],
        ["uvx", "mcp-lock==1.2.0", "guard", "--server=s", "--", "npx", "-y", "real@1.0.0"],
        ["uvx", "--from", "mcp-lock", "mcplock", "guard", "--server", "s", "--", "npx", "-y", "real@1.0.0"],
        ["python3", "-m", "mcp_lock", "guard", "--server", "s", "--", "npx", "-y", "real@1.0.0"],
    ],
)
def test_a_guard_is_read_as_what_stands_behind_it(words: list[str], tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command=words[0], args=words[1:]))
    entry = config.find(tmp_path, environ={}).entries["s"]
    assert stdio(entry).argv == ("npx", "-y", "real@1.0.0")
    assert entry.launch == LaunchSpec("stdio", "npx", ("-y", "real@1.0.0"))


@pytest.mark.parametrize(
    "words",
    [
        ["./mcplock", "guard", "--server", "s", "--", "npx", "real"],
        ["sh", "mcplock", "guard", "--server", "s", "--", "npx", "real"],
        ["uvx", "--from", "git+https://example.com/x", "mcplock", "guard", "--server", "s", "--", "npx", "real"],
        ["/opt/python", "-m", "mcp_lock", "guard", "--server", "s", "--", "npx", "real"],
        ["mcplock", "guard", "s"],
        ["mcplock", "guard", "--server", "s", "--url", "https://x.example.com", "--", "npx"],
    ],
)
def test_a_guard_started_in_any_other_way_is_neither_believed_nor_connected_through(
    words: list[str], tmp_path: Path
) -> None:
    write(tmp_path, ".mcp.json", one(command=words[0], args=words[1:]))
    entry = config.find(tmp_path, environ={}).entries["s"]
    assert not_ready(entry).invalid
    assert entry.launch is None


def test_a_server_that_only_mentions_the_guard_is_no_guard(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command="srv", args=["--topic", "guard", "--", "mcplock", "guard"]))
    assert stdio(config.find(tmp_path, environ={}).entries["s"]).argv[0] == "srv"


def test_given_variables_answer_the_config_and_reach_the_child_but_not_the_spec(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command="srv", args=["${TOKEN}"]))
    entry = config.find(tmp_path, environ={}, env={"TOKEN": "given-value", "MORE": "more-value"}).entries["s"]
    server = stdio(entry)
    assert server.argv == ("srv", "given-value")
    assert server.env == {"TOKEN": "given-value", "MORE": "more-value"}
    assert server.secrets == {"TOKEN": "given-value", "MORE": "more-value"}
    assert entry.launch == LaunchSpec("stdio", "srv", ("${TOKEN}",))


def test_a_given_header_takes_the_place_of_one_without_a_value(tmp_path: Path) -> None:
    write(
        tmp_path,
        ".mcp.json",
        one(type="http", url="https://x.example.com/mcp", headers={"authorization": "Bearer ${NOT_THERE}", "X-A": "1"}),
    )
    assert not_ready(config.find(tmp_path, environ={}).entries["s"]).status is Status.UNREADABLE
    entry = config.find(tmp_path, environ={}, headers={"Authorization": "Bearer given"}).entries["s"]
    assert http(entry).headers == {"X-A": "1", "Authorization": "Bearer given"}
    assert entry.launch
    assert entry.launch.headers == {"authorization": "Bearer ${NOT_THERE}", "X-A": "1"}


def test_a_value_that_would_break_a_header_is_not_sent(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(type="http", url="https://x.example.com/mcp", headers={"X-A": "${A}"}))
    broken = not_ready(config.find(tmp_path, environ={"A": "a\r\nX-B: b"}).entries["s"])
    assert broken.reason == ".mcp.json:3:3: server s: the value holds a control character (headers.X-A)"


def test_hostile_names_reach_no_message_raw(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {"a\x1b[31m\nb": {"command": "${X\u202e}", "type": "\u200bhttp"}}})
    (entry,) = config.find(tmp_path, environ={}).entries.values()
    assert not set(not_ready(entry).reason) & set("\x1b\n\u202e\u200b")


WORDS = st.sampled_from(
    [
        "npx",
        "-y",
        "--token",
        "${V",
        "${A:-${B}}",
        "{file:/}",
        "guard",
        "mcplock",
        "--",
        "http://[",
        "https://x",
        "/c",
        "",
    ]
)
VALUE = st.none() | st.booleans() | st.integers() | WORDS
ENTRY = st.dictionaries(
    st.sampled_from(sorted({name for names in SPELLINGS.values() for name in names} | {"disabled", "enabled"})),
    VALUE | st.lists(VALUE, max_size=4) | st.dictionaries(WORDS, VALUE, max_size=3),
)
SERVERS = st.dictionaries(st.text(max_size=5).map("s".__add__), ENTRY | VALUE, max_size=4)


PLAIN = [client for client in CLIENTS if client.files and client.files[0].endswith(".json") and len(client.at[0]) == 1]


@pytest.mark.parametrize("client", PLAIN, ids=lambda client: client.files[0])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(servers=SERVERS)
def test_no_entry_however_odd_costs_its_siblings(client: Client, servers: dict[str, Any], tmp_path: Path) -> None:
    (key,) = client.at[0]
    write(tmp_path, client.files[0], {key: {"good": {"type": "stdio", "command": "srv"}, **servers}})
    entries = config.find(tmp_path, environ=ENVIRON).entries
    assert entries.keys() == {"good", *servers}
    assert stdio(entries["good"]).argv == ("srv",)


def test_the_project_root_is_where_the_lock_is_else_a_config_else_the_top_of_git(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (tmp_path / "a" / ".git").touch()
    assert project_root(inner) == tmp_path / "a"
    write(inner.parent, ".cursor/mcp.json", {})
    assert project_root(inner) == inner.parent
    (tmp_path / "a" / "mcp.lock").touch()
    assert project_root(inner) == tmp_path / "a"
    (inner / "mcp.lock").touch()
    assert config.project_root(inner) == inner


def test_a_lock_above_the_git_tree_is_another_projects(tmp_path: Path) -> None:
    (tmp_path / "mcp.lock").touch()
    (tmp_path / "a" / ".git").mkdir(parents=True)
    assert project_root(tmp_path / "a") == tmp_path / "a"


@pytest.mark.parametrize(
    ("name", "text", "is_root"),
    [
        ("mcplock.toml", "", True),
        ("pyproject.toml", "[project]\n\n[tool.mcplock]\nfail-on = 1\n", True),
        ("pyproject.toml", "[ tool . mcplock.servers.x ]\n", True),
        ("pyproject.toml", "[tool.mcplocks]\n# [tool.mcplock]\n", False),
        (".continue/mcpServers/a.yaml", "mcpServers: []", True),
        (".zed/settings.json", '{"theme": "x"}', False),
        (".zed/settings.json", '{"context_servers": {}}', True),
        ("crush.json", '{"lsp": {}}', False),
    ],
)
def test_settings_or_a_file_that_may_hold_servers_make_a_project(
    name: str, text: str, is_root: bool, tmp_path: Path
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    path = tmp_path / "a" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-16" if "context" in text else "utf-8")
    assert project_root(inner) == (tmp_path / "a" if is_root else tmp_path)


def test_settings_further_up_come_before_a_config_and_after_a_lock(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    write(inner, ".mcp.json", {})
    (tmp_path / "a" / "mcplock.toml").touch()
    assert project_root(inner) == tmp_path / "a"
    (tmp_path / "mcp.lock").touch()
    assert project_root(inner) == tmp_path


def settings_of(text: str) -> Extra:
    return Extra(toml.parse(text), ("tool", "mcplock", "servers"), "pyproject.toml")


def test_servers_in_the_settings_add_to_those_of_files_and_take_their_place(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {"s": {"command": "srv"}, "t": {"command": "t"}}})
    extra = settings_of(
        """[tool.mcplock.servers.s]
command = "other"
args = ["${REGION}", "${env:REGION}", "${workspaceFolder}"]

[tool.mcplock.servers.u]
url = "https://u.example.com/mcp"
headers = {Authorization = "Bearer ${TOKEN}"}

[tool.mcplock.servers.w]
command = 5
"""
    )
    environ = {"REGION": "north", "TOKEN": "t0"}
    for found in (
        config.find(tmp_path, environ=environ, extra=extra),
        config.read([tmp_path / ".mcp.json"], tmp_path, environ=environ, extra=extra),
    ):
        assert [*found.entries] == ["s", "t", "u", "w"]
        assert stdio(found.entries["s"]).argv == ("other", "north", "north", str(tmp_path))
        assert [str(source) for source in found.entries["s"].sources] == ["pyproject.toml:1"]
        assert found.entries["s"].sources[0].client == "mcplock"
        assert http(found.entries["u"]).headers == {"Authorization": "Bearer t0"}
        assert not_ready(found.entries["w"]).reason.startswith(
            "pyproject.toml:10:1: server w: command must be a string"
        )
        assert found.files == (".mcp.json", "pyproject.toml")


def test_a_server_in_the_settings_ends_a_conflict_between_files(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command="srv"))
    write(tmp_path, ".cursor/mcp.json", one(command="other"))
    assert not_ready(config.find(tmp_path, environ={}).entries["s"]).invalid
    extra = settings_of('[tool.mcplock.servers.s]\ncommand = "third"')
    assert stdio(config.find(tmp_path, environ={}, extra=extra).entries["s"]).argv == ("third",)


def test_settings_without_servers_add_nothing_and_those_of_the_wrong_kind_are_an_error(tmp_path: Path) -> None:
    assert config.find(tmp_path, environ={}, extra=settings_of("[tool.mcplock]\nx = 1")).files == ()
    with pytest.raises(ConfigError, match=r"^pyproject\.toml:2:1: tool\.mcplock\.servers must be a table of servers$"):
        config.find(tmp_path, environ={}, extra=settings_of("[tool.mcplock]\nservers = 1"))


def test_an_excluded_server_is_skipped_with_its_reason_and_one_that_is_not_there_is_noted(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {"a": {"command": "srv"}, "b": {"command": "srv"}}})
    reasons = dict.fromkeys(("b", "gone\x1b"), "left out by mcplock.toml:2")
    for found in (
        config.find(tmp_path, environ={}, excluded=reasons),
        config.read([tmp_path / ".mcp.json"], tmp_path, environ={}, excluded=reasons),
    ):
        assert not_ready(found.entries["b"]) == NotReady(Status.SKIPPED, ".mcp.json:6: left out by mcplock.toml:2")
        assert stdio(found.entries["a"])
        assert found.notes == ("server gone\\u{1b} is not configured: left out by mcplock.toml:2",)


def test_a_file_that_several_clients_keep_is_read_as_the_one_whose_servers_it_holds(tmp_path: Path) -> None:
    path = write(tmp_path, ".mcp.json", {"servers": {"s": {"command": "srv", "args": ["${A}"]}}})
    for found in (config.find(tmp_path, environ={}), config.read([path], tmp_path, environ={})):
        assert found.entries["s"].sources[0].client == "visual-studio"
        assert stdio(found.entries["s"]).argv == ("srv", "${A}")
    assert config.find(tmp_path, environ={}, client="copilot-cli").entries == {}
    assert config.find(tmp_path, environ={}, client="visual-studio").entries.keys() == {"s"}


def test_the_longest_ending_says_whose_file_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, "sub/.warp/.mcp.json", one(command="srv"))
    entry = config.read([path], tmp_path, environ={}).entries["s"]
    assert (entry.sources[0].client, stdio(entry).cwd) == ("warp", tmp_path / "sub")


def test_every_file_of_a_directory_is_read_but_those_of_other_kinds(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.json", "d.jsonc"):
        path = tmp_path / ".continue" / "mcpServers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": [{"name": path.stem, "command": "srv"}]}))
    (path.parent / "README.md").write_text("no config")
    (path.parent / "sub.yaml").mkdir()
    found = config.find(tmp_path, environ={})
    assert [*found.entries] == ["a", "b", "c", "d"]
    assert found.files[0] == ".continue/mcpServers/a.yml"
    (path.parent / "e.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"^\.continue/mcpServers/e\.yaml: not a regular file"):
        config.find(tmp_path, environ={})


def test_one_name_in_two_files_of_a_directory_is_a_conflict_that_names_both(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, f".continue/mcpServers/{name}.json", {"mcpServers": [{"name": "s", "command": name}]})
    reason = not_ready(config.find(tmp_path, environ={}).entries["s"]).reason
    assert reason.endswith("make them equal, or choose with --config .continue/mcpServers/a.json")


def test_a_script_of_crush_is_mentioned_and_never_run(tmp_path: Path) -> None:
    (tmp_path / ".crushrc").write_text(f"touch {tmp_path}/started\n")
    (note,) = config.find(tmp_path, environ={}).notes
    assert note == ".crushrc is a script that Crush runs: it is neither run nor read, so servers in it are not seen"
    write(tmp_path, "crush.json", {"mcp": {"s": {"type": "stdio", "command": f"$(touch {tmp_path}/started)"}}})
    assert "never run" in not_ready(config.find(tmp_path, environ={}).entries["s"]).reason
    assert not (tmp_path / "started").exists()


APPROVED = [
    ({"autoApprove": ["a", "b", 5]}, {"a", "b"}),
    ({"alwaysAllow": ["a"], "autoApprove": ["c"]}, {"a", "c"}),
    ({"trust": True}, {"*"}),
    ({"autoApprove": True, "alwaysAllow": "a"}, {"*"}),
    ({"trust": "yes", "tools": ["x"]}, set()),
    ({"tools": {"a": {"approval_mode": "approve"}, "b": {"approval_mode": "prompt"}, "c": 1}}, {"a"}),
]


@pytest.mark.parametrize(("members", "names"), APPROVED)
def test_tools_that_are_called_without_asking_are_known(
    members: dict[str, object], names: set[str], tmp_path: Path
) -> None:
    write(tmp_path, ".mcp.json", one(command="srv", **members))
    assert config.find(tmp_path, environ={}).entries["s"].approved == names


def test_tools_that_any_client_calls_without_asking_are_known_for_the_server(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command="srv", autoApprove=["a"]))
    write(tmp_path, ".roo/mcp.json", one(command="srv", alwaysAllow=["b"]))
    write(tmp_path, ".kiro/settings/mcp.json", one(command="srv", autoApprove=["c"], disabled=True))
    assert config.find(tmp_path, environ={}).entries["s"].approved == {"a", "b"}


def test_an_entry_knows_whether_its_launch_is_pinned(tmp_path: Path) -> None:
    specs = {"a": ["-y", "x"], "b": ["-y", "x@1.2.3"], "c": 5}
    write(tmp_path, ".mcp.json", {"mcpServers": {n: {"command": "npx", "args": args} for n, args in specs.items()}})
    told = {name: entry.unpinned for name, entry in config.find(tmp_path, environ={}).entries.items()}
    assert told == {"a": "npx starts x without an exact version: write x@VERSION", "b": "", "c": ""}


def test_given_values_are_read_from_pairs_and_files(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"A=1 # one\nexport B='two words'\n\n# C=3\nD=\"a\\nb\"\nE=x=y\r\n")
    values = variables(["A=own", "HOME"], [path], {"HOME": "/h"})
    assert values == {"A": "own", "B": "two words", "D": "a\nb", "E": "x=y", "HOME": "/h"}
    assert headers(["X-Key=a=b"]) == {"X-Key": "a=b"}


@pytest.mark.parametrize("pair", ["UNSET", "=value", ""])
def test_a_variable_without_a_value_is_a_usage_error(pair: str) -> None:
    with pytest.raises(UsageError, match=r"^--env"):
        variables([pair], [], {})


@pytest.mark.parametrize("pair", ["X-Key", "X Key=hush", "=hush", "X-Key=hush\nX: y"])
def test_a_header_that_is_none_is_a_usage_error_without_its_value(pair: str) -> None:
    with pytest.raises(UsageError) as caught:
        headers([pair])
    assert "hush" not in str(caught.value)


def test_a_line_of_an_env_file_that_is_none_is_named_and_not_quoted() -> None:
    with pytest.raises(ConfigError, match=r"^\.env:2: not of the form NAME=VALUE$"):
        env_file(b"A=1\nhush hush\n", ".env")


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SECRET = st.text(LETTERS + "-_", min_size=12, max_size=30).map("Zq7".__add__)
URL = "https://x.example.com/mcp"


def remote(url: str = URL, **sent: str) -> dict[str, object]:
    return {"type": "http", "url": url, "headers": {name.replace("_", "-"): value for name, value in sent.items()}}


def local(*args: str, **env: str) -> dict[str, object]:
    return {"command": "srv", "args": [*args], "env": env}


def letters(secret: str) -> str:
    return "".join(char for char in secret if char in LETTERS)


PLACES: dict[str, Any] = {
    "expanded argument": lambda secret: (local("${V}", "--x=${V}"), {"V": secret}),
    "expanded in a broken entry": lambda secret: (local("${V}", "${NOT}"), {"V": secret}),
    "expanded command line": lambda secret: ({"command": "srv --x ${V}"}, {"V": secret}),
    "expanded variable": lambda secret: (local(A="a ${V} b"), {"V": secret}),
    "expanded url": lambda secret: (remote("https://x.example.com/${V}"), {"V": secret}),
    "expanded into no url": lambda secret: (remote("${V}"), {"V": secret}),
    "flag": lambda secret: (local("--api-key", secret, f"--token={secret}"), {}),
    "flag in a line": lambda secret: ({"command": f"srv --password {secret}"}, {}),
    "variable": lambda secret: (local(DB_PASSWORD=secret), {}),
    "default": lambda secret: (local(DB_PASSWORD=f"${{V:-{secret}}}"), {}),
    "header": lambda secret: (remote(X_Api_Key=secret), {}),
    "scheme": lambda secret: (remote(Authorization=f"Bearer {secret}"), {}),
    "query": lambda secret: (remote(f"{URL}?a=b&exaApiKey={secret}&tools=a,b"), {}),
    "userinfo": lambda secret: (remote(f"https://user:{secret}@x.example.com/mcp"), {}),
    "bad url": lambda secret: (remote(f"https://user:{secret}@x.example.com:a:b/mcp"), {}),
    "docker": lambda secret: ({"command": "docker", "args": ["run", "-e", f"API_TOKEN={secret}", "img"]}, {}),
    "json": lambda secret: (local(json.dumps({"user": "u", "dbPassword": secret})), {}),
    "header flag": lambda secret: (local("--header", f"Authorization: Bearer {secret}"), {}),
    "shape": lambda secret: (local(f"ghp_{letters(secret)}aaaaaaaaaaaaaaaa"), {}),
    "bad value": lambda secret: (remote(X_A="${V}"), {"V": f"{secret}\n"}),
}


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(secret=SECRET)
def test_a_planted_secret_reaches_no_spec_no_note_no_reason_and_no_repr(
    place: str, secret: str, tmp_path: Path
) -> None:
    entry, environ = PLACES[place](secret)
    write(tmp_path, ".mcp.json", one(**entry))
    read = config.find(tmp_path, environ={"PATH": "", **environ}).entries["s"]
    reason = read.server.reason if isinstance(read.server, NotReady) else ""
    shown = [repr(read), repr(read.launch), repr(read.server), reason, *read.notes]
    assert not [text for text in shown if secret in text or letters(secret) in text]


@pytest.mark.parametrize("place", [place for place in PLACES if not place.startswith(("bad", "expanded in"))])
def test_a_planted_secret_is_known_to_whoever_masks(place: str, tmp_path: Path) -> None:
    entry, environ = PLACES[place]("Zq7-planted-secret")
    write(tmp_path, ".mcp.json", one(**entry))
    server = config.find(tmp_path, environ={"PATH": "", **environ}).entries["s"].server
    assert not isinstance(server, NotReady)
    assert [value for value in server.secrets.values() if "planted" in value]


COMMANDS_THAT_HIDE = [
    ("docker", "run", "-i", "image", "sh", "-lc", 'API_KEY="$(./other.sh)" server'),
    ("npx", "-c", 'API_KEY="$(./other.sh)" server'),
    ("env sh -c 'API_KEY=$(./other.sh) server'",),
    ("python3", "-c", "run('server', token='x'+open('other').read()) # token='$(x)' end"),
    ("sh", "-c", 'API_KEY="$(./other.sh)" server'),
    ("sh", "-c", "API_KEY=`./other.sh` server"),
    ("sh", "-c", "server --token $(./other.sh);./other.sh"),
    ("bash", "-c", """CFG='{"token": "'$(./other.sh)'"}' server"""),
]
COMMANDS_THAT_TELL = [
    ("sh", "-c", 'API_KEY="abcdefghijklmnopqrstuvwx0123456789" server'),
    ("sh", "-c", "API_KEY=${KEY} server"),
    ("server", "--password", "p@ss;w$rd"),
    ("server", "--password=p@ss;w$rd and more"),
    ("sh", "-c", "server && other"),
    ("env API_KEY=x|./other.sh server",),
    ("python3", "-m", "server", "--header", "Authorization: Bearer a$b c"),
    ("docker", "run", "--rm", "-i", "-e", 'HEADERS={"Authorization": "Bearer $KEY", "Version": "1"}', "image"),
]


@pytest.mark.parametrize("words", COMMANDS_THAT_HIDE, ids=" ".join)
def test_a_secret_must_not_hide_what_a_shell_runs(words: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command=words[0], args=[*words[1:]]))
    entry = config.find(tmp_path, environ={"KEY": "k"}).entries["s"]
    assert not_ready(entry).invalid
    assert "hides a secret among what a shell may run" in not_ready(entry).reason


@pytest.mark.parametrize("words", COMMANDS_THAT_TELL, ids=" ".join)
def test_a_secret_that_is_one_word_is_only_hidden(words: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(command=words[0], args=[*words[1:]]))
    assert stdio(config.find(tmp_path, environ={"KEY": "k"}).entries["s"]).argv


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"command": "x", "env": {"A": "b\ue000"}}, "env.A holds a character that is not assigned"),
        ({"command": "x", "args": ["a" * 131_072]}, "args[0] has over 131071 characters"),
        ({"type": "http", "url": "http://127.0.0.1:9\\@localhost/mcp"}, "url must be http://… or https://…"),
    ],
)
def test_what_two_readers_would_take_for_two_things_is_refused(entry: dict[str, Any], why: str, tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", one(**entry))
    assert why in not_ready(config.find(tmp_path, environ={}).entries["s"]).reason


def test_what_is_run_does_not_come_from_another_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("value")
    entries = {
        "command": {"type": "local", "command": ["{file:a.txt}"]},
        "argument": {"type": "local", "command": ["x", "{file:a.txt}"]},
        "loader": {"type": "local", "command": ["x"], "environment": {"NODE_OPTIONS": "{file:a.txt}"}},
        "url": {"type": "remote", "url": "https://{file:a.txt}/mcp"},
        "secret": {"type": "local", "command": ["x"], "environment": {"API_KEY": "{file:a.txt}"}},
        "endless": {"type": "local", "command": ["x"], "environment": {"API_KEY": "{file:/dev/zero}"}},
    }
    write(tmp_path, "opencode.json", {"mcp": entries})
    found = config.find(tmp_path, environ={}).entries
    assert [name for name, entry in found.items() if isinstance(entry.server, NotReady) and entry.server.invalid] == [
        "command", "argument", "loader", "url",
    ]  # fmt: skip
    assert stdio(found["secret"]).env == {"API_KEY": "value"}
    assert "file /dev/zero cannot be read" in not_ready(found["endless"]).reason


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" + ".".join("a" * 20_000) + "]", "1:1: nested too deeply"),
        (".".join("a" * 20_000) + " = 1", "1:1: nested too deeply"),
        ("[mcp_servers.a]\ntimeout = " + "9" * 5_000, "1:1: a number has too many digits"),
    ],
    ids=["header", "key", "number"],
)
def test_toml_that_takes_long_or_that_python_does_not_read_is_one_line(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        config.find(tmp_path, environ={})
    assert str(error.value) == f".codex/config.toml:{why}"
