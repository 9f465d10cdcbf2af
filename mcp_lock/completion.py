"""Shell completion: click's own, with the names of the lock, and where each shell finds it.

What is offered is read from the lock alone: nothing is started. A name that is no plain word is not offered, since the
scripts of some shells expand what they are given. Whatever goes wrong while completing, nothing is said.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcp_lock.errors import UsageError
from mcp_lock.options.common import Common

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_lock.lockfile import Lock

SHELLS = ("bash", "zsh", "fish")

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_LARGEST = 8 << 20
"""Bytes of a lock that is read while somebody waits for a word."""


def servers(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The servers in the lock that begin so."""
    return [name for name in _words(context, _server_names) if name.startswith(incomplete)]


def servers_and_tools(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """`SERVER` and `SERVER/ITEM`; items once it is plain which server is meant, so that there are not hundreds."""
    fitting = servers(context, _, incomplete)
    if len(fitting) > 1:
        return fitting
    return fitting + [name for name in _words(context, _item_names) if name.startswith(incomplete)]


def _server_names(lock: Lock) -> Iterator[str]:
    yield from lock.servers


def _item_names(lock: Lock) -> Iterator[str]:
    for name, pin in lock.servers.items():
        yield from (f"{name}/{item}" for contracts in pin.surface.items.values() for item in contracts)


def _words(context: click.Context, names: Callable[[Lock], Iterator[str]]) -> list[str]:
    # an error here would be printed into the line that somebody is typing
    with suppress(Exception):
        from mcp_lock import lockfile

        path = _lock_path(context.params)
        if path.stat().st_size <= _LARGEST:
            return sorted(filter(_PLAIN.fullmatch, set(names(lockfile.read(path)))))
    return []


def _lock_path(params: dict[str, Any]) -> Path:
    given = Path(params.get("directory") or "."), params.get("lockfile")
    return Common(*given, quiet=True, verbose=False, color="never", debug=False).lock_path


def options(group: click.Group) -> click.Group:
    """Give `group` the two options that hand out its completion."""
    for name, does, words in (
        ("--install-completion", _install, "Let a shell complete mcplock: the one in use, bash, zsh or fish."),
        ("--show-completion", _show, "Print the script that --install-completion installs."),
    ):
        click.option(
            name,
            metavar="[SHELL]",
            is_flag=False,
            flag_value="",
            expose_value=False,
            is_eager=True,
            callback=_asked(does),
            help=words,
        )(group)
    return group


def _asked(does: Callable[[str, str], str]) -> Callable[[click.Context, click.Parameter, str | None], None]:
    def callback(context: click.Context, parameter: click.Parameter, shell: str | None) -> None:
        if shell is None or context.resilient_parsing:
            return
        shell = shell or Path(os.environ.get("SHELL", "")).name
        if shell not in SHELLS:
            raise click.BadParameter(f"name a shell: {', '.join(SHELLS)}", context, parameter)
        try:
            click.echo(does(shell, _script(context, shell)), nl=False)
        except UsageError as error:
            raise click.BadParameter(str(error), context, parameter) from None
        context.exit()

    return callback


def _script(context: click.Context, shell: str) -> str:
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:  # not so for those in SHELLS
        raise UsageError(f"click completes nothing for {shell}")
    return f"{made(context.command, {}, 'mcplock', '_MCPLOCK_COMPLETE').source().strip()}\n"


def _show(_: str, script: str) -> str:
    return script


def _install(shell: str, script: str) -> str:
    """Write the script to where `shell` looks for those of its user, and say what is left to do."""
    path, rest = _PLACES[shell]()
    if path.is_file() and path.read_bytes() == script.encode():
        return f"{path} is up to date\n{rest}\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    return f"{path} written\n{rest}\n"


def _home(variable: str, below: str) -> Path:
    """A directory that the environment names, or the usual one."""
    given = Path(os.environ.get(variable) or "")
    return given if given.is_absolute() else Path.home() / below


def _bash() -> tuple[Path, str]:
    path = _home("XDG_DATA_HOME", ".local/share") / "bash-completion" / "completions" / "mcplock"
    return path, f"New shells complete mcplock if bash-completion is installed; else add to ~/.bashrc: . {path}"


def _zsh() -> tuple[Path, str]:
    path = _home("ZDOTDIR", "") / ".zfunc" / "_mcplock"
    return path, f"Add to .zshrc, unless it is there: fpath=({path.parent} $fpath); autoload -Uz compinit; compinit"


def _fish() -> tuple[Path, str]:
    path = _home("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "mcplock.fish"
    return path, "New shells complete mcplock."


_PLACES = {"bash": _bash, "zsh": _zsh, "fish": _fish}
