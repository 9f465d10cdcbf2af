"""Launch specs: what is taken out as a secret and what never is, what differs, how it is shown, what is pinned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.launch import LaunchSpec, differences, literal_secrets, redacted, shown, unpinned
from mcp_lock.launch.redact import names_secret, steers

R = "<redacted>"

ARGS = [
    (["--token", "abc"], ["--token", R]),
    (["--token=abc"], [f"--token={R}"]),
    (["-api-key", "abc"], ["-api-key", R]),
    (["--token", "--verbose"], ["--token", "--verbose"]),
    (["--token", "${TOKEN}"], ["--token", "${TOKEN}"]),
    (["--token", "${TOKEN:-abc}"], ["--token", f"${{TOKEN:-{R}}}"]),
    (["--token=a${TOKEN}b"], [f"--token={R}${{TOKEN}}{R}"]),
    (["--no-auth", "server.js"], ["--no-auth", "server.js"]),
    (["--token-file", "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"], ["--token-file", "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]),
    (["--password-command", "pass show x"], ["--password-command", "pass show x"]),
    (["--key-path=/keys/a"], ["--key-path=/keys/a"]),
    (["--max-tokens", "4096", "--tokenizer", "cl100k"], ["--max-tokens", "4096", "--tokenizer", "cl100k"]),
    (["run", "-e", "API_TOKEN=abc", "-e", "MODE=x"], ["run", "-e", f"API_TOKEN={R}", "-e", "MODE=x"]),
    (["--header", "Authorization: Bearer abc"], ["--header", f"Authorization: Bearer {R}"]),
    (["--header", "Authorization:${AUTH}"], ["--header", "Authorization:${AUTH}"]),
    (["--header", "X-Team: blue"], ["--header", "X-Team: blue"]),
    (['{"user": "u", "dbPassword": "a b"}'], [f'{{"user": "u", "dbPassword": "{R}"}}']),
    (['{\\"apiKey\\":\\"abc\\"}'], [f'{{\\"apiKey\\":\\"{R}\\"}}']),
    (["Server=db;User Id=u;Password=abc;Timeout=5"], [f"Server=db;User Id=u;Password={R};Timeout=5"]),
    (["postgres://u:p@db/x"], [f"postgres://{R}@db/x"]),
    (["postgres://u:p/w#@db/x"], [f"postgres://{R}@db/x"]),
    (["postgres://${U}:${P}@db/x"], ["postgres://${U}:${P}@db/x"]),
    (["http://localhost:8080/a@b"], ["http://localhost:8080/a@b"]),
    (["--upstream", "npx x --token abc"], ["--upstream", f"npx x --token {R}"]),
    (["ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"], [R]),
    (["x", "sk-ant-api03-aaaaaaaaaaaaaaaaaaaa"], ["x", R]),
    (["eyJhbGciOiJI.eyJzdWIiOiIx.c2ln"], [R]),
    (["-y", "@example/token-mcp@1.0.0"], ["-y", "@example/token-mcp@1.0.0"]),
    (["$${TOKEN}"], ["$${TOKEN}"]),
    (["--token", "$${TOKEN}"], ["--token", R]),
]


@pytest.mark.parametrize(("args", "wanted"), ARGS)
def test_arguments_lose_what_looks_like_a_secret(args: list[str], wanted: list[str]) -> None:
    assert redacted(LaunchSpec("stdio", "srv", tuple(args))).args == tuple(wanted)


ENV = [
    ("API_KEY", "abc", R),
    ("API_KEY", "", ""),
    ("GITHUB_TOKEN", "${GITHUB_TOKEN}", "${GITHUB_TOKEN}"),
    ("NEO4J_PASS", "abc", R),
    ("accessToken", "abc", R),
    ("accesstoken", "abc", R),
    ("LOG_LEVEL", "info", "info"),
    ("MAX_TOKENS", "4096", "4096"),
    ("NODE_OPTIONS", "--require ./token=x.js", "--require ./token=x.js"),
    ("LD_PRELOAD", "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ("PYTHONPATH", "secret=1", "secret=1"),
    ("GIT_SSH_COMMAND", "ssh -i token=x", "ssh -i token=x"),
    ("NODE_AUTH_TOKEN", "abc", R),
    ("UV_PUBLISH_PASSWORD", "abc", R),
    ("SECRET_FILE", "/run/secret", "/run/secret"),
    ("TOKEN_URL", "https://x.example.com/token?v=1", "https://x.example.com/token?v=1"),
    ("HTTPS_PROXY", "http://u:p@proxy:8080", f"http://{R}@proxy:8080"),
    ("DATABASE_URL", "postgres://u:p@db/x", f"postgres://{R}@db/x"),
    ("SSL_CA_BUNDLE", "/etc/key=x", "/etc/key=x"),
    ("MY_CACHE_TOKEN", "abc", R),
]


@pytest.mark.parametrize(("name", "value", "wanted"), ENV)
def test_variables_that_steer_are_shown_and_others_hidden_by_name(name: str, value: str, wanted: str) -> None:
    assert redacted(LaunchSpec("stdio", "srv", env={name: value})).env == {name: wanted}


HEADERS = [
    ("Authorization", "Bearer abc", f"Bearer {R}"),
    ("authorization", "Basic ${USER}:${PASS}", "Basic ${USER}:${PASS}"),
    ("X-Api-Key", "abc", R),
    ("Cookie", "a=b", R),
    ("X-Team", "blue", "blue"),
]


@pytest.mark.parametrize(("name", "value", "wanted"), HEADERS)
def test_headers_keep_their_scheme_and_lose_their_secret(name: str, value: str, wanted: str) -> None:
    assert redacted(LaunchSpec("http", url="https://x.example.com", headers={name: value})).headers == {name: wanted}


URLS = [
    (
        "http://user:hunter2@127.0.0.1:9/mcp?exaApiKey=abc&tools=a,b#frag",
        f"http://{R}@127.0.0.1:9/mcp?exaApiKey={R}&tools=a,b#frag",
    ),
    (
        "https://x.example.com/mcp?project_ref=exampleprojectref000&features=docs%2Caccount",
        "https://x.example.com/mcp?project_ref=exampleprojectref000&features=docs%2Caccount",
    ),
    ("https://x.example.com/mcp?code=abc==", f"https://x.example.com/mcp?code={R}"),
    ("https://x.example.com/mcp?api%5Fkey=abc", f"https://x.example.com/mcp?api%5Fkey={R}"),
    ("https://x.example.com/mcp?id=0123456789abcdef0123456789abcdef", f"https://x.example.com/mcp?id={R}"),
    ("https://x.example.com/mcp?0123456789abcdef0123456789abcdef", f"https://x.example.com/mcp?{R}"),
    ("https://x.example.com/mcp?token=${TOKEN}", "https://x.example.com/mcp?token=${TOKEN}"),
    ("${BASE:-https://u:p@x.example.com}/mcp", f"${{BASE:-https://{R}@x.example.com}}/mcp"),
    ("https://x.example.com/mcp#access_token=abc", f"https://x.example.com/mcp#access_token={R}"),
]


@pytest.mark.parametrize(("url", "wanted"), URLS)
def test_a_url_loses_its_secrets_and_keeps_what_decides_the_contract(url: str, wanted: str) -> None:
    assert redacted(LaunchSpec("http", url=url)).url == wanted


def test_the_program_is_never_hidden_but_arguments_in_the_same_string_are() -> None:
    assert redacted(LaunchSpec("stdio", "./token=abc")).command == "./token=abc"
    assert redacted(LaunchSpec("stdio", "srv --token abc")).command == f"srv --token {R}"


def test_what_was_taken_out_is_known_by_its_place() -> None:
    spec = LaunchSpec(
        "stdio", "srv", ("--token", "one", "a=b", "Password=two;Secret=three"), env={"API_KEY": "${K:-four}"}
    )
    assert literal_secrets(spec) == {"args[1]": "one", "args[3]": "two", "args[3] (2)": "three", "env.API_KEY": "four"}
    assert literal_secrets(redacted(spec)) == {}


TEXT = st.text(st.sampled_from("${}:-=&?#@/ abKEYtoken\"';,.%\\\n"), max_size=40)


@given(TEXT, st.lists(TEXT, max_size=4), st.dictionaries(st.sampled_from(["API_KEY", "MODE", "A_URL"]), TEXT))
def test_redacting_twice_is_redacting_once(command: str, args: list[str], env: dict[str, str]) -> None:
    once = redacted(LaunchSpec("stdio", command, tuple(args), url=command, env=env))
    assert redacted(once) == once
    assert differences(once, LaunchSpec("stdio", command, tuple(args), url=command, env=env)) == []


def test_a_rotated_secret_is_no_difference_and_another_tool_list_is() -> None:
    spec = LaunchSpec("http", url="http://user:hunter2@x.example.com/mcp?exaApiKey=one&tools=a,b")
    rotated = LaunchSpec("http", url="http://user:hunter3@x.example.com/mcp?exaApiKey=two&tools=a,b")
    wider = LaunchSpec("http", url="http://user:hunter2@x.example.com/mcp?exaApiKey=one&tools=a,b,c")
    assert differences(spec, rotated) == []
    (line,) = differences(spec, wider)
    assert line == (
        f"url: http://{R}@x.example.com/mcp?exaApiKey={R}&tools=a,b → http://{R}@x.example.com/mcp?exaApiKey={R}&tools=a,b,c"
    )


def test_every_field_that_differs_is_one_line() -> None:
    old = LaunchSpec("stdio", "npx", ("-y", "pkg@1.4.0"), env={"A": "1", "B": "${B}", "API_KEY": "one"})
    new = LaunchSpec(
        "stdio",
        "bunx",
        ("-y", "pkg@1.5.0"),
        cwd="sub dir",
        env_file=".env",
        env_file_digest="sha256:00",
        env={"A": "2", "C": "\u202e", "API_KEY": "two"},
    )
    assert differences(old, new) == [
        "command: npx → bunx",
        "args: pkg@1.4.0 → pkg@1.5.0",
        "working directory: '' → 'sub dir'",
        "env file: '' → .env",
        "env file's content: '' → sha256:00",
        "env.A: 1 → 2",
        "env.B: removed (was ${B})",
        "env.C: added ('\\u{202e}')",
    ]
    assert differences(new, new) == []
    assert differences(LaunchSpec("stdio", "a"), LaunchSpec("stdio", "a", ("b", "c d"))) == ["args: nothing → b 'c d'"]


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [("remote", "http", 0), ("sse", "remote", 0), ("http", "sse", 1), ("stdio", "remote", 1), ("http", "http", 0)],
)
def test_an_open_transport_is_no_difference_from_a_declared_one(old: str, new: str, count: int) -> None:
    assert len(differences(LaunchSpec(old), LaunchSpec(new))) == count


def test_a_spec_is_shown_whole_on_one_line() -> None:
    spec = LaunchSpec(
        "stdio",
        "npx",
        ("-y", "a b", "\x1b[31m", "--token", "abc", "${X}"),
        cwd="sub",
        env={"TOKEN": "${TOKEN}", "NODE_OPTIONS": "--require ./x.js"},
    )
    assert shown(spec) == (
        f"npx -y 'a b' '\\u{{1b}}[31m' --token {R} ${{X}} (in sub; env NODE_OPTIONS='--require ./x.js', TOKEN)"
    )
    remote = LaunchSpec("sse", url="https://x.example.com/mcp?key=abc", headers={"X-Team": "blue"})
    assert shown(remote) == f"https://x.example.com/mcp?key={R} (SSE; headers X-Team=blue)"


PINNED = [
    "npx -y pkg@1.2.3",
    "npx -y @scope/pkg@1.2.3-beta.1",
    "npx --package @scope/pkg@1.2.3 run",
    "npx ./local",
    f"npx github:a/b#{'a' * 40}",
    "cmd /c npx -y pkg@1.2.3",
    "uvx pkg==1.2.3",
    "uvx pkg@1.2.3",
    "uvx --from pkg[extra]==1.2 tool",
    f"uvx --from git+https://example.com/a@{'0' * 40} tool",
    f"docker run --rm -i -e TOKEN -v a:b example/img@sha256:{'0' * 64} --flag",
    "npm exec --yes pkg@1.2.3",
    "bunx pkg@1.2.3",
    "pipx run --spec pkg==1.0 tool",
    "node server.js",
    "docker mcp gateway run",
    "npx",
    "",
]


@pytest.mark.parametrize("line", PINNED)
def test_a_pinned_launch_is_passed_over(line: str) -> None:
    command, *args = line.split(" ")
    assert unpinned(LaunchSpec("stdio", command, tuple(args))) == ""


UNPINNED = {
    "npx -y pkg": "npx starts pkg without an exact version: write pkg@VERSION",
    "npx -y @scope/pkg@latest sub": "npx starts @scope/pkg@latest without an exact version: write @scope/pkg@VERSION",
    "npx pkg@^1.2.3": "npx starts pkg@^1.2.3 without an exact version: write pkg@VERSION",
    "npx pkg@1.2.3||2": "npx starts pkg@1.2.3||2 without an exact version: write pkg@VERSION",
    "npx pkg@1": "npx starts pkg@1 without an exact version: write pkg@VERSION",
    "npx.cmd pkg": "npx starts pkg without an exact version: write pkg@VERSION",
    "cmd /c npx pkg": "npx starts pkg without an exact version: write pkg@VERSION",
    "npx --registry https://r.example.com pkg": "npx starts pkg without an exact version: write pkg@VERSION",
    "pnpm dlx pkg": "pnpm dlx starts pkg without an exact version: write pkg@VERSION",
    "bunx pkg@latest --package a@1.2.3": "bunx starts pkg@latest without an exact version: write pkg@VERSION",
    "npm exec --package=pkg -- bin": "npm exec starts pkg without an exact version: write pkg@VERSION",
    "npm x pkg": "npm x starts pkg without an exact version: write pkg@VERSION",
    "npx -y -p pkg bin": "npx starts pkg without an exact version: write pkg@VERSION",
    "npx npm:@scope/pkg": "npx starts npm:@scope/pkg without an exact version: write @scope/pkg@VERSION",
    "npx github:a/b": "npx starts github:a/b without an exact version: name a commit",
    "bunx --bun pkg": "bunx starts pkg without an exact version: write pkg@VERSION",
    "uv tool run pkg": "uv tool run starts pkg without an exact version: write pkg==VERSION",
    "uvx pkg": "uvx starts pkg without an exact version: write pkg==VERSION",
    "uvx pkg>=1.0": "uvx starts pkg>=1.0 without an exact version: write pkg==VERSION",
    "uvx --with other==1.0 pkg": "uvx starts pkg without an exact version: write pkg==VERSION",
    "uvx --from git+https://example.com/a tool": (
        "uvx starts git+https://example.com/a without an exact version: name a commit"
    ),
    "pipx run pkg": "pipx run starts pkg without an exact version: write pkg==VERSION",
    "docker run --rm -i -e TOKEN --name x img:1": "docker run starts img:1 without a digest: write img:1@sha256:…",
    "docker container run -i img": "docker container run starts img without a digest: write img@sha256:…",
    "podman run -i img": "podman run starts img without a digest: write img@sha256:…",
    "docker run -it --pull=always img": "docker run starts img without a digest: write img@sha256:…",
}


@pytest.mark.parametrize("line", UNPINNED)
def test_an_unpinned_launch_is_told_with_what_to_write(line: str) -> None:
    command, *args = line.split(" ")
    assert unpinned(LaunchSpec("stdio", command, tuple(args))) == UNPINNED[line]
    assert unpinned(LaunchSpec("stdio", line)) == UNPINNED[line]


def test_a_remote_server_is_not_called_unpinned() -> None:
    assert unpinned(LaunchSpec("http", url="https://x.example.com")) == ""


@given(st.sampled_from(["LD_X", "GIT_SSH", "A_HOST", "A_URL", "X_PROXY", "token-file", "PATH"]))
def test_what_steers_never_names_a_secret(name: str) -> None:
    assert steers(name)
    assert not names_secret(name)
