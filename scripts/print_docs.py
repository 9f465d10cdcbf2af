"""Print the docs that the code knows better: docs/rules.md, docs/cli.md and mcp.lock.example.

    .venv/bin/python scripts/print_docs.py

A test compares the files with what is printed here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from mcp_lock.cli import app
from mcp_lock.lockfile import example
from mcp_lock.rules import RULES

if TYPE_CHECKING:
    from mcp_lock.outcome import Rule

ROOT = Path(__file__).resolve().parent.parent


def rules_page() -> str:
    """docs/rules.md: the catalogue as a table."""
    head = (
        "# Rules\n\n"
        "Every kind of change that mcplock names. `{name}` is the parameter, field or member. Where a rule does\n"
        "something else in an output schema than in an input schema, both are given, input first.\n\n"
        "From least to worst: immaterial (no drift), cosmetic, compatible, silent, unproven, breaking, security.\n\n"
        "| rule | impact | what changed | what it does |\n|---|---|---|---|\n"
    )
    return head + "".join(map(_rule, sorted(RULES.values(), key=lambda rule: rule.id)))


def _rule(rule: Rule) -> str:
    impact = rule.input.word if rule.input is rule.output else f"{rule.input.word} / {rule.output.word}"
    return f"| `{rule.id}` | {impact} | {rule.summary} | {rule.why} |\n"


def cli_page() -> str:
    """docs/cli.md: the help of every command."""
    head = "# Commands\n\nWhat `mcplock --help` prints, for every command.\n"
    commands = ["", *app.commands]
    return head + "".join(_help(command) for command in commands)


def _help(command: str) -> str:
    os.environ.update(COLUMNS="100", TERMINAL_WIDTH="100", NO_COLOR="1")
    shown = CliRunner().invoke(app, [*command.split(), "--help"], prog_name="mcplock", terminal_width=100).output
    lines = "\n".join(line.rstrip() for line in shown.strip().split("\n"))
    return f"\n## mcplock {command}".rstrip() + f"\n\n```text\n{lines}\n```\n"


PAGES = {"docs/rules.md": rules_page, "docs/cli.md": cli_page, "mcp.lock.example": example}


def main() -> None:
    """Write every page."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
