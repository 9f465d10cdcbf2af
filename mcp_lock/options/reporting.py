"""The options of the commands that end in a report: printed, written to files in any format, and as a job's summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_lock import summary
from mcp_lock.errors import UsageError
from mcp_lock.outcome import Impact
from mcp_lock.report import Format, render
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_lock.options.common import Common
    from mcp_lock.outcome import Report
    from mcp_lock.report import Options


@dataclass(frozen=True, slots=True)
class View:
    """What a command knows of the report that it shows."""

    closing: str = ""
    """The last line for people."""
    accept: bool = True
    """As in `report.Options`; so are `settled`, `fail_on` and `flags`."""
    settled: bool = False
    fail_on: Impact = Impact.COSMETIC
    flags: str = ""
    lock: Path | None = None
    """The lock that the report is about, if not the project's."""


@dataclass(frozen=True, slots=True)
class Reporting:
    """Options of the commands that end in a report."""

    format: str
    output: tuple[str, ...]

    def show(self, common: Common, report: Report, view: View) -> None:
        """Print a report, with a last line after it where people read it, and write it to the files asked for.

        Raises `UsageError` for a file that cannot be written.
        """
        from mcp_lock.places import Places
        from mcp_lock.report import render

        screen = replace(
            common.screen(),
            accept=view.accept,
            settled=view.settled,
            fail_on=view.fail_on,
            flags=view.flags,
            locate=Places(view.lock or common.lock_path, common.root),
        )
        form = Format(self.format)
        common.print(render(report, form, screen))
        if view.closing and form is Format.TEXT and not common.quiet:
            common.print(f"{view.closing}\n")
        names = [one.value for one in Format]
        for target in self.output:
            name, _, file = target.partition(":")
            if target in names:
                raise UsageError(f"--output: {target} is a format: write {target}:FILE")
            known = file and name in names
            if file and name.isalpha() and len(name) > 1 and not known:
                raise UsageError(f"--output: there is no format {name!r}; there are: {', '.join(names)}")
            other, path = (Format(name), file) if known else (form, target)
            _write(common.directory / path, render(report, other, replace(screen, colour=False, unicode=True)))
        self.more(common, report, replace(screen, colour=False, unicode=True))

    def more(self, common: Common, report: Report, looks: Options) -> None:
        """Whatever else a group shows of a report; `looks` are those of a file."""


@dataclass(frozen=True, slots=True)
class Summarised(Reporting):
    """Options of the commands whose report a job may show as its summary."""

    summary: str | None
    """The file; empty for the one that GitHub names."""

    def __post_init__(self) -> None:
        """Raises `UsageError` before any server is started, if there is no place for the summary."""
        summary.require_place(self.summary)

    def more(self, common: Common, report: Report, looks: Options) -> None:
        """Write the summary."""
        if self.summary is not None:
            summary.write(common.directory, self.summary, render(report, Format.MARKDOWN, looks))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"--output: {one_line(str(path))} cannot be written: {error.strerror}") from None
