"""Who is waited for, on stderr, while servers start: one line that is drawn anew and leaves nothing behind."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from mcp_lock.text import clip, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_lock.connect import Progress

_EVERY = 0.25
"""Seconds between two drawings; also how long a run may take before it says anything."""


@contextmanager
def waiting(stream: TextIO | None) -> Iterator[Callable[[Progress], None] | None]:
    """Gives what is to be told of every progress, or None where nobody wants to see it."""
    if stream is None:
        yield None
        return
    line = _Line(stream)
    thread = threading.Thread(target=line.draw_until_done, daemon=True)
    thread.start()
    try:
        yield line.told
    finally:
        line.done.set()
        thread.join()


class _Line:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.done = threading.Event()
        self.names: tuple[str, ...] = ()
        self.since = time.monotonic()

    def told(self, progress: Progress) -> None:
        self.names = progress.waiting

    def draw_until_done(self) -> None:
        while not self.done.wait(_EVERY):
            if self.names:
                seconds = int(time.monotonic() - self.since)
                names = clip(", ".join(map(visible, self.names)), 50)
                self._write(f"waiting for {names} ({seconds} s)")
        self._write("")

    def _write(self, text: str) -> None:
        self.stream.write(f"\r\x1b[K{text}")
        self.stream.flush()
