"""The pump between a client on stdin and stdout and a server behind a URL: the guard is then the bridge to it.

Moves messages as their own bytes, with the headers of the config or the token of a login. What becomes of a message
says `passage`; how HTTP carries it, `transport.remote`. Loaded for remote servers only, since an event loop and an HTTP
client are slow to load.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

import anyio

from mcp_lock.errors import ConnectError
from mcp_lock.guard import messages
from mcp_lock.guard.passage import Passage
from mcp_lock.guard.stdio import Lines
from mcp_lock.oauth.bearer import Bearer
from mcp_lock.text import one_line
from mcp_lock.transport.wire import MODERN, Spelt, spelt_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_lock.config import HttpServer
    from mcp_lock.guard.log import Log
    from mcp_lock.guard.passage import Settings
    from mcp_lock.guard.pins import Pins
    from mcp_lock.transport.remote import RemoteTransport

_OTHER_TRANSPORT = frozenset({400, 404, 405, 406})
"""Statuses that a server of the other HTTP transport answers with (basic/transports, backwards compatibility)."""
_TICK = 0.25
"""Seconds between looks at the clock."""
_GRACE = 5.0
"""Seconds that open requests still get when the client sends no more."""


class _OtherTransport(Exception):
    """The server speaks the older transport; carries the message that found it out."""

    def __init__(self, message: dict[str, Any]) -> None:
        super().__init__()
        self.message = message


class _Bridge:
    """One client and one server behind a URL."""

    def __init__(self, settings: Settings, pins: Pins, log: Log) -> None:
        self._put, self._take = anyio.create_memory_object_stream[bytes](float("inf"))
        self._passage = Passage(settings, pins, log, anyio.current_time, _write, self._put.send_nowait)
        self._log = log
        self._sent: dict[Any, dict[str, Any]] = {}
        """Requests without an answer."""
        self._has_agreed = False
        """Whether the server has answered anything, so that it speaks this transport."""
        self._may_be_other = True
        """Whether the server may yet turn out to speak the older transport."""
        self.code = 0

    async def read_client(self) -> None:
        """Take what the client sends, to its end; then give what is open a moment."""
        lines = Lines(0, self._passage.from_client)
        put, take = anyio.create_memory_object_stream[bytes](float("inf"))
        threading.Thread(target=_read_stdin, args=(asyncio.get_running_loop(), put.send_nowait), daemon=True).start()
        async with take, put:
            while not lines.is_over:
                lines.feed(await take.receive())
        with anyio.move_on_after(_GRACE):
            while self._sent or self._passage.lists.is_busy or self._take.statistics().current_buffer_used:
                await anyio.sleep(0.01)

    async def keep_time(self) -> None:
        """Give up lists that take too long."""
        while True:
            await anyio.sleep(_TICK)
            self._passage.lists.tick()

    async def talk(self, way: RemoteTransport, again: dict[str, Any] | None) -> None:
        """Move messages over `way`, beginning with `again`. Raises `_OtherTransport`."""
        self._may_be_other = again is None
        async with way, anyio.create_task_group() as tasks:
            tasks.start_soon(self._send_all, way, again)
            await self._receive_all(way)
            tasks.cancel_scope.cancel()

    async def _send_all(self, way: RemoteTransport, again: dict[str, Any] | None) -> None:
        if again:
            await self._send(way, again)
        async for line in self._take:
            message = Spelt(messages.strict(line))
            message.raw = line
            await self._send(way, message)

    async def _send(self, way: RemoteTransport, message: dict[str, Any]) -> None:
        method = message.get("method")
        if "id" in message and method:
            self._sent[_id(message)] = message
        elif method == "notifications/cancelled" and self._was_abandoned(way, message):
            return
        try:
            await way.send(message)
        except ConnectError as error:
            self._log.note("unsent", one_line(str(error)))
            if "id" in message and method:
                self._fail(message["id"], error)
            return
        if method == "notifications/initialized":
            way.listen()

    def _was_abandoned(self, way: RemoteTransport, message: dict[str, Any]) -> bool:
        """Whether a cancellation was told by hanging up, as stateless servers want it."""
        params = message.get("params")
        number = params.get("requestId") if isinstance(params, dict) else None
        asked = self._sent.get(_key(number))
        if asked is None or not _is_modern(asked) or not way.abandon(asked["id"]):
            return False
        del self._sent[_key(number)]
        return True

    async def _receive_all(self, way: RemoteTransport) -> None:
        while True:
            try:
                message = await way.receive()
            except ConnectError as error:
                if error.request is None:
                    self._end(error)
                    return
                self._refuse_other(error)
                self._fail(error.request, error)
                continue
            self._has_agreed = True
            self._received(way, message)

    def _received(self, way: RemoteTransport, message: dict[str, Any]) -> None:
        asked = self._sent.pop(_id(message), None) if "method" not in message else None
        result = message.get("result")
        if asked and asked["method"] == "initialize" and isinstance(result, dict):
            version = result.get("protocolVersion")
            way.negotiated(version if isinstance(version, str) else "")
        # HTTP may have told which request an error belongs to, where its own bytes do not
        is_raw = isinstance(message, Spelt) and "error" not in message
        self._passage.from_server(message.raw if is_raw and isinstance(message, Spelt) else messages.spelt(message))

    def _refuse_other(self, error: ConnectError) -> None:
        asked = self._sent.get(_key(error.request))
        if asked and not self._has_agreed and error.status in _OTHER_TRANSPORT and self._may_be_other:
            raise _OtherTransport(asked)

    def _fail(self, number: Any, error: ConnectError) -> None:
        """Answer a request that has got none from the server."""
        self._sent.pop(_key(number), None)
        if self._passage.lists.is_own(number):
            self._passage.lists.fail(number, "the server could not be asked")
        else:
            self._passage.from_server(messages.error(number, messages.REFUSED, one_line(str(error), 400)))

    def _end(self, error: ConnectError) -> None:
        self._log.note("ended", one_line(str(error)))
        self._passage.lists.end()
        for number in [message["id"] for message in self._sent.values()]:
            self._fail(number, error)
        self.code = error.exit_code


def run(settings: Settings, pins: Pins, log: Log, server: HttpServer, learn: Callable[[str], None]) -> int:
    """Stand between this process's stdin and stdout and the server until either is gone; returns the exit code.

    `learn` is told the tokens of a login, which must not be in the log.
    """
    bearer = Bearer(server, lambda line: log.note("login", line), learn)
    return anyio.run(_run, _Bridge(settings, pins, log), server, bearer)


async def _run(bridge: _Bridge, server: HttpServer, bearer: Bearer) -> int:
    numbers: list[int] = []
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async with anyio.create_task_group() as tasks:

            async def end_at_signal() -> None:
                async for number in signals:
                    numbers.append(number)
                    tasks.cancel_scope.cancel()

            async def end_with_client() -> None:
                await bridge.read_client()
                tasks.cancel_scope.cancel()

            tasks.start_soon(end_at_signal)
            tasks.start_soon(end_with_client)
            tasks.start_soon(bridge.keep_time)
            await _talk(bridge, server, bearer)
            tasks.cancel_scope.cancel()
    return 128 + numbers[0] if numbers else bridge.code


async def _talk(bridge: _Bridge, server: HttpServer, bearer: Bearer) -> None:
    """Over streamable HTTP first, unless the config says SSE, and over SSE where that is what the server speaks."""
    from mcp_lock.transport.remote import RemoteTransport

    kind: Literal["http", "sse"] = "sse" if server.transport == "sse" else "http"
    try:
        await bridge.talk(RemoteTransport(server, kind, spelt_in, bearer), None)
    except* _OtherTransport as found:
        other = [one for one in found.exceptions if isinstance(one, _OtherTransport)]
    else:
        return
    await bridge.talk(RemoteTransport(server, "sse", spelt_in, bearer), other[0].message)


def _id(message: dict[str, Any]) -> Any:
    return _key(message.get("id"))


def _key(number: Any) -> Any:
    return messages.id_key(number)


def _is_modern(message: dict[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and str(meta.get("io.modelcontextprotocol/protocolVersion", "")) >= MODERN


def _read_stdin(loop: asyncio.AbstractEventLoop, put: Callable[[bytes], None]) -> None:
    """Hand on what comes in, and nothing for the end.

    In a thread of its own that nobody waits for: stdin may be a file, which no event loop can watch.
    """
    with suppress(RuntimeError):  # the loop is gone
        while True:
            try:
                data = os.read(0, 1 << 16)
            except OSError:
                data = b""
            loop.call_soon_threadsafe(put, data)
            if not data:
                return


def _write(line: bytes) -> None:
    rest = memoryview(line + b"\n")
    while rest:
        rest = rest[os.write(1, rest) :]
