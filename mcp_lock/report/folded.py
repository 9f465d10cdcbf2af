"""One item of a report as a foldable block of Markdown: every change of it, or the one that it shares with others.

A block has a bound of its own: the changes are told worst first, and those without room are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from mcp_lock.outcome import ABSENT, Change, Impact, Item
from mcp_lock.report import schema_words, told
from mcp_lock.report.markup import LONGEST, code, escaped, fence, fitted, sentence, size, some
from mcp_lock.text import clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.report import Options

_MOST = 16_000
"""Bytes of one block, if it has more than one change."""
_MOST_VALUE, _MOST_FURTHER, _PARAGRAPHS = 3_000, 700, 10
"""Bytes of the first paragraph that shows the values of a change, of each further one, and how many there are."""
_ON_A_LINE = 44
"""Characters of a call up to which it stands on one line: more would have to be scrolled on a telephone."""
_LONGEST_CALL = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """What is told under one heading: the changes of one item, or one change of many items; worst first."""

    told: tuple[told.Told, ...]

    @property
    def worst(self) -> Impact:
        """The impact of the worst."""
        return self.told[0].change.impact

    @property
    def items(self) -> set[tuple[str, Item]]:
        """What it is about, with the server of each."""
        return {(one.change.server, item) for one in self.told for item in one.items}

    @property
    def impacts(self) -> list[Impact]:
        """The impact of every change."""
        return [one.change.impact for one in self.told for _ in one.items]


def parts(changes: Sequence[Change]) -> tuple[Part, ...]:
    """The changes of one server by item, as they are to be told."""
    found = told.told(changes)
    return tuple(Part(tuple(group)) for _, group in groupby(found, key=lambda one: one.owner or id(one)))


def folded(part: Part, options: Options, *, is_open: bool) -> str:
    """The block of one part."""
    shown: list[str] = []
    room, explained = _MOST, set[str]()
    for one in part.told:
        text = "\n\n".join([_head(one, part, options, one.change.rule.id not in explained), *_body(one, options)])
        room -= size(text, options)
        if shown and room < 0:
            break
        shown.append(text)
        explained.add(one.change.rule.id)
    if hidden := part.told[len(shown) :]:
        left = [one.change.impact for one in hidden]
        shown.append(f"**… and {told.count(len(left), 'more change')}:** {told.by_impact(left)}")
    opened = "<details open>" if is_open else "<details>"
    return "\n\n".join([f"{opened}\n<summary>{_title(part)}</summary>", *shown, "</details>"])


def _title(part: Part) -> str:
    """The impact and the item; with one change alone, the very place and what is the matter with it."""
    first = part.told[0]
    change, changes, owner = first.change, len(part.told), first.owner
    if not owner:
        name, what = f"the same change in {_many(first)}", _summary(change)
    elif changes == 1:
        name, what = _place(first), _summary(change)
    else:
        name, what = code(clip(told.said_item(owner), LONGEST)), f"{changes} changes"
    return f"<b>{part.worst.word}</b> {name} · {what}"


def _many(one: told.Told) -> str:
    return told.count(len(one.items), one.items[0].kind.noun if one.items[0].kind else "server")


def _place(one: told.Told) -> str:
    return code(clip(told.where(one.change, "" if one.owner else "*"), 2 * LONGEST))


def _summary(change: Change) -> str:
    return sentence(change.rule.summary, change.name, change.to)


def _head(one: told.Told, part: Part, options: Options, explain: bool) -> str:
    """Of one change what the title does not say: its place, what it does to whom, the rule."""
    change = one.change
    why = sentence(change.why) if explain and not options.quiet and change.why else ""
    lines = [why] * bool(why)
    if len(part.told) > 1:
        lines = [f"**{change.impact.word}** {_place(one)}", ": ".join([_summary(change), *lines])]
    elif not one.owner:
        lines = [_place(one), *lines, f"in {', '.join(some(_names(one), len(one.items), _MOST_FURTHER, options))}"]
    return "<br>".join([*lines, f"<sub>{' · '.join(_facts(change))}</sub>"])


def _body(one: told.Told, options: Options) -> Iterator[str]:
    """The values of one change, and the proof."""
    if values := list(_values(one.change, options)):
        yield "<br>".join(values)
    yield from _proof(one.change)


def _names(one: told.Told) -> Iterator[str]:
    return (code(clip(told.named(item.name), LONGEST)) for item in one.items)


def _values(change: Change, options: Options) -> Iterator[str]:
    """Old and new as in the terminal, what differs between two texts struck out and underlined."""
    from mcp_lock.report.values import values  # what compares texts is needed only where there is a change

    paragraphs = list(values(change, replace(options, colour=True)))
    for at, spans in enumerate(paragraphs[:_PARAGRAPHS]):
        yield fitted(spans, _MOST_FURTHER if at else _MOST_VALUE, options)
    if len(paragraphs) > _PARAGRAPHS:
        yield f"… {len(paragraphs) - _PARAGRAPHS} more"


def _proof(change: Change) -> Iterator[str]:
    if change.witness is ABSENT:
        return
    unnamed = told.proof(replace(change, name="{name}"))
    yield sentence(unnamed, change.name)
    yield fence(_call(change.witness), "json")


def _call(witness: object) -> list[str]:
    """A call on one line if it is short, else a line a member; clipped when it is long even so."""
    line = schema_words.value(witness, _LONGEST_CALL)
    if len(line) > _ON_A_LINE:
        line = schema_words.spread(witness, _LONGEST_CALL)
    return line.split("\n")


def _facts(change: Change) -> Iterator[str]:
    """The rule, who is hit, and how that is known."""
    yield f"<code>{escaped(change.rule.id)}</code>"
    hit, sure = told.hit(change), told.certainty(change)
    if hit:
        yield f"hits {escaped(hit)}"
    if sure and (hit or change.witness is not ABSENT):
        yield sure
