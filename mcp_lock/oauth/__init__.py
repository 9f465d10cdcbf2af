"""Logins at remote servers that ask for OAuth: what one is, where it is kept, and how it is renewed.

A login belongs to a URL, never to a name: a config that changes the URL of a server gets no token of the old one. Only
`flow` follows what a server says of where to log in, and only it loads the MCP SDK; renewing needs neither.
"""

from __future__ import annotations

import ipaddress
import json
import time
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from mcp_lock.config import HttpServer

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Login:
    """All that is needed to use a token and to get the next one."""

    resource: str
    """What it is for, as `resource_of` spells it."""
    audience: str
    """The resource that the authorization server is told (RFC 8707); empty where it is told none."""
    issuer: str
    token_endpoint: str
    revocation_endpoint: str
    """Empty where the issuer names none."""
    client_id: str
    client_secret: str = field(repr=False)
    client_auth: str
    """`none`, `client_secret_basic` or `client_secret_post`."""
    grant: str
    """`authorization_code` or `client_credentials`."""
    scope: str
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: float
    """In seconds since 1970; 0 where nobody said."""

    @property
    def can_be_renewed(self) -> bool:
        """Whether there is a way to another token without a person."""
        return bool(self.refresh_token) or (self.grant == "client_credentials" and bool(self.client_secret))

    def ends_within(self, seconds: float) -> bool:
        """Whether the token is known to be refused so many seconds from now."""
        return bool(self.expires_at) and self.expires_at - time.time() < seconds

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown."""
        return tuple(filter(None, (self.access_token, self.refresh_token, self.client_secret)))

    def text(self) -> str:
        """The login as it is stored."""
        return json.dumps({"version": 1, **asdict(self)})


def login_in(text: str) -> Login:
    """The login that `text` holds. Raises `ValueError` for what is none."""
    try:
        value = json.loads(text)
        login = Login(**{one.name: value[one.name] for one in fields(Login)})
        known = value["version"] == 1
    except (KeyError, TypeError, RecursionError):
        raise ValueError("not a login") from None
    words = [getattr(login, one.name) for one in fields(Login) if one.name != "expires_at"]
    if not (known and all(isinstance(word, str) for word in words) and isinstance(login.expires_at, int | float)):
        raise ValueError("not a login")
    return login


def resource_of(url: str) -> str:
    """The URL of a server as the key of its login: no userinfo, query or fragment; empty for what is no HTTP URL."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not host:
        return ""
    place = f"[{host}]" if ":" in host else host
    if port not in (None, _PORTS[parts.scheme]):
        place += f":{port}"
    return f"{parts.scheme}://{place}{'' if parts.path == '/' else parts.path}"


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL; empty for what is no HTTP URL."""
    return "/".join(resource_of(url).split("/")[:3])


def is_loopback(url: str) -> bool:
    """Whether a URL stays on this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def has_its_own(server: HttpServer) -> bool:
    """Whether the config itself says who asks, which goes before any login."""
    userinfo = "@" in server.url.partition("://")[2].partition("/")[0]
    return userinfo or any(name.lower() == "authorization" for name in server.headers)


def is_private(url: str) -> bool:
    """Whether what is sent to a URL can be read by its receiver alone: TLS, or this machine."""
    return origin_of(url).startswith("https:") or (bool(origin_of(url)) and is_loopback(url))
