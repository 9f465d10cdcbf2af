"""A child process in a group of its own: bytes in, whole lines out, and nobody of the group left afterwards.

Uses the event loop's subprocess protocol directly, because it says at once that a process has ended, needs no task to
drain stderr, and can be closed for good even when a runaway grandchild still holds a pipe. Knows nothing of JSON.

Windows has no process groups to signal: there the child itself is ended, and what it started may stay.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections import deque
from typing import TYPE_CHECKING, cast

import anyio
import anyio.lowlevel

from mcp_lock.errors import ConnectError
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_LINE = 32 << 20
"""Bytes that one line may have, and that may wait unread: real lists of a thousand tools take two megabytes."""
STDERR_KEPT = 8192
"""Bytes of stderr that are kept, the last ones."""
GRACE = 2.0
"""Seconds that a child gets to end by itself after its stdin is closed, and again after SIGTERM."""
_LINGER = 1.0
"""Seconds after the child's end in which its last output may still arrive from a pipe that a grandchild holds open."""


class Child(asyncio.SubprocessProtocol):
    """One running process. `start` makes it, `end` must be called whatever happens."""

    def __init__(self) -> None:
        self.stderr = bytearray()
        """The last `STDERR_KEPT` bytes of it."""
        self.returncode: int | None = None
        """As the child itself left it; negative for a signal. None while it runs."""
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._part: list[bytes] = []
        self._part_size = 0
        self._stdin_over = False
        self._stdout_over = False
        self._news = anyio.Event()
        self._exited = anyio.Event()
        self._stderr_over = anyio.Event()
        self._writable = anyio.Event()
        self._writable.set()
        self._closed = anyio.Event()

    @classmethod
    async def start(cls, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Child:
        """Start `argv` with exactly `env`. Raises `ConnectError` that says why it cannot be started."""
        # a start that is cancelled half-way would leave a process that nobody knows
        with anyio.CancelScope(shield=True):
            try:
                loop = asyncio.get_running_loop()
                _, child = await loop.subprocess_exec(
                    cls, *_resolved(argv, env), cwd=cwd, env=env, start_new_session=True
                )
            except (OSError, ValueError) as error:
                raise ConnectError(_not_started(error, argv[0], cwd, env)) from None
        return child

    # what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102 - the loop's protocol
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: D102 - the loop's protocol
        if fd == 2:
            self.stderr += data
            del self.stderr[:-STDERR_KEPT]
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._hold(line)
            self._end_line()
        self._hold(rest)
        if self._waiting + self._part_size > MAX_LINE:
            self._stdout.pause_reading()
        self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002, D102 - the loop's protocol
        if fd == 0:
            self._stdin_over = True
            self._writable.set()
        elif fd == 1:
            self._end_stdout()
        else:
            self._stderr_over.set()

    def process_exited(self) -> None:  # noqa: D102 - the loop's protocol
        self.returncode = self._transport.get_returncode()
        self._exited.set()
        asyncio.get_running_loop().call_later(_LINGER, self._end_stdout)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002, D102 - the loop's protocol
        self._closed.set()

    def pause_writing(self) -> None:  # noqa: D102 - the loop's protocol
        self._writable = anyio.Event()

    def resume_writing(self) -> None:  # noqa: D102 - the loop's protocol
        self._writable.set()

    # what its owner calls

    async def write(self, data: bytes) -> None:
        """Write to stdin. Raises BrokenPipeError when the child no longer reads."""
        if self._stdin.is_closing():
            raise BrokenPipeError
        self._stdin.write(data)
        await self._writable.wait()

    async def line(self) -> bytes | None:
        """The next line of stdout without its end, or None after the last. Raises `ConnectError` for an endless one."""
        await anyio.lowlevel.checkpoint()  # a child that floods must not keep the time limit from firing
        while not self._lines:
            _refuse_endless(self._part_size)
            if self._stdout_over:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        line = self._lines.popleft()
        _refuse_endless(len(line))  # its end may have come with the part that made it too long
        self._waiting -= len(line)
        if self._waiting + self._part_size <= MAX_LINE:
            self._stdout.resume_reading()  # does nothing to a pipe that is being read
        return line

    async def exited(self, within: float) -> bool:
        """Whether it has ended, waiting at most `within` seconds for it."""
        with anyio.move_on_after(within):
            await self._exited.wait()
        return self.returncode is not None

    async def silent(self, within: float) -> None:
        """Wait until stderr has been read to its end, at most `within` seconds."""
        with anyio.move_on_after(within):
            await self._stderr_over.wait()

    async def end(self) -> None:
        """End it and its whole group: end of input first, then SIGTERM, then SIGKILL. Takes at most about five seconds.

        Not to be cancelled: what is left half-way stays for ever.
        """
        with anyio.CancelScope(shield=True):
            self._stdin.close()
            for escalation in (None, signal.SIGTERM, _KILL):
                if escalation is not None:
                    self._signal(escalation)
                if await self.exited(GRACE):
                    break
            if escalation != _KILL:  # which nobody of the group survives
                await self._end_group()
            if not self._stdin_over:
                self._stdin.abort()
            self._transport.close()
            with anyio.move_on_after(1):
                await self._closed.wait()

    # inside

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    @property
    def _stdout(self) -> asyncio.ReadTransport:
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))

    def _hold(self, part: bytes) -> None:
        if part:
            self._part.append(part)
            self._part_size += len(part)

    def _end_line(self) -> None:
        self._lines.append(b"".join(self._part))
        self._waiting += self._part_size
        self._part.clear()
        self._part_size = 0

    def _end_stdout(self) -> None:
        if self._part and self._part_size <= MAX_LINE:
            self._end_line()
        self._stdout_over = True
        self._news.set()

    async def _end_group(self) -> None:
        """End those whom the child left behind, politely at first."""
        if not self._signal(signal.SIGTERM):
            return
        with anyio.move_on_after(1):
            while self._signal(0):
                await anyio.sleep(0.01)
            return
        self._signal(_KILL)

    def _signal(self, number: int) -> bool:
        """Send a signal to the group; False when nobody is left in it."""
        try:
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self._transport.get_pid(), number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM for a group of the dead
            return False
        return sys.platform != "win32"


def _refuse_endless(size: int) -> None:
    if size > MAX_LINE:
        raise ConnectError(f"sent a line longer than {MAX_LINE >> 20} MB on stdout")


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


def _resolved(argv: Sequence[str], env: Mapping[str, str]) -> Sequence[str]:
    """`argv` as it can be started: Windows finds `npx.cmd` for `npx` only when told so."""
    found = shutil.which(argv[0], path=env.get("PATH")) if sys.platform == "win32" else None
    return [found or argv[0], *argv[1:]]


def _not_started(error: Exception, command: str, cwd: Path, env: Mapping[str, str]) -> str:
    shown = one_line(command)
    if not cwd.is_dir():
        return f"cannot be started: no directory {one_line(str(cwd))} to start it in"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if shutil.which(command, path=env.get("PATH")) or (cwd / command).is_file():
            return f"cannot be started: {shown} names an interpreter that is not there (see its first line)"
        return f"command not found: {shown} (is it installed, and on PATH?)"
    if isinstance(error, PermissionError):
        return f"cannot be started: {shown} is not executable"
    return f"cannot be started: {shown}: {one_line(getattr(error, 'strerror', None) or str(error))}"
