"""The options that commands share, and how a command gets them.

A group of options is a dataclass; a command names its groups and receives them filled. Errors that mcplock raises on
purpose end here, each in one line on stderr and its exit code.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcp_lock import summary
from mcp_lock.errors import McpLockError, UsageError
from mcp_lock.text import harmless, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_lock.config import Found
    from mcp_lock.outcome import Report
    from mcp_lock.report import Options
    from mcp_lock.run import Project

LOCK_NAME = "mcp.lock"


@dataclass(frozen=True, slots=True)
class Common:
    """Options of every command."""

    directory: Path
    lockfile: Path | None
    quiet: bool
    verbose: bool
    color: str
    debug: bool

    @property
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


@dataclass(frozen=True, slots=True)
class Reporting:
    """Options of the commands that end in a report."""

    format: str
    output: tuple[str, ...]

    def show(self, common: Common, report: Report, closing: str = "", *, accept: bool = True) -> None:
        """Print a report, with a last line after it where people read it, and write it to the files asked for.

        Raises `UsageError` for a file that cannot be written.
        """
        from mcp_lock.report import Format, render

        screen = replace(common.screen(), accept=accept)
        form = Format(self.format)
        common.print(render(report, form, screen))
        if closing and form is Format.TEXT and not common.quiet:
            common.print(f"{closing}\n")
        for target in self.output:
            name, _, file = target.partition(":")
            known = file and name in {one.value for one in Format}
            if file and name.isalpha() and len(name) > 1 and not known:
                raise UsageError(
                    f"--output: there is no format {name!r}; there are: {', '.join(one.value for one in Format)}"
                )
            other, path = (Format(name), file) if known else (form, target)
            _write(common.directory / path, render(report, other, replace(screen, colour=False, unicode=True)))


@dataclass(frozen=True, slots=True)
class Summarised(Reporting):
    """Options of the commands whose report a job may show as its summary."""

    summary: str | None
    """The file; empty for the one that GitHub names."""

    def __post_init__(self) -> None:
        """Raises `UsageError` before any server is started, if there is no place for the summary."""
        summary.require_place(self.summary)

    def show(self, common: Common, report: Report, closing: str = "", *, accept: bool = True) -> None:
        """Print and write a report, the summary last."""
        from mcp_lock.report import Format, render

        Reporting.show(self, common, report, closing, accept=accept)  # slots leave `super()` without its class
        if self.summary is not None:
            looks = replace(common.screen(), colour=False, unicode=True, accept=accept)
            summary.write(common.directory, self.summary, render(report, Format.MARKDOWN, looks))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"--output: {one_line(str(path))} cannot be written: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Configured:
    """Options of the commands that read client configs."""

    config: tuple[str, ...]
    client: str | None
    include_disabled: bool
    run_changed: bool
    env: tuple[str, ...]
    env_file: tuple[Path, ...]
    header: tuple[str, ...]

    def headers(self) -> dict[str, str]:
        """What `--header` supplies. Raises `UsageError`."""
        if not self.header:
            return {}
        from mcp_lock.config import given

        return given.headers(self.header)

    def found(self, common: Common) -> Found:
        """The configured servers. Raises `ConfigError` and `UsageError`."""
        from mcp_lock import config
        from mcp_lock.config import given

        env = given.variables(self.env, self.env_file, os.environ)
        headers = given.headers(self.header)
        disabled = self.include_disabled
        if self.config:
            paths = [path if path == "-" else common.directory / path for path in self.config]
            return config.read(
                paths, common.root, environ=os.environ, include_disabled=disabled, env=env, headers=headers
            )
        return config.find(
            common.root,
            environ=os.environ,
            client=self.client,
            include_disabled=disabled,
            env=env,
            headers=headers,
        )


@dataclass(frozen=True, slots=True)
class Connecting(Configured):
    """Options of the commands that contact any number of servers."""

    timeout: float
    retries: int
    jobs: int
    runs: int
    no_progress: bool

    @contextmanager
    def project(self, common: Common) -> Iterator[Project]:
        """What a run works on; says on stderr what is waited for until it is left."""
        from mcp_lock.connect import Limits
        from mcp_lock.progress import waiting
        from mcp_lock.run import Project, Talk

        found = self.found(common)
        silent = self.no_progress or common.quiet or bool(os.environ.get("CI")) or not sys.stderr.isatty()
        with waiting(None if silent else sys.stderr) as progress:
            talk = Talk(starting=lambda line: complain(f"starting {line}"), progress=progress)
            limits = Limits(self.timeout, self.retries, self.jobs)
            yield Project(found, common.lock_path, limits, talk, self.run_changed, self.runs)


class Seconds(click.FloatRange):
    """A number of seconds, which not-a-number is none of."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Fails as click's types do."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):  # which is in every range
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


