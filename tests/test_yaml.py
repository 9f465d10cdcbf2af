"""Configs in YAML: what is read, where it stands, and what an attacker would put into one."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.config.files import load
from mcp_lock.config.yaml_ import MAX_CHARS
from mcp_lock.errors import ConfigError

if TYPE_CHECKING:
    from mcp_lock.config.document import Document


def read(text: str) -> Document:
    return load(text.encode(), "f.yaml")


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value)


def said(text: str) -> str:
    try:
        return f"read {len(read(text).places)} keys"
    except ConfigError as error:
        return str(error)


def test_every_key_and_every_item_has_its_place() -> None:
    document = read("a:\n  b: 1\n  c:\n    - x\n    - {d: 2}\n")
    assert document.value == {"a": {"b": 1, "c": ["x", {"d": 2}]}}
    assert {".".join(map(str, path)): str(place) for path, place in document.places.items()} == {
        "a": "1:1",
        "a.b": "2:3",
        "a.c": "3:3",
        "a.c.0": "4:7",
        "a.c.1": "5:7",
        "a.c.1.d": "5:8",
    }


WORDS = {
    "yes": "yes",
    "on": "on",
    "1:30": "1:30",
    "2020-01-01": "2020-01-01",
    "true": True,
    "False": False,
    "~": None,
    "": None,
    "012": 12,
    "0x1f": 31,
    "0o17": 15,
    "-7": -7,
    "1.5e3": 1500.0,
    ".": ".",
    "'1'": "1",
    "!!str 1": "1",
    "! 1": "1",
    "|\n  two\n  lines": "two\nlines\n",
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_means_what_yaml_1_2_says(word: str) -> None:
    assert read(f"a: {word}\n").value == {"a": WORDS[word]}
    assert type(read(f"a: {word}\n").value["a"]) is type(WORDS[word])


def test_an_alias_repeats_what_it_names_and_a_merge_gives_way_to_what_is_written() -> None:
    document = read("base: &b {A: 1, B: 2}\none: *b\ntwo:\n  <<: *b\n  B: 3\nthree:\n  <<: [{A: 9}, *b]\n")
    assert document.value["one"] == {"A": 1, "B": 2}
    assert document.value["two"] == {"A": 1, "B": 3}
    assert document.value["three"] == {"A": 9, "B": 2}
    assert str(document.place(("one", "A"))) == "2:1"


def test_a_repeated_key_is_kept_with_both_places() -> None:
    assert [str(repeat) for repeat in read("a: 1\nb: 2\na: 3\n").repeats] == ["duplicate key a (lines 1 and 3)"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~", "null"])
def test_a_file_that_says_nothing_holds_nothing(text: str) -> None:
    assert read(text).value == {}


FAULTS = {
    "a: !!python/object/apply:os.system ['true']": "1:4: tags are not read: write the value itself",
    "a: !!python/name:os.system": "1:4: tags are not read: write the value itself",
    "a: !Ref x": "1:4: tags are not read: write the value itself",
    "a: !!set {x}": "1:4: tags are not read: write the value itself",
    "!!str a: 1\n!x b: 2": "2:1: a key must be plain text",
    "? [a]\n: 1": "1:3: a key must be plain text",
    "? {a: b}\n: 1": "1:3: a key must be plain text",
    "a: &x [*x]": "1:8: the alias x stands inside what it repeats",
    "a: &x {b: &y [*x]}": "1:15: the alias x stands inside what it repeats",
    "a: *nobody": "1:4: the alias nobody has no anchor above it",
    "a: {<<: 5}": "1:9: << takes a mapping, or a list of them",
    "a: 1\n---\nb: 2": "2:1: holds a second document: one file, one document",
    "a: 1e999": "1:4: the number is out of range",
    "a:\n\tb: 1": "2:1: found character '\\t' that cannot start any token",
    "a: b: c": "1:5: mapping values are not allowed here",
    "a: 'x\n": "2:1: found unexpected end of stream",
    "a: [1, 2": "1:9: expected ',' or ']', but got '<stream end>'",
    "a: \x07": "1:4: holds a control character",
    "ab: 1\nb: \x00": "2:4: holds a control character",
    "[" * 200: "1:102: nested over 100 levels deep",
    "{a: " * 200: "1:405: nested over 100 levels deep",
    "- " * 200: "1:203: nested over 100 levels deep",
    "x" * (MAX_CHARS + 1): "1:1: over 512 Ki characters, which is no client config",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: repr(text[:30]))
def test_what_is_wrong_is_one_line_with_its_place(text: str) -> None:
    assert fault(text) == f"f.yaml:{FAULTS[text]}"


def test_aliases_that_would_fill_the_memory_are_refused_at_once() -> None:
    laughs = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n"
    laughs += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    started = time.process_time()
    assert "holds over 100000 values, aliases followed" in fault(laughs)
    assert time.process_time() - started < 5


def test_merges_that_would_fill_the_memory_are_refused_too() -> None:
    wide = "b: &b {" + ", ".join(f"k{n}: 1" for n in range(500)) + "}\n"
    wide += "".join(f"m{n}: {{<<: *b}}\n" for n in range(400))
    assert "holds over 100000 values, aliases followed" in fault(wide)


def test_aliases_that_nest_are_no_deeper_than_what_is_written_out() -> None:
    deep = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 120))
    assert "nested over 100 levels deep" in fault(deep)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_is_read_in_any_encoding_and_with_any_line_ends(encoding: str) -> None:
    text = "mcpServers:\r\n  日本:\r\n    command: srv\r\n"
    document = load(text.encode(encoding), "f.yaml")
    assert document.value == {"mcpServers": {"日本": {"command": "srv"}}}
    assert str(document.place(("mcpServers", "日本", "command"))) == "3:5"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="ascii", min_codepoint=32), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), JSON, min_size=1, max_size=3))
def test_json_is_yaml(value: dict[str, object]) -> None:
    assert read(json.dumps(value)).value == value


@given(st.text(max_size=60) | st.text("{}[]:,-?&*!|>'\"%@` \n\tab<#", max_size=40))
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(text: str) -> None:
    told = said(text)
    assert told.startswith(("f.yaml:", "read"))
    assert "\n" not in told
