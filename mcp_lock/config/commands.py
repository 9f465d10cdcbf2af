"""Commands as people write them in configs, and what is meant: a whole line in one string, `cmd /c`, a guard in front.

Plain functions over words; none of them starts anything.
"""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from mcp_lock.launch.pinned import image_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Guarded:
    """What stands behind `mcplock guard`."""

    server: str
    """As `--server` names it; empty when it does not."""
    words: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


_PACKAGE = r"mcp-lock(?:==[\w.]+|@[\w.]+)?"
_GUARDS = tuple(
    re.compile(rf"{pattern} guard")
    for pattern in (
        r"mcplock(?:\.exe)?",
        rf"(?:uvx|uv tool run|pipx run) (?:--from {_PACKAGE} mcplock|{_PACKAGE})",
        r"uv run (?:mcplock|(?:python[\d.]* )?-m mcp_lock)",
        r"(?:python[\d.]*|py)(?:\.exe)? -m mcp_lock",
    )
)
"""How the guard is started. Only by its bare name: what a config starts by a path could be another program, which must
not vanish from the launch spec behind the server that it claims to guard."""


def behind_guard(words: Sequence[str]) -> Guarded | None:
    """What `words` guard, or None when they do not start the guard."""
    upto = next((at for at in range(2, min(len(words), 6) + 1) if words[at - 1] == "guard"), 0)
    started = " ".join(words[:upto])
    if not any(pattern.fullmatch(started) for pattern in _GUARDS):
        return None
    rest = list(words[upto:])
    end = rest.index("--") if "--" in rest else len(rest)
    options = _options(rest[:end])
    single = {name: values[-1] for name, values in options.items()}
    return Guarded(
        single.get("--server", ""),
        tuple(rest[end + 1 :]),
        single.get("--url", ""),
        _assigned(options.get("--header", [])),
        _assigned(options.get("--env", [])),
    )


def looks_guarded(words: Sequence[str]) -> bool:
    """Whether `words` seem to start a guard in an unknown way: not to be believed, and not to be connected through."""
    names = [program(word) for word in words[: list(words).index("--") if "--" in words else None]]
    ours = {"mcplock", "mcp-lock", "mcp_lock"}
    return any(one in ours and other == "guard" for one, other in pairwise(names))


def _options(words: list[str]) -> dict[str, list[str]]:
    """The values of `--name value` and `--name=value`, by name."""
    found: dict[str, list[str]] = {}
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            name, joined_on, value = word.partition("=")
            found.setdefault(name, []).append(value if joined_on else after)
    return found


def _assigned(pairs: list[str]) -> dict[str, str]:
    return {name: value for name, given, value in (pair.partition("=") for pair in pairs) if given}


def is_whole_line(command: str, search: str, cwd: Path) -> bool:
    """Whether `command` is a program with its arguments rather than a path with blanks in it.

    A command that is an existing file never is; neither is one whose first word is a path that leads nowhere, which is
    a path with blanks that is missing here.
    """
    if not re.search(r"\s", command.strip()) or exists(command, search, cwd):
        return False
    first = command.split(maxsplit=1)[0]
    return not re.search(r"[/\\]", first) or exists(first, search, cwd)


def exists(command: str, search: str, cwd: Path) -> bool:
    """Whether `command` names a file, on the way `search` or from `cwd`."""
    if re.search(r"[/\\]", command):
        return (cwd / command).is_file()
    return shutil.which(command, path=search) is not None


def split(line: str) -> list[str] | None:
    """The words of a command line, quotes taken away; None when a quote is not closed."""
    try:
        return shlex.split(line)
    except ValueError:
        return None


def off_windows(argv: Sequence[str]) -> list[str]:
    """`argv` without a `cmd /c` in front, which only Windows has."""
    shell = len(argv) > 2 and program(argv[0]) == "cmd" and argv[1].lower() == "/c"
    return list(argv[2:] if shell else argv)


def program(command: str) -> str:
    """The name of a program: no directory, no `.exe` or `.cmd`, lower case."""
    return re.sub(r"\.(?:exe|cmd|bat)$", "", PureWindowsPath(command).name.lower())


def lacks_stdin(argv: Sequence[str]) -> bool:
    """Whether `docker run` is started without `-i`, so that the server reads nothing."""
    if len(argv) < 2 or program(argv[0]) not in {"docker", "podman", "nerdctl"} or argv[1] != "run":
        return False
    options = argv[2 : 2 + image_of(argv[2:])[0]]
    return not any(re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*|--interactive(?:=true)?", word) for word in options)


def joined(base: str, directory: str) -> str:
    """`directory`, written relative to `base`, seen from the project root: both with `/`, the root itself empty.

    `base` is absolute where it is no part of the project. An absolute directory, and one that begins with a variable,
    stays as it is.
    """
    if directory.startswith(("~", "${")) or PurePosixPath(directory).is_absolute() or PureWindowsPath(directory).drive:
        return directory
    parts = [part for part in f"{base}/{directory}".split("/") if part not in {"", "."}]
    return "/" * base.startswith("/") + "/".join(parts)
