"""The text of a lock cut at its pins: for whoever has to show two versions of one pin in one file.

How the text of each piece looks is the business of `layout`; joined they are the text of the lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_lock.contract import Kind
from mcp_lock.lockfile import HEADER, VERSION, Lock, table_of
from mcp_lock.lockfile.layout import emit, name_key

if TYPE_CHECKING:
    from collections.abc import Iterator

Key: TypeAlias = tuple[str, ...]
"""Where a piece stands: the stored name of its server, then the part of it, then the stored name of the item. Sorted,
keys stand as their pieces do in the file."""


def head() -> str:
    """What every lock begins with."""
    return f"{HEADER}{emit({'version': VERSION})}"


def pieces(lock: Lock) -> dict[Key, str]:
    """The text of `lock` after its head, one piece for each pin and one for how each server is started."""
    servers = {name_key(name): table_of(name, pin) for name, pin in lock.servers.items()}
    return {key: f"\n{emit(_nested(key, table))}" for key, table in sorted(_parts(servers))} or {(): "\n[servers]\n"}


def _parts(servers: dict[str, dict[str, Any]]) -> Iterator[tuple[Key, Any]]:
    for name, table in servers.items():
        kinds = {part: held for part, held in table.items() if part in _PINS}
        if len(kinds) < len(table) or not kinds:
            yield (name,), {part: held for part, held in table.items() if part not in kinds}
        for part, held in kinds.items():
            if part == "instructions" or not held:
                yield (name, part), held
            else:
                yield from (((name, part, item), pin) for item, pin in held.items())


_PINS = frozenset({"instructions", *(kind.value for kind in Kind)})


def _nested(key: Key, table: Any) -> dict[str, Any]:
    for name in reversed(("servers", *key)):
        table = {name: table}
    return dict(table)
