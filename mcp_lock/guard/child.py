"""The guarded server as a child process: in a group of its own, and nobody of the group left at the end.

Its stderr is the guard's own, so that the client sees what it would see without a guard. Unlike `transport.child` this
needs no event loop, whose import costs more than all the rest of a guard together.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import IO, TYPE_CHECKING, cast

from mcp_lock.errors import ConnectError
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

GRACE = 1.0
"""Seconds that a server gets to end by itself after its input has ended, and again after SIGTERM."""


class Child:
    """One running server."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        """Start it. Raises `ConnectError` that says why it cannot be started."""
        try:
            self._process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ConnectError(f"the server cannot be started: {one_line(argv[0])}: {one_line(why)}") from None
        self.stdin = cast("IO[bytes]", self._process.stdin)
        self.stdout = cast("IO[bytes]", self._process.stdout)

    @property
    def has_ended(self) -> bool:
        """Whether the process itself is over."""
        return self._process.poll() is not None

    @property
    def code(self) -> int:
        """What a shell would say of its end: its exit code, or 128 and the number of the signal."""
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def signal(self, number: int) -> bool:
        """Send a signal to the whole group; False when nobody is left in it."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM for a group of the dead
            return False
        return True

    def end(self) -> None:
        """End whoever of the group is left: SIGTERM, a second, SIGKILL."""
        if self.signal(signal.SIGTERM):
            limit = time.monotonic() + 1
            while self.signal(0) and time.monotonic() < limit:
                self._process.poll()
                time.sleep(0.01)
            self.signal(signal.SIGKILL)
        self._process.wait()
        self.stdout.close()
