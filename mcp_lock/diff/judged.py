"""The changes inside one schema, each with what is known of it: renamed parameters paired, impacts proved or witnessed.

A rule's own impact is what a change does by itself, in a plain schema. Here it is put beside the schemas it stands in:
a proof or a witness overrides it, in both directions, and the changes together are never worse than the whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_lock.diff import definitions
from mcp_lock.diff.parts import ADDED, REMOVED, moved, names_of, required_beside
from mcp_lock.diff.renames import pairs, property_score
from mcp_lock.diff.verdicts import with_verdicts
from mcp_lock.outcome import Change, Confidence
from mcp_lock.pointer import tokens
from mcp_lock.rules import RULES


def judged(changes: Sequence[Change], field: str, old: Any, new: Any) -> list[Change]:
    """`changes` of one tool, those inside the schema at `field` judged; the others as they are."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return list(changes)
    inside = [change for change in changes if change.pointer.startswith(f"/{field}/")]
    others = [change for change in changes if not change.pointer.startswith(f"/{field}/")]
    inside = _paired(definitions.renamed(inside, field, old, new))
    if not any(change.rule.provable for change in inside):
        return [*others, *inside]
    return [*others, *with_verdicts(inside, field, old, new)]


def _paired(changes: Sequence[Change]) -> list[Change]:
    """The changes with each removed and added name that are one thing told as a rename."""
    sides: dict[str, tuple[dict[str, Change], dict[str, Change]]] = defaultdict(lambda: ({}, {}))
    for change in changes:
        if change.rule.id in REMOVED | ADDED:
            parent, _, _ = change.place.rpartition("/")
            sides[parent][change.rule.id in ADDED][tokens(change.place)[-1]] = change
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
        beside = [change for change in changes if required_beside(change) == follower.pointer]
        renames = [change for change in beside if change.rule.id == "property-renamed"]
        if renames and moved(follower) <= set().union(*map(names_of, renames)):
            at = changes.index(renames[0])
            changes[at] = replace(renames[0], also=(*renames[0].also, follower.pointer))
            changes.remove(follower)
    return changes


def _renamed(gone: Change, come: Change) -> Change:
    rule = RULES["property-renamed"]
    also = (come.pointer,) if come.pointer != gone.pointer else ()
    return replace(
        gone, rule=rule, new=come.new, impact=rule.input, confidence=Confidence.UNPROVEN, to=come.name, also=also
    )
