"""What mcplock raises on purpose, and the exit code each ends in.

Everything a user can meet derives from one base, which the command line catches once. Anything else that escapes is a
fault of mcplock itself.

    McpLockError
    ├── UsageError        the command line asks for something that cannot be
    ├── ConfigError       a client config cannot be read
    ├── LockError         mcp.lock is there but cannot be trusted
    ├── LockMissing       there is no mcp.lock
    ├── Unpinnable        one definition that has no digest
    ├── ConnectError      one server that could not be read whole
    └── Interrupted       somebody pressed Ctrl-C, or asked the process to end
"""

from __future__ import annotations

from typing import Any


class McpLockError(Exception):
    """A failure with a cause the user can act on; `str()` is the one line they read.

    The line may quote server text only after `text.visible`.
    """

    exit_code = 2


class UsageError(McpLockError):
    """The options contradict each other or name something that is not there."""


class ConfigError(McpLockError):
    """A client config is unreadable as a whole; faults of single entries are not raised but kept with the entry."""


class LockError(McpLockError):
    """`mcp.lock` is damaged, edited, empty, or written by a newer mcplock."""


class LockMissing(McpLockError):
    """There is no `mcp.lock` where one is needed: a finding, so the exit code is that of drift."""

    exit_code = 1


class Unpinnable(McpLockError):
    """A definition that two JSON readers could read differently, so that no digest can stand for it."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{pointer or '/'}: {why}")
        self.pointer = pointer
        """JSON Pointer of the place inside the definition (RFC 6901); empty for the whole."""
        self.why = why


class ConnectError(McpLockError):
    """A server that could not be read whole: unreachable, silent, broken, or cut off in the middle of a list."""

    exit_code = 3

    def __init__(self, message: str, *, status: int | None = None, session_lost: bool = False) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status that the server answered with, if it came to an answer."""
        self.session_lost = session_lost
        """Whether the server forgot a session it had given: worth one more try, from the start."""
        self.request: Any = None
        """The id of the request that was not answered, where several are open at a time."""


class Interrupted(McpLockError):
    """Ctrl-C or SIGTERM, after everything that was started has been ended."""

    exit_code = 130
