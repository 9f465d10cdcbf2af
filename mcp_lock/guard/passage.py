"""What becomes of each message between one client and one server. No I/O and no clock: lines in, lines out.

A call is held until a list that was asked for after it has been judged; a list is answered from the pins; everything
else goes on as the bytes it came in. Lists are asked for on the client's own connection, under ids that nobody can
guess and with the metadata of the client's own request, so that the server cannot tell them from the client's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_lock.contract import Kind
from mcp_lock.guard import messages
from mcp_lock.guard.gate import REASONS, Block, Relist
from mcp_lock.guard.lists import Lists
from mcp_lock.text import one_line
from mcp_lock.transport import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from mcp_lock.guard.gate import Decision, Gate, Listing
    from mcp_lock.guard.log import Log
    from mcp_lock.guard.pins import Pins

_JUDGED = {"tools/call": Kind.TOOL, "prompts/get": Kind.PROMPT, "resources/read": Kind.RESOURCE}
"""Requests that depend on a contract."""
_LISTS = {kind.method: kind for kind in Kind}
_GREETINGS = ("initialize", "server/discover")
_CHANGED = {
    "notifications/tools/list_changed": (Kind.TOOL,),
    "notifications/prompts/list_changed": (Kind.PROMPT,),
    "notifications/resources/list_changed": (Kind.RESOURCE, Kind.TEMPLATE),
}
_META = "io.modelcontextprotocol/"
_IDENTITY = tuple(f"{_META}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities"))
"""What a stateless request says of who asks, and what a list may depend on."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How strict the guard is, and how patient."""

    server: str
    """The configured name."""
    ttl: float | None = None
    """Seconds for which a list may be used again; None to list before every call."""
    recheck: bool = False
    """Whether a result is withheld when the contract moved while the call ran."""
    patience: float = 30.0
    """Seconds for a whole walk; then what waits for it is blocked."""


@dataclass(eq=False, slots=True)
class _Held:
    """A request that waits for a list, or whose answer does."""

    kind: Kind
    name: str
    message: Mapping[str, Any]
    line: bytes
    since: float
    meta: Mapping[str, Any]
    is_cancelled: bool = False

    @property
    def id(self) -> Any:
        return self.message.get("id")


