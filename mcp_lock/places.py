"""Where in the tree a finding is shown: in `mcp.lock`, or where a server is configured that is not in it.

Reads the lock once, when the first place is asked for. Names no file that is not there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_lock.lockfile import line_of
from mcp_lock.report import Place
from mcp_lock.revision import top

if TYPE_CHECKING:
    from mcp_lock.outcome import Item, ServerReport


@dataclass(frozen=True)
class Places:
    """The places of one project's servers and items. Not slotted: what is read is kept."""

    lock: Path
    root: Path
    """Of the project, which config files are relative to."""

    def __call__(self, server: ServerReport, item: Item) -> Place | None:
        """The header line of an item in the lock, else its server's; for a server that is not locked, its config."""
        locked = self._shown(self.lock)
        line = line_of(self._text, server.name, item.kind, item.name) if locked else 1
        if line > 1 or not server.source:  # no table of a lock can begin on its first line
            return Place(locked, line) if locked else None
        file, at = server.source
        configured = self._shown(self.root / file)
        if configured:
            return Place(configured, max(at, 1))
        return Place(locked, line) if locked else None

    @cached_property
    def _text(self) -> str:
        try:
            return self.lock.read_text("utf-8", errors="replace")
        except OSError:
            return ""

    @cached_property
    def _top(self) -> Path:
        """What code hosts count paths from."""
        return top(self.root) or self.root

    def _shown(self, path: Path) -> str:
        """A file as code hosts name it; empty for one that is not in the tree."""
        whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link is known by where it stands, so it is not followed
        if not whole.is_file() or not whole.is_relative_to(self._top):
            return ""
        return os.fsencode(whole.relative_to(self._top).as_posix()).decode("utf-8", "replace")
