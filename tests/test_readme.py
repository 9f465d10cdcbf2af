"""The README's session, replayed: what it shows is what a reader gets."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.project import Project


ROOT = Path(__file__).parent.parent
SESSION = re.compile(r"<!-- session.*?-->\n```console\n(.*?)```", re.DOTALL)


def steps() -> list[tuple[str, str]]:
    """Every command of the session, with the output that the README shows for it."""
    (session,) = SESSION.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    parts = re.split(r"^\$ (.*)\n", session, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def quickstart(project):
    for file in (ROOT / "examples" / "quickstart").iterdir():
        if file.name != "mcp.lock":
            shutil.copy(file, project.root)
    return project


def test_the_session_of_the_readme_gives_what_the_readme_shows(quickstart):
    """With GOLDEN=write in the environment, the README is made to show what the commands print."""
    if os.environ.get("GOLDEN") == "write":
        _rewrite([(command, _played(quickstart, command)) for command, _ in steps()])
        return
    for command, shown in steps():
        assert _played(quickstart, command) == shown, command


def _played(project: Project, command: str) -> str:
    """What a reader sees after one command of the session."""
    if command.startswith("sed "):
        _edit(project.root / "tools.json", command)
        return ""
    result = project.run(*command.split()[1:], COLUMNS="90")
    return result.err + result.out + (f"(exit {result.code})\n" if result.code else "")


def _rewrite(played: list[tuple[str, str]]) -> None:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    session = "".join(f"$ {command}\n{shown}" for command, shown in played)
    start, end = SESSION.search(text).span(1)
    readme.write_text(text[:start] + session + text[end:], encoding="utf-8")


def _edit(file: Path, command: str) -> None:
    """What `sed -i 's/OLD/NEW/g; …' FILE` does to a file, for the plain replacements of the session."""
    text = file.read_text(encoding="utf-8")
    for old, new in re.findall(r"s/(.*?)/(.*?)/g?", command):
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def test_the_lock_of_the_quickstart_is_what_its_server_lists(project):
    for file in (ROOT / "examples" / "quickstart").iterdir():
        shutil.copy(file, project.root)
    assert project.run("verify").code == 0
