"""Which config files there are, and what each of them holds.

Reads the files of a project or of a user in the order of the table, or the files that were named. How entries of one
name come together is the business of `merge`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_lock.config import Found, NotReady, user
from mcp_lock.config.clients import ANY, CLIENTS, by_file, by_name, names
from mcp_lock.config.entries import read_entry
from mcp_lock.config.files import SUFFIXES, content, load
from mcp_lock.config.merge import merged, unknown
from mcp_lock.config.reading import ConfigFile
from mcp_lock.config.shapes import NOTHING, Shape, client_by_shape, entries_at, is_kept_for, owner, servers
from mcp_lock.errors import ConfigError, UsageError
from mcp_lock.outcome import Status
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcp_lock.config import Entry, Extra
    from mcp_lock.config.client import Client
    from mcp_lock.config.document import Document
    from mcp_lock.config.expand import Keys
    from mcp_lock.config.given import Given
    from mcp_lock.config.shapes import RawEntry

STDIN = "-"
SETTINGS = replace(ANY, name="mcplock", title="mcplock")
"""What servers in mcplock's own settings are read as."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file that may be there, and the clients that would read it."""

    path: Path
    shown: str
    clients: tuple[Client, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """What one file holds."""

    shown: str
    shape: Shape
    entries: tuple[Entry, ...]


def find(root: Path, given: Given, client: str | None, extra: Extra | None) -> Found:
    """The servers of the project at `root`. Raises `ConfigError`; `UsageError` for a client not in the table."""
    rows = _rows(client)
    if not any(row.files for row in rows):
        raise UsageError(f"--client {rows[0].name}: {rows[0].title} keeps no file in a project; add --scope user")
    pairs = [(row, root / file) for row in rows for file in row.files]
    candidates = _candidates(pairs, lambda path: path.relative_to(root).as_posix())
    return _found(candidates, given, root, [*_unread(root)], extra)


def find_of_user(given: Given, client: str | None, platform: str, extra: Extra | None) -> Found:
    """The servers of the user's own files. Raises as `find`."""
    rows = _rows(client)
    if not any(row.user for row in rows):
        raise UsageError(f"--client {rows[0].name}: {rows[0].title} keeps no file outside projects")
    home = user.home(given.environ, platform)
    pairs = [*user.files(rows, given.environ, platform)]
    return _found(_candidates(pairs, lambda path: user.shown(path, home)), given, home, [], extra)


def _rows(client: str | None) -> tuple[Client, ...]:
    if client is None:
        return CLIENTS
    rows = by_name(client)
    if not rows:
        raise UsageError(f"--client {one_line(client, 40)}: known are {', '.join(names())}")
    return rows


def _candidates(pairs: Iterable[tuple[Client, Path]], shown: Callable[[Path], str]) -> list[_Candidate]:
    """One for every file, in the order of the first client that keeps it."""
    kept: dict[Path, list[Client]] = {}
    for row, path in pairs:
        kept.setdefault(path, []).append(row)
    return [_Candidate(path, visible(shown(path)), tuple(rows)) for path, rows in kept.items()]


def _found(candidates: Sequence[_Candidate], given: Given, root: Path, notes: list[str], extra: Extra | None) -> Found:
    reads = [_read_candidate(one, root, given) for candidate in candidates for one in _there(candidate)]
    without = [_without(read.shown, candidates) for read in reads if not read.shape.maps]
    looked = tuple(candidate.shown for candidate in candidates)
    return _whole(reads, given, root, [*filter(None, without), *notes], looked, extra)


def _whole(
    reads: Iterable[_Read], given: Given, root: Path, notes: list[str], looked: tuple[str, ...], extra: Extra | None
) -> Found:
    held = [read for read in reads if read.shape.maps]
    added = entries_of(extra.document, extra.keys, extra.shown, given, root) if extra else ()
    entries = merged(chain.from_iterable(read.entries for read in held), added, given)
    files = (*(read.shown for read in held), *([extra.shown] if extra and added else []))
    return Found(entries, files, (*notes, *unknown(entries, given)), looked, root)


def _there(candidate: _Candidate) -> Iterator[_Candidate]:
    """The files that a candidate stands for."""
    path = candidate.path
    if path.name != "*":
        if _is_there(path, candidate.shown):
            yield candidate
        return
    for one in sorted(path.parent.iterdir()) if path.parent.is_dir() else ():
        shown = visible(f"{candidate.shown.removesuffix('*')}{one.name}")
        if one.suffix in SUFFIXES and not one.is_dir() and _is_there(one, shown):
            yield _Candidate(one, shown, candidate.clients)


def _is_there(path: Path, shown: str) -> bool:
    """Whether there is a config. What only looks like one is an error: a client may read what is behind it."""
    if path.is_file():
        return True
    if path.exists() or path.is_symlink():
        raise ConfigError(
            f"{shown}: not a regular file, so its servers cannot be read; remove it, or name a file with -c"
        )
    return False


def _without(shown: str, candidates: Sequence[_Candidate]) -> str:
    """What to say of a file without servers; nothing of one that is there for other things too."""
    at = next((one.clients[0].at[0] for one in candidates if one.shown == shown), ("mcpServers",))
    is_for_servers = "mcp" in shown.rpartition("/")[2].lower() or "/mcpServers/" in shown
    return f"{shown} holds no servers: there is no {'.'.join(at)} in it" if is_for_servers else ""


def _unread(root: Path) -> Iterator[str]:
    """Files that people take for configs and that are not read."""
    for name in ("mcp.json", ".mcp.json.example", "mcp.json.example"):
        if (root / name).is_file():
            yield f"{name} is not read: no client looks for it; name it with --config {name}"
    for name in (".crushrc", "crushrc"):
        if (root / name).is_file():
            yield f"{name} is a script that Crush runs: it is neither run nor read, so servers in it are not seen"


def _read_candidate(one: _Candidate, root: Path, given: Given) -> _Read:
    document = load(content(one.path, one.shown), one.shown)
    row = owner(document, one.clients) if isinstance(document.value, dict) else one.clients[0]
    if not is_kept_for(document, row) and _is_anothers(document, one):
        return _Read(one.shown, NOTHING, ())
    file = ConfigFile(one.shown, row, known=True, document=document, owner=root, base="", beside=one.path.parent)
    return _read(file, given, root)


def _is_anothers(document: Document, one: _Candidate) -> bool:
    """Whether the servers in a file that several clients keep are those of a client that is not asked for."""
    keepers = [row for row, _ in by_file(one.path.as_posix()) if row not in one.clients]
    return any(is_kept_for(document, row) for row in keepers)


def read(paths: Sequence[str], root: Path, given: Given, extra: Extra | None) -> Found:
    """The servers of the files at `paths`, `-` being standard input. Raises `ConfigError` for one without servers."""
    reads = [_read_named(path, root, given) for path in paths]
    return _whole(reads, given, root, [], tuple(read.shown for read in reads), extra)


def _read_named(path: str, root: Path, given: Given) -> _Read:
    shown = "<stdin>" if path == STDIN else _shown(Path(path), root)
    document = load(sys.stdin.buffer.read() if path == STDIN else content(Path(path), shown), shown)
    read = _read(_placed(path, shown, document, root), given, root)
    if not read.shape.maps:
        places = (*ANY.at, *(keys for row in CLIENTS if row.own_shape for keys in row.at))
        keys = ", ".join(dict.fromkeys(".".join(keys) for keys in places if keys))
        raise ConfigError(f"{shown}: holds no servers: none of {keys} is there")
    return read


def _placed(path: str, shown: str, document: Document, root: Path) -> ConfigFile:
    """A file that was named, read as the client does that keeps one there."""
    full = _full(root if path == STDIN else Path(path))
    kept = () if path == STDIN else by_file(full.as_posix())
    above = full.parents[kept[0][1].count("/")] if kept else root
    base = above if above.is_relative_to(root) else root
    return ConfigFile(
        shown=shown,
        client=owner(document, [client for client, _ in kept]) if kept else client_by_shape(document),
        known=bool(kept),
        document=document,
        owner=base,
        base=base.relative_to(root).as_posix(),
        beside=full.parent if path != STDIN else root,
    )


def _shown(path: Path, root: Path) -> str:
    """A file as messages name it."""
    full = _full(path)
    return visible(full.relative_to(root).as_posix() if full.is_relative_to(root) else str(path))


def _full(path: Path) -> Path:
    """The whole path, the file itself not followed where it is a link: a client knows it by where it stands."""
    return path.parent.resolve() / path.name


def _read(file: ConfigFile, given: Given, root: Path) -> _Read:
    shape = servers(file.document, file.client, file.shown)
    return _Read(file.shown, shape, tuple(_entry(raw, file, given, root) for raw in shape.entries))


def _entry(raw: RawEntry, file: ConfigFile, given: Given, root: Path) -> Entry:
    """One entry; one that is for a project of many is started there, and named for it."""
    if not raw.project:
        return read_entry(raw, file, given)
    project = Path(raw.project)
    home = Path(given.environ.get("HOME") or given.environ.get("USERPROFILE") or root)
    base = project.relative_to(root).as_posix() if project.is_relative_to(root) else raw.project
    named = replace(raw, name=f"{raw.name} ({user.shown(project, home)})")
    entry = read_entry(named, replace(file, owner=project, base=base), given)
    gone = NotReady(Status.SKIPPED, f"{file.shown}:{raw.place}: its project {one_line(raw.project)} is not there")
    return entry if project.is_absolute() and project.is_dir() else replace(entry, server=gone)


def entries_of(document: Document, keys: Keys, shown: str, given: Given, root: Path) -> tuple[Entry, ...]:
    """The servers in the table at `keys` of mcplock's own settings. Raises `ConfigError` when it is none."""
    value = document.value
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise ConfigError(f"{shown}:{document.place(keys)}: {'.'.join(keys)} must be a table of servers")
    file = ConfigFile(shown, SETTINGS, known=True, document=document, owner=root, base="", beside=root)
    return tuple(read_entry(raw, file, given) for raw in entries_at(document, keys))
