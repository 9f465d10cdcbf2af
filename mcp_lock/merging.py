"""Three locks into one, pin by pin: what git's merge driver does. Starts nothing, and judges no change.

A pin that changed on one side is taken from there. What both sides changed, each in its own way, is a conflict: the
text then holds both versions of that pin between git's markers, each whole, so that the lock is valid whichever is
taken. A merged lock is a proposal like every other: whether the servers still list what it pins, `verify` says.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_lock import lockfile
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.diff import is_immaterial
from mcp_lock.errors import LockError
from mcp_lock.launch import LaunchSpec, differences
from mcp_lock.lockfile import Lock, ServerPin
from mcp_lock.lockfile.pieces import Key, head, pieces
from mcp_lock.outcome import ABSENT
from mcp_lock.report.told import named, quoted
from mcp_lock.text import one_line, visible_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

Slot: TypeAlias = tuple[str, ...]
"""What is merged on its own: a server, a part of it, or one thing in that part."""
Slots: TypeAlias = "Mapping[Slot, Any]"

_KINDS = {kind.value: kind for kind in Kind}
_LAUNCH = ("launch", "env-file", "env", "headers")
_TOLD = ("protocol", "server", "server-version")
"""What a server says of itself: nothing depends on it, so it is never a conflict."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that both sides changed, each in its own way; ABSENT where it is not."""

    slot: Slot
    base: Any
    ours: Any
    theirs: Any


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of three locks: one lock twice, or two that differ in nothing but the conflicts."""

    ours: Lock
    theirs: Lock
    conflicts: tuple[Conflict, ...]
    mixed: tuple[str, ...]
    """Servers that one side starts otherwise while the other changed contracts: nobody has seen both together."""

    def text(self) -> str:
        """The lock, with both versions of what is in conflict between markers."""
        return head() + "".join(_regions(pieces(self.ours), pieces(self.theirs)))

    def conflict_lines(self) -> list[str]:
        """Each conflict on one line: what either side did, and what to do."""
        return [_conflict(conflict) for conflict in self.conflicts]

    def notes(self) -> list[str]:
        """What was merged and deserves a look."""
        return [
            f"{named(name)}: one side starts it otherwise and the other changes contracts: run `mcplock verify`"
            for name in self.mixed
        ]


def merge_files(base: Path, ours: Path, theirs: Path, name: str) -> Merged:
    """Merge `theirs` into the file `ours`; `name` is what messages call the lock, made visible.

    Raises `LockError`, and then `ours` is as it was.
    """
    merged = merge(
        _side(base, f"{name} (common ancestor)", may_be_empty=True),
        _side(ours, f"{name} (ours)"),
        _side(theirs, f"{name} (theirs)"),
    )
    text = merged.text()
    try:
        ours.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LockError(f"{name}: the merged lock cannot be written: {error.strerror}") from None
    return merged


def _side(path: Path, name: str, *, may_be_empty: bool = False) -> Lock:
    """One of three. git gives an empty file for an ancestor that there is not."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LockError(f"{name}: cannot be read: {error.strerror}; nothing was merged") from None
    return Lock({}) if may_be_empty and not data else lockfile.parse(data, name)


def merge(base: Lock, ours: Lock, theirs: Lock) -> Merged:
    """Both sides' changes since `base`, slot by slot."""
    sides = (base, ours, theirs)
    bare = {name for side in sides for name, pin in side.servers.items() if not pin.launch}
    before, left, right = slots = tuple(dict(_slots(side, bare)) for side in sides)
    conflicts = [conflict for name in sorted(base.servers) for conflict in _torn(name, sides, slots)]
    torn = {conflict.slot[0] for conflict in conflicts}
    taken: dict[Slot, Any] = {}
    for slot in sorted(slot for slot in {*left, *right} if slot[0] not in torn):
        found = _settled(slot, *(side.get(slot, ABSENT) for side in slots))
        if isinstance(found, Conflict):
            conflicts.append(found)
        elif found is not ABSENT:
            taken[slot] = found
    open_slots = {conflict.slot for conflict in conflicts}
    kept = [
        {slot: value for slot, value in side.items() if slot in open_slots or slot[:1] in open_slots}
        for side in (left, right)
    ]
    mine, yours = (_lock({**taken, **rest}) for rest in kept)
    conflicts.sort(key=lambda conflict: conflict.slot)
    return Merged(mine, yours, tuple(conflicts), tuple(sorted(_mixed(before, left, right) - torn)))


