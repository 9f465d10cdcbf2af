"""Server-sent events: bytes in, events out, as HTML's "Interpreting an event stream" says.

Works on bytes, so that neither a character nor a CRLF that a chunk border cuts is lost, and nothing that is not UTF-8
is replaced in silence. Event ids and retry times are left out: mcplock does not resume a stream. Knows neither JSON nor
HTTP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 32 << 20
"""What one answer may hold, as an event or as a body: real lists of a thousand tools take two megabytes."""

_BOM = b"\xef\xbb\xbf"
_END_OF_LINE = re.compile(rb"\r\n|\r|\n")


class OversizeError(ValueError):
    """An answer that outgrew its limit."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event that had data."""

    name: str
    """`message` unless the server said otherwise."""
    data: bytes


class EventReader:
    """Takes the chunks of one stream in order and gives the events that are complete."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = limit
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._name = ""
        self._held = 0
        self._begun = False
        self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that `chunk` completes. Raises `OversizeError` when an unfinished event outgrows the limit."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the other half of a CRLF
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = _END_OF_LINE.split(chunk)
        for line in lines:
            yield from self._end(line)
        self._hold(rest)

    def _hold(self, part: bytes) -> None:
        self._line.append(part)
        self._held += len(part)
        if self._held > self._limit:
            raise OversizeError

    def _end(self, part: bytes) -> Iterator[Event]:
        self._hold(part)
        line = b"".join(self._line)
        self._line.clear()
        if not self._begun:
            line, self._begun = line.removeprefix(_BOM), True
        if line:
            self._take(line)
        else:
            yield from self._dispatch()

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            return
        self._held -= len(line)  # only data is kept
        if field == b"event":
            self._name = value.decode("utf-8", "replace")

    def _dispatch(self) -> Iterator[Event]:
        name, data = self._name or "message", b"\n".join(self._data)
        self._name, self._held = "", 0
        self._data.clear()
        if data:
            yield Event(name, data)
