"""The changes inside one schema, each with what is known of it: renamed parameters paired, impacts proved or witnessed.

A rule's own impact is what a change does by itself, in a plain schema. Here it is put beside the schemas it stands in:
a proof or a witness overrides it, in both directions, and the changes together are never worse than the whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_lock.diff.renames import pairs, property_score
from mcp_lock.outcome import ABSENT, Change, Confidence, Impact
from mcp_lock.pointer import tokens
from mcp_lock.rules import RULES

_REMOVED = frozenset({"property-removed-ignored", "property-removed-rejected", "property-removed-required"})
_ADDED = frozenset({"property-added-optional", "property-added-required"})


def judged(changes: Sequence[Change], field: str, old: Any, new: Any) -> list[Change]:
    """`changes` of one tool, those inside the schema at `field` judged; the others as they are."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return list(changes)
    inside = [change for change in changes if change.pointer.startswith(f"/{field}/")]
    others = [change for change in changes if not change.pointer.startswith(f"/{field}/")]
    inside = _paired(inside)
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
    from mcp_lock.proof import judge, judge_place  # the prover is native code, loaded when something is to prove
    from mcp_lock.proof.questions import Direction

    direction = Direction.OUTPUT if field == "outputSchema" else Direction.INPUT
    whole = judge(old, new, direction)
    alone = sum(change.rule.provable for change in changes) == 1
    told = []
    for change in changes:
        if not change.rule.provable:
            told.append(change)
            continue
        verdict = whole if alone else judge_place(old, new, _places(change, changes, field), direction)
        told.append(_capped(_decided(change, verdict), whole))
    return _raised(told, whole)


def _places(change: Change, changes: Sequence[Change], field: str) -> list[str]:
    """The places that make sense only together, below the schema: a name, its new name, and `required` beside them."""
    places = [change.place, *change.also]
    if change.rule.id in _REMOVED | _ADDED | {"property-renamed"}:
        beside = _required_beside(change)
        places += [other.pointer for other in changes if other.pointer == beside and _names(change) & _moved(other)]
    return [place.removeprefix(f"/{field}") for place in places]


def _names(change: Change) -> set[str]:
    return {tokens(pointer)[-1] for pointer in (change.place, *change.also)}


def _moved(required: Change) -> set[str]:
    old, new = (set(side) if isinstance(side, list) else set() for side in (required.old, required.new))
    return old ^ new


def _decided(change: Change, verdict: Any) -> Change:
    """`change` with a verdict on it. What the rule takes for worse than unproven stays so until there is a proof."""
    if verdict.confidence is Confidence.UNPROVEN:
        return replace(change, impact=max(change.impact, Impact.UNPROVEN), confidence=Confidence.UNPROVEN)
    impact = Impact.SECURITY if change.impact is Impact.SECURITY else verdict.impact
    return replace(change, impact=impact, confidence=verdict.confidence, witness=verdict.witness)


def _capped(change: Change, whole: Any) -> Change:
    """No part of a change is worse than the whole is proved to be: what one takes away another may give back."""
    if whole.confidence is Confidence.UNPROVEN or change.impact in (Impact.SECURITY, whole.impact):
        return change
    if change.impact > whole.impact:
        return replace(change, impact=whole.impact, confidence=whole.confidence, witness=ABSENT)
    return change


def _raised(changes: list[Change], whole: Any) -> list[Change]:
    """Where only the parts together do harm, the worst of them carries it."""
    provable = [at for at, change in enumerate(changes) if change.rule.provable]
    if all(changes[at].impact < whole.impact for at in provable):
        worst = max(provable, key=lambda at: changes[at].impact)
        changes[worst] = _decided(changes[worst], whole)
    return changes
