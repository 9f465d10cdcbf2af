"""The canonical form: published vectors, own vectors for the two extensions, what has none, and properties."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_lock import canonical as canon
from mcp_lock.canonical import canonical, digest, parse, same
from mcp_lock.errors import Unpinnable

if TYPE_CHECKING:
    import random

CASES = Path(__file__).parent / "cases" / "canonical"
VECTORS = sorted((CASES / "vectors").glob("*.json"))
REFUSED = sorted((CASES / "refused").glob("*.json"))
BOUNDED = settings(max_examples=200, deadline=None, derandomize=bool(os.environ.get("CI")))


def case(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", VECTORS, ids=name)
def test_a_vector_has_the_canonical_form_it_says(path):
    vector = case(path)
    assert canonical(parse(vector["json"])).decode() == vector["canonical"]


@pytest.mark.parametrize("path", VECTORS, ids=name)
def test_a_canonical_form_is_its_own_canonical_form(path):
    spelt = case(path)["canonical"]
    assert canonical(parse(spelt)).decode() == spelt


@pytest.mark.parametrize("path", REFUSED, ids=name)
def test_what_two_readers_could_read_differently_is_refused_at_its_place(path):
    refused = case(path)
    value = parse(refused["json"])
    with pytest.raises(Unpinnable) as caught:
        canonical(value)
    assert caught.value.pointer == refused["pointer"]
    assert refused["says"] in caught.value.why


@pytest.mark.parametrize(("bits", "spelling"), case(CASES / "ieee754.json")["numbers"])
def test_a_double_is_spelt_as_the_rfc_says(bits, spelling):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    if spelling is None:
        with pytest.raises(Unpinnable):
            canonical(value)
    else:
        assert canonical(value).decode() == spelling


def test_the_digest_is_sha_256_over_the_canonical_form():
    assert digest({"b": 1, "a": [1.0]}) == "sha256:" + hashlib.sha256(b'{"a":[1],"b":1}').hexdigest()


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}], ids=["arrays", "objects"])
def test_depth_is_bounded_and_the_bound_itself_is_fine(wrap):
    value: Any = 0
    for _ in range(canon.MAX_DEPTH):
        value = wrap(value)
    assert canonical(value)
    with pytest.raises(Unpinnable, match="too large"):
        canonical(wrap(value))


def test_the_number_of_values_is_bounded():
    assert canonical([0] * (canon.MAX_NODES - 1))
    with pytest.raises(Unpinnable, match="too large"):
        canonical([0] * canon.MAX_NODES)


def test_the_length_is_bounded():
    assert canonical("a" * (canon.MAX_BYTES - 2))
    with pytest.raises(Unpinnable, match="too large"):
        canonical("a" * (canon.MAX_BYTES - 1))


@pytest.mark.parametrize("text", ["", "{", "[1,]", "[" * 100_000, "{'a': 1}"])
def test_text_that_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def test_one_bad_tool_costs_none_of_its_siblings():
    good, bad = parse('[{"name": "a", "x": 1}, {"name": "b", "x": 1, "x": 2}]')
    assert canonical(good) == b'{"name":"a","x":1}'
    with pytest.raises(Unpinnable):
        canonical(bad)


TEXT = st.text(st.characters(exclude_categories=()), max_size=6) | st.text(
    st.sampled_from('\r\n\t"\\/\x7f\u2028\ud83d\ude00\U0001f600\ufb33é'), max_size=4
)
NUMBER = (
    st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, -0.0, 1.0, 1, 100, 1e2, 2**53, 2**53 + 1, 2.0**53, 1e21, 1e-7, 5e-324])
)
LEAF = st.none() | st.booleans() | NUMBER | TEXT
# through JSON text, so that no value is drawn that no server could send (two adjacent halves of a pair, say)
VALUE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
).map(lambda value: parse(json.dumps(value)))


def oracle(value: Any) -> str:
    """A second, slower reading of RFC 8785 and the extensions, sharing nothing with the first."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: _code_units(member[0]))
        return "{" + ",".join(f"{oracle(key)}:{oracle(item)}" for key, item in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(oracle, value)) + "]"
    if isinstance(value, float):
        return _ecmascript(value)
    return _lone(json.dumps(value, ensure_ascii=False))


