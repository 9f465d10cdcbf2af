"""What every format has to say of a report: where a change is, what it is called, how many there are, what to do next.

Words alone, made visible; how they look is the business of each format.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_lock.contract import Kind
from mcp_lock.outcome import ABSENT, Change, Confidence, Impact, Item, Report, ServerReport, Status, item_key
from mcp_lock.pointer import place, token, tokens
from mcp_lock.text import visible_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SETS = ("required", "enum", "type", "examples")
"""Members whose value is a list without places: what counts is which values are in it."""


def said_item(item: Item) -> str:
    """An item as a reader calls it."""
    if item.kind is None:
        return "server"
    return named(item.name) if item.kind is Kind.TOOL else f"{item.kind.noun} {named(item.name)}"


def named(name: str) -> str:
    """A name fit to be read; in quotes where it would be taken for something else, or not be seen: empty, or with
    blanks around it.
    """
    return visible_name(name) if name and name == name.strip() else f'"{visible_name(name)}"'


def where(change: Change, item: str = "") -> str:
    """The place of a change in readable form, `search_docs(query).description`; `item` stands for the item's own name.

    A field of the result is behind an arrow: `search_docs() → rows[].id`.
    """
    parts = tokens(change.place)
    if len(parts) > 1 and parts[-2] in _SETS:
        parts = parts[:-1]
    names, rest = place("".join(f"/{token(part)}" for part in parts))
    if change.rule.id in ("required-added", "required-removed"):
        names = change.name  # the list lies beside what it is about
    said = (item or said_item(change.item)) + _inside(parts, visible_name(names))
    return said + (" " if change.item.kind is None else ".") * bool(rest) + visible_name(rest)


def _inside(parts: Sequence[str], names: str) -> str:
    """The part of a place that tells parameters, fields of the result and the item itself apart."""
    match parts:
        case ["inputSchema", *_]:
            return f"({names})"
        case ["outputSchema", *_]:
            return f"() → {names or 'result'}"
    return ""


def summary(change: Change) -> str:
    """What changed, in the words of its rule."""
    return visible_name(change.summary)


def members(old: Any, new: Any) -> tuple[list[Any], list[Any]]:
    """The values that only `old` and only `new` has, where each is a list, one value, or absent."""
    a, b = _listed(old), _listed(new)
    spelt_a, spelt_b = {_spelt(one) for one in a}, {_spelt(one) for one in b}
    return [one for one in a if _spelt(one) not in spelt_b], [one for one in b if _spelt(one) not in spelt_a]


def _listed(said: Any) -> list[Any]:
    return [] if said is ABSENT else list(said) if isinstance(said, list | tuple) else [said]


def _spelt(said: Any) -> str:
    """A key under which two JSON values are one only if they are the same JSON."""
    return json.dumps(said, sort_keys=True) if said is not ABSENT else "absent"


_HITS = {
    "C": "cached callers",
    "R": "agents that read",
    "O": "consumers of results",
    "H": "the host or human",
    "A": "calls that nobody is asked about",
}


def hit(change: Change) -> str:
    """Who is hit, in words; letters that are unknown are left as they are."""
    return ", ".join(_HITS.get(letter, letter) for letter in change.hits if not letter.isspace())


def proof(change: Change) -> str:
    """What the witness of a change shows, as a sentence that the witness follows."""
    result = change.pointer.startswith("/outputSchema")
    if change.impact >= Impact.BREAKING:
        return (
            "this result may come now; the old contract ruled it out:"
            if result
            else ("this call worked before; now it is rejected:")
        )
    if change.impact is Impact.SILENT and change.rule.id.startswith(
        ("property-removed", "property-renamed", "property-moved")
    ):
        lost = f"`{visible_name(change.name)}`"
        return (
            f"{lost} in this result never comes again:"
            if result
            else (f"this call worked before; now {lost} is accepted and ignored:")
        )
    return (
        "this result is still valid, but may mean something else:"
        if result
        else ("this call still works, but may mean something else:")
    )


def certainty(change: Change) -> str:
    """How the impact is known, where that is more, or less, than the rule's word."""
    return "" if change.confidence is Confidence.HEURISTIC and change.witness is ABSENT else change.confidence.value


