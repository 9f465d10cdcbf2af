"""Tool schemas as servers write them, edits whose impact is known, and the places in a schema where an edit can lie."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from mcp_lock.outcome import Impact

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]

WORDS = ["branch", "cursor", "filter", "label", "limit", "owner", "page", "path", "query", "since", "state", "title"]

_KINDS: dict[str, Callable[[Random], Schema]] = {
    "string": lambda _: {"type": "string"},
    "integer": lambda _: {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
    "boolean": lambda _: {"type": "boolean"},
    "number": lambda random: {"type": "number", "default": random.choice([0.5, 1.0, 30])},
    "array": lambda _: {"type": "array", "items": {"type": "string"}},
    "enum": lambda random: {"type": "string", "enum": random.sample(WORDS, 4)},
    "nullable": lambda _: {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    "object": lambda _: {
        "type": "object",
        "properties": {"x": {"type": "string", "description": "which one"}, "n": {"type": "integer"}},
        "required": ["x"],
    },
    "bounded": lambda _: {"type": "string", "minLength": 1, "maxLength": 80},
    "map": lambda _: {"type": "object", "additionalProperties": {"type": "string"}},
}


def tool_schema(seed: int) -> Schema:
    """An input schema as SDKs print it: one parameter of every kind, some of them required, one at least not."""
    random = Random(seed)
    names = random.sample(WORDS, len(_KINDS))
    kinds = random.sample(sorted(_KINDS), len(_KINDS))
    members = {
        name: {"title": name.title(), "description": f"The {name} to use.", **_KINDS[kind](random)}
        for name, kind in zip(names, kinds, strict=True)
    }
    required = random.sample(names, random.randint(1, 4))
    return {"type": "object", "properties": members, "required": required}


@dataclass(frozen=True)
class Mutator:
    """An edit with the impact that it has, as an input and as an output."""

    name: str
    input: Impact
    output: Impact
    edit: Callable[[Schema, Random], object]
    """Edits in place."""

    def applied(self, schema: Schema, random: Random) -> Schema:
        edited = copy.deepcopy(schema)
        self.edit(edited, random)
        return edited


MUTATORS: list[Mutator] = []

COSMETIC, COMPATIBLE, SILENT, BREAKING = Impact.COSMETIC, Impact.COMPATIBLE, Impact.SILENT, Impact.BREAKING


def _mutator(as_input: Impact, as_output: Impact) -> Callable[[Callable[[Schema, Random], object]], Any]:
    def keep(edit: Callable[[Schema, Random], object]) -> Any:
        MUTATORS.append(Mutator(edit.__name__, as_input, as_output, edit))
        return edit

    return keep


def _optional(schema: Schema) -> list[str]:
    return [name for name in schema["properties"] if name not in schema["required"]]


def _with_keyword(schema: Schema, *keywords: str, **values: Any) -> list[Schema]:
    """The parameters that have all these keywords, and these values of others."""
    return [
        member
        for member in schema["properties"].values()
        if all(word in member for word in keywords) and all(member.get(word) == item for word, item in values.items())
    ]


def _plain_strings(schema: Schema) -> list[Schema]:
    return [member for member in _with_keyword(schema, type="string") if not member.keys() & {"enum", "minLength"}]


def _replace(member: Schema, **keywords: Any) -> object:
    return member.update(keywords)


def _renamed(members: Schema, old: str, new: str) -> Schema:
    return {new if name == old else name: member for name, member in members.items()}


# the same meaning in other words


@_mutator(COSMETIC, COSMETIC)
def members_in_another_order(schema: Schema, _: Random) -> object:
    schema["properties"] = dict(reversed(schema["properties"].items()))
    schema["required"].reverse()


@_mutator(COSMETIC, COSMETIC)
def described_otherwise(schema: Schema, random: Random) -> object:
    return _replace(random.choice(list(schema["properties"].values())), title="T", description="Other.", examples=[1])


@_mutator(COSMETIC, COSMETIC)
def enum_of_one_spelt_as_choice(schema: Schema, _: Random) -> object:
    member = _with_keyword(schema, "enum")[0]
    member["anyOf"] = [{"const": value} for value in member.pop("enum")]


@_mutator(COSMETIC, COSMETIC)
def null_spelt_as_type(schema: Schema, _: Random) -> object:
    member = _with_keyword(schema, "anyOf")[0]
    del member["anyOf"]
    return _replace(member, type=["null", "string"])


@_mutator(COSMETIC, COSMETIC)
def openness_spelt_out(schema: Schema, _: Random) -> object:
    return _replace(schema, additionalProperties=True)


@_mutator(COSMETIC, COSMETIC)
def keywords_that_ask_for_nothing(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "items")[0], minItems=0, uniqueItems=False)


@_mutator(COSMETIC, COSMETIC)
def bound_spelt_exclusively(schema: Schema, _: Random) -> object:
    member = _with_keyword(schema, "minimum")[0]
    member["exclusiveMinimum"] = member.pop("minimum") - 1


# wider


@_mutator(COMPATIBLE, COMPATIBLE)
def optional_parameter_added(schema: Schema, _: Random) -> object:
    return _replace(schema["properties"], brand_new={"type": "string"})


@_mutator(COMPATIBLE, COMPATIBLE)
def optional_object_added(schema: Schema, _: Random) -> object:
    added = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    return _replace(schema["properties"], brand_new=added)


@_mutator(COMPATIBLE, BREAKING)
def required_no_more(schema: Schema, _: Random) -> object:
    return schema["required"].pop()


@_mutator(COMPATIBLE, BREAKING)
def enum_grown(schema: Schema, _: Random) -> object:
    _with_keyword(schema, "enum")[0]["enum"].append("zzz")


@_mutator(COMPATIBLE, BREAKING)
def enum_dropped(schema: Schema, _: Random) -> object:
    return _with_keyword(schema, "enum")[0].pop("enum")


@_mutator(COMPATIBLE, BREAKING)
def maximum_raised(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "maximum")[0], maximum=150)


@_mutator(COMPATIBLE, BREAKING)
def integer_becomes_number(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, type="integer")[0], type="number")


@_mutator(COMPATIBLE, BREAKING)
def becomes_nullable(schema: Schema, random: Random) -> object:
    return _replace(random.choice(_plain_strings(schema)), type=["string", "null"])


@_mutator(COMPATIBLE, BREAKING)
def longest_raised(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "maxLength")[0], maxLength=120)


@_mutator(COMPATIBLE, BREAKING)
def one_or_many(schema: Schema, random: Random) -> object:
    member = random.choice(_plain_strings(schema))
    del member["type"]
    return _replace(member, anyOf=[{"type": "string"}, {"type": "array", "items": {"type": "string"}}])


@_mutator(COMPATIBLE, BREAKING)
def map_widened(schema: Schema, _: Random) -> object:
    return _replace(
        _with_keyword(schema, "additionalProperties")[0], additionalProperties={"type": ["string", "number"]}
    )


# refused


@_mutator(BREAKING, COMPATIBLE)
def required_parameter_added(schema: Schema, _: Random) -> object:
    schema["required"].append("tenant")
    return _replace(schema["properties"], tenant={"type": "string"})


@_mutator(BREAKING, COMPATIBLE)
def becomes_required(schema: Schema, random: Random) -> object:
    schema["required"].append(random.choice(_optional(schema)))


@_mutator(BREAKING, BREAKING)
def type_changed(schema: Schema, random: Random) -> object:
    return _replace(random.choice(_plain_strings(schema)), type="integer")


@_mutator(BREAKING, COMPATIBLE)
def enum_shrunk(schema: Schema, _: Random) -> object:
    return _with_keyword(schema, "enum")[0]["enum"].pop()


@_mutator(BREAKING, COMPATIBLE)
def maximum_lowered(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "maximum")[0], maximum=20)


@_mutator(BREAKING, COMPATIBLE)
def multiple_asked_for(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "maximum")[0], multipleOf=5)


@_mutator(BREAKING, COMPATIBLE)
def longest_lowered(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "maxLength")[0], maxLength=40)


@_mutator(BREAKING, COMPATIBLE)
def pattern_added(schema: Schema, random: Random) -> object:
    return _replace(random.choice(_plain_strings(schema)), pattern="^[a-z]{2,5}$")


@_mutator(BREAKING, COMPATIBLE)
def enum_added(schema: Schema, random: Random) -> object:
    return _replace(random.choice(_plain_strings(schema)), enum=["one", "two"])


@_mutator(BREAKING, BREAKING)
def string_becomes_array(schema: Schema, random: Random) -> object:
    return _replace(random.choice(_plain_strings(schema)), type="array", items={"type": "string"})


@_mutator(BREAKING, BREAKING)
def items_retyped(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "items")[0], items={"type": "integer"})


@_mutator(BREAKING, COMPATIBLE)
def most_items_added(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "items")[0], maxItems=3)


@_mutator(BREAKING, COMPATIBLE)
def least_items_added(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "items")[0], minItems=1)


@_mutator(BREAKING, COMPATIBLE)
def items_made_unique(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "items")[0], uniqueItems=True)


@_mutator(BREAKING, COMPATIBLE)
def null_dropped(schema: Schema, _: Random) -> object:
    member = _with_keyword(schema, "anyOf")[0]
    del member["anyOf"]
    return _replace(member, type="string")


@_mutator(BREAKING, COMPATIBLE)
def nested_member_becomes_required(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "required")[0], required=["x", "n"])


@_mutator(BREAKING, BREAKING)
def required_parameter_renamed(schema: Schema, _: Random) -> object:
    old = schema["required"][0]
    schema["required"][0] = "renamed"
    return _replace(schema, properties=_renamed(schema["properties"], old, "renamed"))


@_mutator(BREAKING, COMPATIBLE)
def one_parameter_needs_another(schema: Schema, _: Random) -> object:
    one, other = _optional(schema)[:2]
    return _replace(schema, dependentRequired={one: [other]})


@_mutator(BREAKING, COMPATIBLE)
def one_parameter_excludes_another(schema: Schema, _: Random) -> object:
    return _replace(schema, **{"not": {"required": _optional(schema)[:2]}})


@_mutator(BREAKING, COMPATIBLE)
def condition_added(schema: Schema, _: Random) -> object:
    one, other = _optional(schema)[:2]
    return _replace(schema, **{"if": {"required": [one]}, "then": {"required": [other]}})


@_mutator(BREAKING, COMPATIBLE)
def map_closed(schema: Schema, _: Random) -> object:
    return _replace(_with_keyword(schema, "additionalProperties")[0], additionalProperties=False)


# taken, but no longer read


@_mutator(SILENT, SILENT)
def optional_parameter_renamed(schema: Schema, random: Random) -> object:
    old = random.choice(_optional(schema))
    return _replace(schema, properties=_renamed(schema["properties"], old, "renamed"))


@_mutator(SILENT, SILENT)
def optional_parameter_removed(schema: Schema, random: Random) -> object:
    return schema["properties"].pop(random.choice(_optional(schema)))


@_mutator(SILENT, SILENT)
def nested_member_renamed(schema: Schema, _: Random) -> object:
    member = _with_keyword(schema, "required")[0]
    return _replace(member, properties=_renamed(member["properties"], "n", "count"))


NESTINGS: dict[str, Callable[[Schema], Schema]] = {
    "the whole": lambda schema: schema,
    "a parameter": lambda schema: {
        "type": "object",
        "properties": {"req": schema, "other": {"type": "boolean"}},
        "required": ["req"],
    },
    "an item": lambda schema: {"type": "object", "properties": {"list": {"type": "array", "items": schema}}},
    "an optional parameter": lambda schema: {
        "type": "object",
        "properties": {"opt": {"anyOf": [schema, {"type": "null"}], "default": None}},
    },
    "a definition": lambda schema: {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/T"}},
        "$defs": {"T": schema},
    },
    "an item that is a definition": lambda schema: {
        "type": "object",
        "properties": {"l": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
        "required": ["l"],
        "$defs": {"T": schema},
    },
    "a recursive definition": lambda schema: {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/T"}},
        "$defs": {"T": _recursive(schema)},
    },
}


def _recursive(schema: Schema) -> Schema:
    kids = {"type": "array", "items": {"$ref": "#/$defs/T"}}
    return {**schema, "properties": {**schema["properties"], "kids": kids}}
