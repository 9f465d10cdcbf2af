"""Pull requests in a real git repository: what `verify --trust-rev main` starts, says and exits with.

Every server logs what it is asked to a file of its own: there is none of a server that was not started.
"""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.project import PLAIN, Project, tool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def reviewed(project: Project) -> Project:
    """A repository whose main branch has one server, locked, and a branch for a pull request."""
    configure(project)
    assert project.run("lock").code == 0
    started(project).unlink()
    project.git("init", "--quiet")
    project.git("add", ".")
    project.git("commit", "--quiet", "-m", "lock")
    project.git("checkout", "--quiet", "-b", "pull-request")
    return project


def configure(project: Project, name: str = "s", *args: str, **env: str) -> None:
    (project.root / "s.json").write_text(json.dumps({"tools": [tool("a")]}), "utf-8")
    log = f"--log={name}.started"
    project.configure(name, command=sys.executable, args=[str(PLAIN), "s.json", log, *args], env={"BASE": "1", **env})


def started(project: Project, name: str = "s"):
    return project.root / f"{name}.started"


def test_what_nobody_touched_is_started_and_checked(reviewed: Project) -> None:
    done = reviewed.run("verify", "--trust-rev", "main")
    assert (done.code, done.out) == (0, "1 server, 1 contract: as locked.\n")
    assert started(reviewed).exists()


def test_drift_is_seen_against_the_lock_of_the_working_tree(reviewed: Project) -> None:
    (reviewed.root / "s.json").write_text(json.dumps({"tools": [tool("a"), tool("b")]}), "utf-8")
    assert reviewed.run("verify", "--trust-rev", "main").code == 1
    assert reviewed.run("lock").code == 0
    assert reviewed.run("verify", "--trust-rev", "main").code == 0


def test_an_edited_config_is_not_started(reviewed: Project) -> None:
    configure(reviewed, "s", "--era=legacy")
    done = reviewed.run("verify", "--trust-rev", "main")
    assert done.code == 1
    assert "s: launch spec changed (against main: args:" in " ".join(done.out.split())
    assert not started(reviewed).exists()


def test_an_edited_config_with_a_lock_edited_to_match_is_not_started(reviewed: Project) -> None:
    configure(reviewed, "s", "--era=legacy")
    assert reviewed.run("lock").code == 0
    started(reviewed).unlink()
    assert reviewed.run("verify").code == 0
    started(reviewed).unlink()
    done = reviewed.run("verify", "--trust-rev", "main")
    assert (done.code, started(reviewed).exists()) == (1, False)
    assert "launch spec changed" in done.out


def test_an_added_server_is_not_started_whether_it_is_locked_or_not(reviewed: Project) -> None:
    configure(reviewed, "new")
    done = reviewed.run("verify", "--trust-rev", "main")
    assert (done.code, started(reviewed, "new").exists(), started(reviewed).exists()) == (1, False, True)
    assert "new: not locked yet" in done.out
    assert reviewed.run("lock").code == 0
    started(reviewed, "new").unlink()
    done = reviewed.run("verify", "--trust-rev", "main")
    assert (done.code, started(reviewed, "new").exists()) == (1, False)
    assert "nobody has reviewed it: not in the lock of main" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "env", [{"NODE_OPTIONS": "--require ./evil.js"}, {"BASE_URL": "http://127.0.0.1:9"}, {"BASE": "2"}]
)
def test_a_changed_environment_is_a_changed_launch(reviewed: Project, env: dict[str, str]) -> None:
    configure(reviewed, "s", **env)
    done = reviewed.run("verify", "--trust-rev", "main")
    assert (done.code, started(reviewed).exists()) == (1, False)
    assert f"env.{next(iter(env))}" in done.out


