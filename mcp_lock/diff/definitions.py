"""Definitions that were renamed consistently: the same schema under another name, every reference moved along.

Nothing depends on what a definition is called, so such a rename is one change, whatever it takes to spell it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations
from typing import Any

from mcp_lock.canonical import same
from mcp_lock.diff.spot import as_object
from mcp_lock.outcome import Change, Confidence
from mcp_lock.pointer import token, tokens
from mcp_lock.rules import RULES

_HOLDERS = ("$defs", "definitions")
_OTHER_NAMES = frozenset(
    {*("$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")}
)
_DATA = frozenset({"const", "enum", "default", "examples"})
"""Keywords under which nothing is a reference, whatever it looks like."""
_ORDERS = 120
"""Ways to pair old and new names that are tried: all of them up to five."""


def renamed(changes: Sequence[Change], field: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """`changes` of the schema at `field`, with all that one consistent rename took told as one change."""
    left = list(changes)
    if _has_other_names(old) or _has_other_names(new):
        return left
    for holder in _HOLDERS:
        for before, after in _pairs(as_object(old.get(holder)), as_object(new.get(holder)), holder, new).items():
            parts = [change for change in left if _is_part(change, f"/{field}/{holder}", before, after, holder)]
            told = _told(parts, f"/{field}/{holder}/{token(before)}", before, after)
            left = [*(change for change in left if change not in parts), *told]
    return left


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any], holder: str, schema: Any) -> dict[str, str]:
    """Names that went to names that came, where one is the other with its references moved along."""
    gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    if not gone or len(gone) != len(come) or any(_refers(schema, f"#/{holder}/{token(name)}") for name in gone):
        return {}
    for order in islice(permutations(come), _ORDERS):  # together, since definitions may refer to one another
        names = dict(zip(gone, order, strict=True))
        if all(same(_moved(old[name], names, holder), new[names[name]]) for name in gone):
            return names
    return {}


def _moved(value: Any, names: Mapping[str, str], holder: str) -> Any:
    """`value` with every reference to a renamed definition spelt by its new name."""
    if isinstance(value, Mapping):
        return {key: _moved_in(key, held, names, holder) for key, held in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_moved(item, names, holder) for item in value]
    return value


def _moved_in(key: str, held: Any, names: Mapping[str, str], holder: str) -> Any:
    if key in _DATA:
        return held
    return _ref(held, names, holder) if key == "$ref" else _moved(held, names, holder)


def _ref(value: Any, names: Mapping[str, str], holder: str) -> Any:
    path = tokens(value[1:]) if isinstance(value, str) and value.startswith("#/") else []
    if len(path) < 2 or path[0] != holder or path[1] not in names:
        return value
    return "#" + "".join(f"/{token(part)}" for part in (holder, names[path[1]], *path[2:]))


def _has_other_names(value: Any) -> bool:
    """Whether a reference may lead somewhere by another name than its path, so that a rename cannot be followed."""
    if isinstance(value, Mapping):
        return bool(_OTHER_NAMES & value.keys()) or any(map(_has_other_names, value.values()))
    return isinstance(value, Sequence) and not isinstance(value, str) and any(map(_has_other_names, value))


def _refers(value: Any, ref: str) -> bool:
    if isinstance(value, Mapping):
        own = value.get("$ref")
        return (isinstance(own, str) and (own == ref or own.startswith(f"{ref}/"))) or any(
            _refers(held, ref) for held in value.values()
        )
    return isinstance(value, Sequence) and not isinstance(value, str) and any(_refers(item, ref) for item in value)


def _is_part(change: Change, place: str, before: str, after: str, holder: str) -> bool:
    if change.rule.id in ("def-removed", "def-added"):
        return change.place in (f"{place}/{token(before)}", f"{place}/{token(after)}")
    return change.rule.id == "ref-retargeted" and change.new == _ref(change.old, {before: after}, holder)


def _told(parts: Sequence[Change], place: str, before: str, after: str) -> list[Change]:
    """The rename as one change at the place of the old name."""
    first = next((change for change in parts if change.place == place), None)
    if first is None:
        return list(parts)
    rule = RULES["def-renamed"]
    also = tuple(dict.fromkeys(change.pointer for change in parts if change is not first))
    return [
        replace(first, rule=rule, impact=rule.input, confidence=Confidence.PROVED, name=before, to=after, also=also)
    ]
