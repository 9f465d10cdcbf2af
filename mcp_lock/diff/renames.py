"""Which of the names that went is which of the names that came: parameters and tools, paired by how alike they are.

A pairing changes the words of a report, never whether a call still works; that is for the proof to say. What weighs how
much was measured on hand-written renames and on unrelated pairs: at `RENAMED` nearly all of the first are found and
none of the second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any

from mcp_lock.canonical import same
from mcp_lock.diff.spot import as_object, names

MOST_PAIRS = 2_500
"""Fifty names that went, fifty that came: more is another tool, or another server."""
RENAMED = 0.60
"""The score from which two names are taken for one thing."""

_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "$comment", "deprecated"})
_SMALL_WORDS = frozenset(("a", "an", "and", "be", "for", "in", "is", "of", "or", "that", "the", "this", "to", "with"))
_SYNONYMS = [
    frozenset(group.split())
    for group in (
        "q query search term text keyword keywords prompt input",
        "limit count n num max size top k results number perpage pagesize",
        "id identifier key uid uuid",
        "path file filename filepath dir directory folder",
        "url uri link href",
        "repo repository",
        "owner user username org account",
        "start from since begin after",
        "end to until before",
        "message msg body content comment",
        "lang language locale",
        "fmt format output",
        "cursor token page offset",
        "recipient to email address",
        "timeout deadline ttl",
        "branch ref",
        "desc description summary",
        "labels tags",
        "element target selector",
    )
]


def pairs(
    old: Mapping[str, Any], new: Mapping[str, Any], alike: Callable[[str, Any, str, Any], float]
) -> dict[str, str]:
    """Old names to new ones, each at most once, the most alike first; none where there are too many to compare."""
    if len(old) * len(new) > MOST_PAIRS:
        return {}
    scores = [(alike(a, old[a], b, new[b]), a, b) for a in old for b in new]
    found: dict[str, str] = {}
    for score, before, after in sorted(scores, key=lambda one: (-one[0], *one[1:])):
        if score >= RENAMED and before not in found and after not in found.values():
            found[before] = after
    return found


def property_score(old_name: str, old: Any, new_name: str, new: Any) -> float:
    """How alike two parameters are, from 0 to 1."""
    before, after = as_object(old), as_object(new)
    shape = _shape_score(before, after)
    if not shape:
        return 0.0
    name, text = _name_score(old_name, new_name), _text_score(before.get("description"), after.get("description"))
    score = 0.5 * shape + 0.5 * name if text is None else 0.4 * text + 0.3 * shape + 0.3 * name
    default = before.get("default")
    return min(1.0, score + (0.1 if default is not None and same(default, after.get("default")) else 0.0))


def tool_score(old_name: str, old: Any, new_name: str, new: Any) -> float:
    """How alike two tools are, from 0 to 1: their names, their descriptions, and their parameters.

    Parameters are not compared where they cannot lift the score to `RENAMED`: of a list where many tools came and went
    that is nearly every pair.
    """
    text = _text_score(old.get("description"), new.get("description"))
    name = _name_score(_without_identifiers(old_name), _without_identifiers(new_name))
    score, weight = (0.5 * name, 0.5) if text is None else (0.35 * name + 0.35 * text, 0.3)
    if score + weight < RENAMED:
        return score
    return score + weight * _parameters_score(_parameters(old), _parameters(new))


_IDENTIFIER = re.compile(r"[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}|\d{6,}|[0-9a-f]{12,}")


def differs_by_identifier(old_name: str, new_name: str) -> bool:
    """Whether two names are one but for a UUID, a long number or a hash in them."""
    return _without_identifiers(old_name) == _without_identifiers(new_name)


def _without_identifiers(name: str) -> str:
    return _IDENTIFIER.sub("", name) or name


def _parameters(tool: Any) -> Mapping[str, Any]:
    return as_object(as_object(tool.get("inputSchema")).get("properties"))


def _parameters_score(old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    if not old or not new:
        return float(not old and not new)
    best = (max(property_score(a, old[a], b, new[b]) if a != b else 1.0 for b in new) for a in old)
    return sum(best) / max(len(old), len(new))


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+", name)]


def _name_score(old: str, new: str) -> float:
    before, after = _words(old), _words(new)
    if before == after:
        return 1.0
    left, right = "".join(before), "".join(after)
    known = any(group & set(before) and group & set(after) for group in _SYNONYMS)
    starts = bool(left and right) and (left.startswith(right) or right.startswith(left))
    shared = len({*before} & {*after}) / (len({*before} | {*after}) or 1)
    return max(SequenceMatcher(None, left, right).ratio(), shared, 0.7 * known, 0.75 * starts)


def _text_score(old: Any, new: Any) -> float | None:
    """How alike two descriptions are; None where one is missing."""
    if not (isinstance(old, str) and old and isinstance(new, str) and new):
        return None
    before, after = (re.findall(r"\w+", text.lower()) for text in (old, new))
    if before == after:
        return 1.0
    left, right = set(before) - _SMALL_WORDS, set(after) - _SMALL_WORDS
    shared = len(left & right) / (len(left | right) or 1)
    return max(shared, 0.9 * SequenceMatcher(None, before, after).ratio())


def _shape_score(old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    """How alike two schemas are, their texts aside; 0 where no value fits both."""
    before, after = ({key: value for key, value in side.items() if key not in _ANNOTATIONS} for side in (old, new))
    if same(before, after):
        return 1.0 if before.keys() - {"type"} else 0.8  # a bare type is weak evidence
    left, right = _types(old) - {"null"}, _types(new) - {"null"}
    if left and right and not left & right and not left | right <= {"integer", "number"}:
        return 0.0
    return 0.55 if left == right else 0.35


def _types(schema: Mapping[str, Any]) -> set[str]:
    said = schema.get("type")
    own = {said} if isinstance(said, str) else names(said)
    branches = [one for key in ("anyOf", "oneOf") for one in schema.get(key) or () if isinstance(one, Mapping)]
    return own.union(*map(_types, branches))