def _slots(lock: Lock, bare: set[str]) -> Iterator[tuple[Slot, Any]]:
    """Everything that `lock` says, cut into what is merged on its own; launch specs of `bare` servers stay whole.

    What is started is one thing: a program of one side with arguments of the other is nobody's. Variables and headers
    are merged by name.
    """
    for name, pin in lock.servers.items():
        yield (name,), True
        yield from (((name, *slot), value) for slot, value in _launch_slots(pin.launch, whole=name in bare))
        surface = pin.surface
        told = (surface.protocol, surface.server, surface.server_version)
        yield from (((name, part), value) for part, value in zip(_TOLD, told, strict=True) if value)
        if surface.instructions is not None:
            yield (name, "instructions"), surface.instructions
        for kind, contracts in surface.items.items():
            yield (name, kind.value), True
            yield from (((name, kind.value, item), contract) for item, contract in contracts.items())


def _launch_slots(spec: LaunchSpec | None, *, whole: bool) -> Iterator[tuple[Slot, Any]]:
    if spec is None or whole:
        yield from [(("launch",), spec)] if spec else []
        return
    yield ("launch",), replace(spec, env={}, headers={}, env_file="", env_file_digest="")
    if spec.env_file or spec.env_file_digest:
        yield ("env-file",), (spec.env_file, spec.env_file_digest)
    yield from ((("env", name), value) for name, value in spec.env.items())
    yield from ((("headers", name), value) for name, value in spec.headers.items())


def _lock(slots: Slots) -> Lock:
    """The lock that was cut into `slots`."""
    servers: dict[str, dict[Slot, Any]] = defaultdict(dict)
    for (name, *part), value in sorted(slots.items(), key=lambda item: item[0]):
        servers[name][tuple(part)] = value
    return Lock({name: ServerPin(_spec(parts), _surface(parts)) for name, parts in servers.items()})


def _spec(parts: Slots) -> LaunchSpec | None:
    spec: LaunchSpec | None = parts.get(("launch",))
    if spec is None:
        return None
    file, digest = parts.get(("env-file",), (spec.env_file, spec.env_file_digest))
    env, headers = spec.env or _within(parts, "env"), spec.headers or _within(parts, "headers")
    return replace(spec, env=env, headers=headers, env_file=file, env_file_digest=digest)


def _surface(parts: Slots) -> Surface:
    items = {kind: _within(parts, kind.value) for kind in Kind}
    listed = {kind: held for kind, held in items.items() if held or (kind.value,) in parts}
    protocol, server, version = (parts.get((part,), "") for part in _TOLD)
    return Surface(listed, parts.get(("instructions",)), server, version, protocol)


def _within(parts: Slots, part: str) -> dict[str, Any]:
    return {slot[1]: value for slot, value in parts.items() if slot[0:1] == (part,) and len(slot) > 1}


def _torn(name: str, sides: tuple[Lock, Lock, Lock], slots: tuple[Slots, ...]) -> Iterator[Conflict]:
    """The conflict in a server that one side removed while the other changed it."""
    base, ours, theirs = (side.servers.get(name, ABSENT) for side in sides)
    if (ours is ABSENT) == (theirs is ABSENT):
        return
    if _moved(slots[0], slots[1 if theirs is ABSENT else 2], name):
        yield Conflict((name,), base, ours, theirs)


def _moved(before: Slots, after: Slots, name: str) -> list[Slot]:
    """The slots of a server in which two sides differ."""
    both = sorted(slot for slot in {*before, *after} if slot[0] == name)
    return [slot for slot in both if not _same(before.get(slot, ABSENT), after.get(slot, ABSENT))]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Contract) and isinstance(other, Contract):
        return one.digest == other.digest
    return bool(one == other)


def _settled(slot: Slot, base: Any, ours: Any, theirs: Any) -> Any:
    """What becomes of one slot, or the conflict in it."""
    if _same(ours, theirs) or _same(theirs, base):
        return ours
    if _same(ours, base):
        return theirs
    if slot[1] in _TOLD:
        return max(value for value in (ours, theirs) if value is not ABSENT)
    # servers put build numbers into `_meta`: two refreshed locks differ by them in tools that nobody touched
    if isinstance(ours, Contract) and isinstance(theirs, Contract) and is_immaterial(ours, theirs):
        return ours
    return Conflict(slot, base, ours, theirs)


