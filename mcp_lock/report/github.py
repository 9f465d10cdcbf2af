"""The report as workflow commands of GitHub Actions: annotations on the lines of the lock.

GitHub shows ten of a step, so the ten worst are written, and one line that says how many there are in all.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mcp_lock.outcome import Impact, Status
from mcp_lock.report import told
from mcp_lock.report.findings import findings
from mcp_lock.report.screen import ascii_only
from mcp_lock.text import harmless, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.outcome import Report
    from mcp_lock.report import Options
    from mcp_lock.report.findings import Finding

MOST = 10
"""Annotations that GitHub shows of one kind and step."""


def render(report: Report, options: Options) -> str:
    """A command a line; an ordinary line where there is nothing to annotate."""
    lines = _lines(report, options)
    return "".join(f"{line if options.unicode else ascii_only(line)}\n" for line in lines)


def _lines(report: Report, options: Options) -> Iterator[str]:
    found = findings(report, options)
    yield from map(_annotation, found[:MOST])
    said = " ".join(filter(None, (_totals(report), _left_out(found[MOST:]), *map(visible, report.notes))))
    if found:
        yield command("notice", said, title="mcplock")
    elif not options.quiet:
        yield harmless(said)


def _annotation(one: Finding) -> str:
    where = {"file": one.place.path, "line": str(one.place.line)} if one.place else {}
    word = f"{one.impact.word} " if one.change else ""
    return command(_kind(one), "\n".join(one.lines), **where, title=f"mcplock: {word}[{one.rule.id}]")


def _kind(one: Finding) -> str:
    if one.fails:
        return "error"
    return "warning" if one.impact > Impact.IMMATERIAL else "notice"


def command(name: str, message: str, **properties: str) -> str:
    """One workflow command on one line."""
    said = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {said}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _totals(report: Report) -> str:
    skipped = sum(server.status is Status.SKIPPED for server in report.servers)
    said = told.as_locked(report) or told.totals(report)
    return " ".join(filter(None, (said, f"{told.count(skipped, 'server')} skipped." if skipped else "")))


def _left_out(hidden: Sequence[Finding]) -> str:
    impacts = Counter(one.impact for one in hidden)
    which = ", ".join(f"{impacts[impact]} {impact.word}" for impact in sorted(impacts, reverse=True))
    return f"The {MOST} worst are annotated; {len(hidden)} more are not: {which}." if hidden else ""
