"""Whether every value of one schema is proved to be a value of another.

`jsonschema_rs` decides; this takes apart what it cannot hold whole. Where two schemas apply parts to the same place of
a value, and the old part is included in the new one, both parts may be left out of the question. References are
followed on both sides together, and a pair that comes back inside itself is taken for granted there: a value is finite,
and what is asked of its parts is asked of something smaller. True is a proof; False says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import same
from mcp_lock.proof.language import is_included
from mcp_lock.proof.refs import Schema, resolve, subschemas
from mcp_lock.proof.unions import are_apart
from mcp_lock.proof.views import key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema_rs import CanonicalSchema

_WHOLE = -1
"""Stands for the only schema of a keyword that has but one, where others have names or numbers."""

_STEPS = 600
"""Pairs that are looked at for one question."""


def canonical(schema: Schema) -> CanonicalSchema:
    """What the prover makes of a schema. Raises ValueError. Never fetches what a reference names."""
    from jsonschema_rs import canonicalize

    return canonicalize(schema, draft=20, offline=True, validate_formats=False)


def includes(wide: Schema, narrow: Schema) -> bool:
    """Whether it is proved that `wide` takes every value that `narrow` takes; both as `closed` writes them, without
    hints.
    """
    return _Proof(wide, narrow).holds(_body(narrow), _body(wide))


def _body(document: Schema) -> Any:
    return (
        {word: value for word, value in document.items() if word != "$defs"} if isinstance(document, dict) else document
    )


class _Proof:
    """One question; `narrow` and `wide` are always parts of the documents of those names, or made from such parts."""

    def __init__(self, wide: Schema, narrow: Schema) -> None:
        self.wide, self.narrow = wide, narrow
        self.granted: frozenset[tuple[str, str]] = frozenset()
        """Pairs being asked about at a place further out in the value."""
        self.asked: frozenset[tuple[str, str]] = frozenset()
        """Pairs being asked about at this place: to take these for granted would be to run in a circle."""
        self.left = _STEPS

    def holds(self, narrow: Any, wide: Any) -> bool:
        self.left -= 1
        if narrow is False or wide is True or wide == {} or _are_same(narrow, wide):
            return True
        if self.left <= 0 or not isinstance(narrow, dict) or not isinstance(wide, dict):
            return False
        if _is_reference(narrow) or _is_reference(wide):
            return self._behind_references(narrow, wide)
        if _is_union(narrow) and all(self.holds(branch, wide) for branch in _branches(narrow)):
            return True
        if _is_union(wide) and any(self.holds(narrow, branch) for branch in self._candidates(narrow, wide)):
            return "type" not in wide or self._decided(narrow, {"type": wide["type"]})
        narrow, wide, is_open = self._without_included(narrow, wide)
        return not is_open and self._decided(narrow, wide)

    def _candidates(self, narrow: dict[str, Any], wide: dict[str, Any]) -> list[Any]:
        """The branches of `wide` that could include all of `narrow`."""
        ours = {**narrow, "$defs": self.narrow.get("$defs", {})} if isinstance(self.narrow, dict) else narrow
        closing = {word: wide[word] for word in _UNEVALUATED if word in wide}
        branches = [_closed_alike(branch, closing) for branch in _branches(wide)]
        return [branch for branch in branches if not are_apart(self.wide, [ours, branch])]

    def _behind_references(self, narrow: dict[str, Any], wide: dict[str, Any]) -> bool:
        pair = (key(narrow), key(wide))
        if pair in self.granted or pair in self.asked:
            return pair in self.granted
        before, self.asked = self.asked, self.asked | {pair}
        proved = self.holds(_followed(self.narrow, narrow), _followed(self.wide, wide))
        self.asked = before
        return proved

    def _without_included(
        self, narrow: dict[str, Any], wide: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], bool]:
        """Both without the parts for which the question is answered, and whether one is left that nothing else can
        answer.
        """
        narrow, wide = dict(narrow), dict(wide)
        is_open = False
        for keyword, parts in _PARTS.items():
            if keyword in narrow and keyword in wide:
                ours, theirs = parts(narrow, wide)
                shared = ours.keys() & theirs.keys()
                included = {name for name in shared if self._part(ours[name], theirs[name])}
                if keyword == "properties" and _is_plain(wide):
                    narrow[keyword] = _freed(
                        ours, {name for name in ours if name not in theirs and ours[name] is not False}
                    )
                is_open |= included != shared and _is_plain(narrow) and _is_plain(wide)
                narrow[keyword] = _freed(narrow[keyword], included)
                wide[keyword] = _freed(wide[keyword], included)
        if "pattern" in narrow and "pattern" in wide and is_included(narrow["pattern"], wide["pattern"]):
            narrow["pattern"] = wide["pattern"]
        return narrow, wide, is_open

    def _part(self, narrow: Any, wide: Any) -> bool:
        """The question about a part of the value."""
        before = self.granted, self.asked
        self.granted, self.asked = self.granted | self.asked, frozenset()
        proved = self.holds(narrow, wide)
        self.granted, self.asked = before
        return proved

    def _decided(self, narrow: dict[str, Any], wide: dict[str, Any]) -> bool:
        """The prover's answer on what is left; what it does not support, or fails at, is not proved."""
        if _are_same(narrow, wide):
            return True
        from jsonschema_rs.canonical import Containment

        try:
            answer = canonical(_document(wide, self.wide)).covers(canonical(_document(narrow, self.narrow)))
        except (ValueError, TypeError):
            return False
        return bool(answer == Containment.YES)


