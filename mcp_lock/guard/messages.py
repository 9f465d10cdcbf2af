"""JSON-RPC messages as lines: read so strictly that no other parser can read another message, and written.

Refused are repeated keys, text that is not UTF-8, batches, numbers that are none, and keys that are a key of the
protocol only when case is ignored, as Go's decoder and some others do.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import parse
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from mcp_lock.contract import Kind
    from mcp_lock.guard.gate import Block

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
REFUSED = -32000
"""Of what is no tool call and must not reach the server."""

BLOCKED_KEY = "io.github.mcplock/blocked"

_PROTOCOL = frozenset({"jsonrpc", "id", "method", "params", "name", "arguments", "uri", "_meta", "result", "error"})
RESULT = frozenset({"tools", "prompts", "resources", "resourceTemplates", "nextCursor", "instructions", "_meta"})
"""The members of results that the guard reads."""
_FOLDED = {names: frozenset(map(str.casefold, names)) for names in (_PROTOCOL, RESULT)}
_NAMES = ("name", "uri")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Fault(ValueError):
    """A line that is no message, or one that two readers could read as two."""

    def __init__(self, code: int, why: str, id: Any = None) -> None:  # noqa: A002 - JSON-RPC's own word
        super().__init__(why)
        self.code = code
        self.id = id
        """The id of the request, where there can be no doubt about it."""


class _Repeated(ValueError):
    """An object that names a key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Repeated
    return value


def _no_number(_: str) -> Any:
    raise ValueError("not a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)


def read(line: bytes) -> dict[str, Any]:
    """The message of a client. Raises `Fault`."""
    value = strict(line)
    if isinstance(value, list):
        raise Fault(INVALID_REQUEST, "batches are not passed on")
    if not isinstance(value, dict):
        raise Fault(INVALID_REQUEST, "not a message")
    params = value.get("params")
    inner = params if isinstance(params, dict) else {}
    if looks_alike(value) or looks_alike(inner):
        raise Fault(INVALID_REQUEST, "a key is one of the protocol's only when case is ignored", _certain_id(value))
    method = value.get("method")
    if not isinstance(method, str) and "method" in value:
        raise Fault(INVALID_REQUEST, "the method is no text", _certain_id(value))
    texts = [method, value.get("id"), *(inner.get(name) for name in _NAMES)]
    if any(isinstance(text, str) and _SURROGATE.search(text) for text in texts):
        raise Fault(INVALID_REQUEST, "a name holds half of a surrogate pair")
    return value


def strict(line: bytes) -> Any:
    """The JSON value of a line. Raises `Fault` for what is not one value to every reader."""
    try:
        return _DECODER.decode(line.decode())
    except _Repeated:
        raise Fault(INVALID_REQUEST, "a key is there twice", _certain_id(parse(line.decode()))) from None
    except UnicodeDecodeError:
        raise Fault(PARSE_ERROR, "not UTF-8") from None
    except RecursionError:
        raise Fault(PARSE_ERROR, "nested too deeply") from None
    except ValueError:
        raise Fault(PARSE_ERROR, "not JSON") from None


def _certain_id(value: Any) -> Any:
    """The id of a faulty message, if it stands there once and in one way."""
    if type(value) is not dict or any(key != "id" and key.casefold() == "id" for key in value):
        return None
    found = value.get("id")
    is_id = isinstance(found, str | int) and not isinstance(found, bool)
    return found if is_id and not _SURROGATE.search(str(found)) else None


def looks_alike(keys: Iterable[str], names: frozenset[str] = _PROTOCOL) -> bool:
    """Whether a key is one of `names` when case is ignored, and none of them as it stands."""
    folded = _FOLDED[names]
    return any(key not in names and key.casefold() in folded for key in keys)


def id_key(value: Any) -> Hashable:
    """What tells ids apart: 1 and "1" are two, 1 and 1.0 are one number to JSON."""
    if isinstance(value, str):
        return ("text", value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", value)
    return ("other", json.dumps(value, sort_keys=True))


def other_key(value: Any) -> Hashable:
    """How a careless server may spell an id back: a number as text, or text as a number."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return ("number", int(value))
    return ("text", str(value))


def spelt(message: Mapping[str, Any]) -> bytes:
    """A message as one line without its end."""
    return json.dumps(message, separators=(",", ":")).encode()


def request(id: str, method: str, params: Mapping[str, Any]) -> bytes:  # noqa: A002 - JSON-RPC's own word
    """A request of the guard's own."""
    return spelt({"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params else {})})


def result(id: Any, value: Mapping[str, Any]) -> bytes:  # noqa: A002 - JSON-RPC's own word
    """An answer."""
    return spelt({"jsonrpc": "2.0", "id": id, "result": value})


def error(id: Any, code: int, why: str, data: Any = None) -> bytes:  # noqa: A002 - JSON-RPC's own word
    """An error answer in mcplock's own words."""
    more = {} if data is None else {"data": data}
    return spelt({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": f"mcplock: {why}", **more}})


def blocked_call(id: Any, server: str, block: Block, kind: Kind) -> bytes:  # noqa: A002 - JSON-RPC's own word
    """The tool result in place of a call that was not sent: nothing in it is of the server's making but pinned."""
    text = f"mcplock blocked this call: {_told(server, block, kind)}"
    facts = _facts(server, block)
    content = [{"type": "text", "text": text}]
    answer = {"resultType": "complete", "content": content, "isError": True, "_meta": {BLOCKED_KEY: facts}}
    return result(id, answer)


def refused_request(id: Any, server: str, block: Block, kind: Kind) -> bytes:  # noqa: A002 - JSON-RPC's own word
    """The error in place of a prompt or a resource that must not be asked for."""
    return error(id, REFUSED, f"blocked: {_told(server, block, kind)}", {BLOCKED_KEY: _facts(server, block)})


def _told(server: str, block: Block, kind: Kind) -> str:
    what = f"{kind.noun} {_quoted(block.pinned.name)}" if block.pinned else f"an unlisted {kind.noun}"
    fired = ", ".join(block.rules)
    return (
        f"{what} of server {_quoted(server)}: {block.reason} [{fired}]. Nothing was sent. "
        f"Do not retry; a person must look: mcplock diff --live {shlex.quote(one_line(server, 80))}"
    )


def _quoted(name: str) -> str:
    return f'"{one_line(name, 80)}"'


def _facts(server: str, block: Block) -> dict[str, Any]:
    named = {block.pinned.kind.noun: block.pinned.name} if block.pinned else {}
    return {"server": server, **named, "rules": list(block.rules), "reason": block.reason}