_PATH = click.Path(path_type=Path)
_CONFIGURED = [
    click.option(
        "-c",
        "--config",
        metavar="FILE",
        multiple=True,
        envvar="MCPLOCK_CONFIG",
        help="Read this config (- is stdin) instead of looking for some. Repeatable.",
    ),
    click.option("--client", metavar="NAME", help="Read the files of this client alone."),
    click.option("--include-disabled", is_flag=True, help="Also servers that are switched off."),
    click.option("--run-changed", is_flag=True, help="Also start servers whose launch spec is not the locked one."),
    click.option("--env", metavar="NAME[=VALUE]", multiple=True, help="Value of a variable. Never stored."),
    click.option("--env-file", metavar="FILE", type=_PATH, multiple=True, help="Values of variables, a line each."),
    click.option("--header", metavar="NAME=VALUE", multiple=True, help="Header for remote servers. Never stored."),
]
_REPORTING = [
    click.option(
        "-f",
        "--format",
        type=click.Choice(["text", "json", "markdown"]),
        default="text",
        envvar="MCPLOCK_FORMAT",
        help="The form of the report.",
    ),
    click.option(
        "-o",
        "--output",
        metavar="[FORMAT:]FILE",
        multiple=True,
        help="Write the report to a file too, in that format or the one printed. Repeatable.",
    ),
]
_OPTIONS: dict[type, list[Callable[[Any], Any]]] = {
    Common: [
        click.option("-C", "--directory", metavar="DIR", type=_PATH, default=".", help="Run as if started in DIR."),
        click.option(
            "-l",
            "--lockfile",
            metavar="FILE",
            type=_PATH,
            envvar="MCPLOCK_LOCKFILE",
            help="Instead of mcp.lock at the root.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Findings only."),
        click.option("-v", "--verbose", is_flag=True, help="Also what is immaterial, and nothing cut short."),
        click.option(
            "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the report."
        ),
        click.option("--debug", is_flag=True, help="Show tracebacks."),
    ],
    Reporting: _REPORTING,
    Summarised: [
        *_REPORTING,
        click.option(
            summary.OPTION,
            metavar="[=FILE]",
            help=f"Write the report as Markdown to FILE too, or to the end of ${summary.VARIABLE}.",
        ),
    ],
    Configured: _CONFIGURED,
    Connecting: [
        *_CONFIGURED,
        click.option(
            "--timeout",
            metavar="SEC",
            type=Seconds(min=0, min_open=True),
            default=60,
            envvar="MCPLOCK_TIMEOUT",
            show_default=True,
            help="For each server, from start to last page.",
        ),
        click.option(
            "--retries",
            metavar="N",
            type=click.IntRange(min=0),
            default=2,
            show_default=True,
            help="When a connection fails.",
        ),
        click.option(
            "-j",
            "--jobs",
            metavar="N",
            type=click.IntRange(min=1),
            default=16,
            envvar="MCPLOCK_JOBS",
            show_default=True,
            help="Servers at a time.",
        ),
        click.option(
            "--runs",
            metavar="N",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Read every list N times from fresh processes; tell what moves.",
        ),
        click.option("--no-progress", is_flag=True, envvar="MCPLOCK_NO_PROGRESS", help="Say nothing while waiting."),
    ],
}


def command(group: click.Group, *groups: type) -> Callable[[Callable[..., int]], click.Command]:
    """Make a function a command of `group`. It gets one filled instance of each of `groups` before its own options.

    The function returns the exit code.
    """

    def register(function: Callable[..., int]) -> click.Command:
        @wraps(function)
        def run(**given: Any) -> None:
            with _ended(is_debugged=given["debug"]):
                filled = [one(**{field.name: given.pop(field.name) for field in fields(one)}) for one in groups]
                raise click.exceptions.Exit(function(*filled, **given))

        for option in (option for one in reversed(groups) for option in reversed(_OPTIONS[one])):
            run = option(run)
        return group.command(name=function.__name__, cls=summary.Command, context_settings=HELP)(run)

    return register


HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@contextmanager
def _ended(*, is_debugged: bool) -> Iterator[None]:
    """Turns what a run raises into one line on stderr and an exit code; a traceback only with --debug."""
    try:
        yield
    except McpLockError as error:
        if is_debugged:
            raise
        complain(str(error))
        raise click.exceptions.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        complain("interrupted")
        raise click.exceptions.Exit(130) from None
    except click.exceptions.Exit:
        raise
    except Exception as error:
        if is_debugged:
            raise
        complain(
            f"internal error: {type(error).__name__}: {one_line(str(error))}; --debug shows where. Please report it"
        )
        raise click.exceptions.Exit(2) from None


def complain(line: str) -> None:
    """One line on stderr, if anybody can read it."""
    with suppress(OSError):
        click.echo(harmless(f"mcplock: {line}"), err=True)
