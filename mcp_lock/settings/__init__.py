"""Project settings: `mcplock.toml`, or `[tool.mcplock]` in `pyproject.toml`.

Optional. Every key and value is checked, and what is unknown is an error with a suggestion: a typo must never weaken a
check. What the settings of servers mean is the business of `config`, what becomes of changes that of `policy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_lock.errors import ConfigError
from mcp_lock.policy import EVERYTHING_COUNTS, Policy
from mcp_lock.revision import top
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_lock.config.document import Document
    from mcp_lock.outcome import Impact
    from mcp_lock.revision import Revision

FILE = "mcplock.toml"
PYPROJECT = "pyproject.toml"
LAUNCH_UNPINNED = "launch-unpinned"
"""Stands among the rules, though it is about a launch spec and not about a change."""
UNPINNED = ("error", "note", "off")
"""What becomes of a server whose launch command may start another program tomorrow: refused, told, or neither."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project says of itself; by default nothing."""

    shown: str = ""
    """The file as messages name it; empty if there is none."""
    above: int = 0
    """How many levels above the project root the file is."""
    config: tuple[str, ...] = ()
    """The files to read instead of looking for some, relative to the settings file."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Servers to leave out, and in one line why."""
    fail_on: Impact | None = None
    timeout: float | None = None
    """Seconds for each server."""
    resources: bool = True
    """Whether listed resources are pinned."""
    unpinned: str = "note"
    policy: Policy = EVERYTHING_COUNTS
    document: Document | None = field(default=None, repr=False)
    servers: tuple[str, ...] = ()
    """The keys that lead to the table of servers in `document`; none if there is none."""


def read(root: Path) -> Settings:
    """The settings of the project at `root`: the nearest upwards, to the top of its git tree. Raises `ConfigError`."""

    def content(path: str) -> bytes | None:
        file = root / path
        if not file.is_file() and (file.exists() or file.is_symlink()):
            raise ConfigError(f"{path}: not a regular file, so its settings cannot be read; remove it")
        try:
            return file.read_bytes() if file.is_file() else None
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None

    return _nearest(content, _levels(root), "")


def read_revision(revision: Revision) -> Settings:
    """The settings as they were in `revision`, whose directory is the project root. Raises `ConfigError`."""
    return _nearest(
        lambda path: revision.content(f"./{path}"), _levels(revision.directory), f"{visible(revision.name)}:"
    )


def _levels(root: Path) -> int:
    """How many directories there are above `root` in its git tree."""
    root = root.resolve()
    above = top(root)
    return len(root.relative_to(above).parts) if above else 0


def _nearest(content: Callable[[str], bytes | None], levels: int, before: str) -> Settings:
    for above in range(levels + 1):
        paths = {name: "../" * above + name for name in (FILE, PYPROJECT)}
        data = {name: content(path) for name, path in paths.items()}
        found = [made for name in data if (made := _parsed(data[name], name, before + paths[name], above))]
        if len(found) > 1:
            raise ConfigError(f"{found[0].shown} and {found[1].shown} both hold settings: keep one of them")
        if found:
            return found[0]
    return Settings()


def _parsed(data: bytes | None, name: str, shown: str, above: int) -> Settings | None:
    if data is None or (name == PYPROJECT and b"mcplock" not in data):
        return None
    from mcp_lock.config.files import load

    document = load(data, shown)
    keys = ("tool", "mcplock") if name == PYPROJECT else ()
    table: Any = document.value
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    if table is None:
        return None
    from mcp_lock.settings.reading import Reader

    return Reader(document, shown, keys).settings(table, above)


def weakened(trusted: Settings, tree: Settings) -> list[str]:
    """In what the settings of `tree` check less than the `trusted` ones, or other servers: a readable line each."""
    from mcp_lock.settings import weaker

    return weaker.weakened(trusted, tree)
