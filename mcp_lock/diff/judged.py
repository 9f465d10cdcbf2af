"""The changes inside one schema, each with what is known of it: renamed parameters paired, impacts proved or witnessed.

A rule's own impact is what a change does by itself, in a plain schema. Here it is put beside the schemas it stands in:
a proof or a witness overrides it, in both directions, and the changes together are never worse than the whole.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_lock.canonical import canonical
from mcp_lock.diff import definitions
from mcp_lock.diff.renames import pairs, property_score
from mcp_lock.outcome import ABSENT, Change, Confidence, Impact, Rule
from mcp_lock.pointer import place, token, tokens
from mcp_lock.rules import RULES

SECONDS = 2.0
"""For the changes of one schema, each by itself; the change as a whole is always judged. What is left is unproven."""

_REMOVED = frozenset({"property-removed-ignored", "property-removed-rejected", "property-removed-required"})
_ADDED = frozenset({"property-added-optional", "property-added-required"})
_REQUIRED = frozenset({"property-renamed", "required-added", "required-removed"})


_SETTLED = {
    ("property-removed-ignored", Impact.BREAKING): "property-removed-rejected",
    ("property-removed-rejected", Impact.SILENT): "property-removed-ignored",
}
"""Rules that take one of two things for granted, and what they are where the proof finds the other."""
_NEUTRAL = frozenset({"def-added", "def-removed", "dialect-changed"})
"""Rules whose words stay true where nothing else changed by it."""


def judged(changes: Sequence[Change], field: str, old: Any, new: Any) -> list[Change]:
    """`changes` of one tool, those inside the schema at `field` judged; the others as they are."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return list(changes)
    inside = [change for change in changes if change.pointer.startswith(f"/{field}/")]
    others = [change for change in changes if not change.pointer.startswith(f"/{field}/")]
    inside = _paired(definitions.renamed(inside, field, old, new))
    if not any(change.rule.provable for change in inside):
        return [*others, *inside]
    return [*others, *_with_verdicts(inside, field, old, new)]


def _paired(changes: Sequence[Change]) -> list[Change]:
    """The changes with each removed and added name that are one thing told as a rename."""
    sides: dict[str, tuple[dict[str, Change], dict[str, Change]]] = defaultdict(lambda: ({}, {}))
    for change in changes:
        if change.rule.id in _REMOVED | _ADDED:
            parent, _, _ = change.place.rpartition("/")
            sides[parent][change.rule.id in _ADDED][tokens(change.place)[-1]] = change
    renamed: dict[int, Change] = {}
    dropped: set[int] = set()
    for gone, come in sides.values():
        old, new = {n: c.old for n, c in gone.items()}, {n: c.new for n, c in come.items()}
        for before, after in pairs(old, new, property_score).items():
            renamed[id(gone[before])] = _renamed(gone[before], come[after])
            dropped.add(id(come[after]))
    return _absorbed([renamed.get(id(change), change) for change in changes if id(change) not in dropped])


def _absorbed(changes: list[Change]) -> list[Change]:
    """`required` lists that follow renames alone are part of the renames."""
    for follower in [change for change in changes if change.rule.id == "required-followed"]:
        beside = [change for change in changes if _required_beside(change) == follower.pointer]
        renames = [change for change in beside if change.rule.id == "property-renamed"]
        if renames and _moved(follower) <= set().union(*map(_names, renames)):
            at = changes.index(renames[0])
            changes[at] = replace(renames[0], also=(*renames[0].also, follower.pointer))
            changes.remove(follower)
    return changes


def _required_beside(change: Change) -> str:
    return change.place.rpartition("/properties")[0] + "/required"


def _renamed(gone: Change, come: Change) -> Change:
    rule = RULES["property-renamed"]
    also = (come.pointer,) if come.pointer != gone.pointer else ()
    return replace(
        gone, rule=rule, new=come.new, impact=rule.input, confidence=Confidence.UNPROVEN, to=come.name, also=also
    )


def _with_verdicts(changes: Sequence[Change], field: str, old: Any, new: Any) -> list[Change]:
    from mcp_lock.proof import judge, judge_place  # a third of what a check imports, so only where it is needed
    from mcp_lock.proof.questions import Direction, unproven

    direction = Direction.OUTPUT if field == "outputSchema" else Direction.INPUT
    whole = judge(old, new, direction)
    told, late = list(changes), time.monotonic() + SECONDS
    judged_at = [at for at, change in enumerate(changes) if change.rule.provable]
    for at in judged_at:
        edit, places = _by_itself(changes[at], changes, field, old, new)
        if len(judged_at) == 1 and edit is new:
            verdict = whole
        elif time.monotonic() > late:
            verdict = unproven("There was no time left to judge it.")
        else:
            verdict = judge_place(old, edit, places, direction)
        told[at] = _capped(_decided(changes[at], verdict), whole)
    worst = max(judged_at, key=lambda at: told[at].impact)
    if told[worst].impact < whole.impact:  # only the parts together do the harm: the worst of them carries it
        told[worst] = _decided(changes[worst], whole)
    return told


