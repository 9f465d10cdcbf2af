from __future__ import annotations

from typing import Any

import pytest

from mcp_lock.proof.closed import Dangling, close, words

STRING = {"type": "string"}


def takes(schema: Any, value: Any) -> bool:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(schema, offline=True).is_valid(value)


OPEN = {"type": "object", "properties": {"a": STRING}}
PROMISED = {**OPEN, "additionalProperties": True}
FREE = {"type": "object", "properties": {"f": {"type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "value", "is_old_shaped"),
    [
        (OPEN, {"a": "x"}, True),
        (OPEN, {"a": "x", "b": 1}, False),
        (OPEN, {"a": 1}, False),
        (PROMISED, {"b": 1}, True),
        ({**OPEN, "additionalProperties": STRING}, {"b": "x"}, True),
        ({**OPEN, "patternProperties": {"^x": True}}, {"xy": 1}, True),
        ({**OPEN, "patternProperties": {"^x": True}}, {"y": 1}, False),
        (FREE, {"f": {"anything": 1}}, True),
        ({"type": "object", "properties": {"f": {"type": "object", "properties": {}}}}, {"f": {"anything": 1}}, False),
        ({"type": "object"}, {}, True),
        ({"type": "object"}, {"a": 1}, False),
        ({**OPEN, "required": ["z"]}, {"z": [1]}, True),
        ({**OPEN, "dependentRequired": {"a": ["z"]}}, {"a": "x", "z": 0}, True),
        ({"type": "object", "required": ["z"]}, {"z": 1, "b": 1}, False),
        ({"allOf": [OPEN, {"properties": {"b": {}}}]}, {"a": "x", "b": 1}, True),
        ({"allOf": [OPEN, {"properties": {"b": {}}}]}, {"c": 1}, False),
        ({"allOf": [PROMISED]}, {"c": 1}, True),
        ({**OPEN, "anyOf": [{"required": ["y"]}, {"required": ["z"]}]}, {"z": 1}, True),
        ({"type": "object", "properties": {"o": {"anyOf": [OPEN, {"type": "null"}]}}}, {"o": {"b": 1}}, False),
        ({"type": "object", "properties": {"o": {"anyOf": [OPEN, {"type": "null"}]}}}, {"o": None}, True),
        ({"type": "object", "properties": {"l": {"type": "array", "items": OPEN}}}, {"l": [{"b": 1}]}, False),
        ({"type": "object", "properties": {"o": {"$ref": "#/$defs/T"}}, "$defs": {"T": OPEN}}, {"o": {"b": 1}}, False),
        ({"$ref": "#/$defs/T", "properties": {"b": {}}, "$defs": {"T": OPEN}}, {"a": "x", "b": 1}, True),
        ({"type": "object", "properties": {"a": {}, "kid": {"$ref": "#"}}}, {"kid": {"kid": {"b": 1}}}, False),
        ({"type": "object", "properties": {"a": {}, "kid": {"$ref": "#"}}}, {"kid": {"kid": {"a": 1}}}, True),
        ({**OPEN, "not": {"properties": {"a": {"const": "x"}}, "required": ["a"]}}, {"a": "y"}, True),
        ({**OPEN, "if": OPEN, "then": {"properties": {"b": {}}}}, {"a": "x", "b": 1}, True),
        ({**OPEN, "dependentSchemas": {"a": {"properties": {"b": {}}}}}, {"a": "x", "b": 1}, True),
        ({**OPEN, "unevaluatedProperties": True}, {"b": 1}, True),
        (True, {"b": 1}, True),
        ({"type": "object", "additionalProperties": STRING}, {"b": "x"}, True),
    ],
)
def test_an_old_shaped_call_sends_what_was_declared(schema: Any, value: Any, is_old_shaped: bool) -> None:
    assert takes(close(schema), value) is is_old_shaped


def test_a_promise_of_openness_says_nothing_about_what_is_read() -> None:
    assert not takes(close(PROMISED, keep_promises=False), {"b": 1})
    assert takes(
        close({"type": "object", "properties": {"m": {"additionalProperties": True}}}, keep_promises=False),
        {"m": {"b": 1}},
    )


def test_what_no_call_is_made_of_is_left_open() -> None:
    inside = {"properties": {"x": {"properties": {"y": STRING}}}}
    closed = close({"properties": {"v": {"contains": inside, "not": inside, "if": inside, "propertyNames": inside}}})
    for keyword in ("contains", "not", "if", "propertyNames"):
        assert closed["properties"]["v"][keyword] == inside


@pytest.mark.parametrize("ref", ["#/$defs/Gone", "#gone", "https://example.test/x", "file:///etc/passwd", "other.json"])
def test_a_reference_out_of_the_document_is_refused(ref: str) -> None:
    for read in (words, close):
        with pytest.raises(Dangling):
            read({"properties": {"a": {"$ref": ref}}})


def node(name: str, value: Any) -> dict[str, Any]:
    members = {"v": value, "kids": {"items": {"$ref": f"#/$defs/{name}"}}}
    return {"$ref": f"#/$defs/{name}", "$defs": {name: {"properties": members}}}


def test_a_definition_is_named_after_what_it_says() -> None:
    assert close(node("A", STRING)) == close(node("B", STRING))
    assert words(node("A", STRING)) == words(node("B", STRING))


@pytest.mark.parametrize("other", [{"type": "number"}, {"type": "string", "maxLength": 3}, {"const": "string"}])
def test_definitions_that_say_different_things_share_no_name(other: Any) -> None:
    assert not close(node("A", STRING))["$defs"].keys() & close(node("A", other))["$defs"].keys()


def test_definitions_that_differ_only_far_down_a_cycle_share_no_name() -> None:
    def chain(last: Any) -> Any:
        defs = {f"d{at}": {"properties": {"n": {"$ref": f"#/$defs/d{at + 1}"}}} for at in range(9)}
        return {"$ref": "#/$defs/d0", "$defs": {**defs, "d9": {"properties": {"n": {"$ref": "#/$defs/d0"}, "v": last}}}}

    assert not close(chain(STRING))["$defs"].keys() & close(chain({"type": "null"}))["$defs"].keys()
    assert close(chain(STRING)) == close(chain(STRING))


def test_a_name_in_data_is_not_a_reference() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/T"}, "b": {"const": {"$ref": "#/$defs/T"}}}, "$defs": {"T": STRING}}
    assert close(schema)["properties"]["b"]["const"] == {"$ref": "#/$defs/T"}
