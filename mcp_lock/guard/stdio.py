"""The pump between a client on stdin and stdout and a server that is a child process.

One thread and `select`: a guard stands in front of every server at every start of a client, and an event loop would
cost most of its start. Moves bytes, keeps time and ends what it started; what becomes of a line says `passage`.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import stat
import time
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from mcp_lock.guard.child import GRACE, Child
from mcp_lock.guard.passage import Passage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_lock.guard.log import Log
    from mcp_lock.guard.passage import Settings
    from mcp_lock.guard.pins import Pins

_CHUNK = 1 << 16
_MOST = 1 << 20
"""Bytes that are read at once where there is a lot to read; memory for them is not free."""
_FULL = 8 << 20
"""Bytes that may wait for one side before the other one is no longer read."""
MAX_LINE = 256 << 20
"""Bytes that one line may have; results hold whole files."""
_LINGER = 1.0
"""Seconds after the server's end in which its last output may still come from a pipe that another process holds."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Lines:
    """Bytes in, whole lines out."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self.descriptor = descriptor
        self.is_over = False
        self._take = take
        self._wanted = _CHUNK
        self._part: list[bytes] = []
        self._size = 0

    def read(self) -> None:
        """Take what is there; at the end, what stands after the last line."""
        try:
            data = os.read(self.descriptor, self._wanted)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._wanted = _MOST if len(data) == self._wanted else _CHUNK
        self.feed(data)

    def feed(self, data: bytes) -> None:
        """Take bytes that were read; none of them is the end."""
        if not data:
            self.is_over = True
            data = b"\n" if self._part else b""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._part.append(line)
            whole = b"".join(self._part)
            self._part.clear()
            self._size = 0
            self._take(whole)
        if rest:
            self._part.append(rest)
            self._size += len(rest)
        self.is_over |= self._size > MAX_LINE


class _Outlet:
    """Where lines are written: at once as far as that goes, the rest when the other side reads on."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.waiting = 0
        self.is_broken = False
        self._parts: deque[memoryview] = deque()

    def line(self, line: bytes) -> None:
        """Write a line, adding its end."""
        if self.is_broken:
            return
        self._parts.append(memoryview(line + b"\n"))
        self.waiting += len(line) + 1
        if len(self._parts) == 1:
            self.flush()

    def flush(self) -> None:
        """Write what the other side takes now."""
        try:
            while self._parts:
                written = os.write(self.descriptor, self._parts[0])
                self.waiting -= written
                if written == len(self._parts[0]):
                    self._parts.popleft()
                else:
                    self._parts[0] = self._parts[0][written:]
        except BlockingIOError:
            return
        except OSError:
            self.is_broken = True
            self.waiting = 0
            self._parts.clear()


