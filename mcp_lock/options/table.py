"""How every group of options looks on a command line: one table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcp_lock import summary
from mcp_lock.options.common import Common
from mcp_lock.options.configured import TIMEOUT, Configured, Connecting
from mcp_lock.options.reporting import Reporting, Summarised
from mcp_lock.report import Format

if TYPE_CHECKING:
    from collections.abc import Callable


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
    click.option(
        "--scope",
        type=click.Choice(["project", "user"]),
        default="project",
        show_default=True,
        help="Read the clients' files of the project, or your own ones, which have a lock of their own.",
    ),
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
        type=click.Choice([form.value for form in Format]),
        metavar="FORMAT",
        default="text",
        envvar="MCPLOCK_FORMAT",
        help=f"Form of the report: {', '.join(form.value for form in Format)}.",
    ),
    click.option(
        "-o",
        "--output",
        metavar="[FORMAT:]FILE",
        multiple=True,
        help="Write the report to a file too, in that format or the one printed. Repeatable.",
    ),
]
OPTIONS: dict[type, list[Callable[[Any], Any]]] = {
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
            envvar="MCPLOCK_TIMEOUT",
            help=f"For each server, from start to last page. [default: {TIMEOUT}]",
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
