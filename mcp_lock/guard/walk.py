"""The guard's own walk through a list: every page, and the memory that makes an unchanged answer cheap.

The paging rules are those of `session.listing`: only an absent or null cursor ends a list, a cursor that comes again
ends it when nothing new is behind it, and any doubt makes the list incomplete. Knows no pipe and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import same
from mcp_lock.guard import messages
from mcp_lock.guard.gate import Listing, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from mcp_lock.contract import Kind

MAX_PAGES = 200
MAX_ITEMS = 10_000


class Incomplete(Exception):
    """Why what came is not the whole list, in mcplock's own words."""

    def __init__(self, why: str, code: int | None = None) -> None:
        super().__init__(why)
        self.code = code


def pages(kind: Kind) -> Generator[dict[str, Any], Any, Listing]:
    """Yields the parameters of each page's request and is sent its result; returns the list. Raises `Incomplete`."""
    entries, asked, repeating = _Entries(kind), set[str](), False
    result = _checked((yield {}), kind)
    head = {key: value for key, value in result.items() if key not in (kind.member, "nextCursor")}
    for page in range(1, MAX_PAGES + 1):
        new = [entries.add(entry) for entry in result[kind.member]]
        if entries.count > MAX_ITEMS:
            raise Incomplete(f"it has more than {MAX_ITEMS} items")
        if repeating and any(new):
            raise Incomplete("its cursors go round in circles")
        cursor = result.get("nextCursor")
        if cursor is None or repeating:
            return Listing(kind, tuple(entries.items), head=head)
        if page == MAX_PAGES:
            break
        repeating = cursor in asked
        asked.add(cursor)
        result = _checked((yield {"cursor": cursor}), kind)
    raise Incomplete(f"it does not end within {MAX_PAGES} pages")


def _checked(result: Any, kind: Kind) -> dict[str, Any]:
    if not isinstance(result, dict) or not isinstance(result.get(kind.member), list):
        raise Incomplete("an answer holds no list")
    if not isinstance(result.get("nextCursor"), str | None):
        raise Incomplete("a cursor is no text")
    if result.get("resultType", "complete") != "complete":
        raise Incomplete("an answer is not complete")
    if messages.looks_alike(result, messages.RESULT):
        raise Incomplete("a member of an answer is one of the protocol's only when case is ignored")
    return result


class _Entries:
    """What the pages brought, identical repeats once."""

    def __init__(self, kind: Kind) -> None:
        self.items: list[Any] = []
        self.count = 0
        self._kind = kind
        self._named: dict[str, list[Any]] = {}

    def add(self, entry: Any) -> bool:
        """Take an entry; whether it is new."""
        self.count += 1
        known = self._named.setdefault(name_of(self._kind, entry) or "", [])
        if any(same(entry, other) for other in known):
            return False
        known.append(entry)
        self.items.append(entry)
        return True


@dataclass(frozen=True, slots=True)
class _Page:
    """One answer as bytes, around the id."""

    before: bytes
    after: bytes
    result: Any

    def is_said_by(self, line: bytes, own: bytes) -> bool:
        size = len(self.before) + len(own) + len(self.after)
        is_framed = len(line) == size and line.startswith(self.before) and line.endswith(self.after)
        return is_framed and line.startswith(own, len(self.before))


@dataclass(slots=True)
class Memory:
    """The last whole list for one client: an answer of the same bytes need not be parsed."""

    pages: tuple[_Page, ...]
    listing: Listing
    at: float
    """When the walk began."""


@dataclass(slots=True)
class Walk:
    """One walk in progress, and who waits for its list."""

    kind: Kind
    meta: Mapping[str, Any]
    began: float
    waiters: list[Callable[[Listing], None]]
    memory: Memory | None
    id: str = ""
    """Of the request that is open."""
    _steps: Generator[dict[str, Any], Any, Listing] = field(init=False)
    _seen: list[_Page | None] = field(default_factory=list, init=False)
    _is_known: bool = field(default=True, init=False)
    """Whether every page so far had the bytes of the page in `memory`."""

    def __post_init__(self) -> None:
        self._steps = pages(self.kind)

    def first(self) -> dict[str, Any]:
        """The parameters of the first request."""
        return next(self._steps)

    def known(self, line: bytes) -> Any:
        """The result that `line` spells, if it is the awaited answer in the very bytes of last time; else None."""
        at = len(self._seen)
        if not self.memory or not self._is_known or at >= len(self.memory.pages):
            return None
        page = self.memory.pages[at]
        if not page.is_said_by(line, self.id.encode()):
            return None
        self._seen.append(page)
        return page.result

    def learn(self, line: bytes, result: Any) -> None:
        """Remember how an answer was spelt that had to be parsed."""
        own = self.id.encode()
        before, _, after = line.partition(own)
        self._is_known = False
        self._seen.append(_Page(before, after, result) if line.count(own) == 1 else None)

    def next(self, result: Any) -> dict[str, Any] | Listing:
        """The parameters of the next request, or the list. Raises `Incomplete`."""
        if self._is_known and self.memory and len(self._seen) == len(self.memory.pages):
            return self.memory.listing
        try:
            return self._steps.send(result)
        except StopIteration as end:
            listing: Listing = end.value
            return listing

    def memory_of(self, listing: Listing) -> Memory | None:
        """What to remember; None where an answer was spelt so that it cannot be told again by its bytes."""
        seen = tuple(page for page in self._seen if page is not None)
        return Memory(seen, listing, self.began) if len(seen) == len(self._seen) else None
