"""Bytes of a config file to a document.

The encoding is seen in the bytes; so is the format where the name of the file does not say it.
"""

from __future__ import annotations

import codecs
import re
import stat
from typing import TYPE_CHECKING

from mcp_lock.config import jsonc, toml
from mcp_lock.config.document import Document, MalformedError
from mcp_lock.errors import ConfigError
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_BYTES = 16 << 20
"""A config larger than this is none."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_YAML = re.compile(r"(?:(?:[ \t]*(?:#.*)?\r?\n)*)(?:---|-[ \t]|[\w.$\"'/-]+[ \t]*:(?:\s|$))")
"""How YAML begins, comments aside, and neither TOML nor an object in JSON can."""
_TOML = re.compile(r"\s*(?:#|\[|[A-Za-z0-9_.\"'-]+\s*=)")
"""How TOML begins and an object in JSON cannot."""


def _yaml(text: str) -> Document:
    from mcp_lock.config import yaml_  # loads PyYAML, which most projects do not need

    return yaml_.parse(text)


_SUFFIXES = {".toml": toml.parse, ".json": jsonc.parse, ".jsonc": jsonc.parse, ".yaml": _yaml, ".yml": _yaml}

SUFFIXES = tuple(_SUFFIXES)
"""The endings of the files that can be read by name."""


def content(path: Path, shown: str) -> bytes:
    """The bytes of a file. Raises `ConfigError` when there is none that can be read."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read: {error.strerror or 'no such file'}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{shown}: over {MAX_BYTES >> 20} MiB, which is no client config")
    return data


def regular_content(path: Path, shown: str) -> bytes:
    """As `content`, of a file that a config names: nothing that may never end is waited for."""
    try:
        is_regular = stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read: {error.strerror or 'no such file'}") from None
    if not is_regular:
        raise ConfigError(f"{shown}: not a regular file")
    return content(path, shown)


def load(data: bytes, shown: str) -> Document:
    """The document in `data`; an empty file is an empty one. Raises `ConfigError` naming file, line and column."""
    text = _decoded(data, shown)
    if not text.strip():
        return Document({}, {})
    try:
        return _parser(text, shown)(text)
    except MalformedError as error:
        raise ConfigError(f"{shown}:{error.place}: {visible(str(error))}") from None


def _parser(text: str, shown: str) -> Callable[[str], Document]:
    named = next((parse for suffix, parse in _SUFFIXES.items() if shown.endswith(suffix)), None)
    seen = _yaml if _YAML.match(text) else toml.parse if _TOML.match(text) else jsonc.parse
    return named or seen


def _encoding(data: bytes) -> str:
    marked = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), "")
    # a config begins with an ASCII character, of which UTF-16 leaves one byte empty
    unmarked = {(False, True): "utf-16-le", (True, False): "utf-16-be"}.get((data[:1] == b"\0", data[1:2] == b"\0"))
    return marked or unmarked or "utf-8"


def _decoded(data: bytes, shown: str) -> str:
    encoding = _encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{shown}:{line}: not {encoding.upper().removesuffix('-SIG')} text; save it as UTF-8"
        ) from None
