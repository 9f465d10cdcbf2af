"""A `Report` shown: every format is one module with one function from the report to text.

This door picks the module and imports it then, so that nobody pays for a format that is not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_lock.outcome import Report


class Format(Enum):
    """The form of a report. The value is what `--format` takes."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


_MODULE = {Format.TEXT: "terminal", Format.JSON: "json_", Format.MARKDOWN: "markdown"}
"""The module of each format in this package, whose `render(report, options)` makes the text."""


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
    """Whether to say how to accept what is shown: not where it has just been written."""
    unicode: bool = True
    """Whether the output can hold any character. If not, the text is pure ASCII, others spelt `\\u{hex}`."""


def render(report: Report, form: Format, options: Options) -> str:
    """`report` as text in one format, ending in a newline unless there is nothing to say."""
    module = import_module(f"mcp_lock.report.{_MODULE[form]}")
    return str(module.render(report, options))
