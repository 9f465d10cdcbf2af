"""Print the docs that the code knows better: docs/rules.md, docs/cli.md, mcp.lock.example, a table in docs/config.md.

    .venv/bin/python scripts/print_docs.py

A test compares the files with what is printed here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from mcp_lock.cli import app
from mcp_lock.config.clients import CLIENTS
from mcp_lock.lockfile import example
from mcp_lock.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_lock.config.client import Client
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


def config_page() -> str:
    """docs/config.md: what is written by hand, with the table of clients as it is in the code."""
    page = (ROOT / "docs/config.md").read_text(encoding="utf-8")
    before, mark, rest = page.partition("<!-- printed: clients -->\n")
    return f"{before}{mark}\n{_clients()}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def _clients() -> str:
    head = (
        "| client | `--client` | in a project | with `--scope user` | servers at | variables | untyped URL | off |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(map(_client, CLIENTS))


def _client(row: Client) -> str:
    forms = (shown for form in row.dialect.forms for shown in form.shown)
    untyped = f"`{row.untyped}`" if row.untyped != "remote" else "refused there; tried" if row.untyped_note else "tried"
    cells = (
        row.title,
        f"`{row.name}`",
        _code(row.files),
        _user_files(row),
        _code(".".join(keys) or "the whole file" for keys in row.at) + (" (a list)" if row.is_list else ""),
        _code(forms),
        untyped,
        _code(f"{name}: {str(value).lower()}" for name, value in row.switches.items()),
    )
    return f"| {' | '.join(cells)} |\n"


def _user_files(row: Client) -> str:
    platforms = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
    files = {name: _code(map(_windows if name == "win32" else str, row.user.get(name, ()))) for name in platforms}
    if len(set(files.values())) == 1:
        return files["linux"]
    return "; ".join(f"{platforms[name]}: {told}" for name, told in files.items() if told)


def _windows(file: str) -> str:
    base, _, rest = file.partition("/")
    return f"%{base[1:]}%/{rest}" if base in {"$APPDATA", "$LOCALAPPDATA"} else file


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


PAGES = {
    "docs/rules.md": rules_page,
    "docs/cli.md": cli_page,
    "docs/config.md": config_page,
    "mcp.lock.example": example,
}


def main() -> None:
    """Write every page."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
