"""Which config files there are, and what they say together: one server a name, from any number of files.

Reads the project's files in the order of the table, or the files that were named. Two files that say the same of one
name are two sources of one server; two that say different things are an error: only a person knows which is meant.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_lock.config import Entry, Found, NotReady, StdioServer
from mcp_lock.config.clients import ANY, CLIENTS, Client, by_file, by_name
from mcp_lock.config.entries import read_entry
from mcp_lock.config.files import content, load
from mcp_lock.config.reading import ConfigFile
from mcp_lock.config.shapes import Shape, client_by_shape, servers
from mcp_lock.errors import ConfigError, UsageError
from mcp_lock.launch import differences
from mcp_lock.outcome import Status
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_lock.config.given import Given
    from mcp_lock.launch import LaunchSpec

STDIN = "-"


def find(root: Path, given: Given, client: str | None) -> Found:
    """The servers of the project at `root`. Raises `ConfigError`; `UsageError` for a client not in the table."""
    rows = _rows(client)
    entries: list[Entry] = []
    found: list[str] = []
    notes: list[str] = []
    pairs = [(row, name) for row in rows for name in row.files]
    for row, name in pairs:
        if not _is_there(root / name, name):
            continue
        shape, read = _read_file(root / name, name, root, row, given)
        entries += read
        if shape.maps:
            found.append(name)
        elif row.map_expected:
            notes.append(f"{name} holds no servers: there is no {'.'.join(row.at[0])} in it")
    looked = tuple(name for _, name in pairs)
    return _found(entries, found, [*notes, *_unread(root)], given, looked, root)


def _is_there(path: Path, name: str) -> bool:
    """Whether there is a config. What only looks like one is an error: a client may read what is behind it."""
    if path.is_file():
        return True
    if path.exists() or path.is_symlink():
        raise ConfigError(
            f"{name}: not a regular file, so its servers cannot be read; remove it, or name a file with -c"
        )
    return False


def read(paths: Sequence[str], root: Path, given: Given) -> Found:
    """The servers of the files at `paths`, `-` being standard input. Raises `ConfigError` for one without servers."""
    entries: list[Entry] = []
    names: list[str] = []
    for path in paths:
        name = "<stdin>" if path == STDIN else _shown(Path(path), root)
        shape, read_here = _read_file(path, name, root, None, given)
        if not shape.maps:
            keys = ", ".join(".".join(keys) for keys in ANY.at if keys)
            raise ConfigError(f"{name}: holds no servers: none of {keys} is there")
        entries += read_here
        names.append(name)
    return _found(entries, names, [], given, tuple(names), root)


def _rows(client: str | None) -> tuple[Client, ...]:
    if client is None:
        return CLIENTS
    row = by_name(client)
    if not row:
        raise UsageError(f"--client {one_line(client, 40)}: known are {', '.join(row.name for row in CLIENTS)}")
    return (row,)


def _unread(root: Path) -> Iterator[str]:
    """Files that people take for configs and no client reads."""
    for name in ("mcp.json", ".mcp.json.example", "mcp.json.example"):
        if (root / name).is_file():
            yield f"{name} is not read: no client looks for it; name it with --config {name}"


def _shown(path: Path, root: Path) -> str:
    """A file as messages name it."""
    full = _full(path)
    return visible(full.relative_to(root).as_posix() if full.is_relative_to(root) else str(path))


def _full(path: Path) -> Path:
    """The whole path, the file itself not followed where it is a link: a client knows it by where it stands."""
    return path.parent.resolve() / path.name


def _read_file(
    path: Path | str, shown: str, root: Path, client: Client | None, given: Given
) -> tuple[Shape, list[Entry]]:
    data = sys.stdin.buffer.read() if path == STDIN else content(Path(path), shown)
    document = load(data, shown)
    full = _full(root if path == STDIN else Path(path))
    kept = by_file(full.as_posix())
    owner = root
    if path != STDIN and kept:
        above = full.parents[kept[1].count("/")]
        owner = above if above.is_relative_to(root) else root
    row = client or (kept[0] if kept else client_by_shape(document))
    file = ConfigFile(
        shown=shown,
        client=row,
        known=bool(client or kept),
        document=document,
        owner=owner,
        base=owner.relative_to(root).as_posix(),
        beside=full.parent if path != STDIN else root,
    )
    shape = servers(document, row, shown)
    return shape, [read_entry(raw, file, given) for raw in shape.entries]


def _found(
    entries: Iterable[Entry], files: Sequence[str], notes: list[str], given: Given, looked: tuple[str, ...], root: Path
) -> Found:
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        named.setdefault(entry.name, []).append(entry)
    merged = {name: _skipped(_merged(same), given) for name, same in named.items()}
    unknown = [name for name in given.skipped if name not in merged]
    notes += [f"MCPLOCK_SKIP names {one_line(name, 80)}, which is not configured" for name in unknown]
    return Found(merged, tuple(files), tuple(notes), looked, root)


def _skipped(entry: Entry, given: Given) -> Entry:
    if entry.name not in given.skipped:
        return entry
    return replace(entry, server=NotReady(Status.SKIPPED, f"{entry.sources[0]}: left out by MCPLOCK_SKIP"))


def _merged(same: list[Entry]) -> Entry:
    """One entry from all that go by its name. One that is switched off gives way to one that is not."""
    started = [entry for entry in same if not _is(entry, Status.SKIPPED)] or same
    broken = [entry for entry in started if isinstance(entry.server, NotReady) and entry.server.invalid]
    first = broken[0] if broken else started[0]
    for other in started:
        first = first if broken or other is first else _joined(first, other)
    sources = tuple(dict.fromkeys(source for entry in same for source in entry.sources))
    return replace(first, sources=sources)


def _joined(one: Entry, other: Entry) -> Entry:
    """Two entries that say the same, or the error that they do not."""
    if one.launch is None or other.launch is None:
        return one
    apart = differences(_plain(one.launch), _plain(other.launch)) or _elsewhere(one, other)
    if apart:
        return replace(one, launch=None, server=_conflict(one, other, apart))
    kept = other if one.launch.transport == "remote" else one
    server = one.server if not isinstance(one.server, NotReady) else other.server
    if kept is other and not isinstance(other.server, NotReady):
        server = other.server
    return replace(kept, sources=one.sources, server=server, notes=tuple(dict.fromkeys((*one.notes, *other.notes))))


def _plain(spec: LaunchSpec) -> LaunchSpec:
    """`spec` with paths from the project root spelt relative: a server is started there, so they are the same files."""
    command, *args = (re.sub(r"^\$\{workspaceFolder\}/", "./", word) for word in (spec.command, *spec.args))
    return replace(spec, command=command, args=tuple(args))


def _elsewhere(one: Entry, other: Entry) -> list[str]:
    """Equal specs that start in different directories, as the same relative path in two owners' files does."""
    started = {entry.server.cwd for entry in (one, other) if isinstance(entry.server, StdioServer)}
    return ["they start in different directories"] if len(started) > 1 else []


def _conflict(one: Entry, other: Entry, apart: list[str]) -> NotReady:
    name = one_line(one.name, 80)
    here, there = one.sources[0], other.sources[0]
    what = f"{here} and {there} configure server {name} differently ({'; '.join(apart)})"
    why = f"{what}: make them equal, or choose with --config {here.file} or --client {here.client}"
    return NotReady(Status.UNREADABLE, why, invalid=True)


def _is(entry: Entry, status: Status) -> bool:
    return isinstance(entry.server, NotReady) and entry.server.status is status
