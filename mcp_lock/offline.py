"""The sides of a diff that needs no server: a lock, a revision of one in git, or a raw list of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_lock import lockfile, revision
from mcp_lock.canonical import parse
from mcp_lock.contract import Contract, Flaw, Kind, Surface
from mcp_lock.errors import Unpinnable, UsageError
from mcp_lock.lockfile import ServerPin
from mcp_lock.text import visible
from mcp_lock.verify import compare

if TYPE_CHECKING:
    from mcp_lock.outcome import Report

_RAW = "tools"
"""What a raw list is called when neither side names a server."""


def diff_files(old: str, new: str | None, lock: Path) -> Report:
    """The difference between two sides, each a lock, `REV`, `REV:PATH`, or a `tools/list` result as JSON.

    `new` is the working tree's lock unless it is named. Raises `UsageError` and `LockError`.
    """
    left, right = _side(old, lock), _side(new, lock) if new is not None else lockfile.read(lock).servers
    return compare(*_aligned(left, right))


def _aligned(
    old: Mapping[str, ServerPin] | Surface, new: Mapping[str, ServerPin] | Surface
) -> tuple[Mapping[str, ServerPin], Mapping[str, ServerPin]]:
    """Both sides under the same server name: a raw list has none, so it takes the other side's only one."""
    names = [name for side in (old, new) if isinstance(side, Mapping) for name in side]
    if (isinstance(old, Surface) or isinstance(new, Surface)) and len(set(names)) > 1:
        raise UsageError("a raw list of tools can be compared with a lock of one server, and this one has several")
    name = names[0] if names else _RAW
    left = {name: _tools_alone(old, new)} if isinstance(old, Surface) else old
    right = {name: _tools_alone(new, old)} if isinstance(new, Surface) else new
    return left, right


def _tools_alone(raw: Surface, other: Mapping[str, ServerPin] | Surface) -> ServerPin:
    """A raw list as a pin that differs from the other side in nothing but tools."""
    if isinstance(other, Surface) or not other:
        return ServerPin(None, raw)
    pin = next(iter(other.values()))
    items = {**pin.surface.items, Kind.TOOL: raw.contracts(Kind.TOOL)}
    return ServerPin(pin.launch, Surface(items, pin.surface.instructions, pin.surface.server, flaws=raw.flaws))


def _side(spec: str, lock: Path) -> Mapping[str, ServerPin] | Surface:
    data = _held(Path(spec), lock)
    if data is None:
        return lockfile.parse(_revision(spec, lock), spec).servers
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return _raw(data, spec)
    return lockfile.parse(data, spec).servers


def _held(path: Path, lock: Path) -> bytes | None:
    """What the file at `path` holds, or the lock in a directory there; None where nothing is."""
    try:
        if path.is_dir():
            path = path / lock.name
        return path.read_bytes() if path.exists() else None
    except OSError as error:
        raise UsageError(f"{visible(str(path))}: cannot be read: {error.strerror}") from None


def _raw(data: bytes, where: str) -> Surface:
    """The tools in a `tools/list` result, be it the array, the result, or the whole answer."""
    try:
        value = parse(data.decode("utf-8-sig"))
    except ValueError as error:
        raise UsageError(f"{where}: not JSON: {error}") from None
    for key in ("result", "tools"):
        value = value.get(key, value) if isinstance(value, Mapping) else value
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise UsageError(f"{where}: no list of tools: want an array, or an object with `tools`")
    return _surface(value)


def _surface(tools: Sequence[Any]) -> Surface:
    pinned: dict[str, Contract] = {}
    flaws = []
    for at, tool in enumerate(tools, 1):
        name = tool.get("name") if isinstance(tool, Mapping) else None
        if not isinstance(name, str):
            flaws.append(Flaw(Kind.TOOL, f"#{at}", "", "no object with a name"))
            continue
        contract = Contract(Kind.TOOL, tool)
        try:
            repeated = name in pinned and pinned[name].digest != contract.digest
        except Unpinnable as error:
            flaws.append(Flaw(Kind.TOOL, name, error.pointer, error.why))
            continue
        if repeated:
            raise UsageError(f"the list has {visible(name)!r} twice with different definitions")
        pinned[name] = contract
    return Surface({Kind.TOOL: pinned}, flaws=tuple(flaws))


def _revision(spec: str, lock: Path) -> bytes:
    """The bytes of a lock in git: `REV` is the project's lock there, `REV:PATH` any file."""
    name, _, path = spec.partition(":")
    try:
        found = revision.resolve(name, lock.parent)
    except UsageError as error:
        raise UsageError(f"{visible(spec)}: no such file, and {error}") from None
    data = found.content(path or f"./{lock.name}")
    if data is None:
        raise UsageError(f"{visible(spec)}: that revision has no {visible(path or lock.name)}")
    return data
