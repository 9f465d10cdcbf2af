r"""One spelling of JSON, and its digest.

The canonical form is RFC 8785 (JCS) with two stated extensions, so that any JCS library recomputes the digest of every
contract that JCS can carry:

1. an integer of magnitude 2^53 or more that was written as an integer is spelt by its exact digits;
2. a lone surrogate is spelt `\udxxx` in lower-case hex.

What two JSON readers may read differently has no canonical form and raises `Unpinnable`: NaN and the infinities,
numbers that overflow, repeated keys, and values too large or too deep. `parse` keeps such faults in the value instead
of raising, so that one bad tool never costs its siblings. Nothing here knows what a tool or a schema is.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from mcp_lock.errors import Unpinnable
from mcp_lock.pointer import token

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

EXACT = 2**53
"""From here on neighbouring integers are one double."""

MAX_DEPTH = 128
"""64 levels of schema, which are two of JSON each."""
MAX_NODES = 10_000
MAX_BYTES = 1 << 20


class RepeatedKeys(dict[str, Any]):
    """An object whose text names a key twice: readers that take the first and the last value read two contracts."""

    repeated: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    flawed = RepeatedKeys(value)
    seen: set[str] = set()
    flawed.repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return flawed


def _integer(digits: str) -> float:
    """The number; an infinity for more digits than the interpreter converts, so that `canonical` refuses only it."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)


def parse(text: str) -> Any:
    """The JSON value that `text` spells, faults kept where `canonical` will find them.

    Raises ValueError for text that is not JSON, or nested deeper than the interpreter can follow.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def number(value: float) -> str:
    """The canonical spelling of a finite number: ECMAScript's, integers of 2^53 and more by their digits."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    sign, rest = ("-", repr(value)[1:]) if value < 0 else ("", repr(value))
    mantissa, _, exponent = rest.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    return sign + _placed(digits.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    """`0.digits` times ten to the `point`, as ECMAScript's Number::toString places the point."""
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def _sort_key(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


class _Writer:
    """One pass over a value; counts nodes so that a bomb is refused before it is spelt."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.nodes = 0

    def write(self, value: Json, pointer: str, depth: int) -> None:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise Unpinnable(pointer, f"too large: over {MAX_DEPTH} levels deep or over {MAX_NODES} values")
        if isinstance(value, str):
            self.parts.append(encode_basestring(value))
        elif value is None or value is True or value is False:
            self.parts.append({None: "null", True: "true", False: "false"}[value])
        elif isinstance(value, int | float):
            self.parts.append(_finite(value, pointer))
        elif isinstance(value, Mapping):
            self._object(value, pointer, depth)
        else:
            self._array(value, pointer, depth)

    def _object(self, value: Mapping[str, Json], pointer: str, depth: int) -> None:
        if isinstance(value, RepeatedKeys):
            raise Unpinnable(pointer, f"the key {json.dumps(value.repeated)} is there twice")
        self.parts.append("{")
        keys = sorted(value) if all(map(str.isascii, value)) else sorted(value, key=_sort_key)
        for at, key in enumerate(keys):
            self.parts.append(("," if at else "") + encode_basestring(key) + ":")
            self.write(value[key], f"{pointer}/{token(key)}", depth + 1)
        self.parts.append("}")

    def _array(self, value: Sequence[Json], pointer: str, depth: int) -> None:
        self.parts.append("[")
        for at, item in enumerate(value):
            if at:
                self.parts.append(",")
            self.write(item, f"{pointer}/{at}", depth + 1)
        self.parts.append("]")


def _finite(value: float, pointer: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise Unpinnable(pointer, f"not valid JSON: {json.dumps(value)} (a number out of range, or not a number)")
    return number(value)


def canonical(value: Json) -> bytes:
    """The one spelling of `value`, UTF-8. Raises `Unpinnable`, with the pointer of the place, where there is none."""
    writer = _Writer()
    writer.write(value, "", 0)
    # what UTF-8 cannot hold is a lone surrogate, and this error handler spells it as the docstring says
    spelt = "".join(writer.parts).encode("utf-8", "backslashreplace")
    if len(spelt) > MAX_BYTES:
        raise Unpinnable("", f"too large: {len(spelt)} bytes, over {MAX_BYTES}")
    return spelt


def digest(value: Json) -> str:
    """`sha256:` and the 64 hex digits over `canonical(value)`. Raises `Unpinnable`."""
    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()}"


def same(old: Json, new: Json) -> bool:
    """Whether two values have one canonical form: 1 and 1.0 do, 1 and true do not."""
    if isinstance(old, Mapping):
        return isinstance(new, Mapping) and old.keys() == new.keys() and all(same(old[k], new[k]) for k in old)
    if isinstance(old, str | bool | None):
        return type(old) is type(new) and old == new
    if isinstance(old, int | float):
        return isinstance(new, int | float) and not isinstance(new, bool) and number(old) == number(new)
    if isinstance(new, str) or not isinstance(new, Sequence):
        return False
    return len(old) == len(new) and all(map(same, old, new))
