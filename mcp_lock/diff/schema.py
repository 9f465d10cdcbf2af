"""One edit inside a JSON Schema: a table from keyword to the check that says which rule it falls under.

A check looks at one place. Whether an edit that looks breaking really refuses a call is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from mcp_lock.canonical import canonical
from mcp_lock.diff.spot import Found, Spot, as_object, is_array, is_open, names
from mcp_lock.diff.walk import is_reordered
from mcp_lock.diff.wording import tier
from mcp_lock.outcome import ABSENT
from mcp_lock.rules import BOUNDS, kebab

Check: TypeAlias = Callable[[Spot], Iterator[Found]]


def check(spot: Spot) -> Iterator[Found]:
    """Everything that one edit inside a schema is."""
    known = CHECKS.get(spot.keyword)
    if known is None:
        known = _extension if spot.keyword.startswith("x-") else _unknown
    yield from known(spot)


def _extension(spot: Spot) -> Iterator[Found]:
    yield Found("extension-keyword-changed", spot.keyword)


def _unknown(spot: Spot) -> Iterator[Found]:
    yield Found("unknown-keyword-changed", spot.keyword)


def _whole(rule: str) -> Check:
    """A check for a keyword under which any change is one rule."""

    def found(spot: Spot) -> Iterator[Found]:
        yield Found(rule, spot.name)

    return found


def _life(prefix: str) -> Check:
    """A check for a keyword whose value is one thing: added, removed or changed."""

    def found(spot: Spot) -> Iterator[Found]:
        yield Found(f"{prefix}-{_ending(spot)}", spot.name)

    return found


def _ending(spot: Spot) -> str:
    if spot.rest:
        return "changed"
    return "added" if spot.edit.old is ABSENT else "removed" if spot.edit.new is ABSENT else "changed"


def _replaced(spot: Spot, name: str) -> Found:
    if is_open(spot.edit.new):
        return Found("keyword-respelled" if is_open(spot.edit.old) else "schema-became-true", name)
    if is_open(spot.edit.old) and not isinstance(spot.edit.new, bool | Mapping):
        return Found("unknown-keyword-changed", name)
    return Found("schema-became-false" if spot.edit.new is False else "schema-replaced", name)


_DECLARING = frozenset(
    {"properties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "additionalProperties"}
)
"""Keywords in which a schema may still say what its parameters are."""


def _lost(spot: Spot) -> Iterator[Found]:
    if not any(spot.new.get(keyword) for keyword in _DECLARING):
        yield Found("parameters-lost", spot.name)


Member: TypeAlias = Callable[[Spot, str, bool, tuple[str, ...]], Found]
"""What a name added to or taken from a map of schemas is: the spot, the name, whether it is added, its part."""


def _by_member(one: Member) -> Check:
    """A check for a map of schemas: an edit adds or takes one name, or the whole map."""

    def found(spot: Spot) -> Iterator[Found]:
        if not spot.rest:
            yield from _whole_map(spot, one)
        elif ABSENT in (spot.edit.old, spot.edit.new):
            yield one(spot, spot.rest[0], spot.edit.old is ABSENT, ())
        else:
            yield _replaced(spot, spot.below((spot.keyword, *spot.rest)))

    return found


def _whole_map(spot: Spot, one: Member) -> Iterator[Found]:
    old, new = set(as_object(spot.edit.old)), set(as_object(spot.edit.new))
    for name in sorted(old ^ new):
        yield one(spot, name, name in new, (name,))
    if spot.keyword == "properties" and old and not new and not spot.is_output:
        yield from _lost(spot)
    if old == new:
        yield Found("keyword-respelled", spot.name)


def _property(spot: Spot, name: str, is_added: bool, part: tuple[str, ...]) -> Found:
    said = spot.below(("properties", name))
    if is_added:
        required = name in names(spot.new.get("required"))
        return Found("property-added-required" if required else "property-added-optional", said, part)
    if spot.is_output and name in names(spot.old.get("required")):
        return Found("property-removed-required", said, part)
    closed = False in (spot.new.get("additionalProperties"), spot.new.get("unevaluatedProperties"))
    return Found("property-removed-rejected" if closed else "property-removed-ignored", said, part)


def _pattern_property(_spot: Spot, name: str, is_added: bool, part: tuple[str, ...]) -> Found:
    return Found("pattern-property-added" if is_added else "pattern-property-removed", name, part)


def _definition(_spot: Spot, name: str, is_added: bool, part: tuple[str, ...]) -> Found:
    return Found("def-added" if is_added else "def-removed", name, part)


def _dependent_schema(_spot: Spot, name: str, _is_added: bool, part: tuple[str, ...]) -> Found:
    return Found("dependent-schema-changed", name, part)


def _required(spot: Spot) -> Iterator[Found]:
    old, new = names(spot.edit.old), names(spot.edit.new)
    before, after = set(as_object(spot.old.get("properties"))), set(as_object(spot.new.get("properties")))
    for name in sorted(new - old - (after - before)):
        yield Found("required-added", spot.below(("properties", name)))
    for name in sorted(old - new - (before - after)):
        yield Found("required-removed", spot.below(("properties", name)))
    if old == new:
        reordered = is_reordered(spot.edit.old, spot.edit.new)
        yield Found("required-order-changed" if reordered else "keyword-respelled", spot.name)
    elif new - old <= after - before and old - new <= before - after:
        yield Found("required-followed", spot.name)


def _dependent_required(spot: Spot) -> Iterator[Found]:
    if not spot.rest:
        old, new = as_object(spot.edit.old), as_object(spot.edit.new)
        pairs = {name: (names(old.get(name)), names(new.get(name))) for name in {*old, *new}}
    else:
        pairs = {spot.rest[0]: (names(spot.edit.old), names(spot.edit.new))}
    for name, (before, after) in sorted(pairs.items()):
        if after - before:
            yield Found("dependent-required-tightened", name)
        if before - after:
            yield Found("dependent-required-relaxed", name)
    if all(before == after for before, after in pairs.values()):
        reordered = is_reordered(spot.edit.old, spot.edit.new)
        yield Found("dependent-required-order-changed" if reordered else "keyword-respelled", spot.name)


def _dependencies(spot: Spot) -> Iterator[Found]:
    sides = [side for side in (spot.edit.old, spot.edit.new) if side is not ABSENT]
    names = [held for side in sides for held in ([side] if spot.rest else as_object(side).values())]
    if names and all(map(is_array, names)):
        yield from _dependent_required(spot)
    else:
        yield Found("dependent-schema-changed", spot.rest[0] if spot.rest else spot.name)


_ALL_TYPES = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})


def _types(value: Any) -> set[str]:
    if value is ABSENT:
        return set(_ALL_TYPES)
    return {value} if isinstance(value, str) else names(value)


def _type(spot: Spot) -> Iterator[Found]:
    old, new = _types(spot.edit.old), _types(spot.edit.new)
    yield Found(_type_rule(old, new, is_reordered(spot.edit.old, spot.edit.new)), spot.name)


def _type_rule(old: set[str], new: set[str], reordered: bool) -> str:
    if old == new:
        return "type-order-changed" if reordered else "keyword-respelled"
    if old ^ new == {"null"}:
        return "became-nullable" if "null" in new else "became-not-nullable"
    wide_old = old | ({"integer"} if "number" in old else set())
    wide_new = new | ({"integer"} if "number" in new else set())
    if wide_old == wide_new:
        return "keyword-respelled"
    if wide_old <= wide_new:
        return "type-widened"
    return "type-narrowed" if wide_new <= wide_old else "type-changed"


def _enum(spot: Spot) -> Iterator[Found]:
    if is_array(spot.edit.old) and is_array(spot.edit.new):
        rules = [f"enum-{rule}" for rule in _enum_rules(spot.edit.old, spot.edit.new)]
        if rules == ["enum-reordered"] and _has_labels(spot):
            rules = ["enum-labels-moved"]
        yield from (Found(rule, spot.name) for rule in rules)
    else:
        yield Found({"changed": "schema-replaced"}.get(_ending(spot), f"enum-{_ending(spot)}"), spot.name)


def _has_labels(spot: Spot) -> bool:
    """Whether something beside the enum goes with its values one by one, as `enumNames` does."""
    size = len(spot.edit.new)
    return any(key not in CHECKS and is_array(held) and len(held) == size for key, held in spot.new.items())


def _enum_rules(old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    before, after = ({canonical(value): value for value in side} for side in (old, new))
    gone = [value for key, value in before.items() if key not in after]
    come = [value for key, value in after.items() if key not in before]
    if {str(value).casefold() for value in gone} & {str(value).casefold() for value in come} and not (
        all(isinstance(value, str) for value in (*gone, *come))
    ):
        return ["value-retyped"]
    return [rule for rule, hit in (("value-removed", gone), ("value-added", come)) if hit] or ["reordered"]


def _bound(spot: Spot) -> Iterator[Found]:
    _, greater_is_stricter = BOUNDS[spot.keyword]
    old, new = _bound_value(spot.edit.old), _bound_value(spot.edit.new)
    if old == new:
        yield Found("keyword-respelled", spot.name)
    elif old is None or new is None:
        yield Found(f"{kebab(spot.keyword)}-{'tightened' if old is None else 'relaxed'}", spot.name)
    else:
        stricter = (new > old) is greater_is_stricter or isinstance(spot.edit.new, bool)
        yield Found(f"{kebab(spot.keyword)}-{'tightened' if stricter else 'relaxed'}", spot.name)


def _bound_value(value: Any) -> Fraction | None:
    """A bound as an exact number; None where it binds nothing, as `false` did in draft-04."""
    return Fraction(value) if isinstance(value, int | float) and value is not False else None


def _least_length(spot: Spot) -> Iterator[Found]:
    if {_bound_value(spot.edit.old), _bound_value(spot.edit.new)} <= {None, Fraction(0)}:
        yield Found("keyword-respelled", spot.name)
    else:
        yield from _bound(spot)


def _multiple_of(spot: Spot) -> Iterator[Found]:
    old, new = (Fraction(str(v)) if isinstance(v, int | float) and v else None for v in (spot.edit.old, spot.edit.new))
    if old is None or new is None:
        yield Found("multiple-of-relaxed" if new is None else "multiple-of-tightened", spot.name)
        return
    fits = {True: "tightened", False: "relaxed" if (old / new).denominator == 1 else "changed"}
    yield Found(f"multiple-of-{fits[(new / old).denominator == 1]}", spot.name)


def _unique_items(spot: Spot) -> Iterator[Found]:
    old, new = spot.edit.old is True, spot.edit.new is True
    rules = {(False, True): "unique-items-added", (True, False): "unique-items-removed"}
    yield Found(rules.get((old, new), "keyword-respelled"), spot.name)


def _openness(value: Any) -> str:
    if is_open(value):
        return "open"
    return "closed" if value is False else "map"


_ADDITIONAL = {
    ("open", "closed"): "object-closed",
    ("closed", "open"): "object-opened",
    ("map", "closed"): "map-closed",
    ("open", "open"): "keyword-respelled",
}
_ITEMS = {
    ("open", "closed"): "tuple-closed",
    ("map", "closed"): "tuple-closed",
    ("closed", "open"): "tuple-opened",
    ("open", "open"): "keyword-respelled",
}


def _by_openness(rules: Mapping[tuple[str, str], str], default: str) -> Check:
    def found(spot: Spot) -> Iterator[Found]:
        if spot.rest:  # an item of a tuple as draft-07 wrote it
            yield from _prefix_item(spot)
        else:
            yield Found(rules.get((_openness(spot.edit.old), _openness(spot.edit.new)), default), spot.name)

    return found


def _prefix_item(spot: Spot) -> Iterator[Found]:
    if spot.edit.new is ABSENT or spot.edit.old is ABSENT:
        yield Found("prefix-item-removed" if spot.edit.new is ABSENT else "prefix-item-added", spot.name)
    else:
        yield _replaced(spot, spot.name)


def _branch(prefix: str) -> Check:
    def found(spot: Spot) -> Iterator[Found]:
        if spot.rest and ABSENT in (spot.edit.old, spot.edit.new):
            yield Found(f"{prefix}-branch-{'added' if spot.edit.old is ABSENT else 'removed'}", spot.name)
        else:
            yield Found("combinator-changed", spot.name)

    return found


def _description(spot: Spot) -> Iterator[Found]:
    noun = "property" if len(spot.schema) > 1 and spot.schema[-2] == "properties" else "schema"
    yield Found(text_rule(noun, spot.edit.old, spot.edit.new), spot.name)


def text_rule(noun: str, old: Any, new: Any) -> str:
    """The rule for a changed description of `noun`; nothing, null and the empty text are all no description."""
    if not (isinstance(old, str) and old):
        return f"{noun}-description-{'added' if isinstance(new, str) and new else 'whitespace'}"
    if not (isinstance(new, str) and new):
        return f"{noun}-description-removed"
    return f"{noun}-description-{tier(old, new)}"


def _reference(spot: Spot) -> Iterator[Found]:
    new = spot.edit.new
    external = isinstance(new, str) and not new.startswith("#")
    yield Found("external-ref-added" if external else "ref-retargeted", spot.name)


def _header(spot: Spot) -> Iterator[Found]:
    yield Found("x-mcp-header-added" if spot.edit.old is ABSENT else "x-mcp-header-changed", spot.name)


def _deprecated(spot: Spot) -> Iterator[Found]:
    old, new = spot.edit.old is True, spot.edit.new is True
    rules = {(False, True): "deprecated-added", (True, False): "deprecated-removed"}
    yield Found(rules.get((old, new), "keyword-respelled"), spot.name)


CHECKS: Mapping[str, Check] = {
    "properties": _by_member(_property),
    "patternProperties": _by_member(_pattern_property),
    "$defs": _by_member(_definition),
    "definitions": _by_member(_definition),
    "dependentSchemas": _by_member(_dependent_schema),
    "dependencies": _dependencies,
    "dependentRequired": _dependent_required,
    "required": _required,
    "type": _type,
    "enum": _enum,
    "const": _life("const"),
    **dict.fromkeys(BOUNDS, _bound),
    "minLength": _least_length,
    "minItems": _least_length,
    "minProperties": _least_length,
    "multipleOf": _multiple_of,
    "uniqueItems": _unique_items,
    "pattern": _life("pattern"),
    "format": _life("format"),
    "contentEncoding": _whole("content-changed"),
    "contentMediaType": _whole("content-changed"),
    "contentSchema": _whole("content-schema-changed"),
    "additionalProperties": _by_openness(_ADDITIONAL, "map-changed"),
    "items": _by_openness(_ITEMS, "items-changed"),
    "additionalItems": _by_openness(_ITEMS, "items-changed"),
    "prefixItems": _prefix_item,
    "unevaluatedItems": _whole("unevaluated-items-changed"),
    "unevaluatedProperties": _whole("unevaluated-properties-changed"),
    "contains": _whole("contains-changed"),
    "propertyNames": _whole("property-names-changed"),
    "allOf": _branch("all-of"),
    "anyOf": _branch("any-of"),
    "oneOf": _branch("one-of"),
    "not": _whole("not-changed"),
    "if": _whole("if-then-else-changed"),
    "then": _whole("if-then-else-changed"),
    "else": _whole("if-then-else-changed"),
    "$ref": _reference,
    **dict.fromkeys(
        ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"), _whole("dynamic-ref-changed")
    ),
    **dict.fromkeys(("$id", "id", "$anchor"), _whole("id-changed")),
    **dict.fromkeys(("$schema", "$vocabulary"), _whole("dialect-changed")),
    "title": _whole("title-changed"),
    "description": _description,
    "$comment": _whole("comment-changed"),
    "default": _life("default"),
    "examples": _whole("examples-changed"),
    "deprecated": _deprecated,
    "readOnly": _whole("read-write-only-changed"),
    "writeOnly": _whole("read-write-only-changed"),
    "x-mcp-header": _header,
}
"""Every keyword of the dialects from draft-04 to 2020-12."""
