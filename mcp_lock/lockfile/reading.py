"""From the bytes of a lock to what they say, trusting nothing.

The checks are a table of our own: importing a JSON Schema judge costs more than reading fifty tools does, and its words
name no line. `published` holds the schema for others; a test holds the two together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli

from mcp_lock.canonical import digest
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.errors import LockError, Unpinnable
from mcp_lock.launch import LaunchSpec
from mcp_lock.lockfile import VERSION, Lock, ServerPin
from mcp_lock.lockfile.layout import decode, key_name
from mcp_lock.lockfile.lines import conflict_at, conflict_below, line_at
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_REBUILD = "restore it from git, or rebuild it with `mcplock lock --force`"
_RESOLVE = "take either side, then run `mcplock lock`"
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_LFS = "version https://git-lfs.github.com/spec/"


class _Shape(NamedTuple):
    """What a value must be: in words, and as a test."""

    words: str
    fits: Callable[[Any], bool]


def _all_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


_TEXT = _Shape("a string", lambda value: isinstance(value, str))
_TEXTS = _Shape("an array of strings", lambda value: isinstance(value, list) and _all_texts(value))
_NAMES = _Shape("a table of strings", lambda value: isinstance(value, dict) and _all_texts(value.values()))
_TABLE = _Shape("a table", lambda value: isinstance(value, dict))
_TRANSPORT = _Shape("stdio, http, sse or remote", lambda value: value in ("stdio", "http", "sse", "remote"))

_LAUNCH = {
    "transport": _TRANSPORT,
    "command": _TEXT,
    "args": _TEXTS,
    "cwd": _TEXT,
    "env-file": _TEXT,
    "env-file-digest": _TEXT,
    "url": _TEXT,
    "env": _NAMES,
    "headers": _NAMES,
}
_TOLD = {"protocol": _TEXT, "server": _TEXT, "server-version": _TEXT}
_SERVER = frozenset(_LAUNCH) | frozenset(_TOLD) | {"instructions"} | {kind.value for kind in Kind}

_Path = tuple[str, ...]


def lock_from(data: bytes, where: str) -> Lock:
    """As `lockfile.parse`."""
    text = _text(data, where)
    reader = _Reader(text, where)
    try:
        return reader.lock(_document(text, where))
    except RecursionError:
        raise reader.fault("nested too deeply", _REBUILD) from None


def _text(data: bytes, where: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LockError(f"{where}:{line}: not UTF-8; {_REBUILD}") from None
    if not text.strip():
        raise LockError(f"{where}:1: empty; {_REBUILD}")
    if text.startswith(_LFS):
        raise LockError(f"{where}:1: a Git LFS pointer instead of the lock; run `git lfs pull`")
    return text


def _document(text: str, where: str) -> dict[str, Any]:
    try:
        return tomli.loads(text)
    except ValueError as error:
        raise LockError(f"{where}:{_toml_fault(text, str(error))}") from None


def _toml_fault(text: str, said: str) -> str:
    """Line, cause and advice, from what tomli said of `text`."""
    found = _AT_LINE.search(said)
    if not found:  # tomli's own errors end in a place, this one is the interpreter's
        return f"1: a number of too many digits; {_REBUILD}"
    cause = said[: found.start()]
    if not found[1]:
        return f"{text.rstrip().count(chr(10)) + 1}: cut off: {one_line(cause)}; {_REBUILD}"
    line = int(found[1])
    if conflict := conflict_at(text, line):
        return f"{conflict}: merge conflict markers; {_RESOLVE}"
    if cause.startswith(("Cannot", "Duplicate")):
        return f"{line}: a key or table is there twice: {one_line(cause)}; {_RESOLVE}"
    return f"{line}: not TOML: {one_line(cause)}; {_REBUILD}"


def _said(key: str) -> str:
    return one_line(f"`{key}`", 80)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Walks a parsed document; knows its text, so that each fault has a line."""

    text: str
    where: str

    def fault(self, why: str, advice: str, path: _Path = ()) -> LockError:
        return LockError(f"{self.where}:{line_at(self.text, path)}: {why}; {advice}")

    def lock(self, document: dict[str, Any]) -> Lock:
        self.check_version(document)
        self.check_keys(document, {"version", "servers"}, ())
        servers = self.value(document, "servers", _TABLE, ())
        return Lock({self.name(key, ("servers",)): self.server(servers, key) for key in servers})

    def check_version(self, document: dict[str, Any]) -> None:
        version = document.get("version")
        if type(version) is not int or version < 1:
            raise self.fault("`version` is not the number of a format", _REBUILD, ("version",))
        if version > VERSION:
            raise self.fault(f"written by a newer mcplock (format {version})", "upgrade mcplock", ("version",))

    def check_keys(self, table: Mapping[str, Any], known: frozenset[str] | set[str], path: _Path) -> None:
        for key in table:
            if key not in known:
                raise self.fault(f"unknown key {_said(key)}", _REBUILD, (*path, key))

    def value(self, table: Mapping[str, Any], key: str, shape: _Shape, path: _Path) -> Any:
        """What `table` holds under `key`, which must be there."""
        if key not in table:
            raise self.fault(f"incomplete: {_said(key)} is missing", _REBUILD, path)
        value = table[key]
        if shape is not _TABLE:
            value = self.decoded(value, (*path, key))
        if not shape.fits(value):
            raise self.fault(f"{_said(key)} is not {shape.words}", _REBUILD, (*path, key))
        return value

    def decoded(self, value: Any, path: _Path) -> Any:
        try:
            return decode(value)
        except ValueError as error:
            raise self.fault(one_line(str(error)), _REBUILD, path) from None

    def name(self, key: str, path: _Path) -> str:
        try:
            return key_name(key)
        except ValueError as error:
            raise self.fault(one_line(str(error)), _REBUILD, (*path, key)) from None

    def server(self, servers: Mapping[str, Any], key: str) -> ServerPin:
        table, path = self.value(servers, key, _TABLE, ("servers",)), ("servers", key)
        self.check_keys(table, _SERVER, path)
        told = {name: self.value(table, name, shape, path) for name, shape in _TOLD.items() if name in table}
        surface = Surface(
            items={kind: self.items(table, kind, path) for kind in Kind if kind.value in table},
            instructions=self.instructions(table, path),
            server=told.get("server", ""),
            server_version=told.get("server-version", ""),
            protocol=told.get("protocol", ""),
        )
        return ServerPin(self.launch(table, path), surface)

    def launch(self, table: Mapping[str, Any], path: _Path) -> LaunchSpec | None:
        found = {key: self.value(table, key, shape, path) for key, shape in _LAUNCH.items() if key in table}
        if not found:
            return None
        self.value(table, "transport", _TRANSPORT, path)
        for key in {"env", "headers"} & found.keys():
            found[key] = {self.name(name, (*path, key)): template for name, template in found[key].items()}
        found["args"] = tuple(found.get("args", ()))
        return LaunchSpec(**{key.replace("-", "_"): value for key, value in found.items()})

    def instructions(self, server: Mapping[str, Any], path: _Path) -> str | None:
        if "instructions" not in server:
            return None
        table, path = self.value(server, "instructions", _TABLE, path), (*path, "instructions")
        self.check_keys(table, {"digest", "text"}, path)
        text: str = self.value(table, "text", _TEXT, path)
        self.check_digest(self.value(table, "digest", _TEXT, path), lambda: digest(text), path)
        return text

    def items(self, server: Mapping[str, Any], kind: Kind, path: _Path) -> dict[str, Contract]:
        table, path = self.value(server, kind.value, _TABLE, path), (*path, kind.value)
        return {self.name(key, path): self.contract(table, kind, key, path) for key in table}

    def contract(self, items: Mapping[str, Any], kind: Kind, key: str, path: _Path) -> Contract:
        table, path = self.value(items, key, _TABLE, path), (*path, key)
        self.check_keys(table, {"digest", "contract"}, path)
        pinned = self.value(table, "digest", _TEXT, path)
        stored = self.decoded(self.value(table, "contract", _TABLE, path), path)
        if not isinstance(stored, dict):
            raise self.fault("`contract` is not a table", _REBUILD, (*path, "contract"))
        contract = Contract(kind, {kind.key: key_name(key), **stored})
        self.check_digest(pinned, lambda: contract.digest, path)
        return contract

    def check_digest(self, pinned: str, computed: Callable[[], str], path: _Path) -> None:
        """Whether the pin at `path` (below its server: kind and name, or `instructions`) is what its digest says."""
        try:
            if computed() == pinned:
                return
        except Unpinnable as error:
            raise self.fault(f"{_pin(path)} cannot be pinned: {one_line(str(error))}", _REBUILD, path) from None
        if line := conflict_below(self.text, path):
            raise LockError(f"{self.where}:{line}: merge conflict markers in {_pin(path)}; {_RESOLVE}")
        why = f"{_pin(path)}: the contract and its digest do not belong together: edited by hand or badly merged"
        raise self.fault(why, _REBUILD, path)


def _pin(path: _Path) -> str:
    _, server, kind, *name = path
    item = f"{Kind(kind).noun} {_said(key_name(name[0]))}" if name else "instructions"
    return f"{item} of {_said(key_name(server))}"
