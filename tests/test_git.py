"""mcp.lock in real git repositories: merged by plain git and by the driver, shown readably, set up by a command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import LONGEST_RUN, Project, tool

A, B, C = tool("alpha"), tool("beta"), tool("gamma")


@pytest.fixture(autouse=True)
def plain_git(monkeypatch):
    """No settings of the machine, and an author."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.test")


def git(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *args], cwd=root, capture_output=True, text=True, timeout=LONGEST_RUN, check=False, encoding="utf-8"
    )


class Branches:
    """A project whose lock two branches change."""

    def __init__(self, project: Project, *tools: dict) -> None:
        self.project = project
        project.git("init", "--quiet")
        self.lock("main", *tools, name="notes")

    def lock(self, branch: str, *tools: dict, name: str = "notes") -> None:
        """Commit, on `branch` off main, a lock of the server as it lists `tools` there."""
        project = self.project
        if branch != "main":
            project.git("checkout", "--quiet", "-b", branch, "main")
        if tools:
            project.serve(name, *tools)
        else:
            project.remove(name)
        assert project.run("lock").code == 0
        self.commit(branch)

    def commit(self, message: str) -> None:
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "-m", message)

    def merge(self, first: str, second: str, live: list[dict] | None = None) -> subprocess.CompletedProcess[str]:
        """Merge `second` into `first`; the server then lists `live`."""
        self.project.git("checkout", "--quiet", first)
        merged = git(self.project.root, "merge", "--no-edit", second)
        if live is not None:
            self.project.serve("notes", *live)
        return merged


def set_up(project: Project) -> None:
    result = project.run("setup-git")
    assert (result.code, result.err) == (0, "")


def lock_alone(project: Project) -> None:
    """Let git merge nothing but the lock: the servers' files are one line of JSON each."""
    project.git("config", "merge.ours.driver", "true")
    (project.root / ".git" / "info" / "attributes").write_text("*.json merge=ours\n")


@pytest.mark.parametrize("driver", [False, True])
def test_branches_that_change_different_tools_merge(project, driver):
    branches = Branches(project, A, B)
    branches.lock("one", tool("alpha", "One."), B)
    branches.lock("two", A, tool("beta", "Two."))
    lock_alone(project)
    if driver:
        set_up(project)
    merged = branches.merge("one", "two", [tool("alpha", "One."), tool("beta", "Two.")])
    assert merged.returncode == 0, merged.stdout + merged.stderr
    assert project.run("verify").code == 0


def test_plain_git_conflicts_where_two_branches_add_a_tool_at_one_place_and_the_driver_does_not(project):
    branches = Branches(project, A)
    branches.lock("one", A, B)
    branches.lock("two", A, C)
    lock_alone(project)
    assert branches.merge("one", "two").returncode == 1
    assert "merge conflict markers" in project.run("verify").err
    project.git("merge", "--abort")
    set_up(project)
    merged = branches.merge("one", "two", [A, B, C])
    assert merged.returncode == 0, merged.stdout + merged.stderr
    assert project.run("verify").code == 0


def test_both_changed_one_tool_so_both_versions_stand_between_markers_and_verify_says_so(project):
    branches = Branches(project, A, B)
    branches.lock("one", tool("alpha", "One."), B)
    branches.lock("two", tool("alpha", "Two."), tool("beta", "Two."))
    lock_alone(project)
    set_up(project)
    merged = branches.merge("one", "two")
    assert merged.returncode == 1
    assert (
        "mcplock: mcp.lock: conflict in notes/alpha: ours changes description, theirs changes description; "
        "take either side, then run `mcplock lock notes/alpha`" in merged.stderr
    )
    text = project.lock.read_text(encoding="utf-8")
    assert [text.count(word) for word in ("<<<<<<< ours", 'ion = "One."', 'ion = "Two."')] == [1, 1, 2]
    result = project.run("verify")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "merge conflict markers; take either side, then run `mcplock lock`" in result.err
    assert git(project.root, "diff").returncode == 0  # the textconv of a lock in conflict does not stop it
    # the advice, followed: one side, then the server itself
    mine, _, rest = text.partition("=======\n")
    project.lock.write_text(mine.replace("<<<<<<< ours\n", "") + rest.partition(">>>>>>> theirs\n")[2])
    project.serve("notes", tool("alpha", "Two."), tool("beta", "Two."))
    assert project.run("lock", "notes/alpha").code == 0
    assert project.run("verify").code == 0


