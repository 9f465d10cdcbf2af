"""A function made a command: its groups of options filled, and its errors ended in one line and an exit code."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from mcp_lock import summary
from mcp_lock.errors import McpLockError
from mcp_lock.options.common import complain
from mcp_lock.options.table import OPTIONS
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def command(group: click.Group, *groups: type) -> Callable[[Callable[..., int]], click.Command]:
    """Make a function a command of `group`. It gets one filled instance of each of `groups` before its own options.

    The function returns the exit code.
    """

    def register(function: Callable[..., int]) -> click.Command:
        @wraps(function)
        def run(**given: Any) -> None:
            with _ended(is_debugged=given["debug"]):
                filled = [one(**{field.name: given.pop(field.name) for field in fields(one)}) for one in groups]
                raise click.exceptions.Exit(function(*filled, **given))

        for option in (option for one in reversed(groups) for option in reversed(OPTIONS[one])):
            run = option(run)
        name = function.__name__.replace("_", "-")
        return group.command(name=name, cls=summary.Command, context_settings=HELP)(run)

    return register


HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@contextmanager
def _ended(*, is_debugged: bool) -> Iterator[None]:
    """Turns what a run raises into one line on stderr and an exit code; a traceback only with --debug."""
    try:
        yield
    except McpLockError as error:
        if is_debugged:
            raise
        complain(str(error))
        raise click.exceptions.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        complain("interrupted")
        raise click.exceptions.Exit(130) from None
    except click.exceptions.Exit:
        raise
    except Exception as error:
        if is_debugged:
            raise
        complain(
            f"internal error: {type(error).__name__}: {one_line(str(error))}; --debug shows where. Please report it"
        )
        raise click.exceptions.Exit(2) from None
