"""The changes that mcplock exists for, over a real server: what a reader of `verify` sees, word for word."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

SEEDS = Path(__file__).parent / "cases" / "seeds"
FILES = sorted(SEEDS.glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_seed_fails_verify_and_says_what_it_does(project, file):
    """With GOLDEN=write in the environment, the files are made to hold what is said."""
    case = json.loads(file.read_text(encoding="utf-8"))
    project.serve("docs", case["old"])
    project.run("lock")
    project.serve("docs", case["new"])
    result = project.run("verify", COLUMNS="90")
    said = [line for line in result.out.splitlines() if "sha256:" not in line]
    if os.environ.get("GOLDEN") == "write":
        file.write_text(json.dumps({**case, "said": said}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert (result.code, said) == (1, json.loads(file.read_text(encoding="utf-8"))["said"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_seed_has_the_impact_and_the_call_in_the_json_report(project, file):
    case = json.loads(file.read_text(encoding="utf-8"))
    project.serve("docs", case["old"])
    project.run("lock")
    project.serve("docs", case["new"])
    report = json.loads(project.run("verify", "--format", "json").out)
    (change,) = report["servers"][0]["changes"]
    assert (change["rule"], change["impact"], change.get("witness")) == (case["rule"], case["impact"], case["witness"])