def test_plain_git_leaves_markers_where_both_changed_one_tool_and_verify_says_so(project):
    branches = Branches(project, A)
    branches.lock("one", tool("alpha", "One."))
    branches.lock("two", tool("alpha", "Two."))
    lock_alone(project)
    assert branches.merge("one", "two").returncode == 1
    result = project.run("verify")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "merge conflict markers; take either side, then run `mcplock lock`" in result.err


@pytest.mark.parametrize("driver", [False, True])
def test_a_tool_removed_on_one_side_and_changed_on_the_other_is_a_conflict(project, driver):
    branches = Branches(project, A, B)
    branches.lock("one", A)
    branches.lock("two", A, tool("beta", "Two."))
    lock_alone(project)
    if driver:
        set_up(project)
    merged = branches.merge("one", "two")
    assert merged.returncode == 1
    assert ("ours removes it, theirs changes description" in merged.stderr) is driver
    assert 'description = "Two."' in project.lock.read_text(encoding="utf-8")
    assert project.run("verify").code == 2


def test_a_server_renamed_on_one_side_and_changed_on_the_other_is_a_conflict_of_the_whole_server(project):
    branches = Branches(project, A, B)
    branches.lock("two", A, tool("beta", "Two."))
    project.git("checkout", "--quiet", "-b", "one", "main")
    project.serve("notes", A, B)
    project.entries["renamed"] = project.entries.pop("notes")
    project.save()
    assert project.run("lock").code == 0
    branches.commit("one")
    lock_alone(project)
    set_up(project)
    merged = branches.merge("one", "two")
    assert merged.returncode == 1
    assert "conflict in server notes: ours removes it, theirs changes notes/beta" in merged.stderr
    text = project.lock.read_text(encoding="utf-8")
    assert text.count("[servers.renamed.tools.beta]") == text.count("[servers.notes.tools.beta]") == 1


def test_a_launch_spec_of_one_side_and_a_tool_of_the_other_merge_and_a_line_says_so(project):
    branches = Branches(project, A, B)
    branches.lock("two", A, tool("beta", "Two."))
    project.git("checkout", "--quiet", "-b", "one", "main")
    project.serve("notes", A, B)
    project.configure("notes", **project.entries["notes"], env={"LOG": "error"})
    assert project.run("lock").code == 0
    branches.commit("one")
    lock_alone(project)
    set_up(project)
    merged = branches.merge("one", "two")
    assert merged.returncode == 0, merged.stderr
    assert "note: mcp.lock: notes: one side starts it otherwise" in merged.stderr
    entry = project.entries["notes"]
    project.serve("notes", A, tool("beta", "Two."))
    project.configure("notes", **entry)
    assert project.run("verify").code == 0


def test_locks_that_both_branches_added_merge_by_server(project):
    project.git("init", "--quiet")
    set_up(project)
    project.git("add", ".gitattributes")
    project.git("commit", "--quiet", "-m", "set up")
    for branch, name in (("one", "first"), ("two", "second")):
        project.git("checkout", "--quiet", "-b", branch, "main")
        project.entries.clear()
        project.serve(name, A)
        assert project.run("lock").code == 0
        project.git("add", "mcp.lock")
        project.git("commit", "--quiet", "-m", branch)
    merged = git(project.root, "merge", "--no-edit", "one")
    assert merged.returncode == 0, merged.stdout + merged.stderr
    project.serve("first", A)
    assert project.run("verify").code == 0


def test_a_side_that_cannot_be_read_is_a_conflict_and_nothing_is_lost(project):
    branches = Branches(project, A)
    branches.lock("one", A, B)
    branches.lock("two", A, C)
    project.lock.write_text("version = 9\n", encoding="utf-8")
    branches.commit("newer")
    lock_alone(project)
    set_up(project)
    project.git("checkout", "--quiet", "one")
    before = project.lock.read_bytes()
    merged = git(project.root, "merge", "--no-edit", "two")
    assert merged.returncode == 1
    assert "mcplock: mcp.lock (theirs):1: written by a newer mcplock (format 9)" in merged.stderr
    assert project.lock.read_bytes() == before
    assert "UU mcp.lock" in git(project.root, "status", "--short").stdout


def test_branches_that_merged_each_other_before_merge_again(project):
    """git first merges their two common ancestors, in which the same tool differs."""
    branches = Branches(project, A)
    lock_alone(project)
    set_up(project)
    branches.commit("set up")
    branches.lock("one", tool("alpha", "One."))
    branches.lock("two", tool("alpha", "Two."))
    for branch, other, mine in (("one", "two~0", B), ("two", "one~1", C)):
        project.git("checkout", "--quiet", branch)
        assert git(project.root, "merge", "--no-edit", other).returncode == 1
        project.git("checkout", "--quiet", "--ours", "mcp.lock")
        project.serve("notes", tool("alpha", "Both."), mine)
        assert project.run("lock").code == 0
        branches.commit("merged")
    merged = branches.merge("one", "two", [tool("alpha", "Both."), B, C])
    assert merged.returncode == 0, merged.stdout + merged.stderr
    assert project.run("verify").code == 0


