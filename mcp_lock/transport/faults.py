"""Why no HTTP answer came, on one line: the innermost cause that says something, never a traceback or a secret."""

from __future__ import annotations

import socket
import ssl
import urllib.request
from typing import TYPE_CHECKING

import httpx2  # noqa: TID253 - only what transport.remote imports imports this, and that one is imported lazily

from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_lock.transport.mask import Mask


def line(error: BaseException, url: httpx2.URL, asked: str, mask: Mask) -> str:
    """What went wrong between here and the host of `url` while `asked` was sent or its answer was read."""
    host = one_line(mask(url.netloc.decode("ascii", "replace"))) + _through(url)
    for cause in _causes(error):
        for kind, say in _SAY:
            if isinstance(cause, kind):
                return say(cause, host, asked)
    return f"no answer from {host} to {asked}: {one_line(mask(str(error))) or type(error).__name__}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Innermost first: the libraries wrap what the system said once or twice."""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else (error.__cause__ or error.__context__,)
    for cause in inner:
        if cause is not None:
            yield from _causes(cause)
    yield error


def _through(url: httpx2.URL) -> str:
    """The proxy variable that stands between, if one does: then the fault may be the proxy's."""
    proxies = urllib.request.getproxies()
    if urllib.request.proxy_bypass(url.host):
        return ""
    scheme = next((scheme for scheme in (url.scheme, "all") if scheme in proxies), "")
    return f" (through the proxy of {scheme.upper()}_PROXY)" if scheme else ""


def _untrusted(cause: BaseException, host: str, _: str) -> str:
    why = one_line(getattr(cause, "verify_message", "")) or "it cannot be verified"
    return f"the TLS certificate of {host} is not trusted: {why} (an authority of your own goes into SSL_CERT_FILE)"


def _no_tls(cause: BaseException, host: str, _: str) -> str:
    reason = one_line(str(getattr(cause, "reason", "") or "")).replace("_", " ").lower()
    return f"no TLS with {host}: {reason or 'the handshake failed'} (is it an http:// server?)"


def _cut(_: BaseException, host: str, asked: str) -> str:
    return f"{host} closed the connection before it had answered {asked}"


_SAY: tuple[tuple[type[BaseException], Callable[[BaseException, str, str], str]], ...] = (
    (ssl.SSLCertVerificationError, _untrusted),
    (ssl.SSLEOFError, _cut),
    (ssl.SSLError, _no_tls),
    (socket.gaierror, lambda _, host, __: f"the name of {host} cannot be resolved"),
    (ConnectionRefusedError, lambda _, host, __: f"connection refused by {host}: nothing listens there"),
    (ConnectionResetError, _cut),
    (BrokenPipeError, _cut),
    (httpx2.ConnectTimeout, lambda _, host, __: f"no connection to {host}: timed out"),
    (httpx2.TimeoutException, lambda _, host, asked: f"no answer from {host} to {asked}: timed out"),
    (httpx2.DecodingError, lambda _, host, asked: f"the compressed answer of {host} to {asked} is damaged"),
    (httpx2.RemoteProtocolError, _cut),
    (httpx2.ReadError, _cut),
)
