"""Project settings: what each key does, that a typo is an error, and in what one version of them is weaker."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_lock import settings
from mcp_lock.errors import ConfigError
from mcp_lock.outcome import Change, Impact, Item
from mcp_lock.policy import Ignore, Policy
from mcp_lock.rules import RULES
from tests.project import Project, tool

ERRORS = json.loads((Path(__file__).parent / "cases" / "settings" / "errors.json").read_text("utf-8"))
DAY = dt.date(2026, 11, 30)
CHANGE = Change(RULES["title-changed"], Item(None), "/title", "Up since 10:00", "Up since 11:00", Impact.SILENT, "s")


def read(root: Path, toml: str, name: str = "mcplock.toml") -> settings.Settings:
    (root / name).write_text(toml, "utf-8")
    return settings.read(root)


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case["why"])
def test_what_is_wrong_in_the_settings_is_told_with_its_place(case: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, case["toml"])
    assert str(error.value) == case["error"]


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    assert settings.read(tmp_path) == settings.Settings()


def test_every_key_fills_its_field(tmp_path: Path) -> None:
    text = """
        config = ["a.json", "b.json"]
        exclude-servers = ["scratch"]
        fail-on = "compatible"
        timeout = 90
        resources = false
        [rules]
        title-changed = "off"
        description-added = "breaking"
        launch-unpinned = "error"
        [[ignore]]
        server = "time"
        tool = "convert"
        rule = "title-changed"
        pointer = "/inputSchema/*"
        pattern = "[0-9]+"
        reason = "a clock"
        until = 2027-03-01
        [servers.internal]
        url = "https://mcp.example.test/mcp"
    """.replace("description-added", "tool-description-added")
    found = read(tmp_path, text)
    assert (found.shown, found.above, found.config) == ("mcplock.toml", 0, ("a.json", "b.json"))
    assert found.excluded == {"scratch": "left out by exclude-servers in mcplock.toml:3"}
    assert (found.fail_on, found.timeout, found.resources, found.unpinned) == (Impact.COMPATIBLE, 90.0, False, "error")
    assert found.policy.impacts == {"title-changed": Impact.IMMATERIAL, "tool-description-added": Impact.BREAKING}
    (known,) = found.policy.ignores
    assert known == Ignore(
        "mcplock.toml:11", "a clock", "time", "convert", "title-changed", "/inputSchema/*", re.compile("[0-9]+"),
        dt.date(2027, 3, 1),
    )  # fmt: skip
    assert found.servers == ("servers",)


def test_the_example_in_the_docs_is_read(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "settings.md").read_text("utf-8")
    found = read(tmp_path, text.partition("```toml\n")[2].partition("```")[0])
    assert (found.fail_on, found.unpinned, len(found.policy.ignores)) == (Impact.COMPATIBLE, "error", 1)


def test_the_table_in_pyproject_counts_and_a_pyproject_without_it_does_not(tmp_path: Path) -> None:
    found = read(tmp_path, "[tool.mcplock]\nfail-on = 'silent'\n[tool.mcplock.servers.a]\nurl = 'u'", "pyproject.toml")
    assert (found.shown, found.fail_on, found.servers) == (
        "pyproject.toml", Impact.SILENT, ("tool", "mcplock", "servers"),
    )  # fmt: skip
    assert read(tmp_path, "[tool.other]\nname = 'mcplock'", "pyproject.toml") == settings.Settings()
    with pytest.raises(ConfigError, match=r"^pyproject.toml:2:1: unknown key fail_on: did you mean fail-on\?$"):
        read(tmp_path, "[tool.mcplock]\nfail_on = 'silent'", "pyproject.toml")


def test_two_files_with_settings_in_one_directory_are_an_error(tmp_path: Path) -> None:
    read(tmp_path, "timeout = 3")
    with pytest.raises(ConfigError, match=r"^mcplock.toml and pyproject.toml both hold settings: keep one of them$"):
        read(tmp_path, "[tool.mcplock]\ntimeout = 4", "pyproject.toml")


def test_what_only_looks_like_a_file_of_settings_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mcplock.toml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"^mcplock.toml: not a regular file, so its settings cannot be read"):
        settings.read(tmp_path)


def test_the_nearest_file_upwards_in_the_git_tree_counts(tmp_path: Path) -> None:
    inner = tmp_path / "top" / "a" / "b"
    inner.mkdir(parents=True)
    read(tmp_path, "timeout = 1")
    assert settings.read(inner) == settings.Settings()
    (tmp_path / "top" / ".git").mkdir()
    assert settings.read(inner) == settings.Settings()
    read(tmp_path / "top", "timeout = 2")
    assert (settings.read(inner).timeout, settings.read(inner).shown) == (2.0, "../../mcplock.toml")
    read(inner.parent, "timeout = 3")
    assert (settings.read(inner).timeout, settings.read(inner).above) == (3.0, 1)


def known(**fields: object) -> Ignore:
    return replace(Ignore("f:1", "r", rule="title-changed"), **fields)


@pytest.mark.parametrize(
    ("ignore", "fits"),
    [
        (known(), True),
        (known(server="s"), True),
        (known(server="other"), False),
        (known(item="a"), False),
        (known(rule="title-removed"), False),
        (known(pointer="/title"), True),
        (known(pointer="/*"), True),
        (known(pointer="/*/*"), False),
        (known(pointer="/titl"), False),
        (known(pattern=re.compile("[0-9:]+")), True),
        (known(pattern=re.compile("10")), False),
    ],
)
def test_a_known_difference_fits_only_what_it_names(ignore: Ignore, fits: bool) -> None:
    applied = Policy(ignores=(ignore,), day=DAY).applied(CHANGE)
    assert (applied.impact, bool(applied.ignored)) == ((Impact.IMMATERIAL, True) if fits else (Impact.SILENT, False))


def test_a_change_outside_the_pattern_still_counts() -> None:
    moved = replace(CHANGE, new="Down since 11:00")
    assert Policy(ignores=(known(pattern=re.compile("[0-9:]+")),), day=DAY).applied(moved) == moved


def test_a_known_difference_counts_through_its_last_day() -> None:
    last = Policy(ignores=(known(until=DAY),), day=DAY).applied(CHANGE)
    assert (last.impact, last.ignored) == (Impact.IMMATERIAL, "ignored: r (f:1, until 2026-11-30)")
    after = Policy(ignores=(known(until=DAY),), day=DAY + dt.timedelta(days=1)).applied(CHANGE)
    assert (after.impact, after.ignored) == (Impact.SILENT, "no longer ignored: r (f:1, until 2026-11-30)")


def test_a_change_of_impact_security_stays_whatever_the_settings_say() -> None:
    grave = replace(CHANGE, impact=Impact.SECURITY)
    policy = Policy({"title-changed": Impact.IMMATERIAL}, (known(),), DAY)
    assert policy.applied(grave) == grave


TRUSTED = """
    fail-on = "compatible"
    exclude-servers = ["a"]
    [rules]
    title-changed = "breaking"
    launch-unpinned = "error"
    [[ignore]]
    rule = "title-changed"
    reason = "r"
