from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from mcp_lock.outcome import ABSENT
from mcp_lock.proof import Direction, judge
from mcp_lock.proof.language import finds, is_included, outside
from mcp_lock.proof.pattern import samples
from mcp_lock.proof.witness import CANDIDATES, candidates, search, shrink


def call(old: Any, new: Any) -> Any:
    return judge(old, new, Direction.INPUT).witness


def tool(*required: str, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(required)}


STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("old", "new", "witness"),
    [
        (tool("query", query=STRING), tool("query", "limit", query=STRING, limit={}), {"query": "x"}),
        (tool(n={"type": "integer", "maximum": 50}), tool(n={"type": "integer", "maximum": 20}), {"n": 21}),
        (tool(mode={"enum": ["fast", "deep"]}), tool(mode={"enum": ["deep"]}), {"mode": "fast"}),
        (tool(day={**STRING, "format": "date"}), tool(day={"type": "integer"}), {"day": "2024-01-02"}),
        (tool(q={**STRING, "examples": ["weather in Bern"]}), tool(q={"type": "null"}), {"q": "weather in Bern"}),
        (tool(n={"type": "integer", "default": 30}), tool(n=STRING), {"n": 30}),
        (tool(role=STRING), tool(role={**STRING, "not": {"enum": ["root"]}}), {"role": "root"}),
        (
            tool("tags", tags={"type": "array", "items": STRING}),
            tool("tags", tags={"type": "array", "minItems": 1}),
            {"tags": []},
        ),
        (tool(a=STRING, b=STRING), {**tool(a=STRING, b=STRING), "dependentRequired": {"a": ["b"]}}, {"a": "x"}),
        (tool(q=STRING), tool(), {"q": "x"}),
    ],
)
def test_a_witness_is_a_call_that_a_person_could_have_made(old: Any, new: Any, witness: Any) -> None:
    assert call(old, new) == witness


def test_a_witness_keeps_what_it_needs_and_nothing_else() -> None:
    value = {"keep": [{"a": 1, "b": 2}, 3], "drop": "x" * 400, "long": "y" * 400}
    least = shrink(value, lambda call: "'a': 1" in str(call) and "y" * 31 in str(call))
    assert least == {"keep": [{"a": 1}], "long": "y" * 31}


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert search(candidates(tool(q=STRING), tool(q=STRING)), lambda _: False) is ABSENT


def test_candidates_are_bounded_and_made_as_they_are_asked_for() -> None:
    tree: Any = {
        "$ref": "#/$defs/T",
        "$defs": {"T": {"properties": {str(at): {"$ref": "#/$defs/T"} for at in range(9)}}},
    }
    first = list(islice(candidates(tree, True), 3))
    assert len(first) == 3
    assert sum(1 for _ in candidates(tree, {"type": "object"})) <= CANDIDATES


def test_the_same_search_finds_the_same_call() -> None:
    old, new = tool(a=STRING, b={"type": "number"}), tool(a={**STRING, "maxLength": 7}, b={"type": "integer"})
    assert len({str(list(islice(candidates(old, new), 200))) for _ in range(3)}) == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z]{2,5}$", r"^\d{4}-\d{2}$", "(a|b)+c?", r"^[\w.-]+@[\w-]+\.\w+$", "^(foo|bar)$", "[^a-z]+", r"^\p{L}+$",
        r"^(?<year>\d{4})$", "^$", r"^\u0041\x42\cJ?$", "^[a-]$", "^x{3}y*?$", r"^[\d\-]+$",
    ],
)  # fmt: skip
def test_samples_are_strings_that_a_pattern_finds_something_in(pattern: str) -> None:
    from jsonschema_rs import Draft202012Validator

    assert samples(pattern)
    assert all(map(Draft202012Validator({"pattern": pattern}).is_valid, samples(pattern)))


@pytest.mark.parametrize("pattern", ["(", "[a", "a)", "(?", r"\u{110000}", "(" * 99 + ")" * 99, r"\x"])
def test_a_pattern_that_is_not_understood_has_no_samples(pattern: str) -> None:
    assert samples(pattern) == ()
    assert not is_included(pattern, "a")
    assert not finds(pattern, "a")


@pytest.mark.parametrize(
    ("narrow", "wide", "is_proved"),
    [
        (r"^\d+$", r"^\w+$", True),
        (r"^\w+$", r"^\d+$", False),
        ("^a$", "a", True),
        ("a", "^a", False),
        ("^(a|b)$", "^[ab]$", True),
        ("^[ab]$", "^(a|b)$", True),
        ("^a{2,3}$", "^a+$", True),
        ("^a+$", "^a{2,3}$", False),
        (r"^\d+:\d+$", r"^I?\d+:\d+(?:;\d+:\d+)*$", True),
        ("^[a-c]$|^d$", "^[a-d]$", True),
        ("^.$", r"^[^\n]$", True),
        ("^[^a]$", "^.$", False),
        (r"^\p{L}$", ".", False),
        ("^(?=a)a$", "^a$", False),
        (r"^(a)\1$", "a", False),
        ("(a|b)*a(a|b){25}", "(a|b)*a(b|a){25}", False),
        ("^(a{1,300}){1,300}$", "a", False),
    ],
)
def test_inclusion_of_patterns_is_said_only_where_it_is_proved(narrow: str, wide: str, is_proved: bool) -> None:
    assert is_included(narrow, wide) is is_proved


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [(r"^\w+$", r"^\d+$"), ("a", "^a"), ("^a+$", "^a{2,3}$"), ("^[^a]$", "^.$")],
)
def test_a_string_outside_a_pattern_is_outside_it(narrow: str, wide: str) -> None:
    from jsonschema_rs import Draft202012Validator

    text = outside(narrow, wide)
    assert text is not None
    assert Draft202012Validator({"pattern": narrow}).is_valid(text)
    assert not Draft202012Validator({"pattern": wide}).is_valid(text)
    assert finds(narrow, text)
    assert not finds(wide, text)
