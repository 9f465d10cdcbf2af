"""What every test may use: real servers that serve a given surface, and an environment without the user's settings."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from hypothesis import settings

from mcp_lock.config import StdioServer
from tests.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable

settings.register_profile("house", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("house")  # a deadline is a timed test, and this machine may be busy

SERVERS = Path(__file__).parent / "servers"
SETTINGS = ("MCPLOCK_", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "GITHUB_", "COLUMNS")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def scrubbed_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting and no file of the user, no CI and no proxy: a test means the same everywhere."""
    for name in list(os.environ):
        if name.startswith(SETTINGS) or name.lower() in PROXIES:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".state"))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Serve(Protocol):
    def __call__(
        self,
        surface: dict[str, Any] | str,
        *,
        faults: list[str] | None = None,
        env: dict[str, str] | None = None,
        secrets: dict[str, str] | None = None,
        **options: Any,
    ) -> StdioServer: ...


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """`serve(surface, era="legacy", page_size=2, log=path, faults=["die-on=tools/list:3"])`: a server over stdio.

    `surface` is a value, or the text of one where its spelling counts. The options and faults are those of
    `servers/plain.py`. The surface's file is the third of `argv`: write it to make the server drift.
    """
    made = 0

    def start(surface, *, faults=None, env=None, secrets=None, **options):
        nonlocal made
        made += 1
        file = tmp_path / f"surface-{made}.json"
        file.write_text(surface if isinstance(surface, str) else json.dumps(surface), encoding="utf-8")
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        flags += [f"--fault={fault}" for fault in faults or ()]
        argv = (sys.executable, str(SERVERS / "plain.py"), str(file), *flags)
        return StdioServer(argv, tmp_path, env or {}, secrets or {})

    return start


@pytest.fixture
def until() -> Callable[[Callable[[], object], float], None]:
    """`until(condition, seconds)`: wait for what another process does, and fail when it does not."""

    def wait(condition: Callable[[], object], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not within {seconds} s"
            time.sleep(0.01)

    return wait


@pytest.fixture
def is_running() -> Callable[[int], bool]:
    """Whether a process still runs. One that ended and was not waited for by anybody does not."""

    def running(pid: int) -> bool:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return False
        return state != "Z"

    return running


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project to configure servers in and run commands in."""
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)
