"""The commands that git runs, and the one that sets git up for them. People rarely type them."""

from __future__ import annotations

from pathlib import Path

import click

from mcp_lock.options.command import command
from mcp_lock.options.common import LOCK_NAME, Common, complain
from mcp_lock.text import visible

COMMANDS = click.Group()

_FILE = click.Path(path_type=Path)


@command(COMMANDS, Common)
@click.argument("base", metavar="O", type=_FILE)
@click.argument("ours", metavar="A", type=_FILE)
@click.argument("theirs", metavar="B", type=_FILE)
@click.option("--path", metavar="PATH", default=LOCK_NAME, help="What messages call the lock: git's %P.")
def merge_driver(common: Common, base: Path, ours: Path, theirs: Path, path: str) -> int:
    """Merge two locks pin by pin, for git: `%O %A %B --path %P`. The result is written to A.

    Exits 1 where both sides changed the same pin, each in its own way: A then holds both between conflict markers.
    Exits 2 where a side cannot be read, and leaves A alone.
    """
    from mcp_lock.merging import merge_files

    at, path = common.directory, visible(path)
    merged = merge_files(at / base, at / ours, at / theirs, path)
    for line in merged.conflict_lines():
        complain(f"{path}: {line}")
    for line in merged.notes():
        complain(f"note: {path}: {line}")
    return 1 if merged.conflicts else 0


@command(COMMANDS, Common)
def setup_git(common: Common) -> int:
    """Let git merge the lock pin by pin, and show its changes readably: .gitattributes and this clone's config.

    The line in .gitattributes is for everybody and to be committed; the config is of this clone alone. A clone without
    it merges the lock line by line.
    """
    from mcp_lock.git_setup import set_up

    common.print("".join(f"{line}\n" for line in set_up(common.lock_path)))
    return 0
