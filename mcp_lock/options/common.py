"""The options of every command: where the project is, and how a report is to look on this terminal."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from mcp_lock.errors import UsageError
from mcp_lock.text import harmless

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_lock.report import Options

LOCK_NAME = "mcp.lock"


@dataclass(frozen=True)
class Common:
    """Options of every command. Not slotted: what is looked up is kept."""

    directory: Path
    lockfile: Path | None
    quiet: bool
    verbose: bool
    color: str
    debug: bool

    @cached_property
    def root(self) -> Path:
        """The project's root. Raises `UsageError` if the directory is none."""
        from mcp_lock.config import project_root

        try:
            if not self.directory.is_dir():
                raise UsageError(f"{self.directory}: no such directory")
            return project_root(self.directory.resolve())
        except OSError as error:
            raise UsageError(f"{self.directory}: cannot be looked into: {error.strerror}") from None

    @property
    def lock_path(self) -> Path:
        """Where the lock is, or would be."""
        return (self.directory / self.lockfile).resolve() if self.lockfile else self.root / LOCK_NAME

    @property
    def given(self) -> tuple[str, ...]:
        """What the command line says of where the project is."""
        directory = ("-C", str(self.directory)) if str(self.directory) != "." else ()
        return (*directory, *(("-l", str(self.lockfile)) if self.lockfile else ()))

    def screen(self) -> Options:
        """How a report is to look on this stdout."""
        from mcp_lock.report import Options

        return Options(
            width=_width(),
            colour=_wants_colour(self.color),
            quiet=self.quiet,
            verbose=self.verbose,
            unicode=_holds_unicode(sys.stdout.encoding),
        )

    def print(self, text: str) -> None:
        """Write the result to stdout. A reader who leaves early does not change the exit code."""
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as error:
            # what is still buffered would be told once more when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                raise UsageError(f"stdout cannot be written: {error.strerror}") from None


def _width() -> int:
    """Columns of the terminal; 100 where there is none, so that what is piped is the same everywhere."""
    return shutil.get_terminal_size((100, 24)).columns


def _wants_colour(when: str) -> bool:
    """`--color`, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then whether a terminal can show it."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _holds_unicode(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def complain(line: str) -> None:
    """One line on stderr, if anybody can read it."""
    with suppress(OSError):
        click.echo(harmless(f"mcplock: {line}"), err=True)
