"""An MCP server behind OAuth, and its authorization server, in the standard library alone, on one loopback origin.

What `plain_http.py` serves at /mcp and /sse is served to whoever shows a living token. The rest is by the book: both
kinds of metadata (RFC 9728, RFC 8414), dynamic registration (RFC 7591), the code flow with PKCE (RFC 7636), refresh
with rotation, client credentials, revocation (RFC 7009). A policy says how to misbehave.
Every request is kept in `requests`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.servers.plain_http import Handler, PlainHttp, Request, Script

if TYPE_CHECKING:
    from collections.abc import Iterator

MACHINE = ("robot", "robot-secret-123456")
"""A client that is registered already."""


@dataclass
class Policy:
    """How the authorization server decides, and what is wrong with it."""

    consent: str = "allow"
    """What the person at the browser does: `allow` or `deny`."""
    state: str = ""
    """Sent back in the place of the state that came."""
    lifetime: int = 3600
    """Seconds that a token is said to live."""
    challenge: str = 'Bearer error="invalid_token", resource_metadata="$SELF/.well-known/oauth-protected-resource/mcp"'
    protected: bool = True
    resource: dict[str, Any] = field(default_factory=dict)
    """Members of the protected resource metadata in the place of the right ones."""
    issuer: dict[str, Any] = field(default_factory=dict)
    """Members of the authorization server metadata in the place of the right ones; None takes one away."""
    registers: bool = True
    rotates: bool = True
    redirect: dict[str, str] = field(default_factory=dict)
    """Paths that redirect, and where."""
    broken: set[str] = field(default_factory=set)
    """Paths that answer 503."""


class Authorizing(PlainHttp):
    """The server; `with authorizing(script) as server` runs it."""

    def __init__(self, script: Script) -> None:
        super().__init__(script, other=PlainHttp(Script()))
        self.RequestHandlerClass = AuthorizingHandler
        self.policy = Policy()
        self.clients: dict[str, dict[str, Any]] = {
            MACHINE[0]: {"client_id": MACHINE[0], "client_secret": MACHINE[1], "redirect_uris": []}
        }
        self.codes: dict[str, dict[str, str]] = {}
        self.living: dict[str, float] = {}
        """Access tokens and when they end."""
        self.renewing: set[str] = set()
        """Refresh tokens that may still be used."""
        self.given: list[str] = []
        """Every secret that was given out."""
        self.scopes: list[str] = []

    @property
    def paths(self) -> list[str]:
        """What was asked for, without queries."""
        return [urlsplit(request.path).path for request in self.requests]

    def secret(self, kind: str) -> str:
        made = f"{kind}-{secrets.token_hex(12)}"
        self.given.append(made)
        return made

    def end_tokens(self) -> None:
        """Every access token has ended; refresh tokens live on."""
        self.living.clear()

    def revoke_all(self) -> None:
        self.living.clear()
        self.renewing.clear()


class AuthorizingHandler(Handler):
    server: Authorizing

    def do_POST(self) -> None:  # noqa: N802 - the library's name
        path = urlsplit(self.path).path
        if path in ("/token", "/revoke"):
            data = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            self.authorization(dict(parse_qsl(data)))
        else:
            super().do_POST()

    def talk(self, message: dict[str, Any]) -> None:
        path = urlsplit(self.path).path
        policy = self.server.policy
        if not path.startswith(("/mcp", "/sse", "/messages")):
            self.authorization(message)
            return
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        if policy.protected and self.server.living.get(token, 0) < time.time():
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.server.requests.append(Request(self.command, self.path, headers, message))
            told = {"WWW-Authenticate": policy.challenge} if policy.challenge else {}
            self.reply({"status": 401, "headers": told, "text": f"no living token, but {token}"}, message)
            return
        super().talk(message)

    def authorization(self, asked: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.command, self.path, headers, asked))
        path = urlsplit(self.path).path
        answers = {
            "/.well-known/oauth-protected-resource/mcp": self.about_resource,
            "/.well-known/oauth-authorization-server": self.about_issuer,
            "/register": self.register,
            "/authorize": self.authorize,
            "/token": self.token,
            "/revoke": self.revoke,
        }
        if path in self.server.policy.broken:
            self.reply({"status": 503, "text": "down for maintenance"}, {})
        elif path in self.server.policy.redirect:
            self.reply({"status": 302, "headers": {"Location": self.server.policy.redirect[path]}}, {})
        elif path in answers:
            answers[path](asked)
        else:
            self.reply({"status": 404, "text": "Not Found"}, {})

    def json(self, value: Any, status: int = 200) -> None:
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        self.reply({"status": status, "headers": headers, "text": json.dumps(value)}, {})

    def about_resource(self, _: Any) -> None:
        origin = self.server.origin
        right = {"resource": f"{origin}/mcp", "authorization_servers": [origin], "scopes_supported": ["read"]}
        self.json({**right, **self.server.policy.resource})

    def about_issuer(self, _: Any) -> None:
        origin = self.server.origin
        right = {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "revocation_endpoint": f"{origin}/revoke",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        whole = {**right, **self.server.policy.issuer}
        self.json({name: value for name, value in whole.items() if value is not None})

    def register(self, asked: dict[str, Any]) -> None:
        if not self.server.policy.registers:
            self.json({"error": "access_denied", "error_description": "by hand only"}, 403)
            return
        client = {**asked, "client_id": f"client-{len(self.server.clients)}"}
        self.server.clients[client["client_id"]] = client
        self.json(client, 201)

    def authorize(self, _: Any) -> None:
        asked, policy = dict(parse_qsl(urlsplit(self.path).query)), self.server.policy
        client = self.server.clients.get(asked.get("client_id", ""))
        registered = client and asked.get("redirect_uri") in client["redirect_uris"]
        if not registered or asked.get("code_challenge_method") != "S256" or asked.get("response_type") != "code":
            self.reply({"status": 400, "text": "not by the book"}, {})
            return
        self.server.scopes.append(asked.get("scope", ""))
        answer = {"state": policy.state or asked["state"]}
        if policy.consent == "deny":
            answer |= {"error": "access_denied", "error_description": "I would\x1b[31m rather not"}
        else:
            code = self.server.secret("code")
            self.server.codes[code] = asked
            answer["code"] = code
        self.reply({"status": 302, "headers": {"Location": f"{asked['redirect_uri']}?{urlencode(answer)}"}}, {})

    def token(self, asked: dict[str, str]) -> None:
        grants = {
            "authorization_code": self.by_code,
            "refresh_token": self.by_refresh,
            "client_credentials": self.by_credentials,
        }
        error = grants.get(asked.get("grant_type", ""), lambda _: "unsupported_grant_type")(asked)
        if error:
            self.json({"error": error, "error_description": f"not with {' '.join(asked.values())}"}, 400)
            return
        self.server.living[made := self.server.secret("access")] = time.time() + 3600
        answer = {"access_token": made, "token_type": "bearer", "expires_in": self.server.policy.lifetime}
        rotated = asked["grant_type"] == "refresh_token" and self.server.policy.rotates
        if asked["grant_type"] == "authorization_code" or rotated:
            self.server.renewing.add(again := self.server.secret("refresh"))
            answer["refresh_token"] = again
        self.json(answer)

    def by_code(self, asked: dict[str, str]) -> str:
        known = self.server.codes.pop(asked.get("code", ""), None)
        hashed = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(hashed).decode().rstrip("=")
        same = ("client_id", "redirect_uri", "resource")
        if known is None or challenge != known["code_challenge"] or any(asked.get(k) != known.get(k) for k in same):
            return "invalid_grant"
        return "" if asked.get("resource") == f"{self.server.origin}/mcp" else "invalid_target"

    def by_refresh(self, asked: dict[str, str]) -> str:
        token = asked.get("refresh_token", "")
        if token not in self.server.renewing or asked.get("client_id") not in self.server.clients:
            return "invalid_grant"
        if self.server.policy.rotates:
            self.server.renewing.discard(token)
        return ""

    def by_credentials(self, _: dict[str, str]) -> str:
        kind, _, pair = self.headers.get("authorization", "").partition(" ")
        name, _, secret = base64.b64decode(pair).decode().partition(":") if kind == "Basic" else ("", "", "")
        return "" if (unquote(name), unquote(secret)) == MACHINE else "invalid_client"

    def revoke(self, asked: dict[str, str]) -> None:
        self.server.renewing.discard(asked["token"])
        self.server.living.pop(asked["token"], None)
        self.reply({"status": 200}, {})


@contextmanager
def authorizing(script: Script | None = None) -> Iterator[Authorizing]:
    """A running server; it ends with the block."""
    server = Authorizing(script or Script())
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        if server.other:
            server.other.server_close()
        thread.join(5)
