"""Where in a document the servers are: decided by what the document holds, not by the name of its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_lock.config.clients import ANY, CLIENTS, SPELLINGS, TYPES, Client, Keys
from mcp_lock.errors import ConfigError
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_lock.config.document import Document, Place, Repeat


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One member of a map of servers, unread."""

    name: str
    path: Keys
    place: Place
    value: Any = field(repr=False)
    repeats: tuple[Repeat, ...] = ()
    """Keys that the entry itself holds twice."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The servers of one document."""

    maps: tuple[Keys, ...]
    """Where they are; a map may be empty."""
    entries: tuple[RawEntry, ...]


def client_by_shape(document: Document) -> Client:
    """The client that alone keeps its servers where this document does, else `ANY`."""
    own = ((client, place) for client in CLIENTS if client.own_shape for place in client.at)
    return next((client for client, place in own if _holds_servers(_value(document.value, place), place)), ANY)


def servers(document: Document, client: Client, shown: str) -> Shape:
    """The maps of servers in `document`: the client's own, and those of other clients when they hold servers.

    Raises `ConfigError` when the document is no object, when the client's own map is none, and when a key is repeated
    on the way to a map or in one: nobody can say which of the two a client starts.
    """
    if not isinstance(document.value, dict):
        raise ConfigError(f"{shown}:{document.place(())}: a client config is an object, {{ … }}")
    maps = tuple(_maps(document, client, shown))
    for repeat in document.repeats:
        if any(place[: len(repeat.path)] == repeat.path and _leads(repeat, place) for place in maps):
            raise ConfigError(f"{shown}:{repeat.second}: {visible(str(repeat))}; remove one of them")
    return Shape(maps, tuple(entry for place in maps for entry in _entries(document, place, maps)))


def _leads(repeat: Repeat, place: Keys) -> bool:
    return len(repeat.path) == len(place) or place[len(repeat.path)] == repeat.key


def _maps(document: Document, client: Client, shown: str) -> Iterator[Keys]:
    for place in dict.fromkeys((*client.at, *ANY.at)):
        value = _value(document.value, place)
        if place in client.at and place and client is not ANY and not isinstance(value, dict | None):
            raise ConfigError(f"{shown}:{document.place(place)}: {'.'.join(place)} must be an object of servers")
        if _holds_servers(value, place) or (isinstance(value, dict) and _may_be_empty(value, place, client)):
            yield place


def _value(value: Any, place: Keys) -> Any:
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _may_be_empty(value: dict[str, Any], place: Keys, client: Client) -> bool:
    """Whether a map without anything that looks like a server is still the map of servers."""
    own = bool(place) and place in client.at and client is not ANY
    return own or (not value and len(place) == 1 and place != ("mcp",))


def _holds_servers(value: Any, place: Keys) -> bool:
    if not isinstance(value, dict):
        return False
    alike = [_is_entry(member) for name, member in value.items() if not _is_remark(name, member)]
    return any(alike) if place else all(alike) and bool(alike)


def _is_entry(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    names = (*SPELLINGS["url"], *SPELLINGS["command"])
    return any(value.get(name) for name in names) or str(value.get("type")).lower() in TYPES


def _is_remark(name: str, value: Any) -> bool:
    return name.startswith(("_", "$", "//")) and not isinstance(value, dict)


def _entries(document: Document, place: Keys, maps: tuple[Keys, ...]) -> Iterator[RawEntry]:
    for name, value in _value(document.value, place).items():
        path = (*place, name)
        if path in maps or _is_remark(name, value):
            continue
        repeats = tuple(repeat for repeat in document.repeats if repeat.path[: len(path)] == path)
        yield RawEntry(name, path, document.place(path), value, repeats)