class _Pump:
    """One client and one running server, until either is gone."""

    def __init__(self, settings: Settings, pins: Pins, log: Log, child: Child, wake: int) -> None:
        self._child = child
        self._wake = wake
        self._client_out = _Outlet(1)
        self._server_out = _Outlet(child.stdin.fileno())
        self._passage = Passage(settings, pins, log, time.monotonic, self._client_out.line, self._server_out.line)
        self._client_in = Lines(0, self._passage.from_client)
        self._server_in = Lines(child.stdout.fileno(), self._passage.from_server)
        self._signals: deque[int] = deque()
        self._closing: float | None = None
        """When it was decided to end; from then on no more of the client is read."""
        self._is_stdin_closed = False
        self._steps = [signal.SIGTERM, signal.SIGKILL]
        self._next_step = 0.0
        self._ended_at: float | None = None
        self.ended_by = 0
        """The signal that ended the guard, if one did."""

    def run(self) -> int:
        """Move messages until the server has ended; returns the exit code."""
        while not self._is_over():
            self._wait()
            self._passage.lists.tick()
            self._take_signals()
            self._come_to_an_end()
        self._passage.lists.end()
        self._flush_client()
        return 128 + self.ended_by if self.ended_by else self._child.code

    def caught(self, number: int, _frame: object = None) -> None:
        """Take a signal, from its handler."""
        self._signals.append(number)

    def _is_over(self) -> bool:
        now = time.monotonic()
        if self._ended_at is None and self._child.has_ended:
            self._ended_at = now
        if self._ended_at is None:
            return False
        return self._server_in.is_over or now >= self._ended_at + _LINGER

    def _wait(self) -> None:
        """Sleep until there is something to do, and do it."""
        readable: dict[int, Callable[[], None]] = {self._wake: self._drain}
        if not self._server_in.is_over and self._client_out.waiting < _FULL:
            readable[self._server_in.descriptor] = self._server_in.read
        if not self._client_in.is_over and self._closing is None and self._server_out.waiting < _FULL:
            readable[self._client_in.descriptor] = self._client_in.read
        outlets = [] if self._is_stdin_closed else [self._server_out]
        writable = {out.descriptor: out.flush for out in (self._client_out, *outlets) if out.waiting}
        for ready, acts in zip(
            select.select(readable, writable, (), self._pause())[:2], (readable, writable), strict=True
        ):
            for descriptor in ready:
                acts[descriptor]()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, _CHUNK)

    def _pause(self) -> float | None:
        """Seconds until something is due, if anything is."""
        due = [self._passage.lists.deadline]
        if self._closing is not None:
            due.append(self._next_step)
        if self._ended_at is not None:
            due.append(self._ended_at + _LINGER)
        known = [at for at in due if at is not None]
        return max(min(known) - time.monotonic(), 0) if known else None

    def _take_signals(self) -> None:
        while self._signals:
            number = self._signals.popleft()
            if number == signal.SIGCHLD:
                continue
            self.ended_by = self.ended_by or number
            self._child.signal(number)
            del self._steps[:-1]  # it has been told; a client that waits two seconds must not end the guard before
            self._close()

    def _close(self) -> None:
        if self._closing is None:
            self._closing = time.monotonic()
            self._next_step = self._closing + GRACE

    def _come_to_an_end(self) -> None:
        """Once a side is gone: let what is held be decided, end the server's input, then the server."""
        ends = (self._client_in.is_over, self._server_in.is_over)
        if any(ends) or self._client_out.is_broken or self._server_out.is_broken:
            self._close()
        if self._closing is None:
            return
        now = time.monotonic()
        is_idle = not self._passage.lists.is_busy and not self._server_out.waiting
        is_late = now >= self._closing + GRACE
        if not self._is_stdin_closed and (is_idle or is_late or self._server_in.is_over or self._client_out.is_broken):
            self._is_stdin_closed = True
            self._next_step = now + GRACE
            with suppress(OSError):
                self._child.stdin.close()
        if self._is_stdin_closed and now >= self._next_step and self._steps:
            self._child.signal(self._steps.pop(0))
            self._next_step = now + GRACE

    def _flush_client(self) -> None:
        """Give the client what is left for it, as long as it takes any of it."""
        limit = time.monotonic() + GRACE
        while self._client_out.waiting and time.monotonic() < limit:
            select.select((), (self._client_out.descriptor,), (), 0.1)
            self._client_out.flush()


def run(settings: Settings, pins: Pins, log: Log, child: Child) -> int:
    """Stand between this process's stdin and stdout and `child` until both are done; returns the exit code."""
    with ExitStack() as stack:
        stack.callback(child.end)
        pump = _Pump(settings, pins, log, child, stack.enter_context(_woken()))
        stack.enter_context(_caught(pump.caught))
        stack.enter_context(_unblocked(1))
        os.set_blocking(child.stdin.fileno(), False)
        _widen(child.stdout.fileno())
        return pump.run()


def _widen(pipe: int) -> None:
    """Let a pipe hold a long list, so that it takes fewer turns of two processes; where the system lets us."""
    size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if size is not None:
        with suppress(OSError):
            fcntl.fcntl(pipe, size, _MOST)


@contextmanager
def _woken() -> Iterator[int]:
    """A descriptor that becomes readable when a signal comes."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


@contextmanager
def _caught(take: Callable[[int, object], None]) -> Iterator[None]:
    """Signals that end a process go to the server instead; one that is ignored stays so."""
    numbers = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, take) for number in (*numbers, signal.SIGCHLD)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _unblocked(descriptor: int) -> Iterator[None]:
    """Write without waiting, where that leaves no terminal or file of others in that state."""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        yield
        return
    before = os.get_blocking(descriptor)
    os.set_blocking(descriptor, False)
    try:
        yield
    finally:
        os.set_blocking(descriptor, before)
