"""A server behind a URL as a stream of messages: streamable HTTP, or the older HTTP with SSE.

Drives httpx2 itself instead of the MCP SDK's transports. Those hand out typed messages (unknown members, repeated keys
and number spellings are gone, what their parser refuses never arrives), erase status codes, and let a failed POST of
SSE hang until the time limit; and loading them costs several times what httpx2 costs.

The GET stream of streamable HTTP is opened only for whoever listens. Left out on purpose: resuming a stream, and
logging in: no URL that a server names is ever fetched but a redirect or an endpoint on the server's own origin. A token
comes from whoever knows one (`Credentials`).
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

import anyio

from mcp_lock.errors import ConnectError
from mcp_lock.text import one_line
from mcp_lock.transport.exchange import Exchange, broken, events_of, media_type, same_origin, start_of, whole
from mcp_lock.transport.refusal import Refusal, named, words
from mcp_lock.transport.wire import attributed, body, headers, message_in, why_none

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType
    from typing import Self

    import httpx2
    from anyio.abc import TaskGroup, TaskStatus

    from mcp_lock.config import HttpServer
    from mcp_lock.transport import Credentials
    from mcp_lock.transport.events import Event

GOODBYE = 2.0
"""Seconds that ending a session may take."""

_WAITING = 64
"""Messages that are read ahead of whoever receives them."""
_EXCERPT = 16 << 10
"""Bytes of an answer that are read for its words."""
_STATUS_SAYS_MORE = frozenset({401, 403, 405, 407, 429})
_NO_METHOD = -32601


class RemoteTransport:
    """`mcp_lock.transport.Transport` over streamable HTTP (`http`) or HTTP with SSE (`sse`).

    A refused request raises `ConnectError` with its `status`, and the transport stays usable, so that another request
    can be tried. A JSON-RPC error comes out as a message, whatever status it came with, but not with 401, 403, 405,
    407, 429 or 5xx, where the status says more, and not where it only says that the session is lost.
    """

    def __init__(
        self,
        server: HttpServer,
        kind: Literal["http", "sse"],
        read: Callable[[bytes], dict[str, Any] | None] = message_in,
        credentials: Credentials | None = None,
    ) -> None:
        """`read` makes a message of the bytes of one, or None of what is none."""
        self._server = server
        self._credentials = credentials
        self._kind = kind
        self._message_in = read
        self._asking: dict[Any, anyio.CancelScope] = {}
        self._session = ""
        self._lost = False
        """Whether the last thing heard of the session is that the server does not know it."""
        self._version = ""
        self._notes: list[str] = []
        self._junk = 0
        self._last_junk = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how it went: visible text, one line each."""
        if not self._junk:
            return tuple(self._notes)
        return (*self._notes, f"sent {self._junk} event(s) that are no JSON-RPC message, the last: {self._last_junk}")

    def negotiated(self, version: str) -> None:
        """Told once, when both sides have agreed on a protocol version."""
        self._version = version

    async def __aenter__(self) -> Self:
        self._exchange = Exchange(self._server, self._credentials)
        self._url = self._exchange.url
        self._put, self._take = anyio.create_memory_object_stream[dict[str, Any] | ConnectError](_WAITING)
        self._tasks: TaskGroup = anyio.create_task_group()
        await self._tasks.__aenter__()
        try:
            if self._kind == "sse":
                self._url = await self._tasks.start(self._listen)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.move_on_after(GOODBYE, shield=True):
            await self._end_session()
        await self._close()

    async def _close(self) -> None:
        """Ends what runs and closes what is open. The body's error goes round the task group, which would wrap it."""
        self._tasks.cancel_scope.cancel()
        try:
            await self._tasks.__aexit__(None, None, None)
        finally:
            self._put.close()
            self._take.close()
            with anyio.move_on_after(GOODBYE, shield=True):
                await self._exchange.aclose()

    async def _end_session(self) -> None:
        if self._session and not self._lost:
            try:
                async with self._open("DELETE", {}):
                    """Whatever it answers, the session is over for us."""
            except ConnectError:
                return  # the server ends it by itself some day

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message. What comes of a request over streamable HTTP, good or bad, is received.

        Raises `ConnectError` for all else that cannot be sent.
        """
        if self._kind == "sse":
            await self._post(message)
        elif "method" in message and "id" in message:
            self._tasks.start_soon(self._ask, message)
        else:
            await self._tell(message)

    async def receive(self) -> dict[str, Any]:
        """The next message, parsed from its own text. Raises `ConnectError` in place of an answer that cannot come."""
        try:
            item = await self._take.receive()
        except anyio.EndOfStream:
            raise ConnectError("the server closed the event stream") from None
        if isinstance(item, ConnectError):
            raise item
        return item

    def _open(self, method: str, message: dict[str, Any]) -> AbstractAsyncContextManager[httpx2.Response]:
        said = headers(message, self._version, self._session)
        return self._exchange.open(method, self._url, said, body(message), _asked(message) if message else method)

    async def _ask(self, message: dict[str, Any]) -> None:
        """One request over streamable HTTP, and all that comes back for it."""
        with anyio.CancelScope() as scope:
            self._asking[message["id"]] = scope
            try:
                await self._ask_to_the_end(message)
            except ConnectError as error:
                self._lost = error.session_lost
                error.request = message["id"]
                await self._put.send(error)
            finally:
                self._asking.pop(message["id"], None)

    async def _ask_to_the_end(self, message: dict[str, Any]) -> None:
        async with self._open("POST", message) as response:
            if not response.is_success:
                await self._put.send(await self._refused(response, message))
                return
            if message["method"] == "initialize":
                self._session = response.headers.get("mcp-session-id", "")
            self._lost = False
            await self._read(response, message)

    def abandon(self, number: Any) -> bool:
        """Stop waiting for the answer to a request, which tells a stateless server that nobody does; whether one was.

        (Specification of 2026-07-28, basic/utilities/cancellation.)
        """
        scope = self._asking.get(number)
        if scope:
            scope.cancel()
        return scope is not None

    def listen(self) -> None:
        """Receive also what the server says unasked, over streamable HTTP, if it has a stream for that."""
        if self._kind == "http":
            self._tasks.start_soon(self._overhear)

    async def _overhear(self) -> None:
        try:
            async with self._open("GET", {}) as response:
                if not response.is_success or media_type(response) != "text/event-stream":
                    return
                async with aclosing(events_of(response)) as events, aclosing(self._messages(events)) as messages:
                    async for said in messages:
                        await self._put.send(said)
        except ConnectError as error:
            self._notes.append(str(error))

    async def _tell(self, message: dict[str, Any]) -> None:
        """A message without an answer. A server that refuses it may still answer requests, so that is only noted."""
        try:
            await self._post(message)
        except ConnectError as error:
            if error.status is None:
                raise
            self._notes.append(str(error))

    async def _post(self, message: dict[str, Any]) -> None:
        async with self._open("POST", message) as response:
            if not response.is_success:
                raise self._refusal(response, message, await start_of(response, _EXCERPT))

    async def _read(self, response: httpx2.Response, message: dict[str, Any]) -> None:
        media = media_type(response)
        if media == "text/event-stream":
            await self._read_events(response, message)
        elif media == "application/json":
            await self._put.send(await self._read_json(response, message))
        elif response.status_code == 200:
            raise await self._other(response, _asked(message), "JSON")
        else:
            raise broken(f"answered {_asked(message)} with {named(response.status_code)} and no message", response)

    async def _read_json(self, response: httpx2.Response, message: dict[str, Any]) -> dict[str, Any]:
        data = await whole(response)
        answer = self._message_in(data)
        if answer is None:
            said = self._words(data) or "nothing at all"
            raise broken(f"answered {_asked(message)} with what is {why_none(data)}: {said}", response)
        return attributed(answer, message)

    async def _read_events(self, response: httpx2.Response, message: dict[str, Any]) -> None:
        """Messages up to the one that answers the request: a server may leave the stream open behind it."""
        known = self._junk
        async with aclosing(events_of(response)) as events, aclosing(self._messages(events)) as messages:
            async for said in messages:
                await self._put.send(attributed(said, message))
                if "method" not in said and said.get("id") == message["id"]:
                    return
        heard = f", having sent: {self._last_junk}" if self._junk > known else ""
        raise broken(f"ended the event stream before it had answered {_asked(message)}{heard}", response)

    async def _messages(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[dict[str, Any], None]:
        async for event in events:
            if event.name not in ("message", "error"):
                continue  # a ping, or whatever the server finds worth an event of its own
            said = self._message_in(event.data)
            if said is not None:
                yield said
                continue
            self._junk += 1
            self._last_junk = f"{self._words(event.data)} ({why_none(event.data)})"

    async def _listen(self, *, task_status: TaskStatus[httpx2.URL]) -> None:
        """The stream of HTTP with SSE: first the endpoint to post to, then every message of the server."""
        started, end = False, ConnectError("the server closed the event stream")
        try:
            async with self._open("GET", {}) as response, aclosing(events_of(response)) as events:
                task_status.started(await self._endpoint(response, events))
                started = True
                async for message in self._messages(events):
                    await self._put.send(message)
        except ConnectError as error:
            if not started:
                raise
            end = error
        await self._put.send(end)
        self._put.close()

    async def _endpoint(self, response: httpx2.Response, events: AsyncGenerator[Event, None]) -> httpx2.URL:
        """Where the server wants messages posted, which must be on its own origin: they carry the same headers."""
        if not response.is_success:
            raise self._refusal(response, {}, await start_of(response, _EXCERPT))
        if media_type(response) != "text/event-stream":
            raise await self._other(response, "GET", "an event stream")
        async for event in events:
            if event.name == "endpoint":
                return self._own(response.url, event.data.decode("utf-8", "replace").strip())
        raise broken("ended the event stream before it had named its endpoint", response)

    def _own(self, base: httpx2.URL, said: str) -> httpx2.URL:
        url = base.join(said).copy_with(userinfo=base.userinfo)
        if not same_origin(base, url):
            place = self._exchange.shown(url)
            raise ConnectError(f"the server wants messages sent to {place}; not followed: another origin")
        return url

    async def _refused(self, response: httpx2.Response, message: dict[str, Any]) -> dict[str, Any]:
        """The JSON-RPC error that came with a status. Raises the refusal if there is none, or the status says more."""
        data = await start_of(response, _EXCERPT)
        refusal = self._refusal(response, message, data)
        answer = self._message_in(data)
        error = answer.get("error") if answer else None
        if not answer or not isinstance(error, dict) or response.status_code >= 500:
            raise refusal
        if response.status_code in _STATUS_SAYS_MORE or (refusal.session_lost and error.get("code") != _NO_METHOD):
            raise refusal
        return attributed(answer, message)

    def _refusal(self, response: httpx2.Response, message: dict[str, Any], data: bytes) -> ConnectError:
        """The error that a status is. A 404 to a session means that it is gone (basic/transports)."""
        in_session = "mcp-session-id" in response.request.headers or (self._kind == "sse" and bool(message))
        refusal = Refusal(
            response.status_code,
            dict(response.headers),
            data.decode("utf-8", "replace"),
            _asked(message) if message else "GET",
            self._exchange.shown(response.url),
            session_lost=response.status_code == 404 and in_session,
            showed_token="authorization" in response.request.headers,
            trouble=self._credentials.trouble if self._credentials else "",
        )
        line = refusal.line(self._server, self._exchange.mask)
        return ConnectError(line, status=refusal.status, session_lost=refusal.session_lost)

    async def _other(self, response: httpx2.Response, asked: str, wanted: str) -> ConnectError:
        """The error that an answer of another media type is."""
        said = self._words(await start_of(response, _EXCERPT))
        media = one_line(self._exchange.mask(media_type(response)), 60) or "no content type"
        return broken(f"answered {asked} with {media}, not {wanted}" + (f": {said}" if said else ""), response)

    def _words(self, data: bytes) -> str:
        return words(data[:_EXCERPT].decode("utf-8", "replace"), self._exchange.mask)


def _asked(message: dict[str, Any]) -> str:
    """What a message asks for, in words: its method, if it has one."""
    return str(message.get("method", "a reply"))