# --- what is set up ---------------------------------------------------------------------------------------------------


def attributes(root: Path, path: str = "mcp.lock") -> dict[str, str]:
    out = git(root, "check-attr", "-z", "text", "eol", "merge", "diff", "--", path).stdout.split("\0")
    return dict(zip(out[1::3], out[2::3], strict=False))


SET = {"text": "set", "eol": "lf", "merge": "mcplock", "diff": "mcplock"}


def test_setting_up_says_what_it_did_and_the_second_time_that_it_is_done(project):
    project.git("init", "--quiet")
    result = project.run("setup-git")
    assert result.code == 0
    assert ".gitattributes: added `mcp.lock text eol=lf merge=mcplock diff=mcplock`; commit it\n" in result.out
    assert "git config: merge.mcplock.driver set to `" in result.out
    files = [project.root / ".gitattributes", project.root / ".git" / "config"]
    before = [file.read_bytes() for file in files]
    assert attributes(project.root) == SET
    again = project.run("setup-git")
    assert (again.code, again.out) == (0, "already set up: git merges and shows mcp.lock by mcplock\n")
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize(
    ("before", "added"),
    [
        (b"*.png binary\n", b"\n"),
        (b"*.png binary", b"\n"),
        (b"a -text\r\nb -text\r\n", b"\r\n"),
        (b"mcp.lock text eol=lf\n", b"\n"),
    ],
)
def test_lines_and_line_ends_of_the_attributes_are_kept(project, before, added):
    project.git("init", "--quiet")
    file = project.root / ".gitattributes"
    file.write_bytes(before)
    assert project.run("setup-git").code == 0
    whole = before if before.endswith(b"\n") else before + b"\n"
    assert file.read_bytes() == whole + b"mcp.lock text eol=lf merge=mcplock diff=mcplock" + added
    assert attributes(project.root) == SET


def test_in_a_sub_directory_the_line_names_the_path_of_the_lock(project):
    project.git("init", "--quiet")
    inner = project.root / "services" / "a [b]"
    inner.mkdir(parents=True)
    (inner / ".mcp.json").write_text("{}")
    assert project.run("setup-git", "-C", str(inner)).code == 0
    assert attributes(project.root, "services/a [b]/mcp.lock") == SET
    assert attributes(project.root, "services/a b/mcp.lock")["merge"] == "unspecified"
    assert "already set up" in project.run("setup-git", "-C", str(inner)).out


@pytest.mark.parametrize(
    "name", ["team.lock", "#hash", "!bang", 'q"uote', "back\\slash", "star*", "ü.lock", "-x", "a b"]
)
def test_a_lock_of_another_name_is_set_up_under_that_name(project, name):
    project.git("init", "--quiet")
    assert project.run("setup-git", f"--lockfile={name}").code == 0
    assert attributes(project.root, name) == SET
    assert attributes(project.root)["merge"] == "unspecified"


def test_worktrees_share_what_was_set_up(project, tmp_path):
    Branches(project, A)
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side = Project(tmp_path / "side")
    assert "merge.mcplock.driver set" in side.run("setup-git").out
    assert (
        git(project.root, "config", "merge.mcplock.driver").stdout
        == git(side.root, "config", "merge.mcplock.driver").stdout
    )
    assert attributes(side.root) == SET
    assert side.run("diff", "main", "HEAD").code == 0


def test_outside_of_git_nothing_is_written_and_one_line_says_why(project):
    result = project.run("setup-git")
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert "not in a git working tree" in result.err
    assert list(project.root.iterdir()) == []


def test_another_line_that_decides_otherwise_is_told(project):
    project.git("init", "--quiet")
    (project.root / ".git" / "info" / "attributes").write_text("*.lock -diff linguist-generated\n")
    result = project.run("setup-git")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "another line that git reads later decides diff" in result.err


def test_a_symbolic_link_is_not_written_through(project):
    project.git("init", "--quiet")
    (project.root / ".gitattributes").symlink_to("elsewhere")
    result = project.run("setup-git")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert not (project.root / "elsewhere").exists()


def test_an_older_command_is_replaced(project):
    project.git("init", "--quiet")
    project.git("config", "merge.mcplock.driver", "elsewhere/mcplock merge-driver %O %A %B")
    assert "git config: merge.mcplock.driver changed to `" in project.run("setup-git").out


