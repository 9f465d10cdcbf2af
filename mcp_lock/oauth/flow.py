"""A new login, through the MCP SDK's OAuth client: discovery, registration, the browser, the first token.

The only module that follows what a server says of where to log in, and it is loaded by `mcplock login` alone. The SDK
says what is to be asked next; every request goes out from here, so that each is told, bounded, and sent by TLS (or
stays on this machine, if the server does).
"""

from __future__ import annotations

import logging
import re
import sys
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2  # noqa: TID253 - this module is itself loaded lazily, and for nothing else
from mcp.client.auth import (  # noqa: TID253 - as above
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
)
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider  # noqa: TID253 - as above
from mcp.client.auth.utils import issuers_match  # noqa: TID253 - as above
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken  # noqa: TID253 - as above
from pydantic import AnyUrl  # noqa: TID253 - as above

from mcp_lock.config import HttpServer
from mcp_lock.errors import ConnectError, UsageError
from mcp_lock.oauth import Login, is_loopback, is_private, origin_of, resource_of
from mcp_lock.oauth.callback import Callback
from mcp_lock.text import one_line, visible
from mcp_lock.transport.exchange import Exchange, start_of
from mcp_lock.transport.wire import body, headers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

_MOST = 1 << 20
"""Bytes of an answer that are read."""
_PATIENCE = 30.0
"""Seconds for one request."""
_VERSION = "mcp-protocol-version"
_SCOPE = re.compile(r"[!#-\[\]-~]+( [!#-\[\]-~]+)*")
_HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mcplock", "version": "0"}},
}


@dataclass(frozen=True, slots=True)
class Wish:
    """How to log in."""

    machine: bool = False
    """Whether without a person: by client credentials."""
    scope: str = ""
    """Empty for what the server asks for."""
    port: int = 0
    timeout: float = 300.0
    """Seconds that a person has."""
    client_id: str = ""
    """Of a client that is registered already; empty to register one."""
    client_secret: str = field(default="", repr=False)
    issuer: str = ""
    """Who may see the client's secret; empty for nobody but the origin of the server itself."""


async def log_in(server: HttpServer, wish: Wish, say: Callable[[str], None], browse: Callable[[str], None]) -> Login:
    """A login at `server`. `browse` is given the URL at which a person goes on.

    Raises `UsageError` for what cannot be asked for, `ConnectError` when no login came of it.
    """
    if wish.scope and not _SCOPE.fullmatch(wish.scope):
        raise UsageError("--oauth-scope holds what no scope can hold")
    if wish.machine and not (wish.client_id and wish.client_secret):
        raise UsageError("--client-credentials takes the client from MCPLOCK_CLIENT_ID and MCPLOCK_CLIENT_SECRET")
    # the SDK logs what it raises, traceback and secrets and all
    logger = logging.getLogger("mcp.client.auth")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    async with _flow(server, wish, say, browse) as flow:
        return await flow.login()


@asynccontextmanager
async def _flow(
    server: HttpServer, wish: Wish, say: Callable[[str], None], browse: Callable[[str], None]
) -> AsyncIterator[_Flow]:
    async with Callback(wish.port) as callback:
        secrets = {"client secret": wish.client_secret, **server.secrets}
        exchange = Exchange(HttpServer(server.url, "http", {}, secrets))
        exchange.mask.learn(*server.headers.values())
        try:
            yield _Flow(server, wish, say, browse, callback, exchange)
        finally:
            await exchange.aclose()


