"""Where `--summary` writes to, and how it is given: not what is written there."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mcp_lock.errors import UsageError
from mcp_lock.text import one_line

OPTION = "--summary"
VARIABLE = "GITHUB_STEP_SUMMARY"
"""Names the file that GitHub Actions shows as the summary of a step."""


class Command(click.Command):
    """A command that takes the value of `--summary` behind `=` or not at all, as `--color[=WHEN]` of other tools.

    click itself would take the argument that follows: `diff --summary OLD NEW` would write over OLD.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments that are left. Fails as click does."""
        end = args.index("--") if "--" in args else len(args)
        spelt = [f"{one}=" if one == OPTION else one for one in args[:end]]
        return super().parse_args(ctx, spelt + args[end:])


def require_place(file: str | None) -> None:
    """Raises `UsageError` if a summary is asked for (it is not with None) and there is no file to write it to."""
    if file == "" and not os.environ.get(VARIABLE):
        raise UsageError(f"{OPTION}: no file is given ({OPTION}=FILE), and {VARIABLE} is not set: only a CI job has it")


def write(directory: Path, file: str, text: str) -> None:
    """Write a summary to `file`, or behind what the job's own says already if `file` is empty.

    Raises `UsageError` if it cannot be written.
    """
    path = directory / file if file else Path(os.environ[VARIABLE])
    try:
        if file:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif text:
            _append(path, text)
    except OSError as error:
        raise UsageError(f"{OPTION}: {one_line(str(path))} cannot be written: {error.strerror}") from None


def _append(path: Path, text: str) -> None:
    """`text` as paragraphs of its own, whatever other steps have left there."""
    is_first = not path.exists() or path.stat().st_size == 0
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(text if is_first else f"\n\n{text}")
