"""Where a project begins: looked up by every command, so that it loads nothing of how configs are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_lock.config.clients import CLIENTS

if TYPE_CHECKING:
    from pathlib import Path


def project_root(start: Path) -> Path:
    """The project that `start` lies in: the nearest directory upwards, to the top of its git tree, with an `mcp.lock`.

    Else the nearest with a client config, so that a part of a monorepo gets a lock of its own; else the top of the git
    tree; else `start`.
    """
    start = start.resolve()
    upwards = [start, *start.parents]
    top = next((at for at, directory in enumerate(upwards) if (directory / ".git").exists()), None)
    # without a tree nothing bounds the way up, and the home directory has client configs of its own
    inside = [start] if top is None else upwards[: top + 1]
    locked = (directory for directory in (upwards if top is None else inside) if (directory / "mcp.lock").is_file())
    configs = [name for row in CLIENTS for name in row.files]
    configured = (directory for directory in inside if any((directory / name).is_file() for name in configs))
    return next(locked, None) or next(configured, None) or inside[-1]