class _Kept:
    """The SDK's `TokenStorage` for one login, which ends before it is stored."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client
        self.token: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass(slots=True)
class _Flow:
    """One login while it is made."""

    server: HttpServer
    wish: Wish
    say: Callable[[str], None]
    browse: Callable[[str], None]
    callback: Callback
    exchange: Exchange
    kept: _Kept = field(init=False)
    provider: OAuthClientProvider = field(init=False)
    state: str = field(default="", init=False)

    async def login(self) -> Login:
        self.kept = _Kept(self._registered())
        self.provider = self._machine() if self.wish.machine else self._person()
        try:
            await self._drive()
        except OAuthRegistrationError as error:
            raise ConnectError(
                f"no client could be registered: {self._said(error)} (set MCPLOCK_CLIENT_ID to one that is registered "
                f"there for {self.callback.url}, and use --port)"
            ) from None
        except (OAuthFlowError, ValueError) as error:
            self._trust(self.provider.context.auth_server_url or "")
            raise ConnectError(f"the login failed: {self._said(error)}") from None
        return self._made()

    def _said(self, error: Exception) -> str:
        text = str(error)
        if text.startswith("Invalid "):
            text = text.partition(":")[0]  # what follows quotes the answer, tokens and all
        return one_line(self.exchange.mask(text)) or type(error).__name__

    def _registered(self) -> OAuthClientInformationFull | None:
        if not self.wish.client_id:
            return None
        secret = self.wish.client_secret
        return OAuthClientInformationFull(
            client_id=self.wish.client_id,
            client_secret=secret or None,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
        )

    def _machine(self) -> OAuthClientProvider:
        return ClientCredentialsOAuthProvider(
            resource_of(self.server.url),
            self.kept,
            self.wish.client_id,
            self.wish.client_secret,
            scope=self.wish.scope or None,
            issuer=self.wish.issuer or origin_of(self.server.url),
        )

    def _person(self) -> OAuthClientProvider:
        about = OAuthClientMetadata(
            redirect_uris=[AnyUrl(self.callback.url)],
            client_name="mcplock",
            token_endpoint_auth_method="none",  # noqa: S106 - the name of a method: a program on a desk keeps no secret
            scope=self.wish.scope or None,
        )
        return OAuthClientProvider(resource_of(self.server.url), about, self.kept, self._redirect, self._answer)

    async def _drive(self) -> None:
        """Answer the SDK's questions until it would ask the server again, now with a token."""
        said = headers(_HELLO, "", "") | {_VERSION: _HELLO["params"]["protocolVersion"]}
        said |= {name: value for name, value in self.server.headers.items() if name.lower() != "authorization"}
        hello = httpx2.Request("POST", self.exchange.url, headers=said, content=body(_HELLO))
        async with aclosing(self.provider.async_auth_flow(hello)) as flow:
            asked = await anext(flow)
            # the SDK reads it to tell the issuer which resource is meant; a greeting does not carry it
            del asked.headers[_VERSION]
            response = self._challenge(await self._send(asked))
            while (asked := await flow.asend(response)) is not hello:
                if asked.method != "GET":
                    self._check()
                response = await self._send(asked)

    def _challenge(self, response: httpx2.Response) -> httpx2.Response:
        """The 401 that begins a login, which not every server gives to the first request; with the scope asked for."""
        challenge = response.headers.get("www-authenticate", "") if response.status_code == 401 else ""
        if self.wish.scope:
            challenge = f'Bearer scope="{self.wish.scope}", {challenge.partition(" ")[2]}'
        return httpx2.Response(401, headers={"www-authenticate": challenge}, request=response.request)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """The whole answer. A redirect counts as nothing there: what is behind it was not asked for."""
        self._allow(str(request.url))
        place = self.exchange.shown(request.url)
        self.say(f"{request.method} {place}")
        said = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        content = request.read() or None
        self.exchange.mask.learn(*parse_qs((content or b"").decode("utf-8", "replace")).get("code_verifier", []))
        try:
            with anyio.fail_after(_PATIENCE):
                async with self.exchange.open(request.method, request.url, said, content, request.method) as response:
                    data = await start_of(response, _MOST)
        except TimeoutError:
            raise ConnectError(f"no answer from {place} within {_PATIENCE:g} s") from None
        except ConnectError as error:
            if error.status is None or not 300 <= error.status < 400:
                raise
            return httpx2.Response(error.status, request=request)
        kept = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        return httpx2.Response(response.status_code, headers=kept, content=data, request=request)

    def _allow(self, url: str) -> None:
        """Raises `ConnectError` for a URL that is not to be asked, whoever named it."""
        if not is_private(url):
            raise ConnectError(f"{self._place(url)} is not https, so it is not asked")
        if is_loopback(url) and not is_loopback(self.server.url):
            raise ConnectError(f"{self._place(url)} is on this machine and the server is not, so it is not asked")

    def _place(self, url: str) -> str:
        return visible(origin_of(url)) or "what the server names"

    def _check(self) -> None:
        """Raises `ConnectError` where an authorization server is not to be trusted with more than being asked for."""
        found = self.provider.context.oauth_metadata
        if found is None:
            raise ConnectError(
                "the server does not say where to log in (no metadata was found); if it takes a key, "
                "put a header into the config"
            )
        for url in (found.authorization_endpoint, found.token_endpoint):
            self._allow(str(url))
        if not self.wish.machine and "S256" not in (found.code_challenge_methods_supported or ()):
            raise ConnectError(f"{self._place(str(found.issuer))} does not offer PKCE with S256, which MCP demands")
        self._trust(str(found.issuer))

    def _trust(self, issuer: str) -> None:
        """Raises `ConnectError` for an issuer that is not to see the client's secret."""
        trusted = self.wish.issuer or (origin_of(self.server.url) if self.wish.client_secret else "")
        if issuer and trusted and not issuers_match(issuer, trusted):
            issuer = one_line(issuer)
            raise ConnectError(
                f"the server leads to {issuer}, which is not {one_line(trusted)}: if that is who knows the client, "
                f"use --issuer {issuer}"
            )

    async def _redirect(self, url: str) -> None:
        self._check()
        self._allow(url)
        self.state = parse_qs(urlsplit(url).query).get("state", [""])[-1]
        self.exchange.mask.learn(self.state)
        self.browse(url)
        if sys.stdin and sys.stdin.isatty():
            self.say("if that browser is on another machine, paste the address here at which it ends")
            self.callback.read_terminal()

    async def _answer(self) -> AuthorizationCodeResult:
        answer = await self.callback.wait(self.state, self.wish.timeout)
        self.exchange.mask.learn(answer.get("code", ""))
        return AuthorizationCodeResult(
            code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss") or None
        )

    def _made(self) -> Login:
        context, client, token = self.provider.context, self.provider.context.client_info, self.kept.token
        found = context.oauth_metadata
        if not (token and client and found):
            raise ConnectError("the login failed: no token came of it")
        secret = client.client_secret or ""
        revocation = str(found.revocation_endpoint or "")
        return Login(
            resource=resource_of(self.server.url),
            audience=context.get_resource_url(),
            issuer=str(found.issuer),
            token_endpoint=str(found.token_endpoint),
            revocation_endpoint=revocation if is_private(revocation) else "",
            client_id=client.client_id,
            client_secret=secret,
            client_auth=client.token_endpoint_auth_method or ("client_secret_basic" if secret else "none"),
            grant="client_credentials" if self.wish.machine else "authorization_code",
            scope=token.scope or "",
            access_token=token.access_token,
            refresh_token=token.refresh_token or "",
            expires_at=context.token_expiry_time or 0.0,
        )


def wish_of(environ: Mapping[str, str], **given: Any) -> Wish:
    """What the command line asks for, with the client that the environment names."""
    return Wish(
        **given,
        client_id=environ.get("MCPLOCK_CLIENT_ID", ""),
        client_secret=environ.get("MCPLOCK_CLIENT_SECRET", ""),
    )
