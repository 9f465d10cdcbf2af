"""Where a project begins: looked up by every command, so that it loads nothing of how configs are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_lock.revision import top

if TYPE_CHECKING:
    from pathlib import Path


def project_root(start: Path) -> Path:
    """The project that `start` lies in: the nearest directory upwards, to the top of its git tree, with an `mcp.lock`.

    Else the nearest with settings of mcplock; else the nearest with a client config, so that a part of a monorepo gets
    a lock of its own; else the top of the git tree; else `start`.
    """
    start = start.resolve()
    upwards = [start, *start.parents]
    above = top(start)
    # without a tree nothing bounds the way up, and the home directory has client configs of its own
    inside = upwards[: upwards.index(above) + 1] if above else [start]
    bounded = inside if above else upwards
    locked = (directory for directory in bounded if (directory / "mcp.lock").is_file())
    settled = (directory for directory in bounded if _has_settings(directory))
    configured = (directory for directory in inside if _has_config(directory))
    return next(locked, None) or next(settled, None) or next(configured, None) or inside[-1]


def _has_settings(directory: Path) -> bool:
    return (directory / "mcplock.toml").is_file() or _says(
        directory / "pyproject.toml", rb"(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*mcplock[ \t]*[\].]"
    )


def _has_config(directory: Path) -> bool:
    """Whether a client keeps servers here, by the look of it: most of its files are there for other things too."""
    from mcp_lock.config.clients import CLIENTS  # where there is a lock nobody needs the table

    files = (path for row in CLIENTS for name in row.files for path in _named(directory, name))
    return any("mcp" in path.name or _says(path, rb"(?i)mcp|context_servers") for path in files)


def _named(directory: Path, name: str) -> list[Path]:
    """The file of that name, or those that it stands for, where they are."""
    path = directory / name
    if path.name == "*":
        return [one for one in path.parent.iterdir() if one.is_file()] if path.parent.is_dir() else []
    return [path] if path.is_file() else []


def _says(path: Path, pattern: bytes) -> bool:
    """Whether the text of a file looks so, in whatever encoding. One that cannot be read is complained of later."""
    try:
        return path.is_file() and re.search(pattern, path.read_bytes().replace(b"\0", b"")) is not None
    except OSError:
        return False
