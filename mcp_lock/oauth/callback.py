"""Where the browser comes back to after a login: one address on 127.0.0.1, open while somebody is logging in.

Takes one answer, and no more from a request than its first line and its Host. What it shows is fixed text.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute

from mcp_lock.errors import ConnectError, UsageError
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from anyio.abc import SocketStream

_PATH = "/callback"
_MOST = 16 << 10
"""Bytes of a request that are read."""
_PATIENCE = 10.0
"""Seconds that one request may take; browsers open connections that they never use."""
_LINGER = 0.2
"""Seconds in which the browser still gets its page once the answer is there."""
_GET = re.compile(rb"GET (/[!-~]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([!-~]+)[ \t]*\r\n", re.IGNORECASE)
_PAGES = {
    200: ("OK", "mcplock has got an answer. You can close this page and look at the terminal."),
    400: ("Bad Request", "This is not an answer that mcplock waits for."),
    404: ("Not Found", "There is nothing here."),
}


class Callback:
    """The address and what comes to it. To be entered."""

    def __init__(self, port: int) -> None:
        """`port` is 0 for any that is free."""
        self._port = port
        self._arrived = anyio.Event()
        self._answer: Mapping[str, str] = {}

    async def __aenter__(self) -> Self:
        try:
            self._listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self._port)
        except OSError as error:
            why = one_line(error.strerror or str(error))
            raise UsageError(f"--port {self._port}: cannot be listened on: {why}") from None
        self._port = self._listener.extra(SocketAttribute.local_port)  # noqa: S610 - no database
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._listener.aclose()

    @property
    def url(self) -> str:
        """Where the browser is to be sent."""
        return f"http://127.0.0.1:{self._port}{_PATH}"

    def take(self, url: str) -> int:
        """Take the answer that `url` carries, as a browser or a person brings it; returns an HTTP status."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return 400
        if parts.path != _PATH:
            return 404
        answer = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self._arrived.is_set() or not answer.keys() & {"code", "error"}:
            return 400
        self._answer = answer
        self._arrived.set()
        return 200

    def read_terminal(self) -> None:
        """Take an answer from stdin, too: a browser on another machine has nowhere to come back to.

        In a thread that nobody waits for, and not through `sys.stdin`, whose lock would outlive the interpreter.
        """
        loop = asyncio.get_running_loop()

        def read() -> None:
            while line := os.read(0, _MOST):
                with suppress(RuntimeError):  # the loop is gone
                    loop.call_soon_threadsafe(self.take, line.decode("utf-8", "replace").strip())

        threading.Thread(target=read, daemon=True).start()

    async def wait(self, state: str, seconds: float) -> Mapping[str, str]:
        """The parameters of the answer. Raises `ConnectError` when none came, or one that is not to this login."""
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listener.serve, self._serve)
                await self._arrived.wait()
                await anyio.sleep(_LINGER)
                tasks.cancel_scope.cancel()
        if not self._arrived.is_set():
            raise ConnectError(f"nobody logged in within {seconds:g} s (--timeout)")
        if not secrets.compare_digest(self._answer.get("state", "").encode(), state.encode()):
            raise ConnectError("the answer that came does not belong to this login (its state is another one)")
        if error := self._answer.get("error", ""):
            said = self._answer.get("error_description", "")
            raise ConnectError(
                f"the login was refused: {one_line(error, 60)}" + (f": {one_line(said)}" if said else "")
            )
        return self._answer

    async def _serve(self, stream: SocketStream) -> None:
        try:
            async with stream:
                with anyio.move_on_after(_PATIENCE):
                    await self._reply(stream)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
            return  # whoever it was has left

    async def _reply(self, stream: SocketStream) -> None:
        head = b""
        while b"\r\n\r\n" not in head and len(head) < _MOST:
            head += await stream.receive()
        status = self._judged(head)
        phrase, text = _PAGES[status]
        page = f"<!doctype html><meta charset=utf-8><title>mcplock</title><p>{text}</p>\n".encode()
        said = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(page)}\r\n"
            "cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n"
            "content-security-policy: default-src 'none'; frame-ancestors 'none'\r\nconnection: close\r\n\r\n"
        )
        await stream.send(said.encode() + page)

    def _judged(self, head: bytes) -> int:
        """The status for a request; one by another name than this address is a page of somebody else's site."""
        asked, host = _GET.match(head), _HOST.search(head)
        mine = {f"127.0.0.1:{self._port}".encode(), f"localhost:{self._port}".encode()}
        if not asked or not host or host[1].lower() not in mine:
            return 400
        return self.take(asked[1].decode("ascii"))
