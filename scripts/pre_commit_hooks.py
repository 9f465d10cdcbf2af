"""Run the pre-commit hooks for real, in a scratch repository, from the last commit of this one.

    .venv/bin/python scripts/pre_commit_hooks.py [PRE-COMMIT]

Needs `pre-commit` and a package index, since pre-commit builds mcplock into an environment of its own; so it is no part
of the checks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.test")


def _git(directory: Path, *args: str) -> str:
    done = subprocess.run(["git", *WHO, *args], cwd=directory, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _scratch(directory: Path) -> None:
    """A repository with the quickstart, as locked, and the hooks."""
    shutil.copytree(ROOT / "examples" / "quickstart", directory)
    revision = _git(ROOT, "rev-parse", "HEAD")
    (directory / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {ROOT.as_uri()}\n    rev: {revision}\n"
        "    hooks:\n      - id: mcplock-check\n      - id: mcplock-verify\n"
    )
    _git(directory, "init", "--quiet")
    _git(directory, "add", "--all")
    _git(directory, "commit", "--quiet", "--message", "start")


def _replace(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))


def main() -> int:
    """Each hook on what is as locked and on what is not; 1 if one of them says otherwise than it should."""
    pre_commit = sys.argv[1] if len(sys.argv) > 1 else "pre-commit"
    wrong = 0

    def run(what: str, hook: str, stage: str, *, passes: bool, files: tuple[str, ...] = ("--all-files",)) -> None:
        nonlocal wrong
        done = subprocess.run(
            [pre_commit, "run", hook, "--hook-stage", stage, *files],
            cwd=scratch,
            env={**os.environ, "PRE_COMMIT_HOME": str(scratch.parent / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        fine = (done.returncode == 0) is passes
        wrong += not fine
        print(f"{'ok' if fine else 'WRONG'}: {what}\n{done.stdout}{done.stderr}")

    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place) / "project"
        _scratch(scratch)
        run("configs fit the lock", "mcplock-check", "pre-commit", passes=True)
        run("servers list what is locked", "mcplock-verify", "manual", passes=True)
        run("what no hook looks at", "mcplock-check", "pre-commit", passes=True, files=("--files", "tools.json"))
        _replace(scratch / "tools.json", '"query"', '"q"')
        run("a tool drifted", "mcplock-verify", "pre-push", passes=False)
        run("a tool drifted, which no config tells", "mcplock-check", "pre-commit", passes=True)
        _replace(scratch / ".mcp.json", "server.py", "other.py")
        run("a launch spec changed", "mcplock-check", "pre-commit", passes=False, files=("--files", ".mcp.json"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
