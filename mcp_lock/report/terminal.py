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

from itertools import groupby
from typing import TYPE_CHECKING

from mcp_lock.outcome import ABSENT, Change, Impact, Report, ServerReport, Status
from mcp_lock.report import schema_words, standing, told
from mcp_lock.report.screen import Row, Span, draw, said, size
from mcp_lock.text import visible_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.report import Options

_WIDEST = 110
"""Longer lines are hard to read, however wide the terminal."""
_MOST = 40
"""Blocks of one server, unless all are asked for."""
_BODY = 14
"""Where places begin, and all that is said of them: past the longest impact."""
_NARROW = 4
"""Where what is said of them begins in a narrow terminal."""


def render(report: Report, options: Options) -> str:
    """The whole report."""
    rows = list(_rows(report, options))
    return draw(rows, max(min(options.width, _WIDEST), 20), options.colour, options.unicode)


def _rows(report: Report, options: Options) -> Iterator[Row]:
    sections = [list(_section(server, options)) for server in sorted(report.servers, key=standing.rank)]
    sections = [section for section in sections if section]
    for before, section in zip([[], *sections], sections, strict=False):
        yield from [_BLANK] * (len(before) > 1 or (len(section) > 1 and bool(before)))
        yield from section
    if not options.quiet:
        closing = list(_closing(report, options))
        yield from [_BLANK] * bool(sections and closing)
        yield from closing


_BLANK = Row(())


def _section(server: ServerReport, options: Options) -> Iterator[Row]:
    """All that is said of one server; nothing of one that is as locked."""
    shown = [change for change in server.changes if options.verbose or change.impact > Impact.IMMATERIAL]
    state = standing.state(server)
    own = bool(shown or state) and not options.quiet
    notices = standing.notices(server, everything=options.verbose, with_own=own)
    if not (shown or notices or state):
        return
    yield _heading(server, _stated(server, state, options) if state else (Span(standing.counted(server)),))
    if server.status is Status.DRIFTED and server.error:
        yield Row((Span("not checked  ", "error"), *said(server.error)), 2, _BODY)
    yield from _changes(told.told(shown), options)
    yield from [_BLANK] * bool(notices)
    for notice in notices:
        text = f"{standing.about(notice)}{notice.text}"
        yield Row((Span("notice      ", "dim", solid=True), *said(text)), 2, _BODY)


def _heading(server: ServerReport, state: tuple[Span, ...]) -> Row:
    return Row((Span(told.named(server.name), "name", solid=True), Span(": "), *state), 0, 2)


def _stated(server: ServerReport, state: standing.State, options: Options) -> tuple[Span, ...]:
    """A state in words, its reason, and what to do next where something is left to do."""
    because = said(state.because.format(server.error)) if server.error and state.because else ()
    spans = (Span(state.words, state.role), *because, Span(state.after))
    if not (state.command and options.accept):
        return spans
    command = told.as_asked(state.command, options.flags)
    return (*spans, Span(f"{state.hint} `"), Span(command, "command", solid=True), Span("`"))


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
    which = told.by_impact(one.change.impact for one in hidden)
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
    if told.nothing_found(report):
        yield from [Row((Span(same, "good"),)) for same in [told.as_locked(report)] if same]
        return
    yield Row((Span(told.totals(report), "name"),))
    if options.accept:
        yield from _accepting(report, options)


def _accepting(report: Report, options: Options) -> Iterator[Row]:
    servers = sorted(report.servers, key=standing.rank)
    accepting = (command for server in servers for command in told.accept(server, options.verbose))
    commands = [told.as_asked(command, options.flags) for command in accepting]
    if commands:
        yield Row((Span("Accept what you have reviewed:"),))
    yield from (Row((Span(command, "command", solid=True),), 2) for command in commands)
    if not options.verbose and any(map(told.is_many, servers)):
        yield Row((Span("(without digests: run with -v for a command that names them all)", "dim"),), 2)
