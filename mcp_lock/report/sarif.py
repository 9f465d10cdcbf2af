"""The report as SARIF 2.1.0, in the subset that GitHub code scanning reads: a rule a kind of change, a result a change.

What could not be checked is a result too, since a run without results closes every alert; it is also told as a
notification, and the run was then not successful.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mcp_lock import __version__
from mcp_lock.outcome import Impact, fails
from mcp_lock.report import told
from mcp_lock.report.findings import RULES, findings
from mcp_lock.report.json_ import spelt
from mcp_lock.text import clip, harmless, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcp_lock.outcome import Report, Rule
    from mcp_lock.report import Options, Place
    from mcp_lock.report.findings import Finding

MOST = 25_000
"""Results that GitHub takes of a run; it refuses a file with more."""
_LONGEST = 4_000
"""Characters of a message."""
_SCORE = {
    Impact.SECURITY: "9.1",
    Impact.BREAKING: "7.5",
    Impact.UNPROVEN: "6.0",
    Impact.SILENT: "5.0",
    Impact.COMPATIBLE: "3.0",
    Impact.COSMETIC: "1.0",
}
"""What GitHub orders by and calls critical (above 9.0), high (7.0), medium (4.0) and low."""


def render(report: Report, options: Options) -> str:
    """The log file, with one run."""
    found = findings(report, options)
    shown = found[:MOST]
    rules = {one.rule.id: one.rule for one in shown}
    places = {name: at for at, name in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "mcplock",
                "version": __version__,
                "rules": [_rule(rule, options) for rule in rules.values()],
            }
        },
        "automationDetails": {"id": "mcplock/"},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The top of the source tree."}}},
        "invocations": [_invocation(report, found)],
        "results": [_result(one, places) for one in shown],
    }
    return spelt({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule, options: Options) -> dict[str, Any]:
    """A kind of change as the catalogue has it: the worst that it can do."""
    worst = max(rule.input, rule.output)
    failing = rule.id in RULES or fails(worst, options.fail_on)
    scored = {"security-severity": _SCORE[worst]} if failing and worst in _SCORE else {}
    return {
        "id": rule.id,
        "shortDescription": {"text": _sentence(_general(rule))},
        "fullDescription": {"text": _sentence(rule.why or _general(rule))},
        "help": {"text": "\n\n".join(_help(rule)), "markdown": "\n\n".join(_help(rule, "`"))},
        "defaultConfiguration": {"level": "error" if failing else "note"},
        "properties": {"tags": [*dict.fromkeys(["mcp", worst.word, *(["security"] if scored else [])])], **scored},
    }


def _general(rule: Rule) -> str:
    """What changed, of no change in particular."""
    return rule.summary.replace("{name}", "NAME").replace("{to}", "NEW")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _help(rule: Rule, mark: str = "") -> Iterator[str]:
    """What a rule means and what to do, in mcplock's own words alone."""
    yield _sentence(": ".join(filter(None, (_general(rule), rule.why))))
    impacts = dict.fromkeys((rule.input.word, rule.output.word))
    if rule.id in RULES:
        yield f"Run {mark}mcplock verify{mark}, which says what to do next."
        return
    yield f"Impact: {' (in an input schema) or '.join(impacts)}{' (in an output schema)' * (len(impacts) > 1)}."
    yield (
        f"Review the difference. Accept it with {mark}mcplock lock SERVER/TOOL{mark}, which {mark}mcplock verify{mark} "
        f"prints in full, and commit mcp.lock."
    )


def _result(one: Finding, places: Mapping[str, int]) -> dict[str, Any]:
    return {
        "ruleId": one.rule.id,
        "ruleIndex": places[one.rule.id],
        "level": "error" if one.fails else "note",
        "message": {"text": message(one.lines)},
        "locations": [_location(one.place)] if one.place else [],
        "partialFingerprints": {"mcplock/v1": one.fingerprint},
        "properties": {"impact": one.impact.word, **_known(one)},
    }


def _known(one: Finding) -> dict[str, str]:
    return {"confidence": one.change.confidence.value} if one.change else {}


def message(lines: Iterable[str]) -> str:
    """Text of a message. SARIF takes `[words](target)` for a link wherever it stands, so that is broken up."""
    return clip("\n".join(lines).replace("](", "]\\u{28}"), _LONGEST)


def _location(place: Place) -> dict[str, Any]:
    uri = quote(place.path.encode("utf-8", "surrogateescape"))
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": place.line},
        }
    }


def _invocation(report: Report, found: Sequence[Finding]) -> dict[str, Any]:
    unread = [one for one in found if one.is_unread]
    notes = [
        *(_notification("error", one.head, one.rule.id) for one in unread),
        *(_notification("note", said) for said in _notes(report)),
        *([_notification("warning", f"{len(found) - MOST} more findings are left out.")] if len(found) > MOST else []),
    ]
    return {"executionSuccessful": not unread, "toolExecutionNotifications": notes}


def _notification(level: str, text: str, id: str = "") -> dict[str, Any]:  # noqa: A002 - SARIF's own word
    return {"level": level, "message": {"text": message([text])}, **({"associatedRule": {"id": id}} if id else {})}


def _notes(report: Report) -> Iterator[str]:
    """The facts that are no findings."""
    for server in report.servers:
        for notice in server.notices:
            item = f"{told.said_item(notice.item)}: " if notice.item else ""
            yield harmless(clip(f"{told.named(server.name)}: {item}{visible(notice.text)}", 600))
    yield from (harmless(clip(visible(note), 600)) for note in report.notes)
