"""The pins of one server, read anew whenever the lock changes, so that accepting a change needs no restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_lock import lockfile
from mcp_lock.contract import Surface
from mcp_lock.errors import LockError, McpLockError
from mcp_lock.guard.gate import Gate
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_lock.lockfile import ServerPin
    from mcp_lock.policy import Policy


class Pins:
    """What the lock says of one server, as fresh as the file."""

    def __init__(self, path: Path, server: str, policy: Callable[[], Policy]) -> None:
        """`policy` reads what the project makes of changes, as often as the lock is read.

        Raises `LockError` when there is nothing to guard by: no lock, an unreadable one, or not of this server.
        """
        self._path = path
        self._server = server
        self._policy = policy
        self._seen = self._stamp()
        self.pin = self._read()
        self._gate = Gate(self.pin.surface, server, policy())

    def gate(self, tell: Callable[[str], None]) -> Gate:
        """The decision by the lock as it is now; by the last readable one, which is told, while it is unreadable."""
        stamp = self._stamp()
        if stamp == self._seen:
            return self._gate
        self._seen = stamp
        try:
            lock, policy = lockfile.read(self._path), self._policy()
        except McpLockError as error:
            tell(f"mcp.lock cannot be read, the old pins stay: {error}")
            return self._gate
        pin = lock.servers.get(self._server)
        tell("mcp.lock was read anew" if pin else "mcp.lock no longer has this server: nothing of it is pinned")
        self._gate = Gate(pin.surface if pin else Surface({}), self._server, policy)
        return self._gate

    def _read(self) -> ServerPin:
        try:
            lock = lockfile.read(self._path)
        except McpLockError as error:
            raise LockError(str(error)) from None
        if self._server not in lock.servers:
            there = ", ".join(map(visible, sorted(lock.servers))) or "none"
            raise LockError(
                f"{visible(str(self._path))}: does not have server {visible(self._server)!r}; there are: {there}; "
                "run `mcplock lock` and review it"
            )
        return lock.servers[self._server]

    def _stamp(self) -> tuple[int, int, int]:
        try:
            told = self._path.stat()
        except OSError:
            return (0, 0, 0)
        return (told.st_mtime_ns, told.st_size, told.st_ino)