def _mixed(before: Slots, left: Slots, right: Slots) -> set[str]:
    """The servers whose start is taken from one side, and contracts from the other."""
    return {
        name
        for one, other in ((left, right), (right, left))
        for name in _taken(before, one, other, _LAUNCH) & _taken(before, other, one, ("instructions", *_KINDS))
    }


def _taken(before: Slots, one: Slots, other: Slots, parts: Iterable[str]) -> set[str]:
    """The servers in which `one` alone changed something of `parts`."""
    known = {slot for slot in {*before, *one} if len(slot) > 1 and slot[1] in parts and slot[:1] in before}
    sides = ((slot, before.get(slot, ABSENT), one.get(slot, ABSENT), other.get(slot, ABSENT)) for slot in known)
    return {slot[0] for slot, base, mine, yours in sides if _same(yours, base) and not _same(mine, base)}


def _regions(ours: Mapping[Key, str], theirs: Mapping[Key, str]) -> Iterator[str]:
    """The pieces of two locks in order, with markers round those in which they differ."""
    names = [{key[:1] for key in side} for side in (ours, theirs)]
    lone = names[0] ^ names[1]  # a server is taken or left as a whole
    nothing = ((),) in (tuple(ours), tuple(theirs))

    def region(key: Key) -> Key:
        return () if nothing else key[:1] if key[:1] in lone else key

    for _, keys in groupby(sorted({*ours, *theirs}), region):
        together = list(keys)
        mine, yours = ("".join(side.get(key, "") for key in together) for side in (ours, theirs))
        yield mine if mine == yours else f"<<<<<<< ours\n{mine}=======\n{yours}>>>>>>> theirs\n"


def _conflict(conflict: Conflict) -> str:
    sides = [_did(conflict, side) for side in (conflict.ours, conflict.theirs)]
    return (
        f"conflict in {_label(conflict.slot)}: ours {sides[0]}, theirs {sides[1]}; "
        f"take either side, then run `mcplock lock {_target(conflict.slot)}`"
    )


def _label(slot: Slot) -> str:
    """What a slot is, as a reader calls it."""
    name, *rest = slot
    if not rest:
        return f"server {named(name)}"
    if kind := _KINDS.get(rest[0]):
        item = f"{named(name)}/{named(rest[1])}" if len(rest) > 1 else named(name)
        return item if kind is Kind.TOOL else f"{kind.noun} {item}"
    return f"{named(name)}, {'.'.join(map(visible_name, rest))}"


def _target(slot: Slot) -> str:
    """The name that `mcplock lock` takes for a slot, as one word of a shell."""
    is_tool = slot[1:2] == (Kind.TOOL.value,) and len(slot) > 2 and visible_name(slot[2]) == slot[2]
    target = f"{slot[0]}/{slot[2]}" if is_tool else slot[0]
    return f"{'-- ' if target.startswith('-') else ''}{quoted(target)}"


def _did(conflict: Conflict, side: Any) -> str:
    """What one side did since the common ancestor."""
    if side is ABSENT:
        return "removes it"
    if conflict.base is ABSENT:
        return "adds it"
    if isinstance(side, Contract):
        before, after = conflict.base.definition, side.definition
        members = [key for key in sorted({*before, *after}) if before.get(key, ABSENT) != after.get(key, ABSENT)]
        return f"changes {one_line(', '.join(members))}"
    if isinstance(side, ServerPin):
        return f"changes {_pins_changed(conflict.slot[0], conflict.base, side)}"
    if isinstance(side, LaunchSpec):
        return f"changes {one_line('; '.join(differences(conflict.base, side)), 300)}"
    return "changes it"


def _pins_changed(name: str, base: ServerPin, side: ServerPin) -> str:
    before, after = (dict(_slots(Lock({name: pin}), set())) for pin in (base, side))
    labels = (_label(slot) for slot in _moved(before, after, name) if slot[1] not in _TOLD)
    return one_line(", ".join(labels)) or "it"
