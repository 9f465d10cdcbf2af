"""Any number of servers, read at the same time into surfaces; every way a server can fail ends as one line.

Decides how a server is reached: what to do when the probe for the newest protocol kills it, which of the two HTTP
transports to try and when the other, what is worth a retry. Ends everything it started, also when it is interrupted.
Nothing here prints.
"""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar, assert_never

import anyio

from mcp_lock import session
from mcp_lock.config import HttpServer, StdioServer
from mcp_lock.errors import ConnectError, Interrupted
from mcp_lock.session import Asking
from mcp_lock.session.dialogue import Dialogue, ProbeFailed
from mcp_lock.transport.leak import Secrets
from mcp_lock.transport.stdio import StdioTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Callable, Mapping

    from mcp_lock.config import Server
    from mcp_lock.contract import Surface
    from mcp_lock.transport import Credentials, Transport

T = TypeVar("T")
HttpKind = Literal["http", "sse"]

PROBE_SHARE = 0.25
"""The part of a server's time that an unanswered `server/discover` may take, up to `session.PATIENCE`."""

_ORDER: Mapping[str, tuple[HttpKind, HttpKind]] = {
    "http": ("http", "sse"),
    "sse": ("sse", "http"),
    "remote": ("http", "sse"),
}
_OTHER_TRANSPORT = frozenset({400, 404, 405, 406})
"""Statuses that a server of the other HTTP transport answers with (basic/transports, backwards compatibility)."""
_REFUSED = frozenset({401, 403, 407, 429})
_WORTH_A_RETRY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Limits:
    """How much time and how many tries a server gets."""

    timeout: float = 60.0
    """Seconds from the start of a server to the last page of its lists; waiting for a free place does not count."""
    retries: int = 2
    """Further tries when a remote server cannot be connected to."""
    jobs: int = 16
    """Servers that are read at the same time."""


