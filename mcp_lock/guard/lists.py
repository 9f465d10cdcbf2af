"""The lists that the guard asks for itself: under random ids, shared by whoever may share them, bounded in time.

A list serves a request only if it was asked for after the request came; who comes while a walk is under way waits for
the next one. Knows nothing of pins.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_lock.guard import messages
from mcp_lock.guard.gate import Listing
from mcp_lock.guard.walk import Incomplete, Memory, Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_lock.contract import Kind

_OWN = "mcplock-"
_Key = tuple["Kind", str]
"""A list, and the metadata it was asked for with."""


@dataclass(slots=True)
class Lists:
    """The walks through one server's lists."""

    patience: float
    """Seconds for a whole walk."""
    clock: Callable[[], float]
    to_server: Callable[[bytes], None]
    _own: dict[str, Walk] = field(default_factory=dict)
    """The requests that are open."""
    _spent: set[str] = field(default_factory=set)
    """Ids of requests that nobody waits for any more, and that may yet be answered."""
    _walks: dict[_Key, Walk] = field(default_factory=dict)
    _queue: dict[_Key, list[Callable[[Listing], None]]] = field(default_factory=dict)
    """Who came while a walk was under way: that one may be older than they are."""
    _memory: dict[_Key, Memory] = field(default_factory=dict)
    _is_over: bool = False

    @property
    def deadline(self) -> float | None:
        """When `tick` is to be called at the latest, by `clock`."""
        return min((walk.began + self.patience for walk in self._walks.values()), default=None)

    @property
    def is_busy(self) -> bool:
        """Whether anybody waits for a list."""
        return bool(self._walks)

    def tick(self) -> None:
        """Give up walks that take too long."""
        now = self.clock()
        for walk in [walk for walk in self._walks.values() if now >= walk.began + self.patience]:
            self._fail(walk, f"no whole answer within {self.patience:g} s")

    def is_own(self, number: Any) -> bool:
        """Whether an id is one of the guard's own that may still be answered."""
        return isinstance(number, str) and (number in self._own or number in self._spent)

    def recent(self, kind: Kind, meta: Mapping[str, Any], ttl: float) -> Listing | None:
        """The last whole list if it was asked for no more than `ttl` seconds ago."""
        memory = self._memory.get(_key(kind, meta))
        return memory.listing if memory and self.clock() - memory.at <= ttl else None

    def ask(self, kind: Kind, meta: Mapping[str, Any], waiter: Callable[[Listing], None]) -> None:
        """Have `waiter` called with a list that is asked for from now on; one with a fault where there is none."""
        if self._is_over:
            waiter(Listing(kind, fault="the server has ended"))
        elif _key(kind, meta) in self._walks:
            self._queue.setdefault(_key(kind, meta), []).append(waiter)
        else:
            self._begin(kind, meta, [waiter])

    def is_as_before(self, line: bytes) -> bool:
        """Whether a line is an awaited answer in the very bytes of last time; if so it is taken."""
        for walk in self._own.values():
            result = walk.known(line)
            if result is not None:
                self._step(walk, result)
                return True
        return False

    def answered(self, number: Any, line: bytes) -> bool:
        """Whether a line is an awaited answer, by its id; if so it is taken."""
        walk = self._own.get(number) if isinstance(number, str) else None
        if walk is None:
            return False
        try:
            result = _result(line)
        except messages.Fault as fault:
            self._fail(walk, f"an answer can be read in two ways: {fault}")
        except Incomplete as why:
            self._fail(walk, str(why), why.code)
        else:
            walk.learn(line, result)
            self._step(walk, result)
        return True

    def fail(self, number: Any, why: str) -> None:
        """Give up the walk that waits for an answer under this id, if one does."""
        walk = self._own.get(number) if isinstance(number, str) else None
        if walk:
            self._fail(walk, why)

    def fail_all(self, why: str) -> None:
        """Give up every walk that is under way."""
        for walk in list(self._walks.values()):
            self._fail(walk, why)

    def end(self) -> None:
        """No answer comes any more: whoever waits is told so."""
        self._is_over = True
        for key, waiters in self._queue.items():
            self._walks[key].waiters.extend(waiters)
        self._queue.clear()
        self.fail_all("the server has ended")

    # inside

    def _begin(self, kind: Kind, meta: Mapping[str, Any], waiters: list[Callable[[Listing], None]]) -> None:
        key = _key(kind, meta)
        walk = self._walks[key] = Walk(kind, meta, self.clock(), waiters, self._memory.get(key))
        self._request(walk, walk.first())

    def _request(self, walk: Walk, params: Mapping[str, Any]) -> None:
        walk.id = _OWN + os.urandom(16).hex()
        self._own[walk.id] = walk
        stamped = {**params, "_meta": walk.meta} if walk.meta else params
        self.to_server(messages.request(walk.id, walk.kind.method, stamped))

    def _step(self, walk: Walk, result: Any) -> None:
        """Go on to the next page, or hand out the list."""
        try:
            onward = walk.next(result)
        except Incomplete as why:
            self._fail(walk, str(why), why.code)
            return
        del self._own[walk.id]
        if not isinstance(onward, Listing):
            self._request(walk, onward)
            return
        memory = walk.memory_of(onward)
        if memory:
            self._memory[_key(walk.kind, walk.meta)] = memory
        self._end(walk, onward)

    def _fail(self, walk: Walk, why: str, code: int | None = None) -> None:
        if self._own.pop(walk.id, None):
            self._spent.add(walk.id)
        self._memory.pop(_key(walk.kind, walk.meta), None)
        self._end(walk, Listing(walk.kind, fault=why, code=code))

    def _end(self, walk: Walk, listing: Listing) -> None:
        key = _key(walk.kind, walk.meta)
        del self._walks[key]
        waiting = self._queue.pop(key, [])
        if waiting:
            self._begin(walk.kind, walk.meta, waiting)
        for waiter in walk.waiters:
            waiter(listing)


def _key(kind: Kind, meta: Mapping[str, Any]) -> _Key:
    return kind, json.dumps(meta, sort_keys=True) if meta else ""


def _result(line: bytes) -> Any:
    """The result in an answer. Raises `Fault` and `Incomplete`."""
    message = messages.strict(line)
    error = message.get("error")
    if error is None and "result" in message:
        return message["result"]
    code = error.get("code") if isinstance(error, dict) else None
    raise Incomplete("it was answered with an error", code if isinstance(code, int) else None)
