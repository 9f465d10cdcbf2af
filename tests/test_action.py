"""The action's own steps, run as a runner runs them: inputs as environment, a clean environment, `bash -e`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_lock.cli import app
from tests.forked import zygote
from tests.project import LONGEST_RUN, Project, tool

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, VERIFY, END = ACTION["runs"]["steps"]
INSTALLED = Path(sys.executable).with_name("mcplock")
"""The command as `pip` made it; most tests have a script in its place that runs the same without loading it anew."""
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")
KNOWN = {option for parameter in app.commands["verify"].params for option in parameter.opts}


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str
    outputs: dict[str, str]


class Runner:
    """What a runner does for one use of the action in a project."""

    def __init__(self, project: Project, temp: Path) -> None:
        self.project = project
        self.temp = temp
        temp.mkdir()

    def step(self, step: dict[str, Any], outputs: dict[str, str] | None = None, **given: str) -> Run:
        """Run one step; `given` are inputs, and what GitHub sets where it is in capitals."""
        output = self.temp / "output"
        output.write_text("")
        github = {name: value for name, value in given.items() if name.isupper()}
        inputs = {name.replace("_", "-"): value for name, value in given.items() if not name.isupper()}
        env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "CI": "true",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_WORKSPACE": str(self.project.root),
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_BASE_REF": "",
            **github,
            **{name: filled(text, inputs, outputs or {}) for name, text in step["env"].items()},
        }
        done = subprocess.run(
            [*BASH, step["run"]],
            cwd=self.project.root,
            env=env,
            capture_output=True,
            text=True,
            timeout=LONGEST_RUN,
            check=False,
        )
        written = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return Run(done.returncode, done.stdout, done.stderr, written)

    def verify(self, mcplock: Path | None = None, **given: str) -> Run:
        """The step that checks, and then the one that ends the action: the code is that of the last."""
        checked = self.step(
            VERIFY, {"install.mcplock": str(mcplock or zygote().command)}, **{"summary": "false", **given}
        )
        assert checked.code == 0, checked.err
        ended = self.step(END, {f"verify.{name}": value for name, value in checked.outputs.items()})
        return Run(ended.code, checked.out, checked.err, checked.outputs)


def filled(text: str, inputs: dict[str, str], outputs: dict[str, str]) -> str:
    """A value under `env`, as GitHub fills it in."""
    inside = re.fullmatch(r"\$\{\{ (inputs|steps)\.([\w.-]+) \}\}", text)
    assert inside, text
    if inside[1] == "inputs":
        return inputs.get(inside[2], ACTION["inputs"][inside[2]]["default"])
    return outputs.get(inside[2].replace(".outputs", ""), "")


@pytest.fixture
def runner(project, tmp_path):
    """A runner with a project that is as locked."""
    project.serve("notes", tool("search"))
    assert project.run("lock").code == 0
    return Runner(project, tmp_path / "runner")


@pytest.fixture
def recording(project, tmp_path):
    """A runner, a command that writes down what it is started with in place of mcplock, and what that was.

    For what cannot be seen from outside; nothing looks at the project.
    """
    script, record = tmp_path / "recorder", tmp_path / "argv"
    script.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > '{record}'\n")
    script.chmod(0o755)

    def argv() -> list[str]:
        return record.read_text(encoding="utf-8").split("\0")[:-1]

    return Runner(project, tmp_path / "runner"), script, argv


def test_no_input_is_pasted_into_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


def test_every_input_is_used_and_every_output_comes_from_a_step():
    used = [text for step in ACTION["runs"]["steps"] for text in step["env"].values()]
    assert {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]} == {text for text in used if "inputs" in text}
    assert {output["value"] for output in ACTION["outputs"].values()} == {
        f"${{{{ steps.verify.outputs.{name} }}}}" for name in ACTION["outputs"]
    }


def test_a_project_as_locked_passes(runner):
    done = runner.verify(INSTALLED)
    assert done.code == 0, done.out + done.err
    assert {name: value for name, value in done.outputs.items() if name != "report"} == {
        "exit-code": "0",
        "drift": "false",
    }
    assert json.loads(Path(done.outputs["report"]).read_text())["format"] == 1


def test_drift_fails_at_the_end_after_the_outputs_are_set(runner):
    runner.project.serve("notes", tool("search", "Other."))
    done = runner.verify()
    assert (done.code, done.outputs["exit-code"], done.outputs["drift"]) == (1, "1", "true")
    assert Path(done.outputs["report"]).is_file()


def test_a_missing_lock_is_a_finding_with_a_report(runner):
    runner.project.lock.unlink()
    done = runner.verify()
    assert (done.code, done.outputs["drift"]) == (1, "true")
    assert json.loads(Path(done.outputs["report"]).read_text())["servers"][0]["status"] == "not-locked"


def test_a_damaged_lock_is_no_drift_and_fails(runner):
    runner.project.lock.write_text("<<<<<<< ours\n")
    done = runner.verify()
    assert (done.code, done.outputs) == (2, {"exit-code": "2", "drift": "false"})


def test_servers_and_directory_and_lockfile_reach_mcplock(runner):
    inner = runner.project.root / "in ner"
    inner.mkdir()
    for name in (".mcp.json", "notes.json", "mcp.lock"):
        shutil.move(runner.project.root / name, inner / name)
    (inner / "mcp.lock").rename(inner / "team.lock")
    assert runner.verify(directory="in ner", lockfile="team.lock", servers="notes").code == 0
    done = runner.verify(directory="in ner", lockfile="team.lock", servers="notes\nnobody")
    assert done.code == 2
    assert "nobody" in done.err


HOSTILE = (
    "$(touch owned)",
    "`touch owned`",
    '"; touch owned; "',
    "' && touch owned #",
    "*",
    "a b",
    "--exit-zero",
    "é\u202e",
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["directory", "lockfile", "servers", "fail_on", "trust_rev", "args"])
def test_whatever_an_input_says_is_one_argument(recording, name, text):
    runner, script, argv = recording
    done = runner.verify(script, **{name: text})
    assert done.code == 0
    flag = {"servers": "", "args": ""}.get(name, f"--{name.replace('_', '-')}=")
    assert argv().count(f"{flag}{text}") == 1
    assert (argv().index("--") < argv().index(text)) if name == "servers" else True
    assert not (runner.project.root / "owned").exists()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_input_to_the_real_command_ends_in_an_error_and_runs_nothing(runner, text):
    for name in ("directory", "servers", "fail_on"):
        assert runner.verify(**{name: text}).code == 2
    assert not (runner.project.root / "owned").exists()


def test_lines_are_arguments_and_empty_lines_are_none(recording):
    runner, script, argv = recording
    runner.verify(script, args="\n--timeout=9\n\n-v\n", servers="a b\n\n-c\n")
    assert argv()[-5:] == ["--timeout=9", "-v", "--", "a b", "-c"]


def test_reports_are_asked_for_as_the_inputs_say(recording):
    runner, script, argv = recording
    runner.verify(script, sarif="true", summary="true")
    told = [argument.partition("=")[0::2] for argument in argv()[1:-1]]
    assert [flag for flag, _ in told] == ["--directory", "--format", "--output", "--output", "--summary"]
    assert [value.partition(":")[0] for flag, value in told if flag == "--output"] == ["json", "sarif"]
    assert told[-1][1] == str(runner.temp / "summary.md")


def test_flags_that_the_action_passes_exist():
    passed = set(re.findall(r"(?<![\w-])--[a-z-]+(?==)", VERIFY["run"])) - {"--depth", "--git-dir", "--work-tree"}
    assert {"--directory", "--lockfile", "--fail-on", "--trust-rev", "--output", "--format", "--summary"} == passed
    assert passed <= KNOWN


@pytest.mark.parametrize(
    ("event", "given", "meant"),
    [("pull_request", "", "origin/main"), ("pull_request", "v1", "v1"), ("push", "", ""), ("push", "v1", "v1")],
)
def test_a_pull_request_is_judged_by_its_base_branch(recording, event, given, meant):
    runner, script, argv = recording
    runner.verify(script, trust_rev=given, GITHUB_EVENT_NAME=event, GITHUB_BASE_REF="main")
    assert [argument for argument in argv() if argument.startswith("--trust-rev")] == (
        [f"--trust-rev={meant}"] if meant else []
    )


def test_the_base_branch_is_fetched_where_the_checkout_has_one_commit_alone(recording, tmp_path):
    runner, script, _ = recording
    project = runner.project
    project.git("init", "--quiet")
    project.git("commit", "--quiet", "--allow-empty", "-m", "base")
    project.git("checkout", "--quiet", "-b", "change")
    project.git("commit", "--quiet", "--allow-empty", "-m", "change")
    clone = tmp_path / "clone"
    project.git("clone", "--quiet", "--depth=1", "--branch=change", project.root.as_uri(), str(clone))
    cloned = Runner(Project(clone), tmp_path / "second")
    cloned.verify(script, GITHUB_EVENT_NAME="pull_request", GITHUB_BASE_REF="main")
    cloned.project.git("rev-parse", "--verify", "origin/main")


def test_a_pull_request_cannot_choose_what_is_started(runner):
    project = runner.project
    project.git("init", "--quiet")
    project.git("add", "--all")
    project.git("commit", "--quiet", "-m", "base")
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    event = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main"}
    assert runner.verify(**event).code == 0
    canary = project.root / "started"
    project.configure("notes", command="touch", args=[str(canary)])
    done = runner.verify(**event)
    assert (done.code, canary.exists()) == (1, False)


def test_without_its_base_branch_a_pull_request_starts_nothing(runner):
    runner.project.git("init", "--quiet")
    canary = runner.project.root / "started"
    runner.project.configure("notes", command="touch", args=[str(canary)])
    done = runner.verify(GITHUB_EVENT_NAME="pull_request", GITHUB_BASE_REF="main")
    assert (done.code, done.outputs, canary.exists()) == (2, {"exit-code": "2", "drift": "false"}, False)
    assert "mcplock: --trust-rev origin/main: no revision" in done.err


def test_a_pull_request_of_a_stranger_beside_secrets_is_refused(recording):
    runner, script, argv = recording
    done = runner.verify(script, GITHUB_EVENT_NAME="pull_request_target", GITHUB_BASE_REF="main")
    assert (done.code, done.outputs) == (2, {"exit-code": "2", "drift": "false"})
    assert "::error::" in done.out
    with pytest.raises(FileNotFoundError):
        argv()


def test_a_python_that_is_too_old_or_not_there_is_told(runner, tmp_path):
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for python in (str(old), "no-such-python", "$(touch owned)"):
        done = runner.step(INSTALL, python=python)
        assert done.code == 2
        assert "needs Python 3.11 or newer" in done.out
    assert not (runner.project.root / "owned").exists()


def test_every_report_is_written_and_a_pull_request_is_checked_for_real(runner):
    project = runner.project
    project.git("init", "--quiet")
    project.git("add", "--all")
    project.git("commit", "--quiet", "-m", "base")
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    project.serve("notes", tool("search", "Other."))
    event = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main"}
    done = runner.verify(INSTALLED, sarif="true", summary="true", **event)
    assert done.code == 1, done.err
    assert "::error" in done.out
    assert json.loads(Path(done.outputs["sarif-file"]).read_text())["version"] == "2.1.0"
    assert "search" in (runner.temp / "summary.md").read_text()
