"""MCP's messages on HTTP: the headers and the body of a request, and the message in an answer."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from mcp_lock import canonical
from mcp_lock.transport.lines import is_message, shallow

if TYPE_CHECKING:
    from collections.abc import Mapping

MODERN = "2026-07-28"
"""From this version on there are no sessions, and every request names itself in headers (basic/transports)."""

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAME_KEYS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"(?!=\?base64\?)[!-~]([ -~]*[!-~])?")


def headers(message: Mapping[str, Any], version: str, session: str) -> dict[str, str]:
    """The headers that MCP wants with `message`; an empty message stands for a request without one.

    `version` is the negotiated one, which a message of its own version overrides; both may be empty, as may `session`.
    """
    said = {"accept": "application/json, text/event-stream", "accept-encoding": "gzip, deflate"}
    if message:
        said["content-type"] = "application/json"
    if message.get("method") == "initialize":
        return said
    version = _stamped(message) or version
    if version:
        said["mcp-protocol-version"] = version
    if session:
        said["mcp-session-id"] = session
    if version >= MODERN and "method" in message:
        said |= _routing(message)
    return said


def _stamped(message: Mapping[str, Any]) -> str:
    """The version that a modern request carries in its `_meta`, if it does."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else ""


def _routing(message: Mapping[str, Any]) -> dict[str, str]:
    method = message["method"]
    name = message["params"].get(_NAME_KEYS[method]) if method in _NAME_KEYS else None
    return {"mcp-method": method} | ({"mcp-name": _field(name)} if isinstance(name, str) else {})


def _field(value: str) -> str:
    """A value fit for a header: in base64 where a header could not carry it whole (basic/transports)."""
    if _PLAIN.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


class Spelt(dict[str, Any]):
    """A message that is to be sent, or has come, in these very bytes."""

    raw: bytes = b""


def body(message: Mapping[str, Any]) -> bytes | None:
    """The message as sent; None for a request without one."""
    if isinstance(message, Spelt):
        return message.raw
    return json.dumps(message, separators=(",", ":")).encode() if message else None


def message_in(data: bytes) -> dict[str, Any] | None:
    """The JSON-RPC message that `data` spells, or None."""
    try:
        value = _parsed(data)
    except ValueError:
        return None
    return value if is_message(value) else None


def spelt_in(data: bytes) -> dict[str, Any] | None:
    """As `message_in`, together with `data` itself on one line: line breaks stand between tokens alone (RFC 8259)."""
    value = message_in(data)
    if value is None:
        return None
    message = Spelt(value)
    message.raw = data.replace(b"\n", b" ")
    return message


def _parsed(data: bytes) -> Any:
    text = data.decode("utf-8-sig")
    try:
        return canonical.parse(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return canonical.parse(shallow(text))  # too deep in one item, which must not cost its siblings


def why_none(data: bytes) -> str:
    """What `data` is, where `message_in` found no message."""
    try:
        _parsed(data)
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError:
        return "not JSON"
    return "no JSON-RPC message"


def attributed(answer: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The same message; an error gets the id of the request that HTTP says it answers.

    Servers that refuse a request unread do not know its id, and say null or make one up.
    """
    if "error" in answer and "method" not in answer:
        answer["id"] = asked.get("id")
    return answer
