"""A `Report` shown: every format is one module with one function from the report to text.

This door picks the module and imports it then, so that nobody pays for a format that is not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from mcp_lock.outcome import Impact

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_lock.outcome import Item, Report, ServerReport


class Format(Enum):
    """The form of a report. The value is what `--format` takes."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"
    MARKDOWN = "markdown"


_MODULE = {Format.TEXT: "terminal", Format.JSON: "json_"}
"""The module of a format in this package, where it is not called as the format is; its `render` makes the text."""


class Place(NamedTuple):
    """Where in the tree a finding is shown."""

    path: str
    """Relative to the top of the git tree, or else to the project, with `/`."""
    line: int
    """From 1."""


def _nowhere(_: ServerReport, __: Item) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Options:
    """How a report is to look; the command line decides, no format looks at the terminal or the environment."""

    width: int = 80
    """Columns. Lines longer than that hold something that must not be broken."""
    colour: bool = False
    quiet: bool = False
    """Findings only."""
    verbose: bool = False
    """Immaterial changes and notices too, and no list or text cut short."""
    accept: bool = True
    """Whether to say how to accept what is shown."""
    flags: str = ""
    """What a command to be copied needs so that it means the same project and configs: words of a shell."""
    settled: bool = False
    """Whether what differs has just been written, so that it fails nothing."""
    unicode: bool = True
    """Whether the output can hold any character. If not, the text is pure ASCII, others spelt `\\u{hex}`."""
    fail_on: Impact = Impact.COSMETIC
    """The least impact of drift that fails the run."""
    locate: Callable[[ServerReport, Item], Place | None] = _nowhere
    """Where an item of a server is to be shown; None if no file in the tree says anything of it."""


def render(report: Report, form: Format, options: Options) -> str:
    """`report` as text in one format, ending in a newline unless there is nothing to say."""
    module = import_module(f"mcp_lock.report.{_MODULE.get(form, form.value)}")
    return str(module.render(report, options))
