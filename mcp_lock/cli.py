"""The commands: each reads its options, makes one call below, prints, and exits.

Nothing slow is imported before a command runs. stdout is the result; progress, notes and errors go to stderr. What a
run decides, and in which words it is shown, is decided below.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcp_lock import __version__
from mcp_lock.errors import UsageError
from mcp_lock.options import HELP, Common, Configured, Connecting, Reporting, Seconds, Summarised, command
from mcp_lock.outcome import Impact

if TYPE_CHECKING:
    from mcp_lock.outcome import Report


@click.group(
    context_settings=HELP,
    epilog="Exit codes: 0 nothing to report, 1 findings, 2 wrong usage, config or lock, 3 something could not be "
    "checked, 130 interrupted.",
)
@click.version_option(__version__, "-V", "--version", prog_name="mcplock", message="%(prog)s %(version)s")
def app() -> None:
    """The lockfile for MCP tool contracts: pin what servers list, and see what a change does."""


@command(app, Common, Reporting, Connecting)
@click.argument("names", metavar="[SERVER[/TOOL]]...", nargs=-1)
@click.option(
    "--expect",
    metavar="DIGEST",
    multiple=True,
    help="Write only if what changed has this digest, or one that begins so (12 digits or more); `absent` for what is "
    "gone. Repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option("--force", is_flag=True, help="Replace a lock that cannot be read.")
@click.option("--allow-empty", is_flag=True, help="Let an empty list replace what is pinned.")
def lock(
    common: Common,
    reporting: Reporting,
    connecting: Connecting,
    names: tuple[str, ...],
    expect: tuple[str, ...],
    dry_run: bool,
    force: bool,
    allow_empty: bool,
) -> int:
    """Connect to the configured servers and write mcp.lock; with names, refresh only those.

    Prints what changed against the old lock. With CI set, servers that are new or started otherwise than before are
    started only with --run-changed.
    """
    from mcp_lock.locking import Wish, lock_project

    reviewed_only = bool(os.environ.get("CI")) and not connecting.run_changed
    wish = Wish(names, expect, dry_run, force, allow_empty, start_unreviewed=not reviewed_only)
    with connecting.project(common) as project:
        done = lock_project(project, wish)
    reporting.show(common, done.report, closing=done.closing(common.lock_path.name), accept=False)
    return done.exit_code


_LEAST = {impact.word: impact for impact in (Impact.COSMETIC, Impact.COMPATIBLE, Impact.SILENT)}
"""What `--fail-on` takes; whatever is worse always fails."""


@command(app, Common, Summarised, Connecting)
@click.argument("names", metavar="[SERVER]...", nargs=-1)
@click.option(
    "--fail-on",
    type=click.Choice(list(_LEAST)),
    default="cosmetic",
    show_default=True,
    envvar="MCPLOCK_FAIL_ON",
    help="Least impact that fails; whatever is worse than silent always does.",
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 in spite of findings.")
def verify(
    common: Common,
    reporting: Summarised,
    connecting: Connecting,
    names: tuple[str, ...],
    fail_on: str,
    exit_zero: bool,
) -> int:
    """The check for CI: read every list again and compare it with mcp.lock. Never writes.

    A server whose launch spec is not the locked one is reported and not started, unless --run-changed says so.
    """
    from mcp_lock.run import verify_project

    with connecting.project(common) as project:
        report = verify_project(project, names)
    reporting.show(common, report)
    code = report.exit_code(_LEAST[fail_on])
    return 0 if exit_zero and code == 1 else code


@command(app, Common, Summarised, Connecting)
@click.argument("sides", metavar="[OLD [NEW]]", nargs=-1)
@click.option("--live", metavar="SERVER", multiple=True, help="Compare the lock with this live server. Repeatable.")
@click.option("--exit-code", is_flag=True, help="Exit 1 if there is a difference.")
def diff(
    common: Common,
    reporting: Summarised,
    connecting: Connecting,
    sides: tuple[str, ...],
    live: tuple[str, ...],
    exit_code: bool,
) -> int:
    """Show what differs: the lock and the live servers, or two sides without any server.

    OLD and NEW are locks, revisions of one in git (REV or REV:PATH), or tools/list results as JSON; NEW is the
    project's lock unless it is named.
    """
    report = _difference(common, connecting, sides, live)
    reporting.show(common, report)
    code = report.exit_code()
    return 0 if code == 1 and not exit_code else code


def _difference(common: Common, connecting: Connecting, sides: tuple[str, ...], live: tuple[str, ...]) -> Report:
    if len(sides) > 2 or (sides and live):
        raise UsageError("diff takes OLD and NEW, or --live SERVER, or nothing for all live servers")
    if sides:
        from mcp_lock.offline import diff_files

        return diff_files(sides[0], sides[1] if len(sides) > 1 else None, common.lock_path)
    from mcp_lock.run import verify_project

    with connecting.project(common) as project:
        return verify_project(project, live)


@command(app, Common, Configured)
@click.argument("words", metavar="[SERVER | -- COMMAND [ARG]...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--server", metavar="NAME", help="The name in the lock, when a command or a URL is given.")
@click.option("--url", metavar="URL", help="Guard this remote server; the guard is the bridge to it.")
@click.option(
    "--check",
    metavar="always|ttl=SECONDS",
    default="always",
    show_default=True,
    help="List before every call, or use a list for some seconds.",
)
@click.option("--recheck", is_flag=True, help="List again after a call; withhold a result that came across a change.")
@click.option(
    "--timeout", metavar="SEC", type=Seconds(min=0, min_open=True), default=30, show_default=True, help="For each list."
)
@click.option("--log", metavar="FILE", type=click.Path(path_type=Path), help="Instead of the XDG state directory.")
@click.option("--log-calls", is_flag=True, help="Log the calls that went on, too. Never arguments or results.")
def guard(
    common: Common,
    configured: Configured,
    words: tuple[str, ...],
    server: str | None,
    url: str | None,
    check: str,
    recheck: bool,
    timeout: float,
    log: Path | None,
    log_calls: bool,
) -> int:
    """Stand between an MCP client and a server, and let a call go on only while the tool is as pinned in mcp.lock.

    Put it in a client's config in front of the server's command: `mcplock guard --server NAME -- COMMAND ARG...`.
    """
    from mcp_lock.guard import start
    from mcp_lock.guard.passage import Settings

    if (server is None and (len(words) != 1 or url)) or (words and url):
        raise UsageError("guard takes SERVER, or --server NAME and a command after --, or --server NAME and --url URL")
    if "-" in configured.config:
        raise UsageError("guard cannot read --config from stdin, which is the client's")
    settings = Settings(server or words[0], start.ttl_of(check), recheck, timeout)
    wish = start.Wish(
        common.lock_path,
        settings,
        configured.run_changed,
        common.directory / log if log else None,
        log_calls,
        words if server else (),
        url or "",
        configured.headers(),
        lambda: configured.found(common),
    )
    return start.guard(wish)


@command(app, Common, Connecting)
def servers(common: Common, connecting: Connecting) -> int:
    """List the configured servers: where each is written, how it is started, and whether it can be. Starts none."""
    from mcp_lock.report.listing import servers_text
    from mcp_lock.run import configured, require_servers

    found = connecting.found(common)
    require_servers({*found.entries}, found)
    common.print(servers_text(configured(found), found.notes, common.screen()))
    return 0


@command(app, Common)
@click.argument("name", metavar="[SERVER[/TOOL]]", required=False)
@click.option("--plain", is_flag=True, help="Every contract in full: for git's textconv.")
def show(common: Common, name: str | None, plain: bool) -> int:
    """Show what mcp.lock pins, readably."""
    from mcp_lock import lockfile
    from mcp_lock.report.listing import lock_text

    common.print(lock_text(lockfile.read(common.lock_path), name, common.screen(), plain=plain))
    return 0


@command(app, Common)
@click.argument("which", type=click.Choice(["lock", "report"]), default="lock")
def schema(common: Common, which: str) -> int:
    """Print the JSON Schema of a file that mcplock writes."""
    import json

    from mcp_lock import lockfile
    from mcp_lock.report import json_

    described = {"lock": lockfile.schema, "report": json_.schema}[which]()
    common.print(json.dumps(described, indent=2) + "\n")
    return 0
