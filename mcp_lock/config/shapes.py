"""Where in a document the servers are: decided by what the document holds, not by the name of its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_lock.config.client import ANY_KEY, Client
from mcp_lock.config.clients import ANY, CLIENTS
from mcp_lock.config.document import Repeat
from mcp_lock.config.spellings import TYPES, starts
from mcp_lock.errors import ConfigError
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_lock.config.document import Document, Path, Place
    from mcp_lock.config.expand import Keys


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One member of a map of servers, unread."""

    name: str
    path: Path
    """Its last part is the key, or the index in a list."""
    place: Place
    value: Any = field(repr=False)
    repeats: tuple[Repeat, ...] = ()
    """Keys that the entry itself holds twice."""
    unnamed: bool = False
    """Whether it is an item of a list and does not say its name."""
    project: str = ""
    """The directory that the file says it is for, where it holds servers of several projects."""

    @property
    def key(self) -> str:
        """What the file calls it, which is its name but where servers of several projects go by one."""
        return self.path[-1] if isinstance(self.path[-1], str) else self.name


@dataclass(frozen=True, slots=True)
class Shape:
    """The servers of one document."""

    maps: tuple[Path, ...]
    """Where they are; a map may be empty."""
    entries: tuple[RawEntry, ...]


NOTHING = Shape((), ())


def client_by_shape(document: Document) -> Client:
    """The client that alone keeps its servers where this document does, else `ANY`."""
    return next((client for client in CLIENTS if client.own_shape and _is_of(document, client)), ANY)


def owner(document: Document, clients: Sequence[Client]) -> Client:
    """Of several clients that keep this file, the first one whose servers are in it; the first one where none are."""
    return next((client for client in clients if is_kept_for(document, client)), clients[0])


def is_kept_for(document: Document, client: Client) -> bool:
    """Whether this document holds servers where the client has its own."""
    return any(_holds_servers(value, place) for place, value in _at(document, client.at))


def _is_of(document: Document, client: Client) -> bool:
    return any(
        isinstance(value, list) is client.is_list and _holds_servers(value, place, client)
        for place, value in _at(document, client.at)
    )


def servers(document: Document, client: Client, shown: str) -> Shape:
    """The maps of servers in `document`: the client's own, and those of other clients when they hold servers.

    Raises `ConfigError` when the document is no object, when the client's own map is none, and when a key is repeated
    on the way to a map or in one: nobody can say which of the two a client starts.
    """
    if not isinstance(document.value, dict):
        raise ConfigError(f"{shown}:{document.place(())}: a client config is an object, {{ … }}")
    maps = tuple(_maps(document, client, shown))
    entries = tuple(entry for place in maps for entry in entries_at(document, place, maps, client.own_types))
    for repeat in (*document.repeats, *_namesakes(entries)):
        if any(place[: len(repeat.path)] == repeat.path and _leads(repeat, place) for place in maps):
            raise ConfigError(f"{shown}:{repeat.second}: {visible(str(repeat))}; remove one of them")
    return Shape(maps, entries)


def _leads(repeat: Repeat, place: Path) -> bool:
    return len(repeat.path) == len(place) or place[len(repeat.path)] == repeat.key


def _namesakes(entries: Sequence[RawEntry]) -> Iterator[Repeat]:
    """The servers of a list that go by the name of an earlier one, as if they were keys of an object."""
    seen: dict[tuple[Path, str], Place] = {}
    for entry in entries:
        if isinstance(entry.path[-1], int):
            first = seen.setdefault((entry.path[:-1], entry.name), entry.place)
            if first is not entry.place:
                yield Repeat(entry.path[:-1], entry.name, first, entry.place, "server")


def _maps(document: Document, client: Client, shown: str) -> Iterator[Path]:
    for place, value in _at(document, dict.fromkeys((*client.at, *ANY.at))):
        is_own = _is_own(place, client)
        wanted = dict | list if client.is_list or client is ANY else dict
        if is_own and value is not None and not isinstance(value, wanted):
            kind = "a list" if client.is_list else "an object"
            where = ".".join(map(str, place))
            raise ConfigError(f"{shown}:{document.place(place)}: {visible(where)} must be {kind} of servers")
        is_empty = value == {} and len(place) == 1 and place != ("mcp",)
        if isinstance(value, wanted) and (is_own or is_empty or _holds_servers(value, place)):
            yield place


def _is_own(place: Path, client: Client) -> bool:
    """Whether the client keeps servers at this place and nothing else, so that even an empty map is one."""
    return bool(place) and client is not ANY and any(_fits(place, keys) for keys in client.at)


def _fits(place: Path, keys: Keys) -> bool:
    return len(place) == len(keys) and all(key in (ANY_KEY, part) for part, key in zip(place, keys, strict=True))


def _at(document: Document, where: Iterable[Keys]) -> Iterator[tuple[Path, Any]]:
    """The values at the end of these keys, each with its place; `None` where there is none."""
    for keys in where:
        yield from _below((), document.value, keys)


def _below(place: Path, value: Any, keys: Keys) -> Iterator[tuple[Path, Any]]:
    if not keys:
        yield place, value
    elif keys[0] == ANY_KEY:
        for key, member in value.items() if isinstance(value, dict) else ():
            yield from _below((*place, key), member, keys[1:])
    else:
        yield from _below((*place, keys[0]), value.get(keys[0]) if isinstance(value, dict) else None, keys[1:])


def _holds_servers(value: Any, place: Path, client: Client = ANY) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict) and item.get("name") and _is_entry(item) for item in value)
    if not isinstance(value, dict):
        return False
    alike = [
        _is_entry(member) and member.get("type") not in client.own_types
        for name, member in value.items()
        if not _is_remark(name, member)
    ]
    return any(alike) if place else all(alike) and bool(alike)


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and (starts(value) or str(value.get("type")).lower() in TYPES)


def _is_remark(name: str, value: Any) -> bool:
    return name.startswith(("_", "$", "//")) and not isinstance(value, dict)


def entries_at(document: Document, place: Path, maps: Sequence[Path] = (), own_types: Keys = ()) -> Iterator[RawEntry]:
    """The members of the map, or of the list, at `place`."""
    value = document.value
    for key in place:
        value = value[key]
    project = str(place[1]) if place[:1] == ("projects",) else ""
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        path = (*place, key)
        is_part = isinstance(member, dict) and member.get("type") in own_types
        if path in maps or is_part or _is_remark(str(key), member):
            continue
        repeats = tuple(repeat for repeat in document.repeats if repeat.path[: len(path)] == path)
        name = key if isinstance(key, str) else _own_name(member)
        called = f"{place[-1]}[{key}]" if name is None else name
        yield RawEntry(called, path, document.place(path), member, repeats, name is None, project)


def _own_name(item: Any) -> str | None:
    """What an item of a list calls itself."""
    called = item.get("name") or item.get("uses") if isinstance(item, dict) else None
    return called if isinstance(called, str) else None