def test_weaker_settings_do_not_count_and_are_told(reviewed: Project) -> None:
    (reviewed.root / "mcplock.toml").write_text(
        "fail-on = 'silent'\nexclude-servers = ['s']\n[rules]\ntool-added = 'off'\n", "utf-8"
    )
    (reviewed.root / "s.json").write_text(json.dumps({"tools": [tool("a"), tool("b")]}), "utf-8")
    done = reviewed.run("verify", "--trust-rev", "main")
    assert done.code == 1
    assert "[tool-added]" in done.out
    told = " ".join(done.out.split())
    before = "mcplock.toml is weaker here than in main, whose settings count: "
    for line in ("fail-on cosmetic → silent", "rule tool-added compatible → immaterial", "exclude-servers has s more"):
        assert before + line in told


def test_the_settings_of_the_revision_count_where_the_tree_has_dropped_them(reviewed: Project) -> None:
    reviewed.git("checkout", "--quiet", "main")
    (reviewed.root / "mcplock.toml").write_text("[rules]\ntool-added = 'off'\n", "utf-8")
    reviewed.git("add", "mcplock.toml")
    reviewed.git("commit", "--quiet", "-m", "settings")
    (reviewed.root / "mcplock.toml").write_text("not even TOML", "utf-8")
    (reviewed.root / "s.json").write_text(json.dumps({"tools": [tool("a"), tool("b")]}), "utf-8")
    done = reviewed.run("verify", "--trust-rev", "main")
    assert done.code == 0
    assert "the settings here cannot be read, and those of main count: mcplock.toml:1:" in done.out


def test_a_server_that_a_pull_request_takes_out_is_told(reviewed: Project) -> None:
    configure(reviewed, "other")
    reviewed.remove("s")
    assert reviewed.run("lock").code == 0
    done = reviewed.run("verify", "--trust-rev", "main")
    assert done.code == 1
    assert "s is in the lock of main, and neither configured nor locked here" in done.out


def test_a_revision_that_is_not_there_starts_nothing(reviewed: Project) -> None:
    for name in ("origin/main", "--upload-pack=touch pwned", "main:mcp.lock"):
        done = reviewed.run("verify", f"--trust-rev={name}")
        assert done.code == 2
        assert "no revision of the git repository" in done.err
    assert not started(reviewed).exists()
    assert not (reviewed.root / "pwned").exists()


def test_a_revision_without_a_lock_starts_nothing(project: Project) -> None:
    configure(project)
    project.git("init", "--quiet")
    project.git("add", ".")
    project.git("commit", "--quiet", "-m", "no lock")
    assert project.run("lock").code == 0
    started(project).unlink()
    done = project.run("verify", "--trust-rev", "HEAD")
    assert (done.code, done.err) == (
        2, "mcplock: --trust-rev HEAD: that revision has no mcp.lock, so nothing may be started\n",
    )  # fmt: skip
    assert not started(project).exists()


def test_trust_and_run_changed_contradict_each_other(reviewed: Project) -> None:
    done = reviewed.run("verify", "--trust-rev", "main", "--run-changed")
    assert (done.code, started(reviewed).exists()) == (2, False)
    assert "choose one" in done.err


def test_a_project_below_the_top_of_its_repository_is_found_in_the_revision(project: Project) -> None:
    inner = Project(project.root / "services" / "one")
    inner.root.mkdir(parents=True)
    configure(inner)
    assert inner.run("lock").code == 0
    (project.root / "mcplock.toml").write_text("[rules]\ntool-added = 'off'\n", "utf-8")
    project.git("init", "--quiet")
    project.git("add", ".")
    project.git("commit", "--quiet", "-m", "lock")
    (inner.root / "s.json").write_text(json.dumps({"tools": [tool("a"), tool("b")]}), "utf-8")
    (project.root / "mcplock.toml").unlink()
    assert inner.run("verify").code == 1
    assert inner.run("verify", "--trust-rev", "HEAD").code == 0


def evil(project: Project) -> Project:
    """A repository of its own whose main branch has reviewed what `project` is to start."""
    configure(project, "s", "--era=legacy")
    assert project.run("lock").code == 0
    started(project).unlink()
    return project