def _code_units(text: str) -> list[int]:
    data = text.encode("utf-16-le", "surrogatepass")
    return list(struct.unpack(f"<{len(data) // 2}H", data))


def _lone(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" if 0xD800 <= ord(char) < 0xE000 else char for char in text)


def _ecmascript(value: float) -> str:
    """Number::toString of ECMA-262, in its own letters: value = digits * 10 ** (n - k)."""
    if value == 0:
        return "0"
    sign, figures, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits, minus = "".join(map(str, figures)), "-" if sign else ""
    k = len(digits)
    n = k + int(exponent)
    if k <= n <= 21:
        return minus + digits + "0" * (n - k)
    if 0 < n <= 21:
        return f"{minus}{digits[:n]}.{digits[n:]}"
    if -6 < n <= 0:
        return f"{minus}0.{'0' * -n}{digits}"
    power = f"e{'+' if n > 0 else '-'}{abs(n - 1)}"
    return minus + (digits if k == 1 else f"{digits[0]}.{digits[1:]}") + power


@BOUNDED
@given(VALUE)
def test_a_second_implementation_spells_every_value_the_same(value):
    assert canonical(value) == oracle(value).encode()


@BOUNDED
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_second_implementation_spells_every_double_the_same(value):
    assert canonical(value).decode() == _ecmascript(value)


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@BOUNDED
@given(VALUE, st.randoms(use_true_random=False))
def test_key_order_never_matters(value, order):
    assert canonical(shuffled(value, order)) == canonical(value)


@BOUNDED
@given(VALUE)
def test_the_canonical_form_reads_back_as_the_same_value(value):
    assert same(parse(canonical(value).decode()), value)


def edits(value: Any) -> st.SearchStrategy[Any]:
    """`value` with one place replaced: pairs drawn apart are almost never nearly equal."""
    if isinstance(value, dict) and value:
        inside = st.sampled_from(sorted(value)).flatmap(
            lambda key: edits(value[key]).map(lambda item: {**value, key: item})
        )
        return inside | st.sampled_from(sorted(value)).map(lambda key: {k: v for k, v in value.items() if k != key})
    if isinstance(value, list) and value:
        inside = st.integers(0, len(value) - 1).flatmap(
            lambda at: edits(value[at]).map(lambda item: [*value[:at], item, *value[at + 1 :]])
        )
        return inside | st.sampled_from([value[:-1], value[::-1], [*value, value[-1]]])
    return st.sampled_from(near(value)) | LEAF.map(lambda leaf: parse(json.dumps(leaf)))


def near(value: Any) -> list[Any]:
    """What a careless comparison would take for `value`."""
    if isinstance(value, bool) or value is None:
        return [value, int(value or 0), str(value), [], {}]
    if isinstance(value, int | float):
        as_float = float(value)
        return [value, as_float, int(value), value + 1, bool(value), str(value)]
    return [value, [], {}, None] if not isinstance(value, str) else [value, f"{value} ", value.upper(), [value]]


@BOUNDED
@given(VALUE.flatmap(lambda value: st.tuples(st.just(value), edits(value))))
def test_two_values_are_the_same_just_when_their_canonical_forms_are(pair):
    old, new = pair
    assert same(old, new) == (canonical(old) == canonical(new)) == same(new, old)


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (2**53, 2.0**53, True),
        (2**53, 2**53 + 1, False),
        (1, True, False),
        (0, False, False),
        (0, None, False),
        ("1", 1, False),
        ([], {}, False),
        ([1], "1", False),
        ([1], [1, 2], False),
        ({"a": None}, {}, False),
        ("é", "e\u0301", False),
    ],
)
def test_equal_in_value_is_the_same_and_equal_in_python_is_not(old, new, equal):
    assert same(old, new) is same(new, old) is equal
