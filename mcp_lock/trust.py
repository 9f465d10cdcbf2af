"""What a reviewed revision says: which servers may be started, and by which settings a check is made.

For pull requests, whose author can edit the configs, the settings and the lock of the working tree, but not the base
branch. The contracts themselves are compared with the working tree's lock all the same: that is what is reviewed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_lock import lockfile, revision, settings
from mcp_lock.errors import ConfigError, UsageError
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp_lock.lockfile import ServerPin
    from mcp_lock.settings import Settings


@dataclass(frozen=True, slots=True)
class Trusted:
    """The reviewed side of a pull request."""

    name: str
    """The revision as the user spelt it, visible."""
    pins: Mapping[str, ServerPin]
    settings: Settings
    notes: tuple[str, ...] = ()
    """In what the settings of the working tree are weaker: visible, a line each."""


def read(name: str, lock: Path, root: Path) -> Trusted:
    """What `name` says of the project at `root` whose lock is at `lock`.

    Raises `UsageError` when there is no such revision or no lock in it, `LockError` and `ConfigError` when what it has
    cannot be read: without it nothing may be started.
    """
    shown = visible(name)
    if revision.is_submodule(root) or revision.is_submodule(lock.parent):
        raise UsageError(
            f"--trust-rev {shown}: the project is in a submodule, which a pull request of the repository around it can "
            "replace; check it in a checkout of its own"
        )
    found = _resolved(name, lock.parent)
    data = found.content(f"./{lock.name}")
    if data is None:
        raise UsageError(f"--trust-rev {shown}: that revision has no {visible(lock.name)}, so nothing may be started")
    pins = lockfile.parse(data, f"{shown}:{lock.name}").servers
    reviewed = settings.read_revision(_resolved(name, root))
    return Trusted(shown, pins, reviewed, tuple(_weaker(shown, reviewed, root)))


def _resolved(name: str, directory: Path) -> revision.Revision:
    try:
        return revision.resolve(name, directory)
    except UsageError as error:
        raise UsageError(f"--trust-rev {error}") from None


def _weaker(name: str, reviewed: Settings, root: Path) -> list[str]:
    try:
        tree = settings.read(root)
    except ConfigError as error:
        return [f"the settings here cannot be read, and those of {name} count: {one_line(str(error))}"]
    weaker = settings.weakened(reviewed, tree)
    where = tree.shown or reviewed.shown
    return [f"{where} is weaker here than in {name}, whose settings count: {line}" for line in weaker]
