"""One conversation with a server: requests answered in turn, the handshake of both eras, and what the server asks back.

Plain dicts, nothing typed, so that nothing of a definition is lost. mcplock presents itself as a client that can do
everything, since what a server lists depends on that, and refuses every request that comes of it. One request is open
at a time; the time limit is the caller's, who finds in `awaited` what was being waited for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from mcp_lock import __version__
from mcp_lock.canonical import RepeatedKeys
from mcp_lock.errors import ConnectError
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_lock.contract import Kind
    from mcp_lock.transport import Transport

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions that begin with `initialize`, newest first."""
STATELESS = "2026-07-28"
"""The version without a handshake: every request says who asks."""

CAPABILITIES: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
    "sampling": {"context": {}, "tools": {}},
}

STRAY_GRACE = 5.0
"""Seconds that the right answer still gets once an answer to no question has come."""

_META = "io.modelcontextprotocol/"
_REFUSED = {
    "sampling/createMessage": -1,
    "elicitation/create": -1,
    "roots/list": -32603,
}
_UNKNOWN_METHOD = -32601


class Refused(ConnectError):
    """A request that the server answered with a JSON-RPC error."""

    def __init__(self, message: str, code: Any) -> None:
        super().__init__(message)
        self.code = code


class ProbeFailed(ConnectError):
    """The connection did not survive `server/discover`, as some servers know no request before `initialize`."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a server says of itself before it is asked for anything."""

    protocol: str
    capabilities: Mapping[str, Any]
    instructions: str | None
    server: str = ""
    version: str = ""


