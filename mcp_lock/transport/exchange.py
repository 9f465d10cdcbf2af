"""One HTTP request and its answer: what httpx2 does for mcplock, and every way in which it fails as one `ConnectError`.

Follows a redirect only where it keeps the request and stays on the origin, since headers and message are meant for that
origin alone; waits once when a server says for how long. Knows nothing of MCP; a status is an answer like any other.
"""

from __future__ import annotations

import re
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx2  # noqa: TID253 - driving it is this module's job; only transport.remote imports it, and that one lazily

from mcp_lock import __version__
from mcp_lock.errors import ConnectError
from mcp_lock.text import one_line
from mcp_lock.transport import faults, mask
from mcp_lock.transport.events import MAX_BYTES, EventReader, OversizeError
from mcp_lock.transport.refusal import retry_after

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from mcp_lock.config import HttpServer
    from mcp_lock.transport import Credentials
    from mcp_lock.transport.events import Event

PATIENCE = 5.0
"""Seconds that mcplock waits when it is told to come back; told more, it says so and gives up."""

_TIMEOUT = httpx2.Timeout(30, read=300)
"""Seconds; a backstop, since whoever reads a server sets the limits that count."""
_HOPS = 5
_CODINGS = frozenset({"", "identity", "gzip", "deflate"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Exchange:
    """A client for one server, and what must not be shown of it. To be closed."""

    def __init__(self, server: HttpServer, credentials: Credentials | None = None) -> None:
        self.mask = mask.of_http(server)
        self._credentials = credentials
        self.url = _target(server.url)
        self._client = _client(server)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    @asynccontextmanager
    async def open(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str], content: bytes | None, asked: str
    ) -> AsyncIterator[httpx2.Response]:
        """The answer, its body still to be read; `asked` says in messages what was asked.

        Raises `ConnectError` when there is no answer, or, while it is read, no whole one.
        """
        request = self._client.build_request(method, url, headers=dict(headers), content=content)
        try:
            async with aclosing(await self._authorized(request)) as response:
                _decodable(response)
                yield response
        except OversizeError:
            raise ConnectError(f"the answer to {asked} is larger than {MAX_BYTES >> 20} MB, the most we read") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ConnectError(faults.line(error, url, asked, self.mask)) from error

    async def _authorized(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request with a token, if there is one; to a second one if the first token was refused."""
        if self._credentials is None:
            return await self._fetch(request)
        token = await self._credentials.token()
        response = await self._fetch(self._with(token, request))
        if response.status_code == 401 and (other := await self._credentials.renewed(token)):
            await response.aclose()
            return await self._fetch(self._with(other, request))
        return response

    def _with(self, token: str, request: httpx2.Request) -> httpx2.Request:
        if token:
            self.mask.learn(token)
            request.headers["authorization"] = f"Bearer {token}"
        return request

    async def _fetch(self, request: httpx2.Request) -> httpx2.Response:
        waited = False
        for _ in range(_HOPS):
            response = await self._client.send(request, stream=True, follow_redirects=False)
            pause = None if waited else _pause(response)
            if response.next_request is None and pause is None:
                return response
            await response.aclose()
            if response.next_request is not None:
                request = self._onward(response, response.next_request)
            elif pause is not None:
                waited = True
                await anyio.sleep(pause)
        raise ConnectError(f"{self.shown(request.url)} redirects {_HOPS} times without an end")

    def _onward(self, response: httpx2.Response, onward: httpx2.Request) -> httpx2.Request:
        """The redirected request. Raises `ConnectError`, with the place that it would have gone to, for any other."""
        here, there = response.request.url, onward.url
        if onward.method != response.request.method:
            why = f"{response.status_code} would drop the message"
        elif here.scheme == "https" and there.scheme == "http":
            why = "it would leave TLS"
        elif not same_origin(here, there):
            why = "another origin"
        else:
            return onward
        said = f"the server redirects to {self.shown(there)}; not followed: {why}"
        raise ConnectError(f"{said} (if that is the server, put this URL into the config)", status=response.status_code)

    def shown(self, url: httpx2.URL) -> str:
        """A URL fit for a message: without userinfo, query and fragment, which may hold secrets."""
        return one_line(self.mask(str(url.copy_with(userinfo=b"", query=None, fragment=None))))


def _target(url: str) -> httpx2.URL:
    """The URL of the config, parsed. Its text is in no message: it may hold a secret anywhere."""
    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL:
        raise ConnectError("the URL in the config is not a valid URL") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConnectError("the URL in the config does not start with http:// or https:// and a host")
    return parsed


def _client(server: HttpServer) -> httpx2.AsyncClient:
    """A client with the headers of the config; proxies and certificate authorities come from the environment."""
    headers = [(b"user-agent", f"mcplock/{__version__}".encode())]
    if any(name.lower() == "user-agent" for name in server.headers):
        headers.clear()
    headers += [_header(name, value) for name, value in server.headers.items()]
    try:
        return httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT)
    except OSError as error:
        why = one_line(error.strerror or type(error).__name__)
        raise ConnectError(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {why}"
        ) from error
    except (ValueError, ImportError, httpx2.InvalidURL) as error:
        names = "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"
        raise ConnectError(f"the proxy that {names} names cannot be used: not an http:// or https:// URL") from error


def _header(name: str, value: str) -> tuple[bytes, bytes]:
    """A header as bytes. Raises `ConnectError` for what HTTP cannot carry, without the value."""
    shown, value = one_line(name), value.strip()
    if not _TOKEN.fullmatch(name):
        raise ConnectError(f"the config names a header that HTTP does not allow: {shown}")
    if any(char in value for char in "\r\n\0"):
        raise ConnectError(f"the value of header {shown} has a line break in it")
    try:
        return name.encode("ascii"), value.encode("latin-1")
    except UnicodeEncodeError:
        raise ConnectError(f"the value of header {shown} holds characters that a header cannot carry") from None


def same_origin(here: httpx2.URL, there: httpx2.URL) -> bool:
    """Whether both are one origin, or the second is the first on TLS, both at the usual ports."""
    if (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port):
        return True
    return (here.host, here.scheme, here.port, there.scheme, there.port) == (there.host, "http", None, "https", None)


def _pause(response: httpx2.Response) -> float | None:
    """Seconds to wait before the same request is worth another try, if the server says so and they are few."""
    if response.status_code not in (429, 503):
        return None
    wait = retry_after(response.headers)
    return wait if wait is not None and wait <= PATIENCE else None


def broken(what: str, response: httpx2.Response) -> ConnectError:
    """The error that a server makes which answered, but `what`."""
    return ConnectError(f"the server {what}", status=response.status_code)


def _decodable(response: httpx2.Response) -> None:
    """Raises `ConnectError` for a content coding that mcplock did not offer: httpx2 would hand out the raw bytes."""
    codings = {coding.strip().lower() for coding in response.headers.get("content-encoding", "").split(",")}
    unknown = sorted(codings - _CODINGS)
    if unknown and response.is_success:
        name = one_line(unknown[0], 40)
        raise broken(f"compressed its answer with {name!r}, which mcplock did not offer and cannot undo", response)


def media_type(response: httpx2.Response) -> str:
    """The media type in lower case, without parameters: JSON and event streams are UTF-8 whatever a charset says."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def start_of(response: httpx2.Response, limit: int) -> bytes:
    """The first `limit` bytes of a body, or all of it if it has fewer."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) >= limit:
            break
    return bytes(data[:limit])


async def whole(response: httpx2.Response) -> bytes:
    """The body. Raises `OversizeError`."""
    data = await start_of(response, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OversizeError
    return data


async def events_of(response: httpx2.Response) -> AsyncGenerator[Event, None]:
    """The events of a body as they come. Raises `OversizeError`."""
    reader = EventReader()
    async for chunk in response.aiter_bytes():
        for event in reader.feed(chunk):
            yield event
