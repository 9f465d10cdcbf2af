"""Where clients keep what is for a user and not for a project, on Linux, macOS and Windows.

Paths only: which of them are there, and what they say, is the business of `discover`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcp_lock.config.client import HOMES, PLATFORMS
from mcp_lock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_lock.config.client import Client


def home(environ: Mapping[str, str], platform: str) -> Path:
    """The home directory. Raises `UsageError` when nobody says where it is."""
    names = ("USERPROFILE", "HOME") if platform == "win32" else ("HOME",)
    named = next((environ[name] for name in names if environ.get(name)), "")
    if not named or not Path(named).is_absolute():
        raise UsageError(f"--scope user: the home directory is not known: set {names[0]} to an absolute path")
    return Path(named)


def lock_path(environ: Mapping[str, str], platform: str) -> Path:
    """Where the lock of the user's own servers is, or would be."""
    base = "$APPDATA" if platform == "win32" else "$XDG_CONFIG_HOME"
    found = _path(f"{base}/mcplock/mcp.lock", environ, home(environ, platform))
    assert found  # both variables have a default
    return found


def files(clients: Iterable[Client], environ: Mapping[str, str], platform: str) -> Iterator[tuple[Client, Path]]:
    """The files of these clients on this platform, whether they are there or not; a last part `*` is any name."""
    own = home(environ, platform)
    known = platform if platform in PLATFORMS else "linux"
    for client in clients:
        for file in client.user.get(known, ()):
            if path := _path(file, environ, own):
                yield client, path


def _path(file: str, environ: Mapping[str, str], own: Path) -> Path | None:
    """A path as a row spells it; None for one that is in a variable alone, and that is not set."""
    base, _, rest = file.partition("/")
    if base == "~":
        return own / rest
    name = base.removeprefix("$")
    if value := environ.get(name, ""):
        return Path(value) / rest
    default = HOMES.get(name)
    return own / default.removeprefix("~").removeprefix("/") / rest if default else None


def shown(path: Path, own: Path) -> str:
    """A file as messages name it: from `~` where it is below the home directory."""
    return f"~/{path.relative_to(own).as_posix()}" if path.is_relative_to(own) else str(path)
