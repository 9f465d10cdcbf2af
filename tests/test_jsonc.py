"""JSON with comments: what it takes beside JSON, what it refuses, and that it knows where things stand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.config import jsonc, toml
from mcp_lock.config.document import MalformedError, Place

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e300, 1e300) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)
NOISE = st.sampled_from(["", " ", "\n", "\r\n", "\t", "// a, b: {\n", '/* ] } " */', "/**/", "//\r"])


@given(JSON, st.sampled_from([None, 2]))
def test_json_reads_as_json(value: Any, indent: int | None) -> None:
    assert jsonc.parse(json.dumps(value, indent=indent)).value == value
    assert jsonc.parse(json.dumps(value, ensure_ascii=False)).value == value


def spelt(value: Any, noise: Any) -> str:
    """`value` as JSONC, with noise at every place where there may be some."""
    if isinstance(value, dict):
        members = [f"{noise()}{json.dumps(key)}{noise()}:{spelt(member, noise)}" for key, member in value.items()]
        return f"{noise()}{{{','.join(members)}{noise()}{',' if members else ''}{noise()}}}{noise()}"
    if isinstance(value, list):
        return f"{noise()}[{','.join(spelt(item, noise) for item in value)}{',' if value else ''}{noise()}]{noise()}"
    return f"{noise()}{json.dumps(value)}{noise()}"


@given(JSON, st.data())
def test_comments_and_trailing_commas_change_nothing(value: Any, data: st.DataObject) -> None:
    assert jsonc.parse(spelt(value, lambda: data.draw(NOISE))).value == value


@given(st.text(st.sampled_from('{}[]:,"\\/*\n\r\tu0123456789abcdeftrnl-+. \ud800\0'), max_size=40))
def test_any_text_reads_as_json_reads_it_or_is_malformed_at_a_place_in_it(text: str) -> None:
    fault: MalformedError | None = None
    try:
        value = jsonc.parse(text).value
    except MalformedError as error:
        fault = error
    if fault:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert 1 <= fault.place.line <= len(lines)
        assert 1 <= fault.place.column <= len(text) + 1
    elif "/" not in text and "," not in text:
        assert value == json.loads(text)


def test_the_place_of_every_key_and_item_is_known() -> None:
    document = jsonc.parse('{\r\n  // one\r\n  "a": {"b": [1,\r\n   {"c": 2}]}}')
    assert document.places == {
        ("a",): Place(3, 3),
        ("a", "b"): Place(3, 9),
        ("a", "b", 0): Place(3, 15),
        ("a", "b", 1): Place(4, 4),
        ("a", "b", 1, "c"): Place(4, 5),
    }
    assert document.place(("a", "b", 1, "not there")) == Place(4, 4)
    assert document.place(()) == Place(1, 1)


def test_every_repeated_key_is_told_with_both_lines() -> None:
    document = jsonc.parse('{"a": 1,\n"b": {"x": 1,\n "x": 2, "x": 3},\n "a": 4}')
    assert [str(repeat) for repeat in document.repeats] == [
        "duplicate key x (lines 2 and 3)",
        "duplicate key x (lines 2 and 3)",
        "duplicate key a (lines 1 and 4)",
    ]
    assert [repeat.path for repeat in document.repeats] == [("b",), ("b",), ()]


MALFORMED = {
    "": (Place(1, 1), "expected a value, found the end of the file"),
    '{"a": 1': (Place(1, 8), "the file ends inside the { of line 1"),
    '{\n"a": [1,\n2': (Place(3, 2), "the file ends inside the [ of line 2"),
    '{"a" 1}': (Place(1, 6), "expected a colon after the key, found “1”"),
    '{"a": 1 "b": 2}': (Place(1, 9), 'expected a comma or }, found “"”'),
    "{a: 1}": (Place(1, 2), "expected a key in double quotes, or }, found “a”"),
    "{'a': 1}": (
        Place(1, 2),
        "expected a key in double quotes, or }, found a single quote; strings take double quotes",
    ),
    "{,}": (Place(1, 2), "expected a key in double quotes, or }, found “,”"),
    "[1,,2]": (Place(1, 4), "expected a value, found “,”"),
    "[1 2]": (Place(1, 4), "expected a comma or ], found “2”"),
    "[01]": (Place(1, 2), "expected a value, found “0”"),
    "[.5]": (Place(1, 2), "expected a value, found “.”"),
    "[+1]": (Place(1, 2), "expected a value, found “+”"),
    "[NaN]": (Place(1, 2), "expected a value, found “N”"),
    "[1e999]": (Place(1, 2), "the number is out of range"),
    "[truex]": (Place(1, 2), "expected a value, found “t”"),
    "[1] 2": (Place(1, 5), "there is text after the end of the value"),
    '"a": {}': (Place(1, 4), "there is text after the end of the value: put { and } around it all"),
    "[1] /* ": (Place(1, 5), "the comment is not closed"),
    '["a]': (Place(1, 2), "the string is not closed"),
    '["a\n", "b"]': (Place(1, 4), "the string is not closed on its line"),
    '["a\tb"]': (Place(1, 4), "the string holds a control character: write \\t"),
    '["\\ud800"]': (Place(1, 2), "the string holds one half of a surrogate pair"),
    '["C:\\Users"]': (Place(1, 5), "a backslash begins an escape: paths need doubled backslashes, as in C:\\\\Users"),
    '["C:\\users"]': (Place(1, 5), "a backslash begins an escape: paths need doubled backslashes, as in C:\\\\Users"),
    "\u00a0{}": (Place(1, 1), "expected a value, found “\u00a0”"),
    "\u200b{}": (Place(1, 1), "expected a value, found “\\u{200b}”"),
    "[" * 200: (Place(1, 102), "nested over 100 levels deep"),
}


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_json_is_refused_at_its_place(text: str) -> None:
    place, why = MALFORMED[text]
    with pytest.raises(MalformedError) as caught:
        jsonc.parse(text)
    assert (caught.value.place, str(caught.value)) == (place, why)


def test_a_number_of_many_digits_is_refused_and_not_a_crash() -> None:
    with pytest.raises(MalformedError, match="out of range"):
        jsonc.parse(f"[{'9' * 5000}]")


def test_toml_tells_where_its_tables_and_keys_stand() -> None:
    document = toml.parse('a = 1\n\n[ b . "c d" ] # note\nx.y = 2\n  z = """\n[not]\n"""\n')
    assert document.value == {"a": 1, "b": {"c d": {"x": {"y": 2}, "z": "[not]\n"}}}
    assert document.place(("a",)) == Place(1, 1)
    assert document.place(("b", "c d")) == Place(3, 3)
    assert document.place(("b", "c d", "x", "y")) == Place(4, 1)
    assert document.place(("b", "c d", "z")) == Place(5, 3)


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("[a]\nx = 1\n[a]\n", Place(3, 2), "duplicate key a (lines 1 and 3)"),
        ("a = 1\nb = \n", Place(2, 5), "Invalid value"),
        ("a = 1\na = 2\n", Place(2, 6), "Cannot overwrite a value"),
        ("a = [", Place(1, 1), "Invalid value"),
    ],
)
def test_what_is_no_toml_is_refused_at_its_place(text: str, place: Place, why: str) -> None:
    with pytest.raises(MalformedError) as caught:
        toml.parse(text)
    assert (caught.value.place, str(caught.value)) == (place, why)