@dataclass(frozen=True, slots=True)
class Told:
    """What is told in one go: one change, or the same change in many items."""

    change: Change
    """The first of them."""
    items: tuple[Item, ...]

    @property
    def owner(self) -> Item | None:
        """The item under which it is told; None if it is about many."""
        return self.items[0] if len(self.items) == 1 else None


_MANY = 2
"""From so many items on the same change is told once."""
_PLACES = 3
"""In so many texts the same edit looks like a fact of the machine."""


def told(changes: Iterable[Change]) -> list[Told]:
    """`changes`, the same ones in many items put together; by item, the worst item and in it the worst change first."""
    same: dict[object, list[Change]] = {}
    for change in changes:
        same.setdefault(_sameness(change), []).append(change)
    found = [one for group in same.values() for one in _together(group)]
    worst: dict[object, Impact] = {}
    for one in found:
        worst[_under(one)] = max(worst.get(_under(one), Impact.IMMATERIAL), one.change.impact)
    rank = {under: at for at, under in enumerate(sorted(worst, key=lambda under: -worst[under]))}
    return sorted(found, key=lambda one: (rank[_under(one)], -one.change.impact))


def _under(one: Told) -> object:
    """What a change is told under: its item, or else the others that are about many items and as bad."""
    return one.owner or one.change.impact


def _sameness(change: Change) -> object:
    """What is equal in two changes that are one change in two items."""
    if not change.place:
        return (change.item, change.rule.id)
    if change.rule.id in _WHATEVER_THE_VALUES:
        return (change.rule.id, change.item.kind, change.place, change.impact)
    sides = (_spelt(change.old), _spelt(change.new), _spelt(change.witness))
    return (change.rule.id, change.item.kind, change.place, change.impact, change.hits, change.confidence, *sides)


_WHATEVER_THE_VALUES = frozenset({"parameters-lost"})
"""Rules by which all that went is the same event, whatever it was in each tool."""


def _together(group: list[Change]) -> list[Told]:
    items = tuple(dict.fromkeys(change.item for change in group))
    if len(items) == len(group) >= _MANY:
        return [Told(group[0], items)]
    return [Told(change, (change.item,)) for change in group]


def shared_edit(changes: Sequence[Change]) -> str:
    """What to think when several texts differ in the same words alone; empty when they do not.

    So it looks when a server writes its time zone, directory or shell into its texts.
    """
    from mcp_lock.report import words  # only where there is a change

    edits: Counter[tuple[str, str]] = Counter()
    for change in changes:
        if "-description-" in change.rule.id and isinstance(change.old, str) and isinstance(change.new, str):
            pieces = [piece for piece in words.difference(change.old, change.new) if piece.kind is not words.Kind.SAME]
            if [piece.kind for piece in pieces] == [words.Kind.OLD, words.Kind.NEW] and len(pieces[1].text) <= 80:
                edits[pieces[0].text, pieces[1].text] += 1
    (old, new), places = max(edits.items(), key=lambda found: found[1], default=(("", ""), 0))
    if places < _PLACES:
        return ""
    return f"{places} texts differ only in {old} → {new}: perhaps a fact of the machine, not of the server"


def totals(report: Report) -> str:
    """The whole run in a line, such as `2 tools changed: 1 breaking, 1 silent. 41 unchanged.`."""
    changed = _changed(report.servers)
    sentences = [_changed_said(changed)] if changed else []
    sentences += [
        phrase.format(servers=count(n, "server")) for status, phrase in _STATES.items() if (n := _in(report, status))
    ]
    unchanged = sum(server.unchanged for server in report.servers)
    return " ".join(sentences + ([f"{unchanged} unchanged."] if unchanged else []))


def nothing_found(report: Report) -> bool:
    """Whether every server is as locked, or was left out on purpose."""
    return all(server.status in (Status.UNCHANGED, Status.SKIPPED) for server in report.servers)