def test_files_that_look_like_a_repository_decide_nothing(project: Project, tmp_path: Path) -> None:
    inner = Project(project.root / "sub")
    inner.root.mkdir()
    configure(inner)
    assert inner.run("lock").code == 0
    started(inner).unlink()
    project.git("init", "--quiet")
    project.git("add", ".")
    project.git("commit", "--quiet", "-m", "lock")
    evil(inner)
    (tmp_path / "other").mkdir()
    other = Project(tmp_path / "other")
    shutil.copytree(inner.root, other.root / "sub")
    shutil.copytree(inner.root, other.root, dirs_exist_ok=True)
    other.git("init", "--quiet")
    other.git("add", ".")
    other.git("commit", "--quiet", "-m", "evil")
    for name in ("HEAD", "objects", "refs"):
        source = other.root / ".git" / name
        shutil.copytree(source, inner.root / name) if source.is_dir() else shutil.copy(source, inner.root / name)
    (inner.root / "config").write_text("[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\n")
    done = inner.run("verify", "--trust-rev", "main")
    assert (done.code, started(inner).exists()) == (1, False)
    assert "launch spec changed (against main: args:" in " ".join(done.out.split())


def test_a_submodule_decides_nothing(reviewed: Project, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = evil(Project(tmp_path / "other"))
    other.git("init", "--quiet")
    other.git("add", ".")
    other.git("commit", "--quiet", "-m", "evil")
    reviewed.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.root.as_uri(), "sub")
    inner = Project(reviewed.root / "sub")
    done = inner.run("verify", "--trust-rev", "main")
    assert (done.code, started(inner).exists()) == (2, False)
    assert "the project is in a submodule" in done.err


class TestCheck:
    """`lock --check`: the configs against the lock, and nothing else."""

    def test_says_nothing_of_what_agrees_and_starts_nothing(self, reviewed: Project) -> None:
        done = reviewed.run("lock", "--check")
        assert done.code == 0
        assert done.out == "1 server, 1 contract: as locked.\nConfigs and lock alone; no server was asked.\n"
        assert not started(reviewed).exists()

    def test_finds_servers_that_came_went_and_are_started_otherwise(self, reviewed: Project) -> None:
        configure(reviewed, "gone")
        assert reviewed.run("lock").code == 0
        for name in ("s", "gone"):
            started(reviewed, name).unlink()
        reviewed.remove("gone")
        configure(reviewed, "new")
        configure(reviewed, "s", "--page-size=1")
        before = reviewed.lock.read_bytes()
        done = reviewed.run("lock", "--check", "-f", "json")
        found = {server["name"]: server["status"] for server in json.loads(done.out)["servers"]}
        assert (done.code, found) == (1, {"gone": "gone", "new": "not-locked", "s": "launch-changed"})
        assert not any(started(reviewed, name).exists() for name in ("s", "new", "gone"))
        assert reviewed.lock.read_bytes() == before

    def test_needs_a_lock_and_a_sound_config(self, reviewed: Project) -> None:
        lock = reviewed.lock.read_bytes()
        reviewed.lock.unlink()
        assert reviewed.run("lock", "--check").code == 1
        reviewed.lock.write_bytes(lock)
        reviewed.configure("bad", command="x", url="http://127.0.0.1:9")
        assert reviewed.run("lock", "--check").code == 2

    def test_does_not_mind_a_variable_that_is_not_set_here(self, reviewed: Project) -> None:
        configure(reviewed, "s", BASE_URL="${ONLY_IN_CI}")
        assert reviewed.run("lock", ONLY_IN_CI="http://127.0.0.1:9").code == 0
        started(reviewed).unlink()
        assert reviewed.run("lock", "--check").code == 0

    def test_takes_nothing_that_is_about_writing(self, reviewed: Project) -> None:
        assert reviewed.run("lock", "--check", "--dry-run").code == 2
