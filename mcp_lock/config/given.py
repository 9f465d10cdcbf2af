"""What the command line and the environment supply beside the config files: values, never stored and never shown."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_lock.config import files
from mcp_lock.errors import ConfigError, UsageError
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Given:
    """Everything outside the files that decides how an entry is read."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """From `--env` and `--env-file`: they answer variables, and every child gets them."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """From `--header`: every remote server gets them, in place of configured ones of the same name."""
    include_disabled: bool = False
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Servers that are left out, each with the reason: one line."""
    unpinned: str = "note"
    """What becomes of a server whose launch spec may start another program tomorrow: `note`, `error`, `off`."""
    windows: bool = os.name == "nt"

    @property
    def variables(self) -> Mapping[str, str]:
        """What variables are looked up in."""
        return {**self.environ, **self.env}

    @property
    def skipped(self) -> tuple[str, ...]:
        """The servers that `MCPLOCK_SKIP` leaves out."""
        names = (name.strip() for name in self.environ.get("MCPLOCK_SKIP", "").split(","))
        return tuple(name for name in names if name)


def variables(pairs: Iterable[str], env_files: Iterable[Path], environ: Mapping[str, str]) -> dict[str, str]:
    """The values of `--env-file FILE` and `--env NAME[=VALUE]`; a later one wins, and `--env` wins over files.

    Raises `UsageError` for a name without a value that the environment does not have either.
    """
    values: dict[str, str] = {}
    for path in env_files:
        try:
            values |= env_file(files.content(path, str(path)), str(path))
        except ConfigError as error:
            raise UsageError(f"--env-file: {error}") from None
    for pair in pairs:
        name, given, value = pair.partition("=")
        if not name or (not given and name not in environ):
            raise UsageError(f"--env {one_line(name, 80)}: give NAME=VALUE, or the NAME of a variable that is set")
        values[name] = value if given else environ[name]
    return values


def headers(pairs: Iterable[str]) -> dict[str, str]:
    """The values of `--header NAME=VALUE`. Raises `UsageError`, which never quotes a value."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, given, value = pair.partition("=")
        if not given or not is_header_name(name) or not is_header_value(value):
            raise UsageError("--header: give NAME=VALUE, a header name and a value on one line")
        values[name] = value
    return values


def is_header_name(name: str) -> bool:
    """Whether `name` is a token (RFC 9110, section 5.6.2)."""
    return re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) is not None


def is_header_value(value: str) -> bool:
    """Whether `value` can stand in a header: no control character but tab (RFC 9110, section 5.5)."""
    return not any((char < " " and char != "\t") or char == "\x7f" for char in value)


_LINE = re.compile(
    r"""\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(.*?))\s*(?:\s\#.*)?"""
)


def env_file(data: bytes, shown: str) -> dict[str, str]:
    """The variables of a `.env` file: `NAME=VALUE` a line, quotes, `export`, comments; nothing is expanded.

    Raises `ConfigError` naming file and line, never what stands there.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if not found:
            raise ConfigError(f"{shown}:{number}: not of the form NAME=VALUE")
        name, double, single, bare = found.groups()
        escaped = re.sub(r"\\(.)", lambda hit: {"n": "\n", "t": "\t"}.get(hit[1], hit[1]), double or "")
        values[name] = escaped if double is not None else single if single is not None else bare
    return values
