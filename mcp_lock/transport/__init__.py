"""Messages to and from one server, whatever carries them.

A transport moves JSON-RPC messages as plain values and knows nothing of what they mean, with one exception that HTTP
forces: it is told the negotiated protocol version, which later requests must carry in a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class Transport(Protocol):
    """An open way to one server. Entering starts or reaches it; leaving ends it whatever happened: no process stays."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message. Raises `ConnectError` when the way is gone, with the server's own last words."""

    async def receive(self) -> dict[str, Any]:
        """The next message, parsed by `canonical.parse` from its own text.

        What is no JSON-RPC message is counted and noted, never returned. Raises `ConnectError` when none can come any
        more.
        """

    def negotiated(self, version: str) -> None:
        """Told once, when both sides have agreed on a protocol version."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how it went, such as junk on stdout: visible text, one line each."""


class Credentials(Protocol):
    """What a server behind a URL is shown besides the headers of the config: a token that may change while it is used.

    Nothing here raises: without a token the request goes out without one, and the server says what it thinks of that.
    """

    async def token(self) -> str:
        """The token to send; empty if there is none."""

    async def renewed(self, refused: str) -> str:
        """Another token than the one that was refused; empty if there is no other."""

    @property
    def trouble(self) -> str:
        """Why there is no token, or no better one, and what to do; visible words, empty where nobody has logged in."""
