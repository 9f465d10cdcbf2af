"""Secrets, planted wherever a config or a command line can hold one and told by the server wherever it can tell one.

Whatever is run, none of them is ever found in what is printed, in the lock, or in any other file that is written.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_lock.cli import app
from mcp_lock.report import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

BLAB = Path(__file__).parent / "servers" / "blab.py"
BLAB_HTTP = BLAB.with_name("blab_http.py")
MODES = ("die", "error", "noise", "list")
ALPHABET = st.sampled_from("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_.+=/@:%&#! é")
SECRETS = st.text(ALPHABET, min_size=10, max_size=40).map(lambda text: f"Zq7{text.strip()}xW9".replace("$", ""))
PLAIN = st.text(ALPHABET.filter(lambda char: char.isascii() and char not in " %#&/@:"), min_size=10, max_size=40).map(
    lambda text: f"Zq7{text}xW9"
)


class Plant:
    """One server that is given secrets, and how: what ends up in the config, the environment and the command line."""

    def __init__(self) -> None:
        self.entry: dict[str, Any] = {}
        self.environ: dict[str, str] = {}
        self.flags: list[str] = []
        self.secrets: list[str] = []

    def at(self, site: str, secret: str) -> None:
        """Plant `secret` at a site of `STDIO` or `HTTP`."""
        self.secrets.append(secret)
        SITES[site](self, secret)

    def env(self, name: str, value: str) -> None:
        self.entry.setdefault("env", {})[name] = value

    def header(self, name: str, value: str) -> None:
        self.entry.setdefault("headers", {})[name] = value

    def argument(self, *words: str) -> None:
        self.entry["args"].extend(words)

    def variable(self, name: str, value: str) -> str:
        self.environ[name] = value
        return f"${{{name}}}"

    def url(self, secret: str, form: str) -> None:
        self.entry["url"] = form.format(self.entry["url"].removeprefix("http://"), quote(secret, safe=""))


SITES = {
    "env": lambda plant, secret: plant.env("BLAB_API_TOKEN", secret),
    "env-variable": lambda plant, secret: plant.env("BLAB_PLAIN", plant.variable("OUTER_A", secret)),
    "env-default": lambda plant, secret: plant.env("BLAB_DB_PASSWORD", f"${{NOT_SET:-{secret.replace('}', '')}}}"),
    "flag": lambda plant, secret: plant.argument("--api-key", secret),
    "flag-assigned": lambda plant, secret: plant.argument(f"--password={secret}"),
    "argument-variable": lambda plant, secret: plant.argument(plant.variable("OUTER_B", secret)),
    "option-env": lambda plant, secret: plant.flags.extend(("--env", f"BLAB_GIVEN={secret}")),
    "header": lambda plant, secret: plant.header("Authorization", f"Bearer {secret}"),
    "header-variable": lambda plant, secret: plant.header("X-Plain", plant.variable("OUTER_C", secret)),
    "option-header": lambda plant, secret: plant.flags.extend(("--header", f"X-Given={secret}")),
    "url-query": lambda plant, secret: plant.url(secret, "http://{0}?api_key={1}&tools=a,b"),
    "url-userinfo": lambda plant, secret: plant.url(secret, "http://user:{1}@{0}"),
}
STDIO = ("env", "env-variable", "env-default", "flag", "flag-assigned", "argument-variable", "option-env")
HTTP = ("header", "header-variable", "option-header", "url-query", "url-userinfo")
COMMANDS = (
    ["lock"],
    ["lock", "--dry-run", "-v"],
    ["verify", "-v", "--debug"],
    ["verify", "--run-changed", "--runs", "2"],
    *(["verify", "--run-changed", "-f", form.value] for form in Format),
    ["diff", "--run-changed"],
    ["servers"],
    ["servers", "-v"],
    ["lock", "--check"],
)


@contextmanager
def http_server(mode: str) -> Iterator[str]:
    with subprocess.Popen([sys.executable, BLAB_HTTP, mode], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def all_said(root: Path, plant: Plant) -> Iterator[tuple[str, str]]:
    """What every command prints and writes, each with what it is."""
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"blab": plant.entry}}), "utf-8")
    runner = CliRunner()
    for words in COMMANDS:
        done = runner.invoke(app, [words[0], "-C", str(root), *words[1:], *plant.flags], env=plant.environ)
        yield f"{' '.join(words)}: stdout", done.stdout
        yield f"{' '.join(words)}: stderr", done.stderr
        if done.exception and not isinstance(done.exception, SystemExit):
            yield f"{' '.join(words)}: traceback", repr(done.exception)
    for file in root.rglob("*"):
        if file.is_file() and file.name != ".mcp.json":
            yield file.name, file.read_text("utf-8", "replace")


def spellings(secret: str) -> set[str]:
    return {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1]}


def assert_nothing_leaks(root: Path, plant: Plant) -> None:
    for what, text in all_said(root, plant):
        for secret in plant.secrets:
            found = [spelling for spelling in spellings(secret) if spelling in text]
            assert not found, f"{what}: {text}"


@settings(max_examples=16, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mode=st.sampled_from(MODES), planted=st.dictionaries(st.sampled_from(STDIO), SECRETS, min_size=1))
def test_no_secret_of_a_stdio_server_is_ever_shown_or_written(
    mode: str, planted: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    plant = Plant()
    plant.entry = {"command": sys.executable, "args": [str(BLAB), mode, "--"]}
    for site, secret in planted.items():
        plant.at(site, secret)
    assert_nothing_leaks(tmp_path_factory.mktemp("stdio"), plant)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mode=st.sampled_from(MODES), planted=st.dictionaries(st.sampled_from(HTTP), PLAIN, min_size=1))
def test_no_secret_of_a_remote_server_is_ever_shown_or_written(
    mode: str, planted: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with http_server(mode) as origin:
        plant = Plant()
        plant.entry = {"type": "http", "url": f"{origin}/mcp"}
        for site, secret in planted.items():
            plant.at(site, secret)
        assert_nothing_leaks(tmp_path_factory.mktemp("http"), plant)


SAYS = {"die": "starting with ", "error": "no: ", "noise": "connected with ", "list": "Knows "}


@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_secret_is_told_where_the_server_tells_it(mode: str, tmp_path: Path) -> None:
    """Else the tests above could not fail."""
    plant = Plant()
    plant.entry = {"command": sys.executable, "args": [str(BLAB), mode, "--", "an-open-word"]}
    assert any(f"{SAYS[mode]}an-open-word" in text for _, text in all_said(tmp_path, plant))