@dataclass(slots=True)
class Dialogue:
    """The requests of one connection."""

    transport: Transport
    mask: Callable[[str], str]
    """Takes secrets out of the server's texts."""
    client: tuple[str, str] = ("mcplock", __version__)
    """The name and version that the server is told."""
    awaited: str = ""
    """What an answer is being waited for, in words; empty before the first request."""
    odd: str = ""
    """What came instead of that answer: one line, or empty."""
    notes: list[str] = field(default_factory=list)
    agreed: bool = field(default=False, init=False)
    """Whether both sides have agreed on a version, so that this is a server of the kind that was tried."""
    _protocol: str = field(default="", init=False)
    _last: int = field(default=0, init=False)
    _open: dict[int, str] = field(default_factory=dict, init=False)
    """Methods of the requests that have no answer yet: one at most, and those that nobody waits for any more."""
    _late_discovery: dict[str, Any] | None = field(default=None, init=False)
    _changed: set[str] = field(default_factory=set, init=False)

    async def request(self, method: str, params: Mapping[str, Any], what: str = "") -> dict[str, Any]:
        """The result of one request, which `what` names in messages.

        Raises `Refused` for an error answer, `ConnectError` when no answer that could be read came.
        """
        self._last += 1
        number, self.awaited, self.odd = self._last, what or method, ""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": self._stamped(params)}
        self._open[number] = method
        await self.transport.send(message)
        answer = await self._answer(number)
        return self._result(answer)

    async def listen(self, seconds: float, kind: Kind) -> None:
        """Wait until the server says that its list of `kind` changed, at most `seconds`."""
        with anyio.move_on_after(seconds):
            while not self.changed(kind):
                try:
                    await self._hear(await self.transport.receive(), 0)
                except ConnectError:
                    return  # the next request will say it better

    def changed(self, kind: Kind, *, forget: bool = False) -> bool:
        """Whether the server said that its list of `kind` changed, since that was last forgotten."""
        method = f"notifications/{kind.method.partition('/')[0]}/list_changed"
        heard = method in self._changed
        if forget:
            self._changed.discard(method)
        return heard

    async def greet(self, protocol: str, *, probe: bool, patience: float) -> Greeting:
        """Agree on a version. `protocol` is asked for first; without it the newest, then what the server knows.

        `probe` is whether `server/discover` may be asked at all, `patience` how many seconds it may stay unanswered.
        """
        if probe and protocol not in HANDSHAKE:
            found = await self._discover(patience)
            if found:
                return found
        try:
            return await self._initialize(protocol if protocol in HANDSHAKE else HANDSHAKE[0])
        except Refused:
            found = await self._last_resort(patience) if probe else None
            if not found:
                raise
            return found

    async def _last_resort(self, patience: float) -> Greeting | None:
        """A server that refuses `initialize` may know only the stateless version."""
        if self._late_discovery is not None:
            return self._discovered(self._late_discovery)
        try:
            return await self._discover(patience)
        except ConnectError:
            return None

    async def _discover(self, patience: float) -> Greeting | None:
        self._protocol, result = STATELESS, None
        try:
            with anyio.move_on_after(patience):
                result = await self.request("server/discover", {})
        except Refused:
            pass
        except ConnectError as error:
            # a server over HTTP refuses what it does not know with a status; the rest concerns initialize as well
            if error.status is None or not 400 <= error.status < 500 or error.status in (401, 403, 407, 429):
                raise ProbeFailed(str(error), status=error.status, session_lost=error.session_lost) from error.__cause__
        self._protocol = ""
        return self._discovered(result) if result is not None else None

    def _discovered(self, result: dict[str, Any]) -> Greeting | None:
        versions = result.get("supportedVersions")
        if not isinstance(versions, list) or STATELESS not in versions:
            return None
        self._protocol = STATELESS
        self.transport.negotiated(STATELESS)
        meta = result.get("_meta")
        info = meta.get(f"{_META}serverInfo") if isinstance(meta, dict) else None
        return self._greeting(STATELESS, result, info)

    async def _initialize(self, version: str) -> Greeting:
        name, own_version = self.client
        params = {
            "protocolVersion": version,
            "capabilities": CAPABILITIES,
            "clientInfo": {"name": name, "version": own_version},
        }
        result = await self.request("initialize", params)
        agreed = result.get("protocolVersion")
        if agreed not in HANDSHAKE:
            said = one_line(self.mask(str(agreed)), 40)
            raise ConnectError(
                f"answered initialize with protocol version {said}, which mcplock does not know (it knows "
                f"{', '.join(reversed(HANDSHAKE))}, and {STATELESS} without initialize)"
            )
        self.transport.negotiated(agreed)
        await self.transport.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self._greeting(agreed, result, result.get("serverInfo"))

    def _greeting(self, protocol: str, result: dict[str, Any], info: Any) -> Greeting:
        self.agreed = True
        capabilities, instructions = result.get("capabilities"), result.get("instructions")
        if instructions is not None and not isinstance(instructions, str):
            raise ConnectError(f"sent instructions that are no text, in its answer to {self.awaited}")
        said = info if isinstance(info, dict) else {}
        name, version = (
            self.mask(text) if isinstance(text := said.get(key), str) else "" for key in ("name", "version")
        )
        return Greeting(protocol, capabilities if isinstance(capabilities, dict) else {}, instructions, name, version)

    def _stamped(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, and in the stateless version who asks (basic/index, `_meta`)."""
        if self._protocol != STATELESS:
            return dict(params)
        name, version = self.client
        meta = {
            f"{_META}protocolVersion": STATELESS,
            f"{_META}clientInfo": {"name": name, "version": version},
            f"{_META}clientCapabilities": CAPABILITIES,
        }
        return {**params, "_meta": meta}

    async def _answer(self, number: int) -> dict[str, Any]:
        """The message that answers request `number`. Raises `ConnectError` when only answers to no question come."""
        with anyio.CancelScope(deadline=math.inf) as wait:
            while True:
                message = await self.transport.receive()
                if await self._hear(message, number):
                    return message
                if self.odd:
                    wait.deadline = min(wait.deadline, anyio.current_time() + STRAY_GRACE)
        raise ConnectError(f"{self.odd}, and no answer after it")

    async def _hear(self, message: dict[str, Any], number: int) -> bool:
        """Whether a message answers request `number`; what else comes is replied to or remembered."""
        if "method" in message:
            await self._reply(message)
            return False
        got = self._number(message.get("id"))
        method = self._open.pop(got, None) if got is not None else None
        if method is None:
            self._stray(message, number)
        elif got != number:
            self._late(method, message)
        return method is not None and got == number

    def _number(self, got: Any) -> int | None:
        """The number that an id stands for. JSON knows one kind of number, so 1.0 is 1; text is taken, and told."""
        if isinstance(got, str) and got.isascii() and got.isdigit() and len(got) < 10:
            self._note("answers requests under ids that are strings, though they were sent as numbers")
            return int(got)
        if isinstance(got, bool) or not isinstance(got, int | float) or got not in self._open:
            return None
        return int(got)

    def _late(self, method: str, message: dict[str, Any]) -> None:
        if method == "server/discover" and isinstance(message.get("result"), dict):
            self._late_discovery = message["result"]

    def _stray(self, message: dict[str, Any], number: int) -> None:
        """Remember the first answer to no question: it is most likely the answer that is missing."""
        if not number or self.odd:
            return
        if message.get("id") is None and "error" in message:
            self.odd = f"{self.awaited} failed: {self._error(message['error'])} (sent without the id of the request)"
            return
        shown = one_line(self.mask(repr(message.get("id"))), 40)
        self.odd = f"got a response with unexpected id {shown} while waiting for {number} ({self.awaited})"

    async def _reply(self, message: dict[str, Any]) -> None:
        method = message["method"]
        if not isinstance(message.get("id"), str | int | float):
            if method.endswith("/list_changed"):
                self._changed.add(method)
            return
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "ping":
            reply["result"] = {}
        else:
            code = _REFUSED.get(method, _UNKNOWN_METHOD)
            reply["error"] = {"code": code, "message": f"{self.client[0]} only reads lists; it answers no {method}"}
        await self.transport.send(reply)

    def _result(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The result in an answer. Raises `Refused` for an error, `ConnectError` for what could be read in two ways."""
        if answer.get("error") is not None or "result" not in answer:
            error = answer.get("error")
            code = error.get("code") if isinstance(error, dict) else None
            raise Refused(f"{self.awaited} failed: {self._error(error)}", code)
        result = answer["result"]
        for part in (answer, result):
            if isinstance(part, RepeatedKeys):
                raise ConnectError(f"the answer to {self.awaited} holds the key {one_line(repr(part.repeated))} twice")
        if not isinstance(result, dict):
            raise ConnectError(f"the answer to {self.awaited} is no JSON object")
        if result.get("resultType", "complete") != "complete":
            kind = one_line(str(result["resultType"]), 40)
            raise ConnectError(f"the answer to {self.awaited} is not complete: it is of type {kind}")
        return result

    def _error(self, error: Any) -> str:
        if not isinstance(error, dict):
            return "an error without code and message"
        code, text = error.get("code"), error.get("message")
        said = one_line(self.mask(text)) if isinstance(text, str) else ""
        return f"error {one_line(str(code), 20)}" + (f": {said}" if said else "")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
