from __future__ import annotations

from typing import Any

import pytest

from mcp_lock.proof.closed import close, words
from mcp_lock.proof.inclusion import includes
from mcp_lock.proof.skeleton import skeleton
from mcp_lock.proof.unions import are_apart

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def tree(value: Any) -> dict[str, Any]:
    members = {"v": value, "kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}
    return words({"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": members}}})


def kind(name: str, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"const": name}, **members}, "required": ["kind"]}


LOOP = {"anyOf": [{"$ref": "#/$defs/a"}]}


@pytest.mark.parametrize(
    ("narrow", "wide", "is_proved"),
    [
        (tree(INTEGER), tree(NUMBER), True),
        (tree(NUMBER), tree(INTEGER), False),
        ({"properties": {"a": {"const": 1}}}, {"properties": {"a": {"const": True}}}, False),
        ({"properties": {"a": {"const": 1}}}, {"properties": {"a": {"const": 1.0}}}, True),
        ({**LOOP, "$defs": {"a": LOOP}}, INTEGER, False),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, INTEGER, False),
        ({"anyOf": [kind("a", x=STRING), kind("b")]}, {"anyOf": [kind("b"), kind("a"), kind("c")]}, True),
        ({"anyOf": [kind("a"), kind("b")]}, {"anyOf": [kind("b"), kind("a", x=STRING)]}, False),
        ({"anyOf": [STRING, INTEGER]}, {"anyOf": [NUMBER, STRING]}, True),
        (True, {"anyOf": [True], "unevaluatedItems": {"type": "boolean"}}, False),
        ({"type": "array"}, {"anyOf": [True], "unevaluatedItems": {"type": "boolean"}}, False),
        ({"items": STRING}, {"prefixItems": [INTEGER], "items": STRING}, False),
        ({"prefixItems": [STRING], "items": INTEGER}, {"items": INTEGER}, False),
        ({"prefixItems": [STRING], "items": INTEGER}, {"prefixItems": [STRING], "items": NUMBER}, True),
        ({"properties": {"a": STRING}, "additionalProperties": INTEGER}, {"additionalProperties": INTEGER}, False),
        ({"pattern": "^a+$", "type": "string"}, {"pattern": "^[ab]+$"}, True),
        ({"pattern": "^[ab]+$", "type": "string"}, {"pattern": "^a+$"}, False),
        ({"type": "string", "maxLength": 9, "allOf": [{"maxLength": 5}]}, {"type": "string", "maxLength": 5}, True),
        (False, False, True),
        (True, False, False),
        ({}, True, True),
    ],
)
def test_inclusion_is_said_only_where_it_is_proved(narrow: Any, wide: Any, is_proved: bool) -> None:
    assert includes(wide, narrow) is is_proved


@pytest.mark.parametrize(
    ("branches", "is_plain"),
    [
        ([STRING, {"type": "null"}], True),
        ([INTEGER, NUMBER], False),
        ([STRING, {"type": ["null", "string"]}], False),
        ([{"const": 1}, {"const": True}], True),
        ([{"const": 1}, {"enum": [2, 1.0]}], False),
        ([kind("a"), kind("b")], True),
        ([kind("a"), kind("a", x=STRING)], False),
        ([kind("a"), {**kind("b"), "required": []}], True),
        ([{**kind("a"), "required": []}, {**kind("b"), "required": []}], False),
        ([{"properties": {"k": {"const": 1}}, "required": ["k"]}, {"properties": {"k": {"const": 2}}}], False),
        ([STRING, True], False),
        ([STRING, {"$ref": "#/$defs/gone"}], False),
        ([STRING, {"$ref": "#/$defs/n"}], True),
        ("not a list", False),
    ],
)
def test_branches_are_apart_only_where_it_is_plain(branches: Any, is_plain: bool) -> None:
    assert are_apart({"$defs": {"n": INTEGER}}, branches) is is_plain


def takes(schema: Any, value: Any) -> bool:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(schema, offline=True).is_valid(value)


SHAPES = [
    {"type": "object", "properties": {"a": {**STRING, "maxLength": 3}, "l": {"items": {"properties": {"b": INTEGER}}}}},
    {"type": "object", "properties": {"u": {"anyOf": [kind("a", x=STRING), kind("b", y=INTEGER), {"type": "null"}]}}},
    {"properties": {"t": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"properties": {"t": {"$ref": "#/$defs/T"}}}}},
    {"type": "object", "properties": {"a": STRING}, "if": {"required": ["a"]}, "then": {"properties": {"b": INTEGER}}},
    {"type": "object", "properties": {"m": {"additionalProperties": {"properties": {"x": STRING}}}, "c": {"const": 1}}},
    {"type": "object", "properties": {"a": STRING}, "additionalProperties": False},
]  # fmt: skip
VALUES: list[Any] = [
    {}, {"a": "x"}, {"a": "xxxx"}, {"a": 1}, {"z": 1}, {"a": "x", "b": 1}, {"a": "x", "b": "y"}, {"b": 1},
    {"l": [{"b": 1}]}, {"l": [{"b": 1, "z": 1}]}, {"u": None}, {"u": {"kind": "a", "x": "s"}},
    {"u": {"kind": "a", "y": 1}},
    {"u": {"kind": "b", "y": "s"}}, {"u": {"kind": "c"}}, {"t": {"t": {"t": {}}}}, {"t": {"t": {"z": 1}}},
    {"m": {"k": {"x": "s"}}}, {"m": {"k": {"z": "s"}}}, {"c": 2}, {"c": 1},
]  # fmt: skip


@pytest.mark.parametrize("schema", SHAPES)
def test_what_a_schema_and_its_skeleton_take_is_taken_closed(schema: Any) -> None:
    closed = close(schema, keep_promises=False)
    for value in VALUES:
        assert (takes(schema, value) and takes(skeleton(closed), value)) is takes(closed, value), value


def test_a_skeleton_asks_for_nothing_but_names() -> None:
    closed = close({"type": "object", "properties": {"a": {**STRING, "maxLength": 3}}, "required": ["a"]})
    assert skeleton(closed) == {"properties": {"a": {}}, "unevaluatedProperties": False}