class Phase(Enum):
    """What happened to a server."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """One server began or ended."""

    server: str
    phase: Phase
    waiting: tuple[str, ...]
    """The servers that are being read now, in the order they were started."""


def read_all(
    servers: Mapping[str, Server],
    *,
    protocols: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    client: tuple[str, str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Surface | ConnectError]:
    """What each server offers, or why it could not be read; by name, in the given order.

    `protocols` holds the protocol versions to ask for first, as the lock stores them; `client` is the name and version
    to present to the servers, mcplock's own unless given. Raises `Interrupted` on Ctrl-C, SIGTERM and SIGHUP, when no
    process that was started is left.
    """
    reading = _Reading(servers, protocols or {}, limits or Limits(), client, progress)
    return anyio.run(_interruptible, reading.all)


async def read_surface(
    server: Server, *, protocol: str = "", limits: Limits | None = None, client: tuple[str, str] | None = None
) -> Surface:
    """What one server offers. Raises `ConnectError`, in one line, when it could not be read whole."""
    limits = limits or Limits()
    patience = min(session.PATIENCE, limits.timeout * PROBE_SHARE)
    asking = Asking(protocol=protocol, patience=patience, secrets=Secrets(server.secrets))
    said: list[str] = []
    reader = _Reader(server, asking, limits, client, _credentials(server, said.append, asking.secrets))
    try:
        surface = await reader.in_time()
    except ConnectError as error:
        # transports and session mask what they quote; this is the net below them
        raise ConnectError(asking.secrets(str(error)), status=error.status) from error
    return replace(surface, notes=tuple(map(asking.secrets, (*said, *surface.notes))))


def _credentials(server: Server, say: Callable[[str], None], secrets: Secrets) -> Credentials | None:
    """The login for a server behind a URL."""
    if not isinstance(server, HttpServer):
        return None
    from mcp_lock.oauth.bearer import Bearer

    return Bearer(server, say, lambda token: secrets.learn("the login", token))


@dataclass(slots=True)
class _Reader:
    """One server, until it is read or all ways are tried."""

    server: Server
    asking: Asking
    limits: Limits
    client: tuple[str, str] | None
    credentials: Credentials | None
    dialogue: Dialogue | None = None
    """The latest one: what it waits for is what is missing when the time is up."""

    async def in_time(self) -> Surface:
        with anyio.move_on_after(self.limits.timeout):
            return await self.surface()
        raise ConnectError(self.silence())

    async def surface(self) -> Surface:
        if isinstance(self.server, StdioServer):
            return await self._probing(partial(StdioTransport, self.server))
        if isinstance(self.server, HttpServer):
            return await self._either(self.server)
        assert_never(self.server)

    def silence(self) -> str:
        """What to say of a server whose time is up."""
        awaited = self.dialogue.awaited if self.dialogue else ""
        said = [f"no answer to {awaited}" if awaited else "not reached"]
        said[0] += f" within {self.limits.timeout:g} s"
        if self.dialogue:
            said += [self.dialogue.odd, *self.dialogue.transport.notes]
            transport = self.dialogue.transport
            words = transport.last_words if isinstance(transport, StdioTransport) else ""
            said.append(f"last on stderr: {words}" if words else "")
        return "; ".join(filter(None, said))

    async def _once(self, transport: Transport, asking: Asking) -> Surface:
        self.dialogue = None
        async with transport as way:
            self.dialogue = Dialogue(way, asking.secrets)
            if self.client:
                self.dialogue.client = self.client
            return await session.read_surface(self.dialogue, asking)

    async def _probing(self, way: Callable[[], Transport]) -> Surface:
        """Read it; when the probe ended the connection, once more on a fresh one without the probe."""
        try:
            return await self._once(way(), self.asking)
        except ProbeFailed as failed:
            unreached = isinstance(self.server, HttpServer) and failed.status is None
            if unreached or failed.status in _REFUSED:
                raise
        return await self._once(way(), replace(self.asking, probe=False))

    async def _patiently(self, server: HttpServer, kind: HttpKind) -> Surface:
        """Over one HTTP transport, again while no connection comes about, and once more when the session got lost."""
        from mcp_lock.transport.remote import RemoteTransport

        tries, lost = 0, False
        while True:
            try:
                return await self._probing(partial(RemoteTransport, server, kind, credentials=self.credentials))
            except ConnectError as error:
                if error.session_lost and not lost:
                    lost = True
                    continue
                if tries == self.limits.retries or not _is_passing(error):
                    raise
                await anyio.sleep(0.5 * 2**tries)
                tries += 1

    async def _either(self, server: HttpServer) -> Surface:
        """Over the transport that is configured, or else the other one. When both fail, the first failure is told."""
        usual, other = _ORDER[server.transport]
        try:
            return await self._patiently(server, usual)
        except ConnectError as error:
            if error.status not in _OTHER_TRANSPORT or (self.dialogue and self.dialogue.agreed):
                raise
            first = error
        try:
            surface = await self._patiently(server, other)
        except ConnectError:
            raise first from None
        if server.transport == "remote":
            return surface
        note = f'is configured as "{usual}" but speaks "{other}": put "type": "{other}" into the config'
        return replace(surface, notes=(*surface.notes, note))


def _is_passing(error: ConnectError) -> bool:
    """Whether the failure may be over in a moment: no connection, or a gateway without its server."""
    return error.status in _WORTH_A_RETRY or (error.status is None and error.__cause__ is not None)


@dataclass(slots=True)
class _Reading:
    """All servers of one run."""

    servers: Mapping[str, Server]
    protocols: Mapping[str, str]
    limits: Limits
    client: tuple[str, str] | None
    progress: Callable[[Progress], None] | None

    async def all(self) -> dict[str, Surface | ConnectError]:
        found: dict[str, Surface | ConnectError] = {}
        places = anyio.Semaphore(max(self.limits.jobs, 1))
        waiting: dict[str, None] = {}

        async def read(name: str) -> None:
            async with places:
                waiting[name] = None
                self._tell(name, Phase.STARTED, waiting)
                try:
                    found[name] = await read_surface(
                        self.servers[name],
                        protocol=self.protocols.get(name, ""),
                        limits=self.limits,
                        client=self.client,
                    )
                except ConnectError as error:
                    found[name] = error
                del waiting[name]
            self._tell(name, Phase.FAILED if isinstance(found[name], ConnectError) else Phase.DONE, waiting)

        async with anyio.create_task_group() as tasks:
            for name in self.servers:
                tasks.start_soon(read, name)
        return {name: found[name] for name in self.servers}

    def _tell(self, name: str, phase: Phase, waiting: Mapping[str, None]) -> None:
        if self.progress:
            self.progress(Progress(name, phase, tuple(waiting)))


async def _interruptible(work: Callable[[], Awaitable[T]]) -> T:
    """Do `work`; a signal cancels it instead of the event loop, once. Raises `Interrupted`.

    Without this a second Ctrl-C would reach the event loop while children are being ended, and leave them behind.
    Python takes signals in its main thread only, and asyncio on Windows takes none.
    """
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        return await work()
    done: list[T] = []
    # a terminal that is closed must not leave servers behind; under nohup it is to be ignored
    hangup = [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL else []
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, *hangup) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_at_first, signals, tasks.cancel_scope)
            done.append(await work())
            tasks.cancel_scope.cancel()
    if not done:
        raise Interrupted("interrupted")
    return done[0]


async def _cancel_at_first(signals: AsyncIterable[signal.Signals], scope: anyio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()
        return
