"""The house itself: start-up loads nothing slow, and printed docs are what the code prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_lock import outcome, rules
from scripts.print_docs import PAGES
from tests.project import tool

ROOT = Path(__file__).parent.parent
SLOW = {
    "mcp",
    "mcp_types",
    "pydantic",
    "rich",
    "jsonschema",
    "jsonschema_rs",
    "httpx2",
    "yaml",
    "anyio",
    "asyncio",
    "tomllib",
}


def loaded_by(*args: str, cwd: Path = ROOT) -> set[str]:
    """The modules that one run of the command loads, as the interpreter itself reports them."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mcp_lock", *args],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    times = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in times[1:]}


def test_help_loads_fewer_than_200_modules_and_none_that_is_slow():
    modules = loaded_by("--help")
    assert "mcp_lock.cli" in modules
    assert len(modules) < 200
    assert {module.partition(".")[0] for module in modules} & SLOW == set()


def test_yaml_is_loaded_for_a_yaml_file_alone(project):
    project.serve("notes", tool("search"))
    assert "yaml" not in loaded_by("servers", cwd=project.root)
    (project.root / "librechat.yaml").write_text("mcpServers: {}\n")
    assert "yaml" in loaded_by("servers", cwd=project.root)


def test_verifying_a_stdio_server_loads_neither_an_sdk_nor_an_http_client(project):
    project.serve("notes", tool("search"))
    assert project.run("lock").code == 0
    roots = {module.partition(".")[0] for module in loaded_by("verify", cwd=project.root)}
    assert "anyio" in roots
    assert roots & {"mcp", "mcp_types", "pydantic", "httpx2", "jsonschema", "jsonschema_rs"} == set()


@pytest.mark.parametrize("name", PAGES)
def test_printed_docs_are_what_the_code_prints(name):
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), "run scripts/print_docs.py"


def test_every_rule_says_in_plain_words_what_changed_and_what_it_does():
    for rule in rules.RULES.values():
        assert rule.summary
        assert rule.why
        assert not rule.summary.endswith(".")
        assert not rule.why.endswith(".")


def test_impacts_are_ordered_so_that_the_worst_is_the_greatest():
    words = [impact.word for impact in outcome.Impact]
    assert words == ["immaterial", "cosmetic", "compatible", "silent", "unproven", "breaking", "security"]


def test_a_guard_of_a_stdio_server_loads_no_event_loop_no_http_client_and_no_sdk(project):
    project.serve("notes", tool("search"))
    assert project.run("lock").code == 0
    server = project.entries["notes"]
    argv = ("guard", "--server", "notes", "--log", "guard.log", "--", server["command"], *server["args"])
    roots = {module.partition(".")[0] for module in loaded_by(*argv, cwd=project.root)}
    assert roots & SLOW == set()