def test_the_command_is_a_name_only_if_the_path_has_this_mcplock_for_good(project, tmp_path):
    script = Path(sys.executable).with_name("mcplock")
    elsewhere = tmp_path / "bin"
    elsewhere.mkdir()
    (elsewhere / "mcplock").symlink_to(script)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mcplock").write_text("#!/bin/sh\n")
    (other / "mcplock").chmod(0o755)
    project.git("init", "--quiet")
    rest = os.environ["PATH"]
    wholly = f"{sys.executable} -P -m mcp_lock merge-driver"
    for path, active, meant in (
        (f"{elsewhere}:{rest}", "", "mcplock merge-driver"),
        (f"{script.parent}:{rest}", str(script.parent.parent), wholly),
        (f"{other}:{rest}", "", wholly),
    ):
        assert project.run("setup-git", PATH=path, VIRTUAL_ENV=active).code == 0
        assert git(project.root, "config", "merge.mcplock.driver").stdout.startswith(f"{meant} %O %A %B")


def test_a_module_in_the_tree_that_is_merged_is_never_loaded(project):
    branches = Branches(project, A)
    branches.lock("one", A, B)
    branches.lock("two", A, C)
    lock_alone(project)
    set_up(project)
    for name in ("mcp_lock", "click", "tomli"):
        (project.root / f"{name}.py").write_text(f"open({str(project.root / 'loaded')!r}, 'w')\n")
    assert branches.merge("one", "two").returncode == 0
    assert git(project.root, "diff", "main", "two", "--", "mcp.lock").returncode == 0
    assert not (project.root / "loaded").exists()


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_git_diff_shows_contracts_in_plain_words_and_every_change_of_them(project):
    long = "word " * 900
    branches = Branches(project, tool("alpha", long + "old end"))
    set_up(project)
    branches.lock("main", tool("alpha", long + "new end"))
    shown = git(project.root, "diff", "HEAD~1", "HEAD", "--", "mcp.lock").stdout
    changed = [line for line in shown.splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    assert [line[:1] for line in changed] == ["-", "-", "+", "+"]
    assert changed[1].endswith("old end")
    assert changed[3].endswith("new end")
    assert "[servers" not in shown


def test_plain_is_the_same_on_every_screen(project):
    project.serve("notes", tool("alpha", "word " * 100, q={"type": "string", "description": "x" * 300}))
    project.run("lock")
    one = project.run("show", "--plain", COLUMNS="40", FORCE_COLOR="1").out
    assert one == project.run("show", "--plain").out
    assert "x" * 300 in one
    assert "\x1b" not in one


# --- revisions --------------------------------------------------------------------------------------------------------


def test_a_revision_is_found_from_a_worktree_a_sub_directory_and_for_a_lock_of_another_name(project, tmp_path):
    branches = Branches(project, A)
    branches.lock("main", A, B)
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    assert "beta" in Project(tmp_path / "side").run("diff", "HEAD~1").out
    inner = project.root / "inner" / "deep"
    inner.mkdir(parents=True)
    assert "beta" in project.run("diff", "HEAD~1", "-C", str(inner)).out
    shutil.copy(project.lock, inner / "team.lock")
    project.git("add", "--all")
    project.git("commit", "--quiet", "-m", "copy")
    assert project.run("diff", "HEAD", "-l", "inner/deep/team.lock", "--exit-code").code == 0
    missing = project.run("diff", "HEAD~1", "-l", "inner/deep/team.lock")
    assert (missing.code, len(missing.err.splitlines())) == (2, 1)
    assert "that revision has no team.lock" in missing.err


def test_a_file_wins_over_a_tag_of_its_name_and_a_colon_asks_for_the_tag(project):
    branches = Branches(project, A)
    project.git("tag", "old")
    branches.lock("main", A, B)
    shutil.copy(project.lock, project.root / "old")
    assert project.run("diff", "old", "--exit-code").code == 0
    assert "beta" in project.run("diff", "old:").out


def test_after_the_set_up_a_revision_is_still_read_as_it_is(project):
    branches = Branches(project, A)
    set_up(project)
    branches.lock("main", A, B)
    assert "beta" in project.run("diff", "HEAD~1").out


def test_what_a_shallow_clone_lacks_is_told(project, tmp_path):
    branches = Branches(project, A)
    branches.lock("main", A, B)
    url = project.root.as_uri()
    assert git(tmp_path, "clone", "--quiet", "--depth=1", url, "shallow").returncode == 0
    result = Project(tmp_path / "shallow").run("diff", "HEAD~1")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "shallow" in result.err