"""


@pytest.mark.parametrize(
    ("was", "now", "lines"),
    [
        ("", "", []),
        ('"compatible"', '"cosmetic"', []),
        ('"compatible"', '"silent"', ["fail-on compatible → silent"]),
        ('["a"]', '["a", "b"]', ["exclude-servers has b more"]),
        ('["a"]', "[]", []),
        ('"breaking"', '"off"', ["rule title-changed breaking → immaterial"]),
        ('"breaking"', '"silent"', ["rule title-changed breaking → silent"]),
        ('title-changed = "breaking"', "", ["rule title-changed breaking → cosmetic"]),
        ('"error"', '"off"', ["launch-unpinned error → off"]),
        ('reason = "r"', 'reason = "s"', []),
        ('"r"', '"r"\nuntil = 2030-01-01', ["a known difference more: r (mcplock.toml:7, until 2030-01-01)"]),
        ("fail-on", 'config = ["x.json"]\nfail-on', ["config (looked for) → x.json"]),
        ("fail-on", "resources = false\nfail-on", ["resources true → false"]),
        ("[rules]", '[servers.z]\nurl = "u"\n[rules]', ["the servers are others"]),
    ],
)  # fmt: skip
def test_weaker_settings_are_told_and_stricter_ones_are_not(
    was: str, now: str, lines: list[str], tmp_path: Path
) -> None:
    trusted = read(tmp_path, TRUSTED)
    assert settings.weakened(trusted, read(tmp_path, TRUSTED.replace(was, now, 1))) == lines


def test_the_settings_decide_what_verify_and_lock_call_drift(project: Project) -> None:
    project.serve("s", tool("a", "Built on Monday."))
    assert project.run("lock").code == 0
    project.serve("s", tool("a", "Built on Friday."))
    assert project.run("verify").code == 1
    ignore = {"rule": "tool-description-reworded", "pattern": "(Mon|Fri)day", "reason": "names its build day"}
    lines = "\n".join(f"{key} = '{value}'" for key, value in ignore.items())
    (project.root / "mcplock.toml").write_text(f"[[ignore]]\n{lines}\n", "utf-8")
    done = project.run("verify")
    assert (done.code, done.out) == (
        0,
        "1 known difference ignored (-v shows all).\n1 server, 1 contract: as locked.\n",
    )
    assert "ignored: names its build day (mcplock.toml:1)" in project.run("verify", "-v").out
    assert json.loads(project.run("verify", "-f", "json").out)["servers"][0]["changes"][0]["ignored"]
    locked = project.lock.read_bytes()
    assert (project.run("lock").code, project.lock.read_bytes()) == (0, locked)


def test_fail_on_and_timeout_come_from_the_flag_then_the_environment_then_the_settings(project: Project) -> None:
    project.serve("s", tool("a"), tool("b"))
    assert project.run("lock").code == 0
    project.serve("s", tool("a"), tool("b"), tool("c"))
    (project.root / "mcplock.toml").write_text("fail-on = 'silent'\n", "utf-8")
    assert project.run("verify").code == 0
    assert project.run("verify", MCPLOCK_FAIL_ON="cosmetic").code == 1
    assert project.run("verify", "--fail-on", "silent", MCPLOCK_FAIL_ON="cosmetic").code == 0
    project.serve("s", tool("a"), faults=("hang=tools/list",))
    (project.root / "mcplock.toml").write_text("timeout = 0.5\n", "utf-8")
    done = project.run("verify", "--run-changed")
    assert (done.code, "within 0.5" in done.out) == (3, True), done.out
