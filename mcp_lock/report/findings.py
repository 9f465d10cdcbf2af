"""What a code host is told: a finding for each change, and for each server that is not as locked.

Decides what fails the run, in which order findings stand, and how much of each is said. Text is visible and harmless in
every line of it; what a format's own syntax would obey is escaped by that format.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_lock.outcome import ABSENT, Impact, Item, Rule, ServerReport, Status, fails
from mcp_lock.report import told
from mcp_lock.text import clip, harmless, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_lock.outcome import Change, Report
    from mcp_lock.report import Options, Place

_MOST_LINES = 24
_LONGEST = 600
"""Characters of a line."""


def _rule(id: str, impact: Impact, summary: str, why: str) -> Rule:  # noqa: A002 - the catalogue's own word
    return Rule(id, impact, impact, summary, why)


RULES = {
    rule.id: rule
    for rule in (
        _rule(
            "server-launch-changed",
            Impact.BREAKING,
            "launch spec changed",
            "another program than the one that was reviewed would be started",
        ),
        _rule("server-not-locked", Impact.SILENT, "not locked yet", "nobody has reviewed what it offers"),
        _rule(
            "server-gone", Impact.SILENT, "in the lock, but no longer configured", "what is pinned of it is not checked"
        ),
        _rule("server-held", Impact.BREAKING, "held back", "its pins stay as they were"),
        _rule("server-invalid", Impact.BREAKING, "its config is wrong", "it could not be checked"),
        _rule("server-unreadable", Impact.UNPROVEN, "could not be checked", "what it offers now is unknown"),
        _rule("nothing-checked", Impact.UNPROVEN, "no server was checked", "what they offer now is unknown"),
    )
}
"""What can be found of a server as a whole; what can be found of its contracts is in `mcp_lock.rules`."""

_BY_STATUS = {
    Status.LAUNCH_CHANGED: RULES["server-launch-changed"],
    Status.NOT_LOCKED: RULES["server-not-locked"],
    Status.GONE: RULES["server-gone"],
    Status.HELD: RULES["server-held"],
    Status.UNREADABLE: RULES["server-unreadable"],
}
_UNREAD = frozenset({"server-invalid", "server-unreadable", "nothing-checked"})
_ALWAYS = _UNREAD | {"server-held"}
"""The rules that fail a run even where everything else has just been accepted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to be told, at one place."""

    rule: Rule
    server: str
    """Empty where it is about the run."""
    item: Item
    impact: Impact
    fails: bool
    """Whether it is a reason that the run fails."""
    fingerprint: str
    """Hex digits that name it across runs; no two of a report have the same."""
    place: Place | None
    change: Change | None = None
    said: str = ""
    """Where there is no change: what is known of the server, one line."""

    @property
    def is_unread(self) -> bool:
        """Whether something could not be checked."""
        return self.rule.id in _UNREAD

    @property
    def head(self) -> str:
        """What was found and where, on one line."""
        return _safe(": ".join(filter(None, (self.where, self.summary, "" if self.change else self.said))))

    @property
    def where(self) -> str:
        """The place in words, such as `notes: search_notes(query)`."""
        server = told.named(self.server) if self.rule.id != "nothing-checked" else ""
        return f"{server}: {told.where(self.change)}" if self.change else server

    @property
    def summary(self) -> str:
        """What happened."""
        return told.summary(self.change) if self.change else self.rule.summary

    @property
    def why(self) -> str:
        """What it means to whom, after the impact where that was found out."""
        if not self.change:
            return _safe(self.rule.why)
        return _safe(": ".join(filter(None, (self.impact.word, self.change.why))))

    @property
    def lines(self) -> list[str]:
        """All that is said of it, the head first."""
        details = list(_details(self.change)) if self.change else []
        left = len(details) - _MOST_LINES
        details = [*details[:_MOST_LINES], *([f"… {left} more lines"] if left > 0 else [])]
        return [self.head, self.why, *map(_safe, details)]


def _safe(line: str) -> str:
    """One line of a finding: bounded, visible, and no command to a build server."""
    return harmless(clip(visible(line), _LONGEST))


def _details(change: Change) -> Iterator[str]:
    """The old and the new value, and the proof, in the words of the report for people."""
    from mcp_lock.report import Options, schema_words
    from mcp_lock.report.values import values  # what compares texts is needed only where there is a change

    for spans in values(change, Options()):
        yield from "".join(span.text for span in spans).split("\n")
    if change.witness is not ABSENT:
        yield f"{told.proof(change)} {schema_words.value(change.witness, 400)}"
    if hit := told.hit(change):
        yield " · ".join(filter(None, (f"hits {hit}", told.certainty(change))))


def findings(report: Report, options: Options) -> list[Finding]:
    """All findings of a report: what fails first, then the worst."""
    found = [*of_run(report, options), *(one for server in report.servers for one in of_server(server, options))]
    return sorted(found, key=lambda one: (not one.fails, -one.impact))


def of_server(server: ServerReport, options: Options) -> list[Finding]:
    """The findings of one server; immaterial changes only where they are asked for."""
    shown = [change for change in server.changes if options.verbose or change.impact > Impact.IMMATERIAL]
    return list(_distinct([*_whole(server, options), *(_changed(server, change, options) for change in shown)]))


def of_run(report: Report, options: Options) -> Iterator[Finding]:
    """What is found of no single server."""
    if not report.has_checked:
        yield _of_status(RULES["nothing-checked"], ServerReport("", Status.UNREADABLE), options)


def _whole(server: ServerReport, options: Options) -> Iterator[Finding]:
    rule = RULES["server-invalid"] if server.is_invalid else _BY_STATUS.get(server.status)
    if rule:
        yield _of_status(rule, server, options)
    if server.flaws and rule is not RULES["server-unreadable"]:
        yield _of_status(RULES["server-unreadable"], replace(server, error=server.flaws), options)  # in part


def _of_status(rule: Rule, server: ServerReport, options: Options) -> Finding:
    return Finding(
        rule,
        server.name,
        Item(None),
        rule.input,
        not options.settled or rule.id in _ALWAYS,
        _digest(server.name, rule.id),
        options.locate(server, Item(None)),
        said="" if server.status is Status.GONE else server.error,  # the rule says it already
    )


def _changed(server: ServerReport, change: Change, options: Options) -> Finding:
    return Finding(
        change.rule,
        server.name,
        change.item,
        change.impact,
        not options.settled and fails(change.impact, options.fail_on),
        change.fingerprint,
        options.locate(server, change.item),
        change,
    )


def _distinct(found: Iterable[Finding]) -> Iterator[Finding]:
    """The same findings; of those with one fingerprint, all but the first with one of their own."""
    seen: Counter[str] = Counter()
    for one in found:
        seen[one.fingerprint] += 1
        again = seen[one.fingerprint]
        yield one if again == 1 else replace(one, fingerprint=_digest(one.fingerprint, str(again)))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
