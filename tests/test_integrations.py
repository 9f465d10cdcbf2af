"""What others read: the hooks, and the examples in docs/ci.md. They parse, and name nothing that is not there."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_lock.cli import app
from mcp_lock.config.clients import CLIENTS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = [yaml.safe_load(text) for language, text in BLOCKS if language == "yaml"]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def jobs() -> list[dict[str, Any]]:
    return [job for example in EXAMPLES for job in example.get("jobs", {}).values()]


def steps() -> list[dict[str, Any]]:
    return [step for job in jobs() for step in job["steps"]]


def scripts() -> list[str]:
    """Every shell script of the page and of the hooks."""
    shown = [text for language, text in BLOCKS if language == "sh"]
    gitlab = ["\n".join(job["script"]) for example in EXAMPLES for job in example.values() if "script" in job]
    hooks = [hook["entry"] for hook in HOOKS.values()]
    return [*shown, *gitlab, *hooks, *(step["run"] for step in steps() if "run" in step)]


def lines() -> list[str]:
    """Every line that calls mcplock, in scripts and in the text."""
    inline = re.findall(r"`(mcplock [^`]+)`", PAGE)
    return [line.strip() for script in [*scripts(), *inline] for line in script.splitlines() if "mcplock " in line]


def calls() -> list[list[str]]:
    found = (
        re.search(r"\bmcplock ([a-z][a-z-]*\b.*)", line) for line in lines() if not re.match(r"(#|git|gh) ?", line)
    )
    return [shlex.split(re.split(r" (?:\|\||>|;|&&)", hit[1])[0], comments=True) for hit in found if hit]


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 5
    assert len(calls()) >= 10


@pytest.mark.parametrize("words", calls(), ids=" ".join)
def test_every_call_names_a_command_and_flags_and_formats_that_there_are(words):
    command = app.commands[words[0]]
    options = {name: option for option in command.params for name in option.opts}
    for flag, value in zip(words[1:], [*words[2:], ""], strict=False):
        if not flag.startswith("-") or flag == "--":
            continue
        name = flag.partition("=")[0]
        assert name in options, f"{flag} is no flag of {words[0]}"
        if name in ("-f", "--format", "-o", "--output"):
            asked = value.partition(":")[0]
            (formats,) = (option.type.choices for option in command.params if option.name == "format")
            assert asked in formats


@pytest.mark.parametrize("script", scripts())
def test_every_script_parses(script):
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_script_has_an_expression_pasted_into_it():
    assert [step["run"] for step in steps() if "${{" in step.get("run", "")] == []


def test_the_uses_of_the_action_give_inputs_and_read_outputs_that_it_has():
    uses = [step for step in steps() if step.get("uses", "").startswith("OWNER/mcplock@")]
    assert len(uses) >= 2
    for step in uses:
        assert step.get("with", {}).keys() <= ACTION["inputs"].keys()
    assert set(re.findall(r"steps\.mcplock\.outputs\.([\w-]+)", PAGE)) <= ACTION["outputs"].keys()
    tables = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(tables) == sorted([*ACTION["inputs"], *ACTION["outputs"]])


def test_no_job_that_starts_a_server_has_a_token_that_may_write_code():
    workflows = [example for example in EXAMPLES if "jobs" in example]
    for workflow in workflows:
        assert all(value == "read" for value in workflow["permissions"].values())
        assert "pull_request_target" not in workflow.get("on", workflow.get(True))
    for job in jobs():
        starts = any(
            "mcplock lock" in step.get("run", "") or "mcplock@" in step.get("uses", "") for step in job["steps"]
        )
        allowed = {name for name, value in job.get("permissions", {}).items() if value == "write"}
        assert not starts or allowed <= {"security-events"}
        checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout")]
        assert all(step.get("with", {}).get("persist-credentials") is False for step in checkouts) or not starts


def test_the_hooks_are_those_that_the_page_names():
    (config,) = (example for example in EXAMPLES if "repos" in example)
    assert [hook["id"] for hook in config["repos"][0]["hooks"]] == list(HOOKS)
    assert HOOKS["mcplock-verify"]["stages"] == ["pre-push", "manual"]
    for hook in HOOKS.values():
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)


def test_the_static_hook_looks_at_every_file_that_it_compares_and_at_nothing_else():
    pattern = re.compile(HOOKS["mcplock-check"]["files"])
    ours = [*(name for row in CLIENTS for name in row.files), "mcp.lock", "mcplock.toml", "pyproject.toml"]
    for name in (name.replace("*", "some.yaml") for name in ours):
        assert pattern.search(name)
        assert pattern.search(f"services/a/{name}")
    for name in (name for name in ours if "/" not in name):
        assert not pattern.search(f"{name}.md")
        assert not pattern.search(f"x{name}")


def test_owners_are_named_for_files_that_decide():
    owned = {
        line.split()[0]
        for language, text in BLOCKS
        if language == "text"
        for line in text.splitlines()
        if "@acme" in line
    }
    ours = {"mcp.lock", "mcplock.toml", "pyproject.toml", ".gitattributes", "/.github/"}
    assert ours <= owned
    assert owned - ours <= {name for row in CLIENTS for name in row.files}
