"""Files as they were in a revision of the git repository around them. Reads only, and knows no format."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_lock.errors import UsageError
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, seen from a directory of its tree."""

    name: str
    """As the user spelt it."""
    commit: str
    """Its hash in hex."""
    directory: Path
    """Paths that begin with a dot are relative to this."""

    def content(self, path: str) -> bytes | None:
        """The bytes of a file; None where that commit has none at `path`.

        The path is seen from `directory` if it begins with a dot, else from the top of the tree.
        """
        if path.startswith("."):
            here = self.directory.resolve().relative_to(tree(self.directory)).as_posix()
            path = posixpath.normpath(f"{here}/{path}")
        done = git(self.directory, "cat-file", "blob", f"{self.commit}:{path}")
        return done.stdout if done.returncode == 0 else None


def resolve(name: str, directory: Path) -> Revision:
    """The commit that `name` names in the repository around `directory`. Raises `UsageError`.

    It is given back to git as a plain hash alone, so that no spelling of it is an option.
    """
    done = git(directory, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if done.returncode == 0:
        return Revision(name, done.stdout.decode().strip(), directory)
    why = one_line(done.stderr.decode("utf-8", "replace"))
    raise UsageError(
        f"{visible(name)}: no revision of the git repository at {visible(str(directory))}"
        + (f" ({why})" if why else "")
        + (", a shallow clone: `git fetch --unshallow` gets the rest" if _is_shallow(directory) else "")
    )


def _is_shallow(directory: Path) -> bool:
    return git(directory, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def top(directory: Path) -> Path | None:
    """The top of the git tree that `directory` lies in; None outside of one."""
    return next((at for at in (directory, *directory.parents) if (at / ".git").exists()), None)


def is_submodule(directory: Path) -> bool:
    """Whether the tree around `directory` is a part of another one, which decides what is in it."""
    above = top(directory.resolve())
    try:
        pointer = (above / ".git").read_text("utf-8") if above and (above / ".git").is_file() else ""
    except (OSError, ValueError):
        return True
    return "/modules/" in pointer.replace("\\", "/")


def tree(directory: Path) -> Path:
    """The top of the git tree that `directory` lies in. Raises `UsageError` outside of one."""
    above = top(directory.resolve())
    if above is None:
        raise UsageError(f"{visible(str(directory))} is not in a git working tree")
    return above


def git(directory: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in `directory`, whatever comes of it. Raises `UsageError` where there is no git or no repository.

    git is told which repository: of its own accord it takes any directory for one that looks so, and obeys the config
    in it, and files of that look can come with a pull request. Nobody can commit a `.git`.
    """
    import subprocess  # for `top` alone nobody needs it, and every command asks for that

    above = tree(directory)
    where = ("-C", str(directory), f"--git-dir={above / '.git'}", f"--work-tree={above}")
    try:
        return subprocess.run(["git", *where, *args], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("git is not installed, and this cannot be done without it") from None
    except OSError as error:
        raise UsageError(f"git could not be started: {one_line(str(error))}") from None