@dataclass(slots=True)
class Passage:
    """The passage between one client and one server."""

    settings: Settings
    pins: Pins
    log: Log
    clock: Callable[[], float]
    to_client: Callable[[bytes], None]
    """Takes a line without its end, as does the other one."""
    to_server: Callable[[bytes], None]
    _held: dict[Hashable, _Held] = field(default_factory=dict)
    """Requests of the client that the server does not know of, by id."""
    _listing: set[Hashable] = field(default_factory=set)
    """Lists that the client waits for, which the guard answers itself."""
    _open: dict[Hashable, str] = field(default_factory=dict)
    """Methods of the client's requests that the server has not answered, by id."""
    _calls: dict[Hashable, _Held] = field(default_factory=dict)
    """Of those, the judged ones whose results are checked once more."""
    _verdicts: dict[tuple[Kind, str], tuple[Gate, Listing, Decision]] = field(default_factory=dict)
    _last_meta: Mapping[str, Any] = field(default_factory=dict)
    _was_shown: set[tuple[Kind, str, str]] = field(default_factory=set)
    """What the log knows was held back from lists."""

    lists: Lists = field(init=False)
    _dropped: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.lists = Lists(self.settings.patience, self.clock, self.to_server)

    # what the pump calls

    def from_client(self, line: bytes) -> None:
        """Take a line of the client."""
        if not line.strip():
            return
        line = _one_line(line)
        try:
            message = messages.read(line)
        except messages.Fault as fault:
            self._refuse_line(fault)
            return
        method = message.get("method")
        if method in _LISTS:
            self._list(_LISTS[method], message)
        elif method in _JUDGED:
            self._judge(_JUDGED[method], message, line)
        elif method == "notifications/cancelled" and self._cancelled(message):
            return
        else:
            self._forward(message, line)

    def from_server(self, line: bytes) -> None:
        """Take a line of the server."""
        if self.lists.is_as_before(line):
            return
        line = _one_line(line)
        try:
            found = lines.read(line)
        except lines.Unreadable:
            self._drop("the server sent an answer that cannot be read", line)
            self.lists.fail_all("an answer cannot be read")
            return
        if found.junk.strip():
            self._drop("the server printed what is no message", found.junk)
        if found.message is None:
            return
        whole = line[len(found.junk) :] if found.junk else line
        if self._is_deceptive(found.message):
            self._drop("the server sent a message that can be read in two ways", whole)
            self.lists.fail(found.message.get("id"), "an answer can be read in two ways")
        elif "method" in found.message:
            self.to_client(whole)
            self._check_changed(str(found.message["method"]))
        else:
            self._answered(found.message, whole)

    # requests of the client

    def _refuse_line(self, fault: messages.Fault) -> None:
        self.log.note("refused", f"a message of the client was not passed on: {fault}")
        self.to_client(messages.error(fault.id, fault.code, str(fault)))

    def _is_taken(self, message: Mapping[str, Any]) -> bool:
        """Whether the id of a request is one of the guard's own, or of a request that is under way; told if so."""
        value = message.get("id")
        key = messages.id_key(value)
        if "id" not in message or not (
            self.lists.is_own(value) or key in self._held or key in self._listing or key in self._open
        ):
            return False
        self._refuse_line(messages.Fault(messages.INVALID_REQUEST, "the id is in use", value))
        return True

    def _forward(self, message: Mapping[str, Any], line: bytes) -> None:
        if "method" in message and "id" in message:
            if self._is_taken(message):
                return
            self._open[messages.id_key(message["id"])] = message["method"]
            self._last_meta = _identity(message) or self._last_meta
        self.to_server(line)

    def _judge(self, kind: Kind, message: Mapping[str, Any], line: bytes) -> None:
        if self._is_taken(message):
            return
        params = message.get("params")
        name = params.get(kind.key) if isinstance(params, dict) else None
        meta = self._last_meta = _identity(message)
        held = _Held(kind, name if isinstance(name, str) else "", message, line, self.clock(), meta)
        self._held[messages.id_key(held.id)] = held
        self._decide(held, self._recent(held))

    def _decide(self, held: _Held, listing: Listing | None) -> None:
        if held.is_cancelled:
            return
        decision = self._decision(held, listing)
        if isinstance(decision, Relist):
            self.lists.ask(held.kind, held.meta, partial(self._decide, held))
            return
        self._held.pop(messages.id_key(held.id), None)
        seconds = self.clock() - held.since
        if isinstance(decision, Block):
            self.log.blocked(held.kind.noun, held.name, decision, seconds)
            self._answer_blocked(held, decision)
            return
        self.log.allowed(held.kind.noun, held.name, decision, seconds)
        if "id" in held.message:
            key = messages.id_key(held.id)
            self._open[key] = held.message["method"]
            if self.settings.recheck and decision.pinned:
                self._calls[key] = held
        self.to_server(held.line)

    def _decision(self, held: _Held, listing: Listing | None) -> Decision:
        gate, known = self._gate(), self._verdicts.get((held.kind, held.name))
        if known and known[0] is gate and known[1] is listing:
            return known[2]
        decision = gate.called(held.kind, held.name, listing)
        if listing is not None:
            self._verdicts[held.kind, held.name] = (gate, listing, decision)
        return decision

    def _answer_blocked(self, held: _Held, block: Block) -> None:
        if "id" not in held.message:
            return
        answer = messages.blocked_call if held.kind is Kind.TOOL else messages.refused_request
        self.to_client(answer(held.id, self.settings.server, block, held.kind))

    def _cancelled(self, message: Mapping[str, Any]) -> bool:
        """Whether a cancellation is for something that the server does not know of; that is dropped then."""
        params = message.get("params")
        key = messages.id_key(params.get("requestId") if isinstance(params, dict) else None)
        if held := self._held.pop(key, None):
            held.is_cancelled = True
            self.log.note("cancelled", "the client gave up while the list was read", tool=held.name)
            return True
        if key in self._listing:
            self._listing.discard(key)
            return True
        self._open.pop(key, None)  # an answer that comes all the same is one nobody waits for
        self._calls.pop(key, None)
        return False

    def _list(self, kind: Kind, message: Mapping[str, Any]) -> None:
        if "id" not in message or self._is_taken(message):
            return
        number, params = message["id"], message.get("params")
        if isinstance(params, dict) and params.get("cursor") is not None:
            self.to_client(messages.error(number, messages.INVALID_PARAMS, "the list has one page, without cursors"))
            return
        meta = self._last_meta = _identity(message)
        self._listing.add(messages.id_key(number))
        self.lists.ask(kind, meta, partial(self._show, number))

    def _show(self, number: Any, listing: Listing) -> None:
        """Answer a list of the client's."""
        key = messages.id_key(number)
        if key not in self._listing:
            return
        self._listing.discard(key)
        kind = listing.kind
        if listing.fault:
            self._tell_failed(listing)
            missing = listing.code == messages.METHOD_NOT_FOUND
            code = messages.METHOD_NOT_FOUND if missing else messages.INTERNAL_ERROR
            why = "the server has no such list" if missing else f"{REASONS['list-failed']}: {listing.fault}"
            self.to_client(messages.error(number, code, why))
            return
        shown = self._gate().listed(listing)
        for name, block in shown.held.items():
            self._tell_held(kind, name, block)
        self.to_client(messages.result(number, {**listing.head, kind.member: shown.definitions}))

    def _tell_failed(self, listing: Listing) -> None:
        self.log.note("list-failed", listing.fault, list=listing.kind.method)

    def _tell_held(self, kind: Kind, name: str, block: Block) -> None:
        """Log what was held back from a list, once for each contract."""
        told = (kind, name, block.live or block.reason)
        if told not in self._was_shown:
            self._was_shown.add(told)
            self.log.blocked(kind.noun, name, block, None, "held-back")

    # messages of the server

    def _drop(self, why: str, line: bytes) -> None:
        """Log what does not go on, and ever more rarely the more of it there is: a server may flood."""
        self._dropped[why] += 1
        count = self._dropped[why]
        if count & (count - 1) == 0:
            said = one_line(line[:400].decode("utf-8", "backslashreplace"), 200)
            self.log.note("dropped", why, line=said, count=count)

    def _is_deceptive(self, message: Mapping[str, Any]) -> bool:
        """Whether some reader could take a message for another one than the guard does."""
        is_two = "method" in message and ("result" in message or "error" in message)
        return type(message) is not dict or is_two or messages.looks_alike(message)

    def _answered(self, message: Mapping[str, Any], line: bytes) -> None:
        number = message.get("id")
        if number is None:
            self.to_client(line)  # an error that belongs to no request; no client takes it for an answer
            return
        if self.lists.answered(number, line):
            return
        key = messages.id_key(number)
        if key not in self._open and messages.other_key(number) in self._open:
            key = messages.other_key(number)
        method = self._open.pop(key, None)
        if method is None:
            self._drop("the server answered a request that it was not sent", line)
        elif method in _GREETINGS:
            self.to_client(self._greeting(message, line))
        elif key in self._calls:
            self._recheck(self._calls.pop(key), line)
        else:
            self.to_client(line)

    def _greeting(self, message: Mapping[str, Any], line: bytes) -> bytes:
        """An answer that introduces the server, with the pinned instructions in place of others."""
        result = message.get("result")
        if not isinstance(result, dict):
            return line
        pinned = self._gate().instructions
        is_odd = type(result) is not dict or messages.looks_alike(result, messages.RESULT)
        live = result.get("instructions")
        if not is_odd and (live or "") == (pinned or ""):
            return line
        self.log.note(
            "held-back",
            "the instructions are not as pinned in mcp.lock",
            rules=["server-instructions-changed"],
            differences=[
                {"rule": "server-instructions-changed", "pointer": "/instructions", "old": pinned, "new": live}
            ],
        )
        kept = {key: value for key, value in result.items() if key.casefold() != "instructions"}
        if pinned is not None:
            kept["instructions"] = pinned
        return messages.spelt({**message, "result": kept})

    def _recheck(self, held: _Held, line: bytes) -> None:
        """Hold a result until one more list has been judged."""
        self._listing.add(messages.id_key(held.id))  # a second answer to it is none
        self.lists.ask(held.kind, held.meta, partial(self._release, held, line))

    def _release(self, held: _Held, line: bytes, listing: Listing) -> None:
        key = messages.id_key(held.id)
        if key not in self._listing:
            return
        self._listing.discard(key)
        decision = self._decision(held, listing)
        if isinstance(decision, Block):
            self.log.blocked(held.kind.noun, held.name, decision, self.clock() - held.since, "withheld")
            self._answer_blocked(held, decision)
        else:
            self.to_client(line)

    def _check_changed(self, method: str) -> None:
        """Look at once at a list that the server says has changed."""
        for kind in _CHANGED.get(method, ()):
            self.lists.ask(kind, self._last_meta, partial(self._tell_changed, method))

    def _tell_changed(self, method: str, listing: Listing) -> None:
        if listing.fault:
            self._tell_failed(listing)
            return
        held = self._gate().listed(listing).held
        self.log.note("checked", f"the server sent {method}", held_back=len(held))
        for name, block in held.items():
            self._tell_held(listing.kind, name, block)

    def _gate(self) -> Gate:
        return self.pins.gate(partial(self.log.note, "lock"))

    def _recent(self, held: _Held) -> Listing | None:
        """A list that `--check ttl` lets stand for a fresh one."""
        ttl = self.settings.ttl
        return None if ttl is None else self.lists.recent(held.kind, held.meta, ttl)


def _one_line(line: bytes) -> bytes:
    """`line` for readers who take a carriage return for the end of one: between tokens it is blank space (RFC 8259)."""
    return line.replace(b"\r", b" ") if b"\r" in line else line


def _identity(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a request says of who asks; nothing in the era with a handshake."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return {name: meta[name] for name in _IDENTITY if name in meta} if isinstance(meta, dict) else {}
