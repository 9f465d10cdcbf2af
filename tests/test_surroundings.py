"""The command where its surroundings are not as they should be: streams, directories, and a hasty user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import LONGEST_RUN, tool

COMMAND = (sys.executable, "-W", "error", "-m", "mcp_lock")


@pytest.fixture
def drifted(project):
    """A project whose one server has drifted."""
    project.serve("search", tool("find"))
    project.run("lock")
    project.serve("search", tool("find", "Does something else."))
    return project


def in_a_shell(project, script, *args):
    return subprocess.run(
        ["sh", "-c", script, "sh", *COMMAND, *args],
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN,
        check=False,
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_hide_drift(closed, drifted):
    done = in_a_shell(drifted, f'exec "$@" {closed}', "verify")
    assert (done.returncode, done.stderr) == (1, "")


def test_a_reader_that_leaves_does_not_hide_drift(drifted):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "verify"],
        cwd=drifted.root,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LONGEST_RUN,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_report_that_cannot_be_written_is_told_in_one_line(drifted):
    done = in_a_shell(drifted, 'exec "$@" > /dev/full', "verify")
    assert (done.returncode, done.stderr) == (2, "mcplock: stdout cannot be written: No space left on device\n")


def test_a_directory_that_is_gone_is_told_in_one_line(project):
    done = in_a_shell(project, 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "verify")
    assert (done.returncode, done.stderr) == (2, "mcplock: .: cannot be looked into: No such file or directory\n")


def test_a_side_that_cannot_be_read_is_told_in_one_line(drifted):
    name = "x" * 300
    done = drifted.run("diff", name)
    assert (done.code, done.err) == (2, f"mcplock: {name}: cannot be read: File name too long\n")


def test_a_time_limit_is_a_number(drifted):
    done = drifted.run("verify", "--timeout", "nan")
    assert done.code == 2
    assert "'nan' is not a number of seconds." in done.err


def test_ctrl_c_before_the_command_line_is_read_shows_no_traceback(project):
    script = (
        "import sys\n"
        "from mcp_lock.__main__ import main\n"
        "class Hasty:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'mcp_lock.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Hasty())\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name here")
def test_a_lock_or_a_config_that_is_a_pipe_is_refused_and_not_waited_for(project):
    project.serve("notes", tool("search"))
    os.mkfifo(project.lock)
    for command in ("lock", "verify", "show"):
        result = project.run(command)
        assert (result.code, "not a regular file" in result.err) == (2, True)
    project.lock.unlink()
    (project.root / ".mcp.json").unlink()
    os.mkfifo(project.root / ".mcp.json")
    assert "not a regular file" in project.run("servers").err


def test_a_lock_that_somebody_else_wrote_meanwhile_is_not_overwritten(project):
    project.serve("notes", tool("search"))
    meddle = f"open({str(project.lock)!r}, 'w').write('version = 1\\n\\n[servers]\\n')"
    project.configure("meddler", command=sys.executable, args=["-c", f"{meddle}; raise SystemExit(1)"])
    result = project.run("lock")
    assert (result.code, "somebody else wrote mcp.lock meanwhile" in result.out) == (1, True)
    assert project.lock.read_text(encoding="utf-8") == "version = 1\n\n[servers]\n"
