"""What a row of the table of clients says: the particulars of one client, each under its name.

The rows are in `clients`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_lock.config.expand import Dialect, Keys

PLATFORMS = ("linux", "darwin", "win32")
"""As `sys.platform` calls them."""

UserFiles: TypeAlias = "Mapping[str, Keys]"
"""Files outside any project by platform: from `~`, or from a variable, see `HOMES`."""

ANY_KEY = "*"
"""In the keys that lead to a map: whatever key is there."""


@dataclass(frozen=True, slots=True)
class Client:
    """One row."""

    name: str
    """As `--client` takes it; rows that share one are one client."""
    title: str
    """As people say it."""
    files: Keys
    """Its files, relative to the directory that owns them; `*` is any name. The format is seen in the file."""
    at: tuple[Keys, ...]
    """Where the map of servers sits."""
    dialect: Dialect
    """The variables it expands."""
    user: UserFiles = field(default_factory=dict)
    """Its files outside projects."""
    untyped: str = "remote"
    """The transport of a URL without a type."""
    untyped_note: str = ""
    """What to say of such an entry."""
    switches: Mapping[str, bool] = field(default_factory=dict)
    """Members that turn an entry off, with the value that does. Others are not believed: the client would start it."""
    allowed: Keys = ()
    """Where a list stands of the only servers it starts."""
    excluded: Keys = ()
    """Where a list stands of servers it does not start."""
    env_file: bool = False
    """Whether it reads `envFile`."""
    overrides: bool = False
    """Whether an entry may do no more than switch on or off a server that is configured elsewhere."""
    own_shape: bool = False
    """Whether no other client puts its map there, so that the shape of a file alone says whose dialect it speaks."""
    is_list: bool = False
    """Whether its servers stand in a list, each with its `name`; others may do so too where they look like servers."""
    nested: Keys = ("transport",)
    """Members of an entry that may hold fields of it."""
    own_types: Keys = ()
    """Types of entries that are parts of the client and no servers."""
    elsewhere: str = ""
    """What an entry is that has nothing to start; empty where it is an error."""
    elsewhere_by: str = ""
    """The member that such an entry has, if it must have one."""


HOMES = {
    "CLAUDE_CONFIG_DIR": "~",
    "CODEX_HOME": "~/.codex",
    "COPILOT_HOME": "~/.copilot",
    "XDG_CONFIG_HOME": "~/.config",
    "APPDATA": "~/AppData/Roaming",
    "LOCALAPPDATA": "~/AppData/Local",
}
"""The variables that user files begin with, and what stands for one that is not set. One that is not here names a whole
file, which is nowhere while it is not set."""


def everywhere(*files: str) -> dict[str, Keys]:
    """The same files on every platform."""
    return dict.fromkeys(PLATFORMS, files)


def app(*files: str) -> dict[str, Keys]:
    """Files where desktop programs keep theirs."""
    bases = ("$XDG_CONFIG_HOME", "~/Library/Application Support", "$APPDATA")
    return {
        platform: tuple(f"{base}/{file}" for file in files) for platform, base in zip(PLATFORMS, bases, strict=True)
    }


def both(one: UserFiles, other: UserFiles) -> dict[str, Keys]:
    """The files of both, in this order."""
    return {platform: (*one.get(platform, ()), *other.get(platform, ())) for platform in PLATFORMS}
