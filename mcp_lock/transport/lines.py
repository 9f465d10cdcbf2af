"""One line of a server's stdout: a message, or something that is none.

Strict UTF-8 and nothing else: two different texts must never become one by lenient decoding. A stray line never counts
as an answer, and a line that can only be an answer but cannot be read is an error rather than a stray one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcp_lock import canonical

DEEP = 256
"""Levels of nesting that are read; what lies deeper is more than any contract may have, so that its item is refused."""

_BEGIN = re.compile(rb'\{\s*"(?:jsonrpc|id|result|error)"\s*:')
_METHOD_FIRST = re.compile(rb'[^{\[]*\{[^{\[]*"method"\s*:')
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')
_TRIES = 4
"""Places in one line where an answer is looked for behind junk."""


class Unreadable(ValueError):
    """A line that can only be an answer, and cannot be read."""


@dataclass(frozen=True, slots=True)
class Line:
    """What one line holds."""

    message: dict[str, Any] | None
    junk: bytes
    """The part that is no message: the whole line, or what stands in front of the answer."""


def read(line: bytes) -> Line:
    """What `line` holds. Raises `Unreadable`, saying why, for an answer that cannot be read."""
    try:
        value = _parsed(line)
    except ValueError as error:
        return _behind_junk(line) or _stray(line, error)
    return Line(value, b"") if is_message(value) else Line(None, line)


def is_message(value: Any) -> bool:
    """Whether a JSON value is a JSON-RPC 2.0 request, notification or response; a batch is none: nobody asks in one."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return False
    return isinstance(value.get("method"), str) or ("id" in value and ("result" in value or "error" in value))


def _parsed(line: bytes) -> Any:
    text = line.decode()
    try:
        return canonical.parse(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return canonical.parse(shallow(text))


def shallow(text: str) -> str:
    """JSON text with every value that lies more than `DEEP` levels down replaced by null.

    One bomb in a list then costs the item it is in, which is refused for its depth, and not its siblings.
    """
    kept, depth, begin = [], 0, 0
    for match in _BRACKETS.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth == DEEP + 1:
                kept.append(text[begin : match.start()] + "null")
        elif match[0] in "]}":
            if depth == DEEP + 1:
                begin = match.end()
            depth -= 1
    return "".join(kept) + (text[begin:] if depth <= DEEP else "")


def _behind_junk(line: bytes) -> Line | None:
    """The answer that a line ends in, when something without a newline was printed before it."""
    for match in islice(_BEGIN.finditer(line, 1), _TRIES):
        try:
            value = _parsed(line[match.start() :])
        except ValueError:
            continue
        # a log line that quotes a request must not make the server seem to ask for something
        if is_message(value) and "method" not in value:
            return Line(value, line[: match.start()])
    return None


def _stray(line: bytes, error: ValueError) -> Line:
    is_answer = _BEGIN.match(line.lstrip()) and b'"jsonrpc"' in line and not _METHOD_FIRST.match(line)
    if is_answer:
        raise Unreadable(_why(error))
    return Line(None, line)


def _why(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start + 1}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON at character {error.pos + 1} ({error.msg})"
    return f"not readable ({error})"