_PLAIN = frozenset({"items", "prefixItems", "properties", "required", "type"})


def _is_plain(schema: dict[str, Any]) -> bool:
    """Whether a schema says nothing of a part of the value but in one place.

    A part that is not included there has then nothing else that could exclude its values, and a part that the other
    does not name need not be looked at.
    """
    others = schema.keys() - _PLAIN
    return others <= {"additionalProperties", "unevaluatedProperties"} and all(
        isinstance(schema[word], bool) or schema[word] == {} for word in others
    )


def _are_same(one: Any, other: Any) -> bool:
    # Python's 1 == True is not JSON's
    return bool(one == other) and same(one, other)


def _is_reference(schema: dict[str, Any]) -> bool:
    return schema.keys() == {"$ref"}


def _followed(root: Schema, schema: dict[str, Any]) -> Any:
    return resolve(root, schema["$ref"]) if _is_reference(schema) else schema


def _is_union(schema: dict[str, Any]) -> bool:
    """Whether a schema is a union and nothing else, so that each branch can be looked at alone.

    What no branch evaluates may be forbidden: without that a narrow union only gets wider, and a wide one gets narrower
    when every branch forbids for itself.
    """
    return schema.keys() <= {"anyOf", "type", *_UNEVALUATED} and "anyOf" in schema


def _closed_alike(branch: Any, closing: dict[str, Any]) -> Any:
    """A branch that forbids for itself what the whole union forbids."""
    if not closing or branch is False:
        return branch
    return {**closing, **({} if branch is True else branch)}


_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")


def _branches(schema: dict[str, Any]) -> Iterator[Any]:
    """The branches of a union, each with the type that the union asks for where it asks for none itself."""
    for branch in schema["anyOf"]:
        is_open = isinstance(branch, dict) and "type" in schema and not branch.keys() & {"type", "$ref"}
        yield {"type": schema["type"], **branch} if is_open else branch


def _properties(narrow: Any, wide: Any) -> tuple[Any, Any]:
    return narrow["properties"], wide["properties"]


def _first_items(narrow: Any, wide: Any) -> tuple[Any, Any]:
    return dict(enumerate(narrow["prefixItems"])), dict(enumerate(wide["prefixItems"]))


def _rest_items(narrow: Any, wide: Any) -> tuple[Any, Any]:
    is_alike = len(narrow.get("prefixItems", ())) == len(wide.get("prefixItems", ()))
    return ({_WHOLE: narrow["items"]}, {_WHOLE: wide["items"]}) if is_alike else ({}, {})


def _rest_properties(narrow: Any, wide: Any) -> tuple[Any, Any]:
    """The schemas for members that are not named, which are the same members only where the same are named."""
    is_alike = all(
        narrow.get(word, {}).keys() == wide.get(word, {}).keys() for word in ("properties", "patternProperties")
    )
    word = "additionalProperties"
    return ({_WHOLE: narrow[word]}, {_WHOLE: wide[word]}) if is_alike else ({}, {})


_PARTS = {
    "properties": _properties,
    "prefixItems": _first_items,
    "items": _rest_items,
    "additionalProperties": _rest_properties,
}
"""Keywords whose schemas apply to parts of a value, with what says which of two versions apply to the same part."""


def _freed(value: Any, included: set[Any]) -> Any:
    """The value of a keyword, with the parts that are proved to be included asking for nothing."""
    if _WHOLE in included:
        return True
    if isinstance(value, list):
        return [True if at in included else part for at, part in enumerate(value)]
    if isinstance(value, dict) and included:
        return {name: True if name in included else part for name, part in value.items()}
    return value


def _document(schema: dict[str, Any], root: Schema) -> Schema:
    """`schema` with the definitions of `root` that it needs."""
    defs: dict[str, Any] = root.get("$defs", {}) if isinstance(root, dict) else {}
    needed: dict[str, Any] = {}
    waiting: list[Any] = [schema]
    while waiting:
        for part in subschemas(waiting.pop()):
            name = part.get("$ref", "").removeprefix("#/$defs/")
            if name in defs and name not in needed:
                needed[name] = defs[name]
                waiting.append(defs[name])
    return {**schema, "$defs": needed} if needed else schema
