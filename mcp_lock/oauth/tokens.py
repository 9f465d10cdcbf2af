"""The two requests that a login needs after it was made: the next token, and the end of all.

Each goes to the endpoint that the login has stored; nothing is discovered, and no redirect leaves its origin.
"""

from __future__ import annotations

import base64
import json
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import anyio

from mcp_lock.config import HttpServer
from mcp_lock.errors import ConnectError
from mcp_lock.oauth import is_private, origin_of
from mcp_lock.text import one_line
from mcp_lock.transport.exchange import Exchange, start_of
from mcp_lock.transport.refusal import named, words

if TYPE_CHECKING:
    from mcp_lock.oauth import Login

TIMEOUT = 15.0
"""Seconds for one request."""

_MOST = 256 << 10
"""Bytes of an answer that are read."""
_GONE = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type"})
_TOKEN = re.compile(r"[!-~]{1,65536}")


class Revoked(ConnectError):
    """The authorization server does not know the login any more, or there was no way to renew it: a person must."""


async def renew(login: Login) -> Login:
    """The login with its next token. Raises `Revoked`, and `ConnectError` where another try may work."""
    if not login.can_be_renewed:
        raise Revoked("the login has ended, and the authorization server gave nothing to renew it with")
    if login.refresh_token:
        form = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    else:
        form = {"grant_type": "client_credentials"} | ({"scope": login.scope} if login.scope else {})
    if login.audience:
        form["resource"] = login.audience
    status, answer, said = await _post(login, login.token_endpoint, form, "a renewal")
    error = answer.get("error")
    if status in (400, 401) and error in _GONE:
        raise Revoked(f"the login cannot be renewed: {said}")
    if status != 200:
        raise ConnectError(f"{origin_of(login.token_endpoint)} did not renew the login: {named(status)}: {said}")
    return _renewed(login, answer)


def _renewed(login: Login, answer: dict[str, Any]) -> Login:
    token, kind = answer.get("access_token"), str(answer.get("token_type", "Bearer"))
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or kind.lower() != "bearer":
        raise ConnectError(f"{origin_of(login.token_endpoint)} answered a renewal without a bearer token")
    again, scope = answer.get("refresh_token"), answer.get("scope")
    return replace(
        login,
        access_token=token,
        refresh_token=again if isinstance(again, str) and again else login.refresh_token,
        scope=scope if isinstance(scope, str) else login.scope,
        expires_at=_end(answer.get("expires_in")),
    )


def _end(seconds: Any) -> float:
    try:
        return time.time() + float(seconds)
    except (TypeError, ValueError):
        return 0.0


async def revoke(login: Login) -> None:
    """Tell the authorization server that the login is over (RFC 7009). Raises `ConnectError` when it was not told."""
    kind = "refresh_token" if login.refresh_token else "access_token"
    form = {"token": login.refresh_token or login.access_token, "token_type_hint": kind}
    if login.client_auth == "none":
        # may be left out when it is empty (RFC 6749, section 2.3.1), but servers of the MCP SDK demand it
        form["client_secret"] = ""
    status, _, said = await _post(login, login.revocation_endpoint, form, "the end of a login")
    if status != 200:
        raise ConnectError(f"{origin_of(login.revocation_endpoint)} answered {named(status)}: {said}")


async def _post(login: Login, url: str, form: dict[str, str], asked: str) -> tuple[int, dict[str, Any], str]:
    """One form sent as the client of this login: the status, the JSON object that came, and what that says."""
    if not is_private(url):
        raise ConnectError(f"{origin_of(url) or 'the endpoint of the login'} is not https, so no token is sent there")
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    form, more = _as_client(login, form)
    exchange = Exchange(HttpServer(url, "http", {}, {str(at): value for at, value in enumerate(login.secrets())}))
    try:
        with anyio.fail_after(TIMEOUT):
            content = urlencode(form).encode()
            async with exchange.open("POST", exchange.url, {**headers, **more}, content, asked) as response:
                data = await start_of(response, _MOST)
    except TimeoutError:
        raise ConnectError(f"no answer from {origin_of(url)} to {asked} within {TIMEOUT:g} s") from None
    finally:
        await exchange.aclose()
    answer = _object(data)
    said = words(data.decode("utf-8", "replace"), exchange.mask)
    code = one_line(exchange.mask(str(answer.get("error", ""))), 60)
    return response.status_code, answer, said if code in said else f"{code}: {said}"


def _as_client(login: Login, form: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The form and the headers that say which client asks (RFC 6749, section 2.3.1)."""
    if login.client_auth == "client_secret_basic":
        pair = f"{quote(login.client_id, safe='')}:{quote(login.client_secret, safe='')}"
        return form, {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    form = {**form, "client_id": login.client_id}
    if login.client_auth == "client_secret_post":
        form["client_secret"] = login.client_secret
    return form, {}


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
