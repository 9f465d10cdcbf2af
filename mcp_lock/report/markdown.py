"""The report as Markdown, for a comment on a pull request or the summary of a job.

The verdict first, then a table of counts, then by server a foldable block an item, the worst first and open, each with
what changed, what it does to whom, and the call that proves it; at the end the commands that accept it.

It always fits into one comment. What there is no room for is left out from the least bad end, whole items at a time,
and counted; so no tag or fence is ever cut. How text of servers is escaped is in `markup`, what the block of an item
says in `folded`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from mcp_lock.outcome import Impact, Notice, Report, ServerReport, Status
from mcp_lock.report import standing, told
from mcp_lock.report.folded import Part, folded, parts
from mcp_lock.report.markup import LONGEST, code, fence, size, some
from mcp_lock.report.screen import ascii_only
from mcp_lock.text import clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_lock.report import Options

MOST = 65_000
"""Bytes of a report: a little below the 65,536 characters of a comment on GitHub."""
_MOST_HEADS = 14_000
"""Bytes for what is said of servers as a whole."""
_MOST_COMMANDS = 8_000
_MOST_HINTS = 3_000
_MOST_LIST = 2_000
"""Bytes of a list: rows of the table, notes, skipped servers, notices of a server."""
_MOST_NOTE = 400
"""Characters of a note, a notice, an error."""
_OPEN = 10
"""Blocks that are open from the start, if they are bad enough."""


def render(report: Report, options: Options) -> str:
    """The whole report."""
    blocks = list(_opening(report, options))
    closing = [] if options.quiet else list(_closing(report, options))
    room = MOST - sum(size(block, options) + 2 for block in (*blocks, *closing))
    blocks += [*_sections(report, options, room), *closing]
    text = "\n\n".join(blocks) + "\n" if blocks else ""
    return text if options.unicode else ascii_only(text)


def _opening(report: Report, options: Options) -> Iterator[str]:
    """The verdict, and how much there is of what."""
    if told.nothing_found(report):
        if not options.quiet:
            yield f"**mcplock** · {told.as_locked(report) or 'nothing was checked.'}"
        return
    yield f"### mcplock: {_verdict(report)}"
    yield f"**{told.totals(report)}**"
    if table := _table([server for server in report.servers if server.drift], options):
        yield table


def _verdict(report: Report) -> str:
    """The worst there is, in a few words."""
    drift = [server.worst for server in report.servers if server.drift and server.status is not Status.NOT_LOCKED]
    if drift:
        return f"{max(drift).word} drift"
    state = standing.state(min(report.servers, key=standing.rank))
    return state.words if state else "drift"


def _table(servers: Sequence[ServerReport], options: Options) -> str:
    """How many changes of each impact there are: a row an impact, or a row a server where there are several."""
    impacts = sorted({change.impact for server in servers for change in server.drift}, reverse=True)
    if not impacts:
        return ""
    if len(servers) == 1:
        counts = Counter(change.impact for change in servers[0].drift)
        return "\n".join(["| impact | changes |", "|---|--:|", *[f"| {one.word} | {counts[one]} |" for one in impacts]])
    rows = (_row(server, impacts) for server in sorted(servers, key=standing.rank))
    head = [f"| server | {' | '.join(impact.word for impact in impacts)} |", f"|---|{'--:|' * len(impacts)}"]
    return "\n".join([*head, *some(rows, len(servers), _MOST_LIST, options)])


def _row(server: ServerReport, impacts: Iterable[Impact]) -> str:
    counts = Counter(change.impact for change in server.drift)
    return f"| {_named(server)} | {' | '.join(str(counts[impact] or '') for impact in impacts)} |"


def _named(server: ServerReport) -> str:
    return code(clip(told.named(server.name), LONGEST // 2))


@dataclass(frozen=True, slots=True)
class _Section:
    """What is to be told of one server."""

    server: ServerReport
    parts: tuple[Part, ...]
    notices: Sequence[Notice]

    @property
    def is_line(self) -> bool:
        """Whether a line says all of it."""
        return not (self.parts or self.notices)


class _Drawn(NamedTuple):
    """A section, and what is told of the server as a whole."""

    section: _Section
    head: str
    notices: str


def _sections(report: Report, options: Options, room: int) -> Iterator[str]:
    """What is told of every server, in at most about `room` bytes."""
    found = [one for one in (_section(s, options) for s in sorted(report.servers, key=standing.rank)) if one]
    drawn = _heads_that_fit(found, options)
    room -= sum(_size(one, options) for one in drawn) + _MOST_HINTS
    shown = _items_that_fit([one.section for one in drawn], options, room)
    hints = _hints(drawn, shown, options)
    for is_line, together in groupby(enumerate(drawn), key=lambda one: one[1].section.is_line):
        if is_line:
            yield "\n".join(one.head for _, one in together)
        else:
            yield from (block for at, one in together for block in _blocks(at, one, shown, hints))
    left = [part for one in found for part in one.parts if id(part) not in shown]
    if left or len(found) > len(drawn):
        yield _left_out(left, len(found) - len(drawn))


def _section(server: ServerReport, options: Options) -> _Section | None:
    """Of one server what is to be told; nothing of one that is as locked."""
    changes = [change for change in server.changes if options.verbose or change.impact > Impact.IMMATERIAL]
    state = standing.state(server)
    own = bool(changes or state) and not options.quiet
    notices = standing.notices(server, everything=options.verbose, with_own=own)
    return _Section(server, parts(changes), notices) if changes or notices or state else None


def _size(drawn: _Drawn, options: Options) -> int:
    return size(drawn.head, options) + size(drawn.notices, options)


def _heads_that_fit(sections: Iterable[_Section], options: Options) -> list[_Drawn]:
    """The servers of which anything is said: the first that fit, where there are too many."""
    kept: list[_Drawn] = []
    used = 0
    for section in sections:
        drawn = _Drawn(section, _head(section, options), _notices(section, options))
        used += _size(drawn, options)
        if used > _MOST_HEADS and kept:
            break
        kept.append(drawn)
    return kept


def _head(section: _Section, options: Options) -> str:
    server = section.server
    head = f"{'- ' if section.is_line else '#### '}{_named(server)}: {_stated(server, options)}"
    if server.status is Status.DRIFTED and server.error:
        head += f"\n\n**not checked** {code(clip(server.error, _MOST_NOTE))}"
    return head


def _notices(section: _Section, options: Options) -> str:
    found = section.notices
    said = (f"- notice: {code(clip(standing.about(one) + one.text, _MOST_NOTE))}" for one in found)
    return "\n".join(some(said, len(found), _MOST_LIST, options))


def _stated(server: ServerReport, options: Options) -> str:
    state = standing.state(server)
    if not state:
        return standing.counted(server)
    said = state.words
    if server.error and state.because:
        said += state.because.format(code(clip(server.error, _MOST_NOTE)))
    said += state.after
    command = told.as_asked(state.command, options.flags)
    if command and options.accept and len(command) <= LONGEST:
        said += f"{state.hint} {code(command)}"
    return said


def _items_that_fit(sections: Sequence[_Section], options: Options, room: int) -> dict[int, str]:
    """The blocks of the worst items of all servers, as many as fit."""
    shown: dict[int, str] = {}
    for part in sorted((part for one in sections for part in one.parts), key=lambda part: -part.worst):
        text = folded(part, options, is_open=part.worst >= Impact.SILENT and len(shown) < _OPEN)
        room -= size(text, options) + 2
        if room < 0:
            break
        shown[id(part)] = text
    return shown


def _hints(drawn: Iterable[_Drawn], shown: dict[int, str], options: Options) -> dict[int, str]:
    """What to think of the changes of one server together, for the first servers of which there is anything."""
    found: dict[int, str] = {}
    room = _MOST_HINTS
    for at, (section, _, _) in enumerate(drawn):
        edit = told.shared_edit([one.change for part in section.parts if id(part) in shown for one in part.told])
        text = f"Hint: {code(clip(edit, LONGEST))}" if edit else ""
        room -= size(text, options) + 2
        if room < 0:
            break
        found[at] = text
    return found


def _blocks(at: int, drawn: _Drawn, shown: dict[int, str], hints: dict[int, str]) -> Iterator[str]:
    parts_shown = (shown[id(part)] for part in drawn.section.parts if id(part) in shown)
    yield from filter(None, (drawn.head, *parts_shown, hints.get(at), drawn.notices))


def _left_out(left: Sequence[Part], servers: int) -> str:
    """Exactly what there was no room for."""
    hidden = [impact for part in left for impact in part.impacts]
    items = {item for part in left for item in part.items}
    counts = [f"{told.count(len(hidden), 'change')} of {told.count(len(items), 'item')} ({told.by_impact(hidden)})"]
    counts = counts * bool(hidden) + [told.count(servers, "server")] * (servers > 0)
    return (
        f"**Left out, to fit into a comment:** {' and '.join(counts)}. The terminal report with {code('-v')} shows all."
    )


def _closing(report: Report, options: Options) -> Iterator[str]:
    notes = (f"- {code(clip(note, _MOST_NOTE))}" for note in report.notes)
    if report.notes:
        yield "\n".join(some(notes, len(report.notes), _MOST_LIST, options))
    skipped = [server for server in report.servers if server.status is Status.SKIPPED]
    if skipped:
        names = some(map(_named, skipped), len(skipped), _MOST_LIST, options)
        yield f"{told.count(len(skipped), 'server')} skipped: {', '.join(names)}."
    if options.accept and not told.nothing_found(report):
        yield from _accepting(report, options)


def _accepting(report: Report, options: Options) -> Iterator[str]:
    """The commands that accept what is shown, whole or not at all."""
    servers = sorted(report.servers, key=standing.rank)
    commands = [told.as_asked(command, options.flags) for server in servers for command in told.accept(server)]
    kept, room = [], _MOST_COMMANDS
    for command in commands:
        if (needed := size(command, options) + 1) <= room:
            kept.append(command)
            room -= needed
    if kept:
        yield "Accept what you have reviewed:"
        yield fence(kept, "sh")
    if len(commands) > len(kept):
        yield f"{told.count(len(commands) - len(kept), 'command')} left out: the terminal report shows all."
    if any(map(told.is_many, servers)):
        yield f"(Without digests: the terminal report with {code('-v')} has a command that names them all.)"
