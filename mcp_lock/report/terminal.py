"""The report for people: by server and item, worst first, quiet about what is as it was.

    docs: 2 changed, 41 unchanged

      breaking    create_issue(repo).required            [required-added]
                  `repo` became required: calls that leave it out are refused
                  + "repo"

    2 tools changed: 1 breaking, 1 silent. 41 unchanged.
    Accept what you have reviewed:
      mcplock lock docs/create_issue --expect sha256:...

Three columns to scan: the impact, the place, the rule. Below a place stands what changed and for whom, then the values:
`old → new` where they are short, word by word where they are texts, in a line each where they are schemas.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from mcp_lock.outcome import ABSENT, Change, Impact, Notice, Report, ServerReport, Status
from mcp_lock.report import schema_words, told
from mcp_lock.report.screen import Row, Span, draw, said, size
from mcp_lock.text import clip, visible_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.report import Options

_WIDEST = 110
"""Longer lines are hard to read, however wide the terminal."""
_MOST = 40
"""Blocks of one server, unless all are asked for."""
_BODY = 14
"""Where places begin, and all that is said of them: past the longest impact."""
_LONGEST_POINTER = 120
_NARROW = 4
"""Where what is said of them begins in a narrow terminal."""


def render(report: Report, options: Options) -> str:
    """The whole report."""
    rows = list(_rows(report, options))
    return draw(rows, max(min(options.width, _WIDEST), 20), options.colour, options.unicode)


def _rows(report: Report, options: Options) -> Iterator[Row]:
    sections = [list(_section(server, options)) for server in sorted(report.servers, key=_rank)]
    sections = [section for section in sections if section]
    for before, section in zip([[], *sections], sections, strict=False):
        yield from [_BLANK] * (len(before) > 1 or (len(section) > 1 and bool(before)))
        yield from section
    if not options.quiet:
        closing = list(_closing(report, options))
        yield from [_BLANK] * bool(sections and closing)
        yield from closing


_BLANK = Row(())

_ORDER = tuple(
    Status[name]
    for name in ("DRIFTED", "HELD", "LAUNCH_CHANGED", "NOT_LOCKED", "GONE", "UNREADABLE", "UNCHANGED", "SKIPPED")
)


def _rank(server: ServerReport) -> tuple[int, int]:
    return _ORDER.index(server.status), -server.worst


def _section(server: ServerReport, options: Options) -> Iterator[Row]:
    """All that is said of one server; nothing of one that is as locked."""
    shown = [change for change in server.changes if options.verbose or change.impact > Impact.IMMATERIAL]
    state = _STATE.get(server.status)
    notices = _notices(server, options, is_told=bool(shown or state))
    if not (shown or notices or state):
        return
    yield _heading(server, state(server, options) if state else _counted(server))
    if server.status is Status.DRIFTED and server.error:
        yield Row((Span("not checked  ", "error"), *said(server.error)), 2, _BODY)
    yield from _changes(told.told(shown), options)
    yield from [_BLANK] * bool(notices)
    for notice in notices:
        yield Row((Span("notice      ", "dim", solid=True), *said(f"{_about(notice)}{notice.text}")), 2, _BODY)


def _notices(server: ServerReport, options: Options, *, is_told: bool) -> list[Notice]:
    """The facts about what drifts, and about the server itself where anything else is told of it."""
    drifting = {change.item for change in server.drift}
    on_server = is_told and not options.quiet
    return [
        one for one in server.notices if options.verbose or one.item in drifting or (on_server and one.item is None)
    ]


def _about(notice: Notice) -> str:
    item = told.said_item(notice.item) if notice.item else ""
    where = " ".join(filter(None, (item, clip(visible_name(notice.pointer), _LONGEST_POINTER))))
    return f"{where}: " if where else ""


def _heading(server: ServerReport, state: tuple[Span, ...]) -> Row:
    return Row((Span(told.named(server.name), "name", solid=True), Span(": "), *state), 0, 2)


def _counted(server: ServerReport) -> tuple[Span, ...]:
    changed = len({change.item for change in server.drift})
    counts = ([f"{changed} changed"] if changed else []) + (
        [f"{server.unchanged} unchanged"] if server.unchanged else []
    )
    return (Span(", ".join(counts) or "as locked"),)


def _hint(options: Options, before: str, command: str) -> tuple[Span, ...]:
    """What to do next, where something is left to do."""
    if not options.accept:
        return ()
    return (Span(f"{before} `"), Span(command, "command", solid=True), Span("`"))


def _because(server: ServerReport, form: str) -> tuple[Span, ...]:
    return said(form.format(server.error)) if server.error else ()


def _launch_changed(server: ServerReport, options: Options) -> tuple[Span, ...]:
    start = (Span("launch spec changed", "breaking"), *_because(server, " ({})"))
    name = told.quoted(server.name)
    if server.drift:
        return (*start, Span("; "), *_counted(server))
    if server.unchanged:
        start = (*start, Span("; its contracts are as locked"))
        return (*start, *_hint(options, "; accept it with", f"mcplock lock {name}"))
    start = (*start, Span(", not started"))
    return (*start, *_hint(options, "; see the contracts with", f"mcplock diff --run-changed --live {name}"))


def _not_locked(server: ServerReport, options: Options) -> tuple[Span, ...]:
    start = (Span("not locked yet", "silent"), *_because(server, ": {}"))
    return (
        start
        if server.drift
        else (*start, *_hint(options, "; pin it with", f"mcplock lock {told.quoted(server.name)}"))
    )


def _gone(_: ServerReport, options: Options) -> tuple[Span, ...]:
    start = Span("in the lock, but no longer configured", "silent")
    return (start, *_hint(options, "; take it out with", "mcplock lock"))


def _held(server: ServerReport, _: Options) -> tuple[Span, ...]:
    return (Span("held back", "breaking"), *_because(server, ": {}"))


def _unreadable(server: ServerReport, _: Options) -> tuple[Span, ...]:
    return (Span("could not be checked", "error"), *_because(server, ": {}"))


_STATE = {
    Status.LAUNCH_CHANGED: _launch_changed,
    Status.NOT_LOCKED: _not_locked,
    Status.GONE: _gone,
    Status.HELD: _held,
    Status.UNREADABLE: _unreadable,
}


def _changes(found: Sequence[told.Told], options: Options) -> Iterator[Row]:
    kept = _worst(found, len(found) if options.verbose else _MOST)
    shown = [one for one in found if id(one) in kept]
    explained: set[str] = set()
    for _, together in groupby(shown, key=_paragraph):
        yield _BLANK
        for one in together:
            yield from _block(one, options, one.change.rule.id not in explained)
            explained.add(one.change.rule.id)
    if hidden := [one for one in found if id(one) not in kept]:
        yield from (_BLANK, _left_out(hidden))
    if edit := told.shared_edit([one.change for one in shown]):
        yield from (_BLANK, Row((Span("hint        ", "dim", solid=True), *said(edit)), 2, _BODY))


def _paragraph(one: told.Told) -> object:
    """What stands together: the changes of one item, and items that came or went."""
    return one.owner if one.change.place else one.change.rule.id


def _left_out(hidden: Sequence[told.Told]) -> Row:
    impacts = Counter(one.change.impact for one in hidden)
    which = ", ".join(f"{impacts[impact]} {impact.word}" for impact in sorted(impacts, reverse=True))
    return Row((Span(f"… and {len(hidden)} more: {which} (-v shows all)", "dim"),), 2)


def _worst(found: Sequence[told.Told], most: int) -> set[int]:
    """Which blocks to show when there are too many."""
    return {id(one) for one in sorted(found, key=lambda one: -one.change.impact)[:most]}


def _block(one: told.Told, options: Options, explain: bool) -> Iterator[Row]:
    """One change: its place, what it does to whom, the values, the proof."""
    from mcp_lock.report.values import values  # what compares texts is needed only where there is a change

    change, indent = one.change, _BODY if options.width >= 72 else _NARROW
    yield from _head(one, indent, options, explain)
    if not one.owner:
        yield Row(_names(one, options), indent, indent + 2)
    for spans in values(change, options):
        yield Row(spans, indent, indent + 2 * spans[0].text.startswith(("+ ", "- ")))
    yield from _proof(change, indent)


def _head(one: told.Told, indent: int, options: Options, explain: bool) -> Iterator[Row]:
    """Impact, place and rule on one line where they fit, and what the rule says below."""
    change = one.change
    word = change.impact.word
    label = (Span(word, word, solid=True), Span("  " if indent < _BODY else " " * (_BODY - 2 - len(word)), solid=True))
    place = Span(told.where(change, "" if one.owner else "*"), "name", solid=True)
    rule = (Span(f"[{change.rule.id}]", "dim", solid=True),)
    fits = _BODY + size((place, *rule)) + 2 <= min(options.width, _WIDEST)
    yield Row((*label, place), 2, _BODY, rule if fits else ())
    why = said(f": {change.why}", "dim") if explain and not options.quiet and change.why else ()
    if why or change.place or not fits:
        yield Row((*said(told.summary(change)), *why), indent, right=() if fits else rule)


def _names(one: told.Told, options: Options) -> tuple[Span, ...]:
    most = len(one.items) if options.verbose else 12
    noun = one.items[0].kind.noun if one.items[0].kind else "server"
    spans = [Span(f"the same change in {told.count(len(one.items), noun)}: ")]
    for at, item in enumerate(one.items[:most]):
        spans += [Span(", ")] * (at > 0) + [Span(visible_name(item.name), solid=True)]
    left = len(one.items) - most
    return (*spans, Span(f", … {left} more")) if left > 0 else tuple(spans)


def _proof(change: Change, indent: int) -> Iterator[Row]:
    if change.witness is not ABSENT:
        yield Row((Span(told.proof(change)),), indent)
        yield Row(said(schema_words.value(change.witness, 400)), indent + 2)
    hit, sure = told.hit(change), told.certainty(change)
    facts = [
        fact for fact in (f"hits {hit}" if hit else "", sure if hit or change.witness is not ABSENT else "") if fact
    ]
    if facts:
        yield Row((Span(" · ".join(facts), "dim"),), indent)
    if change.ignored:
        yield Row((Span(change.ignored, "dim"),), indent, indent + 2)


def _closing(report: Report, options: Options) -> Iterator[Row]:
    yield from (Row(said(note), 0, 2) for note in report.notes)
    known = [change for server in report.servers for change in server.changes if change.ignored]
    ignored = sum(change.impact is Impact.IMMATERIAL for change in known)
    if ignored and not options.verbose:
        yield Row((Span(f"{told.count(ignored, 'known difference')} ignored (-v shows all).", "dim"),), 0, 2)
    skipped = [server.name for server in report.servers if server.status is Status.SKIPPED]
    if skipped:
        names = ", ".join(map(visible_name, skipped))
        yield Row((Span(f"{told.count(len(skipped), 'server')} skipped: {names}.", "dim"),), 0, 2)
    if all(server.status in (Status.UNCHANGED, Status.SKIPPED) for server in report.servers):
        yield from _as_locked(report)
        return
    yield Row((Span(told.totals(report), "name"),))
    if options.accept:
        yield from _accepting(report, options)


def _accepting(report: Report, options: Options) -> Iterator[Row]:
    servers = sorted(report.servers, key=_rank)
    commands = [command for server in servers for command in told.accept(server, options.verbose)]
    if commands:
        yield Row((Span("Accept what you have reviewed:"),))
    yield from (Row((Span(command, "command", solid=True),), 2) for command in commands)
    if not options.verbose and any(map(told.is_many, servers)):
        yield Row((Span("(without digests: run with -v for a command that names them all)", "dim"),), 2)


def _as_locked(report: Report) -> Iterator[Row]:
    same = [server for server in report.servers if server.status is Status.UNCHANGED]
    if same:
        contracts = told.count(sum(server.unchanged for server in same), "contract")
        yield Row((Span(f"{told.count(len(same), 'server')}, {contracts}: as locked.", "good"),))
