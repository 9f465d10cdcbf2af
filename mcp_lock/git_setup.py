"""git's side of the lock: an attribute line that everybody gets, and the commands behind it in this clone's config.

Asks git what holds already, and adds what is missing; takes nothing away. How locks are merged and shown is the
business of `merging` and `report`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_lock.errors import UsageError
from mcp_lock.revision import git, tree
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTES = {"text": "set", "eol": "lf", "merge": "mcplock", "diff": "mcplock"}
"""As `git check-attr` tells them."""

_LINE = "text eol=lf merge=mcplock diff=mcplock"


def set_up(lock: Path) -> list[str]:
    """Set up the git tree that `lock` lies in, and tell what was done. Raises `UsageError`."""
    top = tree(lock.parent)
    path = Path(os.path.relpath(lock, top)).as_posix()
    done = [*_attributes(top, path), *_config(top)]
    return done or [f"already set up: git merges and shows {visible(path)} by mcplock"]


def _attributes(top: Path, path: str) -> Iterator[str]:
    """Add the line for the lock unless what git reads has its effect already."""
    found = _in_effect(top, path)
    if found.get("linguist-generated") in ("set", "true"):
        yield f"note: {visible(path)} is linguist-generated, which hides from reviewers what they have to read"
    if _ATTRIBUTES.items() <= found.items():
        return
    file, line = top / ".gitattributes", f"{_pattern(path)} {_LINE}"
    _append(file, line)
    found = _in_effect(top, path)
    if wrong := [name for name, value in _ATTRIBUTES.items() if found.get(name) != value]:
        raise UsageError(
            f"{visible(str(file))}: added `{visible(line)}`, but another line that git reads later decides "
            f"{', '.join(wrong)}: look into .gitattributes beside the lock and .git/info/attributes"
        )
    yield f".gitattributes: added `{visible(line)}`; commit it"


def _in_effect(top: Path, path: str) -> dict[str, str]:
    """What git holds of the lock, attribute by attribute."""
    names = [*_ATTRIBUTES, "linguist-generated"]
    fields = os.fsdecode(git(top, "check-attr", "-z", *names, "--", path).stdout).split("\0")
    return dict(zip(fields[1::3], fields[2::3], strict=False))


def _pattern(path: str) -> str:
    """`path` as an attribute line spells it. A lock at the top stands for those of all directories."""
    escaped = "".join(f"\\{char}" if char in "*?[\\" else char for char in path)
    if escaped.startswith(("!", "#")):
        escaped = f"\\{escaped}"
    if any(char.isspace() or char in '"\x7f' or char < " " for char in escaped):
        return '"' + "".join(_quoted(char) for char in escaped) + '"'
    return escaped


def _quoted(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char >= " " and char != "\x7f" else f"\\{ord(char):03o}"


def _append(file: Path, line: str) -> None:
    """Put `line` at the end of `file`, with the line ends that it has."""
    try:
        if file.is_symlink():
            raise UsageError(f"{visible(str(file))}: a symbolic link, which git does not follow; make it a file")
        before = file.read_bytes() if file.exists() else b""
        end = "\r\n" if b"\r\n" in before else "\n"
        start = end if before and not before.endswith(b"\n") else ""
        with file.open("ab") as opened:
            opened.write(os.fsencode(f"{start}{line}{end}"))
    except OSError as error:
        raise UsageError(f"{visible(str(file))}: cannot be written: {error.strerror}") from None


def _config(top: Path) -> Iterator[str]:
    """Say in the clone's config which commands merge and show a lock. All its worktrees have them then."""
    mcplock = _command()
    wanted = {
        "merge.mcplock.name": "mcplock: merge MCP tool contracts pin by pin",
        # in git's own placeholders a percent sign is doubled
        "merge.mcplock.driver": f"{mcplock.replace('%', '%%')} merge-driver %O %A %B --path %P",
        # where ancestors have to be merged first, what conflicts there must not stand between markers in the ancestor
        "merge.mcplock.recursive": "binary",
        # a lock with conflict markers, or a clone that lost its mcplock, must not stop `git diff`
        "diff.mcplock.textconv": f'f() {{ {mcplock} show --plain -l "$1" 2>/dev/null || cat "$1"; }}; f',
    }
    for name, value in wanted.items():
        before = git(top, "config", "--local", "--get-all", name).stdout
        if os.fsdecode(before) == f"{value}\n":
            continue
        done = git(top, "config", "--local", "--replace-all", name, value)
        if done.returncode:
            raise UsageError(f"git config {name}: {one_line(os.fsdecode(done.stderr))}")
        yield f"git config: {name} {'changed' if before else 'set'} to `{visible(value)}`"


def _command() -> str:
    """How a shell starts this very mcplock: by name if the PATH has it for good, else by its interpreter.

    An activated environment is on the PATH today only. The interpreter is told to keep the directory it is started in
    out of its modules (`-P`): git starts it in the tree that is being merged.
    """
    script = Path(sys.executable).with_name("mcplock")
    active = os.environ.get("VIRTUAL_ENV")
    places = [
        place
        for place in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if Path(place).is_absolute() and not (active and Path(place).is_relative_to(active))
    ]
    found = shutil.which("mcplock", path=os.pathsep.join(places))
    if found and script.exists() and Path(found).samefile(script):
        return "mcplock"
    return f"{shlex.quote(Path(sys.executable).as_posix())} -P -m mcp_lock"
