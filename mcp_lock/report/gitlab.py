"""The report as GitLab reads Code Quality: a JSON array, an object a finding.

Only what GitLab documents is written. It compares fingerprints between two branches to tell what is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_lock.outcome import Impact
from mcp_lock.report import Place
from mcp_lock.report.findings import findings
from mcp_lock.report.json_ import spelt
from mcp_lock.text import clip

if TYPE_CHECKING:
    from mcp_lock.outcome import Report
    from mcp_lock.report import Options
    from mcp_lock.report.findings import Finding

_LONGEST = 1_000
"""Characters of a description, which GitLab shows on one line."""
_SEVERITY = {
    Impact.SECURITY: "blocker",
    Impact.BREAKING: "critical",
    Impact.UNPROVEN: "major",
    Impact.SILENT: "major",
    Impact.COMPATIBLE: "minor",
    Impact.COSMETIC: "minor",
}
"""Of what fails the run; all else is `info`."""


def render(report: Report, options: Options) -> str:
    """The array, empty where nothing was found."""
    return spelt([_violation(one) for one in findings(report, options)])


def _violation(one: Finding) -> dict[str, Any]:
    path, line = one.place or Place("mcp.lock", 1)  # GitLab takes none without a place
    return {
        "description": clip(" | ".join(one.lines), _LONGEST),
        "check_name": one.rule.id,
        "fingerprint": one.fingerprint,
        "severity": _SEVERITY[one.impact] if one.fails else "info",
        "location": {"path": path, "lines": {"begin": line}},
    }
