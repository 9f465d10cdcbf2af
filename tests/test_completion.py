"""Completion in real shells: names of the lock that are plain words, and never a word more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import zygote
from tests.project import LONGEST_RUN, Project, tool

INSTALLED = Path(sys.executable).parent
"""Where the command is as `pip` made it; one shell runs that one."""
SHELLS = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]
HOSTILE = ("$(touch owned)", "`touch owned`", "a b", "*", "~", "a;touch owned", "é", "", "a\nplain,owned", "a:b")


@pytest.fixture(scope="module")
def lock(tmp_path_factory):
    """The lock of every test here, from servers that list hostile names too."""
    project = Project(tmp_path_factory.mktemp("locked"))
    project.serve("notes", tool("search"), tool("search_all"), *(tool(name) for name in HOSTILE if name))
    project.serve("tickets", tool("create"))
    assert project.run("lock", CI="").code == 0  # made before a test has scrubbed its environment
    return project.lock.read_bytes()


@pytest.fixture
def locked(project, lock):
    project.lock.write_bytes(lock)
    return project


def offered(project: Project, *words: str, **env: str) -> list[str]:
    """What click's protocol answers for the last of `words`, as every shell asks for it."""
    line = {"COMP_WORDS": " ".join(("mcplock", *words)), "COMP_CWORD": str(len(words))}
    result = project.run(**line, _MCPLOCK_COMPLETE="bash_complete", **env)
    assert (result.code, result.err) == (0, "")
    return [word.partition(",")[2] for word in result.out.splitlines() if word]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("lock", ""), ["notes", "tickets"]),
        (("lock", "n"), ["notes", "notes/search", "notes/search_all"]),
        (("show", "notes/search_"), ["notes/search_all"]),
        (("lock", "tickets/"), ["tickets/create"]),
        (("verify", "t"), ["tickets"]),
        (("verify", "notes/"), []),
        (("diff", "--live", ""), ["notes", "tickets"]),
        (("guard", "n"), ["notes"]),
        (("guard", "--server", "t"), ["tickets"]),
        (("lock", "nothing"), []),
    ],
)
def test_names_are_completed_from_the_lock(locked, words, meant):
    assert offered(locked, *words) == meant


def test_options_that_say_where_the_lock_is_are_followed(locked):
    (locked.root / "inner").mkdir()
    locked.lock.rename(locked.root / "inner" / "team.lock")
    assert offered(locked, "verify", "t") == []
    assert offered(locked, "verify", "-l", "inner/team.lock", "t") == ["tickets"]
    assert offered(locked, "verify", "-C", "inner", "-l", "team.lock", "t") == ["tickets"]


@pytest.mark.parametrize("text", ["", "<<<<<<< ours\n", "version = 9\n", None])
def test_a_lock_that_cannot_be_read_offers_nothing_and_says_nothing(locked, text):
    locked.lock.unlink() if text is None else locked.lock.write_text(text)
    assert offered(locked, "lock", "n") == []
    assert offered(locked, "lock", "-C", "/nowhere", "n") == []
    assert offered(locked, "verify", "n", MCPLOCK_TIMEOUT="never", MCPLOCK_FAIL_ON="nothing") == []


def shell(name: str, project: Project, script: str) -> subprocess.CompletedProcess[str]:
    argv = {"bash": ["bash", "--norc"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}[name]
    scripts = INSTALLED if name == "bash" else zygote().command.parent
    env = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    return subprocess.run(
        [*argv, "-c", script],
        cwd=project.root,
        env=env,
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN,
        check=False,
    )


ASKED = {
    "bash": """
        eval "$(mcplock --show-completion bash)"
        COMP_WORDS=(mcplock lock notes); COMP_CWORD=2; COMP_LINE="mcplock lock notes"; COMP_POINT=${#COMP_LINE}
        _mcplock_completion mcplock; printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "zsh": """
        compdef() { : }; _describe() { :; }; compadd() { shift; print -l -- "${(@P)@[-1]}" }
        eval "$(mcplock --show-completion zsh)"
        words=(mcplock lock notes); CURRENT=3; _mcplock_completion
    """,
    "fish": """
        mcplock --show-completion fish | source
        complete --do-complete "mcplock lock notes"
    """,
}


@pytest.mark.parametrize("name", SHELLS)
def test_a_real_shell_offers_plain_words_and_runs_nothing(locked, name):
    done = shell(name, locked, ASKED[name])
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == ["notes", "notes/search", "notes/search_all"]
    assert not (locked.root / "owned").exists()


PLACES = {
    "bash": ".local/share/bash-completion/completions/mcplock",
    "zsh": ".zfunc/_mcplock",
    "fish": ".config/fish/completions/mcplock.fish",
}


@pytest.mark.parametrize("name", PLACES)
def test_installing_writes_one_file_and_says_which_and_what_is_left_to_do(project, name):
    home = Path(os.environ["HOME"])
    for asked, env in ((("--install-completion", name), {}), (("--install-completion",), {"SHELL": f"/bin/{name}"})):
        result = project.run(*asked, **env)
        assert (result.code, result.err) == (0, "")
        first, rest = result.out.splitlines()
        assert first in (f"{home / PLACES[name]} written", f"{home / PLACES[name]} is up to date")
        assert rest
        shown = project.run("--show-completion", name)
        assert (shown.code, shown.err, shown.out) == (0, "", (home / PLACES[name]).read_text(encoding="utf-8"))
    assert [str(file.relative_to(home)) for file in home.rglob("*") if file.is_file()] == [PLACES[name]]


@pytest.mark.parametrize(
    ("args", "env"),
    [
        (("--show-completion", "tcsh"), {}),
        (("--install-completion",), {"SHELL": ""}),
        (("--install-completion", "csh"), {}),
    ],
)
def test_a_shell_that_is_not_known_is_a_usage_error(project, args, env):
    result = project.run(*args, **env)
    assert (result.code, result.out) == (2, "")
    assert "name a shell: bash, zsh, fish" in result.err


def test_a_place_that_cannot_be_written_is_told(project):
    Path(os.environ["HOME"], ".local").write_text("")
    result = project.run("--install-completion", "bash")
    assert (result.code, result.out) == (2, "")
    assert "cannot be written" in result.err


@pytest.mark.parametrize(
    "name", [name for name in SHELLS if name == "bash" and Path("/usr/share/bash-completion").exists()]
)
def test_bash_finds_what_was_installed(locked, name):
    assert locked.run("--install-completion", name).code == 0
    done = shell(
        name,
        locked,
        """
        . /usr/share/bash-completion/bash_completion
        _completion_loader mcplock; complete -p mcplock
        """,
    )
    assert "_mcplock_completion" in done.stdout, done.stderr
