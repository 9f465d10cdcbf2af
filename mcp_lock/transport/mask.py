"""Secrets kept out of what is shown: the values that a server's texts may echo, replaced in them.

Servers do echo credentials ("invalid token abc"), and what mcplock prints ends in public logs. Only texts of the other
side go through here; mcplock's own words never hold a secret.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_lock.config import HttpServer

SHORTEST = 4
"""Values of fewer characters are words and numbers, and masking them would leave no readable text."""

MASK = "***"


class Mask:
    """Replaces every value it knows, also where it stands URL-encoded, in base64, or escaped as in JSON."""

    def __init__(self, values: Iterable[str]) -> None:
        self._spellings: list[str] = []
        self.learn(*values)

    def learn(self, *values: str) -> None:
        """Replace these, too."""
        spellings = {spelt for value in values if len(value) >= SHORTEST for spelt in _spellings(value)}
        self._spellings = sorted({*self._spellings, *spellings}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """`text` without the values."""
        for spelt in self._spellings:
            text = text.replace(spelt, MASK)
        return text


def _spellings(value: str) -> set[str]:
    coded = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()
    return {value, quote(value, safe="", errors="replace"), coded, coded.rstrip("="), json.dumps(value)[1:-1]}


def of_http(server: HttpServer) -> Mask:
    """What must not be shown of a server behind a URL: secrets, header values, userinfo and query values of the URL."""
    return Mask([*server.secrets.values(), *_header_values(server), *_url_values(server.url)])


def _header_values(server: HttpServer) -> Iterator[str]:
    for value in server.headers.values():
        yield value.strip()
        yield value.strip().partition(" ")[2].strip()  # the credential behind a scheme such as Bearer


def _url_values(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return  # a URL that cannot be read is never contacted, so nobody can echo it
    userinfo = parts.netloc.rpartition("@")[0]
    for value in (userinfo, *userinfo.partition(":")[::2]):
        yield value
        yield unquote(value)
    for _, value in parse_qsl(parts.query):
        yield value
