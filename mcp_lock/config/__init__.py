"""Client configs: which servers a project has, where that is written, and how each is started.

Reads what people already have. Nothing here starts a server, and nothing here runs a command that a file names. The
types are here; finding and merging is in `discover`, which `find` and `read` lead to.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from mcp_lock.text import visible_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mcp_lock.config.document import Document
    from mcp_lock.launch import LaunchSpec
    from mcp_lock.outcome import Status


@dataclass(frozen=True, slots=True)
class Source:
    """Where a server is configured."""

    client: str
    """The client's name in `clients.CLIENTS`, or `file` for one named with `--config`."""
    file: str
    """Relative to the project root where it lies below it."""
    line: int
    """Of the server's key, from 1."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is a child process, ready to be started: every variable has its value."""

    argv: tuple[str, ...] = field(repr=False)
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    """What the entry declares; the transport adds the variables that every child gets."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variable to value, for every value that was expanded: never to be shown."""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server behind a URL, ready to be reached."""

    url: str = field(repr=False)
    transport: str
    """`http`, `sse`, or `remote`: streamable HTTP first, then SSE."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """As for `StdioServer`."""
    name: str = "SERVER"
    """As it is configured, for messages that say what to do."""

    @property
    def shown_name(self) -> str:
        """The name as a word of a command line."""
        return shlex.quote(visible_name(self.name))


Server: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class NotReady:
    """Why a configured server cannot be contacted."""

    status: Status
    """SKIPPED (disabled, excluded) or UNREADABLE (a variable is unset, the entry is wrong)."""
    reason: str
    """One line that says what, where and what to do."""
    invalid: bool = False
    """Whether the entry itself is wrong, which is an error of the config and not of this machine."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One configured server: where, how, and whether it can be contacted."""

    name: str
    sources: tuple[Source, ...]
    launch: LaunchSpec | None
    """Redacted, as the lock stores it; None when the entry is too wrong to have one."""
    server: Server | NotReady
    notes: tuple[str, ...] = ()
    """What was read with a grain of salt: visible text, one line each."""
    approved: frozenset[str] = frozenset()
    """The tools that a client calls without asking, as the servers' entries say; `*` for all."""
    unpinned: str = ""
    """Why another program may start tomorrow under the same spec; empty when it is pinned or nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Found:
    """All that was configured."""

    entries: Mapping[str, Entry]
    files: tuple[str, ...]
    """The files that hold servers."""
    notes: tuple[str, ...] = ()
    """What belongs to no entry: visible text, one line each."""
    looked: tuple[str, ...] = ()
    """Every file that was looked for, relative to `root`."""
    root: Path | None = None
    """The project root, which the files are relative to."""

    is_partial: bool = False
    """Whether other clients' files were left out, so that a server that is not here may be configured all the same."""

    @property
    def is_wrong(self) -> bool:
        """Whether any entry is wrong in itself."""
        return any(isinstance(entry.server, NotReady) and entry.server.invalid for entry in self.entries.values())


def project_root(start: Path) -> Path:
    """The project that `start` lies in: where upwards there is an `mcp.lock`, else a client config, else git's top."""
    from mcp_lock.config import root

    return root.project_root(start)


@dataclass(frozen=True, slots=True)
class Extra:
    """Servers in mcplock's own settings: they add to those of the files, or take the place of one of the same name."""

    document: Document
    keys: tuple[str, ...]
    """That lead to the table of servers; there need not be one."""
    shown: str
    """The file as messages name it."""


def find(
    root: Path,
    *,
    environ: Mapping[str, str],
    client: str | None = None,
    include_disabled: bool = False,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    scope: str = "project",
    platform: str = sys.platform,
    excluded: Mapping[str, str] | None = None,
    extra: Extra | None = None,
    unpinned: str = "note",
) -> Found:
    """The servers that the project at `root` configures, or those of one client.

    `env` and `headers` hold what `--env`, `--env-file` and `--header` supply (see `given`); `excluded` the servers to
    leave out, each with the reason; `unpinned` says what becomes of those whose program is not pinned. With the scope
    `user` it is the user's own files instead, where `platform` keeps them. Raises `ConfigError` for a file that cannot
    be read as a whole; `UsageError` for an unknown client.
    """
    from mcp_lock.config import discover, given

    outside = given.Given(environ, env or {}, headers or {}, include_disabled, excluded or {}, unpinned)
    if scope == "user":
        found = discover.find_of_user(outside, client, platform, extra)
    else:
        found = discover.find(root.resolve(), outside, client, extra)
    return replace(found, is_partial=client is not None)


def read(
    paths: Sequence[str | Path],
    root: Path,
    *,
    environ: Mapping[str, str],
    include_disabled: bool = False,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    excluded: Mapping[str, str] | None = None,
    extra: Extra | None = None,
    unpinned: str = "note",
) -> Found:
    """The servers of the files at `paths` (`-` is standard input), in the place of discovery; else as `find`.

    Raises `ConfigError` also for a file that is not there, and for one that holds no servers.
    """
    from mcp_lock.config import discover, given

    outside = given.Given(environ, env or {}, headers or {}, include_disabled, excluded or {}, unpinned)
    return discover.read([str(path) for path in paths], root.resolve(), outside, extra)
