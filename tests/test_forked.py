"""A run that is forked is as one that is started anew: else no test that uses one would prove anything."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.forked import Forked, zygote
from tests.project import LONGEST_RUN, MCPLOCK, tool


@pytest.mark.parametrize(
    "args",
    [("--version",), ("verify", "nobody"), ("no-such-command",), ("diff", "a\x01", ""), ("show", "é")],
    ids=["fine", "error", "usage", "controls", "letters"],
)
@pytest.mark.parametrize("how", ["forked", "script"])
def test_a_run_says_and_returns_what_one_that_is_started_anew_does(project, args, how):
    project.serve("notes", tool("search"))
    start = {"cwd": project.root, "stdin": subprocess.DEVNULL, "capture_output": True, "timeout": LONGEST_RUN}
    anew = subprocess.run([*MCPLOCK, *args], check=False, **start)
    if how == "forked":
        done = project.run(*args)
        assert (done.code, done.out.encode(), done.err.encode()) == (anew.returncode, anew.stdout, anew.stderr)
    else:
        done = subprocess.run([zygote().command, *args], check=False, **start)
        assert (done.returncode, done.stdout, done.stderr) == (anew.returncode, anew.stdout, anew.stderr)


def test_a_run_is_waited_for_and_ended_as_any_process(project):
    project.serve("notes", tool("search"))
    assert project.run("lock").code == 0
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with Forked(["guard", "notes"], cwd=project.root, env=os.environ, **pipes) as process:
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        assert (process.poll(), os.getpgid(process.pid)) == (None, os.getpgid(0))
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.kill()
        assert process.wait(LONGEST_RUN) == -signal.SIGKILL
    process.kill()


def test_a_run_that_takes_too_long_is_ended(project):
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    project.serve("notes", tool("search"))
    assert project.run("lock").code == 0
    with Forked(["guard", "notes"], cwd=project.root, env=os.environ, seconds=1, **pipes) as process:
        assert process.wait(LONGEST_RUN) == -signal.SIGALRM


def test_what_a_run_inherits_is_what_it_is_given(project):
    project.configure("other", command="true", env={"A": "${GIVEN}"})
    assert "GIVEN is not set" in " ".join(project.run("servers").out.split())
    assert "GIVEN is not set" not in " ".join(project.run("servers", GIVEN="x").out.split())
