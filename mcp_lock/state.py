"""Where mcplock keeps what belongs to a person and not to a project: one directory, by the rules of the system."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def directory(environ: Mapping[str, str]) -> Path:
    r"""`$XDG_STATE_HOME/mcplock`, `~/.local/state/mcplock`, or on Windows `%LOCALAPPDATA%\mcplock`; may not be there.

    Raises `RuntimeError` where nobody knows a home.
    """
    named = environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME", "")
    # a relative path is to be ignored (XDG base directory specification)
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "state"
    return base / "mcplock"