def as_locked(report: Report) -> str:
    """That all are as locked, such as `2 servers, 43 contracts: as locked.`; empty if a server is not, or none is."""
    same = [server for server in report.servers if server.status is Status.UNCHANGED]
    if not same or not nothing_found(report):
        return ""
    contracts = count(sum(server.unchanged for server in same), "contract")
    return f"{count(len(same), 'server')}, {contracts}: as locked."


_STATES = {
    Status.LAUNCH_CHANGED: "{servers} with another launch spec.",
    Status.NOT_LOCKED: "{servers} not locked yet.",
    Status.GONE: "{servers} no longer configured.",
    Status.HELD: "{servers} held back.",
    Status.UNREADABLE: "{servers} could not be checked.",
}


def _in(report: Report, status: Status) -> int:
    return sum(server.status is status for server in report.servers)


def _changed(servers: Iterable[ServerReport]) -> Mapping[tuple[str, Item], Impact]:
    """The worst impact on every item that drifts; what was never locked does not."""
    worst: dict[tuple[str, Item], Impact] = {}
    for server in servers:
        for change in server.drift if server.status is not Status.NOT_LOCKED else ():
            key = (server.name, change.item)
            worst[key] = max(worst.get(key, change.impact), change.impact)
    return worst


def _changed_said(worst: Mapping[tuple[str, Item], Impact]) -> str:
    nouns = Counter(item.kind.noun if item.kind else "server" for _, item in worst)
    return f"{' and '.join(count(n, noun) for noun, n in nouns.items())} changed: {by_impact(worst.values())}."


def by_impact(impacts: Iterable[Impact]) -> str:
    """How many there are of each impact, the worst first: `1 breaking, 2 silent`."""
    counts = Counter(impacts)
    return ", ".join(f"{counts[impact]} {impact.word}" for impact in sorted(counts, reverse=True))


def count(number: int, noun: str) -> str:
    """A number of things: `1 tool`, `2 tools`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_FEW = 5
_MOST_DIGESTS = 20


def accept(server: ServerReport, everything: bool = False) -> list[str]:
    """The commands that pin what was just shown of a server and nothing else, to be copied into a shell.

    Digests are whole: whoever writes two contracts can make their digests agree in a few digits. With more than
    `_MOST_DIGESTS` of them the command names the server alone, unless `everything` is asked for.
    """
    items = list(dict.fromkeys(change.item for change in server.drift))
    if not items or server.status is Status.HELD:
        return []
    if server.status is not Status.DRIFTED or any(
        item.kind is not Kind.TOOL or not _typed(item.name) for item in items
    ):
        return [_lock([server.name], _digests(server, items) if everything or not is_many(server) else [])]
    if len(items) <= _FEW:
        return [_lock([f"{server.name}/{item.name}"], _digests(server, [item])) for item in items]
    if is_many(server) and not everything:
        return [_lock([server.name], [])]
    return [_lock([f"{server.name}/{item.name}" for item in items], _digests(server, items))]


def as_asked(command: str, flags: str) -> str:
    """A command of mcplock, to be copied, with the flags that say which project and configs are meant."""
    return re.sub(r"^mcplock \w+", lambda found: f"{found[0]} {flags}", command) if flags else command


def is_many(server: ServerReport) -> bool:
    """Whether a server has more changed items than a command can well name."""
    return len({change.item for change in server.drift}) > _MOST_DIGESTS


def quoted(name: str) -> str:
    """A name as one word of a command to be copied."""
    return shlex.quote(visible_name(name))


def _typed(name: str) -> bool:
    """Whether a name can be copied from a report as it is."""
    return visible_name(name) == name


def _digests(server: ServerReport, items: Iterable[Item]) -> list[str]:
    """What is to be expected of each item: its live digest, or that it is not there."""
    now = server.now
    return [now[item_key(item)] for item in items if item_key(item) in now]


def _lock(targets: Sequence[str], digests: Sequence[str]) -> str:
    expected = [part for digest in digests for part in ("--expect", digest)]
    command = ["mcplock", "lock", *targets, *expected]
    if any(target.startswith("-") for target in targets):
        command = ["mcplock", "lock", *expected, "--", *targets]
    return " ".join(map(quoted, command))
