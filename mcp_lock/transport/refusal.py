"""What an HTTP answer means that carries no message: one line that says what, and what to do about it.

Only reads; whether to go on is decided elsewhere. Nothing here follows a URL that a server names.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from typing import TYPE_CHECKING, Any

from mcp_lock import canonical
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_lock.config import HttpServer
    from mcp_lock.transport.mask import Mask

_CREDENTIAL = re.compile(r"auth|cookie|key|token|secret|credential|password", re.IGNORECASE)
_SAID_IN = ("message", "error_description", "detail", "error", "title", "reason", "errors", "description")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile(r"<(script|style)\b.*?(</\1\s*>|$)|<[^>]*>", re.IGNORECASE | re.DOTALL)
_DESCRIPTION = re.compile(r'error_description="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer of 300 or more, as far as it was read."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: str
    asked: str
    """What it answers: an MCP method, or `GET`."""
    url: str
    """The endpoint, fit to be shown."""
    session_lost: bool = False
    """Whether it answers a session that the server had given."""
    showed_token: bool = False
    """Whether the request said who asks, by the config or by a login."""
    trouble: str = ""
    """Why there was no token, or no better one, and what to do; empty where nobody has logged in."""

    def line(self, server: HttpServer, mask: Mask) -> str:
        """What happened and what to do, on one line."""
        said = self.said(mask)
        advice = _ADVICE[self.status](self, server) if self.status in _ADVICE else ""
        head = f"{named(self.status)} from {self.url} to {self.asked}"
        return head + (f": {said}" if said else "") + (f" ({advice})" if advice else "")

    def said(self, mask: Mask) -> str:
        """The server's own words, masked and visible; empty when it had none that a person could read."""
        heard = _DESCRIPTION.search(self.headers.get("www-authenticate", ""))
        return words(self.body, mask) or one_line(mask(heard[1] if heard else ""))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds after which the server wants to be asked again (RFC 9110, section 10.2.3), if it says so."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(parsedate_to_datetime(value).timestamp() - time(), 0.0)
    except (ValueError, OverflowError):
        return None


def named(status: int) -> str:
    """A status as people know it: `404 Not Found`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP status {status}"


def words(body: str, mask: Mask) -> str:
    """What a body says to a person, on one line: the message in its JSON, the title of its page, or its text."""
    try:
        said = next(_texts(canonical.parse(body)), body)
    except (ValueError, RecursionError):
        said = _page(body) if "<" in body else body
    return one_line(mask(said))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        value = next(iter(value), None)
    if isinstance(value, str) and value.strip():
        yield value
    if isinstance(value, dict):
        for name in _SAID_IN:
            yield from _texts(value.get(name))


def _page(body: str) -> str:
    title = _TITLE.search(body)
    return html.unescape(title[1] if title and title[1].strip() else _UNSEEN.sub(" ", body))


def _unauthorized(refusal: Refusal, server: HttpServer) -> str:
    asks = refusal.headers.get("www-authenticate", "")
    scheme = asks.partition(" ")[0].rstrip(",")
    login = f"mcplock login {server.shown_name}"
    if refusal.trouble:
        return refusal.trouble
    sent = _credentials(server)
    if sent:
        refused = f"it does not accept {' and '.join(sent)}"
        return f"{refused}; the server asks for OAuth: without it, {login}" if _asks_for_oauth(asks) else refused
    if refusal.showed_token:
        return f"it does not accept the token of the login; log in again: {login}"
    example = f'a header, such as "Authorization": "{scheme if scheme.isalpha() else "Bearer"} ${{TOKEN}}"'
    if _asks_for_oauth(asks) or scheme.lower() == "bearer":
        return f"log in: {login}; in CI, give the config {example}, or use {login} --client-credentials"
    return f"the config sends no credentials: add {example}"


def _asks_for_oauth(challenge: str) -> bool:
    return any(word in challenge for word in ("resource_metadata", "authorization_uri", "as_uri"))


def _forbidden(refusal: Refusal, server: HttpServer) -> str:
    sent = _credentials(server)
    if refusal.showed_token and not sent:
        return f"the login may not do this; for another one: mcplock login {server.shown_name} --oauth-scope SCOPE"
    return f"{' and '.join(sent)} may not do this" if sent else "the config sends no credentials"


def _credentials(server: HttpServer) -> list[str]:
    """The places that carry credentials, in words: headers, the URL, and the variables behind them."""
    places = [
        f"header {one_line(name)}{_from(value, server)}"
        for name, value in server.headers.items()
        if _CREDENTIAL.search(name) or _from(value, server)
    ]
    return places + ([f"the URL{_from(server.url, server)}"] if _from(server.url, server) else [])


def _from(text: str, server: HttpServer) -> str:
    names = sorted(name for name, value in server.secrets.items() if value and value in text)
    return f" (from {', '.join(map(one_line, names))})" if names else ""


def _not_found(refusal: Refusal, _: HttpServer) -> str:
    return "the server forgot the session" if refusal.session_lost else "no MCP endpoint at this path"


def _limited(refusal: Refusal, _: HttpServer) -> str:
    wait = retry_after(refusal.headers)
    return "rate limited" if wait is None else f"rate limited, retry after {wait:.0f} s"


def _later(refusal: Refusal, _: HttpServer) -> str:
    wait = retry_after(refusal.headers)
    return "" if wait is None else f"retry after {wait:.0f} s"


def _not_allowed(refusal: Refusal, _: HttpServer) -> str:
    if refusal.asked == "GET":
        return 'it does not speak SSE at this path; perhaps "type": "http"'
    return 'it takes no POST at this path; perhaps "type": "sse"'


def _not_acceptable(_: Refusal, __: HttpServer) -> str:
    return "it refuses the media types that MCP prescribes, so this is no MCP endpoint or a broken one"


def _proxy(_: Refusal, __: HttpServer) -> str:
    return "the proxy wants credentials: put them into the URL in the proxy variable"


_ADVICE: dict[int, Callable[[Refusal, HttpServer], str]] = {
    401: _unauthorized,
    403: _forbidden,
    404: _not_found,
    405: _not_allowed,
    406: _not_acceptable,
    407: _proxy,
    415: _not_acceptable,
    429: _limited,
    503: _later,
}
