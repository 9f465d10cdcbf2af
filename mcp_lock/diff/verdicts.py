"""What the changes of one schema do, each by itself, with its neighbours on the same parameter, and all together.

A change that looks harmful alone may be given back by another one, and two that look harmless may only together do
harm. So every change is judged alone, then held against all that happened to its parameter, then against the whole.
No witness is shown that is not true of the two schemas as they are.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_lock.diff.parts import NAMED, edit_of
from mcp_lock.outcome import ABSENT, Change, Confidence, Impact, Rule
from mcp_lock.pointer import tokens
from mcp_lock.rules import RULES

if TYPE_CHECKING:
    from mcp_lock.proof.questions import Verdict

SECONDS = 2.0
"""For the changes of one schema, each by itself; the change as a whole is always judged. What is left is unproven."""

_SETTLED = {
    ("property-removed-ignored", Impact.BREAKING): "property-removed-rejected",
    ("property-removed-rejected", Impact.SILENT): "property-removed-ignored",
}
"""Rules that take one of two things for granted, and what they are where the proof finds the other."""
_NEUTRAL = frozenset({"def-added", "def-removed", "dialect-changed"})
"""Rules whose words stay true where nothing else changed by it."""


def with_verdicts(changes: Sequence[Change], field: str, old: Any, new: Any) -> list[Change]:
    """`changes` inside the schema at `field`, each with what it does by proof or witness."""
    from mcp_lock.proof import judge, judge_place  # a third of what a check imports, so only where it is needed
    from mcp_lock.proof.questions import Direction, holds, unproven

    direction = Direction.OUTPUT if field == "outputSchema" else Direction.INPUT
    before, after = (_as_arguments(side) if direction is Direction.INPUT else side for side in (old, new))
    whole = judge(before, after, direction)
    told, late = list(changes), time.monotonic() + SECONDS
    judged_at = [at for at, change in enumerate(changes) if change.rule.provable]

    def verdict_on(group: Sequence[int]) -> Verdict:
        if len(group) == len(judged_at):
            return whole
        if time.monotonic() > late:
            return unproven("There was no time left to judge it.")
        edit, places = edit_of([changes[at] for at in group], changes, field, before, after)
        return judge_place(before, edit, places, direction)

    for group in _groups(changes, judged_at, field):
        together = verdict_on(group)
        for at in group:
            told[at] = _capped(_decided(changes[at], verdict_on([at])), together)
        _raise(told, group, together)
    for at in judged_at:
        told[at] = _capped(told[at], whole)
    _raise(told, judged_at, whole)
    for at in judged_at:
        if told[at].witness is not ABSENT and not holds(before, after, direction, told[at].impact, told[at].witness):
            told[at] = replace(told[at], witness=whole.witness if told[at].impact is whole.impact else ABSENT)
    return told


def _as_arguments(schema: Any) -> Any:
    """An input schema as it is used: the arguments of a call are always an object (specification, tools/call)."""
    return {"type": "object", **schema} if isinstance(schema, Mapping) and "type" not in schema else schema


def _groups(changes: Sequence[Change], judged_at: Sequence[int], field: str) -> list[list[int]]:
    """The changes that may bear on one another, by the parameter they are in.

    What happens at the root bears on every name that came or went; what happens to a definition, on all that refers.
    """
    keys = {at: _key(changes[at], field) for at in judged_at}
    shared_root = "" in keys.values()
    shared_defs = "$defs" in keys.values()
    groups: dict[str, list[int]] = defaultdict(list)
    for at, own in keys.items():
        change = changes[at]
        refers = _refers(change.old) or _refers(change.new) or change.rule.id == "ref-retargeted"
        key = "$defs" if shared_defs and refers else "" if shared_root and change.rule.id in NAMED else own
        groups[key].append(at)
    return list(groups.values())


def _key(change: Change, field: str) -> str:
    path = tokens(change.place.removeprefix(f"/{field}"))
    if path[0] in ("$defs", "definitions"):
        return "$defs"
    if path[0] == "properties" and len(path) > 1:
        return f"/{path[1]}"
    return f"/{change.name}" if path == ["required"] else ""


def _refers(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "$ref" in value or any(map(_refers, value.values()))
    return isinstance(value, list) and any(map(_refers, value))


def _raise(told: list[Change], group: Sequence[int], together: Verdict) -> None:
    """Where only the parts together do harm, the worst of them carries it."""
    worst = max(group, key=lambda at: told[at].impact)
    if told[worst].impact < together.impact:
        told[worst] = _decided(told[worst], together)


def _decided(change: Change, verdict: Verdict) -> Change:
    """`change` with a verdict on it. What the rule takes for worse than unproven stays so until there is a proof."""
    if verdict.confidence is Confidence.UNPROVEN:
        return replace(change, impact=max(change.impact, Impact.UNPROVEN), confidence=Confidence.UNPROVEN)
    impact = Impact.SECURITY if change.impact is Impact.SECURITY else verdict.impact
    rule, known = _settled(change.rule, impact), verdict.confidence
    return replace(change, rule=rule, impact=impact, confidence=known, witness=verdict.witness)


def _settled(rule: Rule, impact: Impact) -> Rule:
    """The rule whose words are true of a change that turned out to have `impact`."""
    if impact is Impact.COSMETIC and rule.id not in _NEUTRAL:
        return RULES["equal-rewrite"]
    return RULES[_SETTLED.get((rule.id, impact), rule.id)]


def _capped(change: Change, whole: Verdict) -> Change:
    """No part of a change is worse than the whole is proved to be: what one takes away another may give back."""
    if whole.confidence is Confidence.UNPROVEN or change.impact is Impact.SECURITY or change.impact <= whole.impact:
        return change
    rule = _settled(change.rule, whole.impact)
    return replace(change, rule=rule, impact=whole.impact, confidence=whole.confidence, witness=ABSENT)