def _by_itself(change: Change, changes: Sequence[Change], field: str, old: Any, new: Any) -> tuple[Any, list[str]]:
    """`new` as if, in the lists that several changes share, this change alone had happened; and the places of it.

    Names that come, go or are renamed take their part of the `required` list beside them along.
    """
    from mcp_lock.proof.place import put

    places = [pointer.removeprefix(f"/{field}") for pointer in (change.place, *change.also)]
    if change.rule.id in ("enum-value-added", "enum-value-removed"):
        kept = _part_of(change.old, change.new, adds=change.rule.id.endswith("added"))
        return put(new, tokens(places[0]), kept), places
    beside = change.pointer if change.rule.id.startswith("required-") else _required_beside(change)
    lists = next((other for other in changes if beside in other.pointers), None)
    if change.rule.id not in _REMOVED | _ADDED | _REQUIRED or lists is None:
        return new, places
    at = beside.removeprefix(f"/{field}")
    before, after = (_required(side, at) for side in (old, new))
    own = _names(change) if change.rule.id in _REMOVED | _ADDED | {"property-renamed"} else _said(change, beside)
    wanted = [name for name in before if name not in own or name in after]
    wanted += [name for name in after if name in own and name not in before]
    return put(new, tokens(at), wanted), [*dict.fromkeys((*places, at))]


def _part_of(old: Sequence[Any], new: Sequence[Any], *, adds: bool) -> list[Any]:
    """The old values and the new ones among `new`, or those old ones that are still there."""
    there, kept = {canonical(value) for value in new}, {canonical(value) for value in old}
    if adds:
        return [*old, *(value for value in new if canonical(value) not in kept)]
    return [value for value in old if canonical(value) in there]


def _required(schema: Any, pointer: str) -> list[str]:
    """The names in the `required` list at `pointer`; none where it is no list."""
    for key in tokens(pointer):
        is_item = isinstance(schema, list) and key.isdecimal() and int(key) < len(schema)
        schema = schema.get(key) if isinstance(schema, Mapping) else schema[int(key)] if is_item else None
    return [name for name in schema if isinstance(name, str)] if isinstance(schema, list) else []


def _said(change: Change, required: str) -> set[str]:
    """The member of a `required` list that a change is about, which it names by its path."""
    properties = required.removesuffix("/required") + "/properties"
    return {name for name in _moved(change) if place(f"{properties}/{token(name)}")[0] == change.name}


def _names(change: Change) -> set[str]:
    return {tokens(pointer)[-1] for pointer in (change.place, *change.also[:1])}


def _moved(required: Change) -> set[str]:
    old, new = (set(side) if isinstance(side, list) else set() for side in (required.old, required.new))
    return old ^ new


def _decided(change: Change, verdict: Any) -> Change:
    """`change` with a verdict on it. What the rule takes for worse than unproven stays so until there is a proof."""
    if verdict.confidence is Confidence.UNPROVEN:
        return replace(change, impact=max(change.impact, Impact.UNPROVEN), confidence=Confidence.UNPROVEN)
    impact = Impact.SECURITY if change.impact is Impact.SECURITY else verdict.impact
    return replace(
        change,
        rule=_settled(change.rule, impact),
        impact=impact,
        confidence=verdict.confidence,
        witness=verdict.witness,
    )


def _settled(rule: Rule, impact: Impact) -> Rule:
    """The rule whose words are true of a change that turned out to have `impact`."""
    if impact is Impact.COSMETIC and rule.id not in _NEUTRAL:
        return RULES["equal-rewrite"]
    return RULES[_SETTLED.get((rule.id, impact), rule.id)]


def _capped(change: Change, whole: Any) -> Change:
    """No part of a change is worse than the whole is proved to be: what one takes away another may give back."""
    if whole.confidence is Confidence.UNPROVEN or change.impact in (Impact.SECURITY, whole.impact):
        return change
    if change.impact > whole.impact:
        rule = _settled(change.rule, whole.impact)
        return replace(change, rule=rule, impact=whole.impact, confidence=whole.confidence, witness=ABSENT)
    return change
