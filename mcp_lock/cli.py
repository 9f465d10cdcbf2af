"""The commands: each reads its options, makes one call below, prints, and exits.

Nothing slow is imported before a command runs. stdout is the result; progress, notes and errors go to stderr. What a
run decides, and in which words it is shown, is decided below.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcp_lock import __version__, completion, plumbing
from mcp_lock.errors import UsageError
from mcp_lock.options.command import HELP, command
from mcp_lock.options.common import Common, complain
from mcp_lock.options.configured import Configured, Connecting
from mcp_lock.options.reporting import Reporting, Summarised, View
from mcp_lock.options.table import Seconds
from mcp_lock.outcome import LEAST, Impact

if TYPE_CHECKING:
    from mcp_lock.outcome import Report


@completion.options
@click.group(
    context_settings=HELP,
    epilog="Exit codes: 0 nothing to report, 1 findings, 2 wrong usage, config or lock, 3 something could not be "
    "checked, 130 interrupted.",
)
@click.version_option(__version__, "-V", "--version", prog_name="mcplock", message="%(prog)s %(version)s")
def app() -> None:
    """The lockfile for MCP tool contracts: pin what servers list, and see what a change does."""


@command(app, Common, Reporting, Connecting)
@click.argument("names", metavar="[SERVER[/TOOL]]...", nargs=-1, shell_complete=completion.servers_and_tools)
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
@click.option("--check", is_flag=True, help="Compare the configs with the lock; start no server, write nothing.")
def lock(
    common: Common,
    reporting: Reporting,
    connecting: Connecting,
    names: tuple[str, ...],
    expect: tuple[str, ...],
    dry_run: bool,
    force: bool,
    allow_empty: bool,
    check: bool,
) -> int:
    """Connect to the configured servers and write mcp.lock; with names, refresh only those.

    Prints what changed against the old lock. With CI set, servers that are new or started otherwise than before are
    started only with --run-changed.
    """
    if check:
        if names or expect or dry_run or force or allow_empty:
            raise UsageError("--check looks at all of the configs and the lock, and takes none of the others")
        return _check(common, reporting, connecting)
    from mcp_lock.locking import Wish, lock_project

    reviewed_only = bool(os.environ.get("CI")) and not connecting.run_changed
    wish = Wish(names, expect, dry_run, force, allow_empty, start_unreviewed=not reviewed_only)
    with connecting.project(common) as project:
        done = lock_project(project, wish)
    name = connecting.lock_path(common).name
    reporting.show(common, done.report, View(closing=done.closing(name), accept=False, settled=not done.refused))
    return done.exit_code


def _check(common: Common, reporting: Reporting, connecting: Connecting) -> int:
    from mcp_lock.run import check_project

    report = check_project(connecting.found(common, connecting.settings(common)), connecting.lock_path(common))
    reporting.show(common, report, View(closing="Configs and lock alone; no server was asked.", accept=False))
    return report.exit_code()


@command(app, Common, Summarised, Connecting)
@click.argument("names", metavar="[SERVER]...", nargs=-1, shell_complete=completion.servers)
@click.option(
    "--fail-on",
    type=click.Choice(list(LEAST)),
    envvar="MCPLOCK_FAIL_ON",
    help="Least impact that fails; whatever is worse than silent always does. [default: cosmetic]",
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 in spite of findings.")
@click.option(
    "--trust-rev",
    metavar="REV",
    help="For pull requests: start only servers that are as in the lock of this git revision, by its settings.",
)
def verify(
    common: Common,
    reporting: Summarised,
    connecting: Connecting,
    names: tuple[str, ...],
    fail_on: str | None,
    exit_zero: bool,
    trust_rev: str | None,
) -> int:
    """The check for CI: read every list again and compare it with mcp.lock. Never writes.

    A server whose launch spec is not the locked one is reported and not started, unless --run-changed says so.
    """
    from mcp_lock.run import verify_project

    with connecting.project(common, trust_rev) as project:
        report = verify_project(project, names)
        least = LEAST[fail_on] if fail_on else project.settings.fail_on or Impact.COSMETIC
    reporting.show(common, report, View(fail_on=least, flags=connecting.flags(common)))
    return report.exit_code(least, forgives_findings=exit_zero)


@command(app, Common, Summarised, Connecting)
@click.argument("sides", metavar="[OLD [NEW]]", nargs=-1)
@click.option(
    "--live",
    metavar="SERVER",
    multiple=True,
    shell_complete=completion.servers,
    help="Compare the lock with this live server. Repeatable.",
)
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
    named = [Path(side) for side in sides[1:] if Path(side).is_file()]
    reporting.show(common, report, View(flags=connecting.flags(common), lock=named[0] if named else None))
    return report.exit_code(forgives_findings=not exit_code)


def _difference(common: Common, connecting: Connecting, sides: tuple[str, ...], live: tuple[str, ...]) -> Report:
    if len(sides) > 2 or (sides and live):
        raise UsageError("diff takes OLD and NEW, or --live SERVER, or nothing for all live servers")
    if sides:
        from mcp_lock.offline import diff_files

        return diff_files(sides[0], sides[1] if len(sides) > 1 else None, connecting.lock_path(common))
    from mcp_lock.run import diff_project

    with connecting.project(common) as project:
        return diff_project(project, live)


@command(app, Common, Configured)
@click.argument(
    "words",
    metavar="[SERVER | -- COMMAND [ARG]...]",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=completion.servers,
)
@click.option(
    "--server",
    metavar="NAME",
    shell_complete=completion.servers,
    help="The name in the lock, when a command or a URL is given.",
)
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
        configured.lock_path(common),
        settings,
        configured.run_changed,
        common.directory / log if log else None,
        log_calls,
        words if server else (),
        url or "",
        configured.headers(),
        lambda: configured.found(common, configured.settings(common)),
        lambda: configured.settings(common).policy,
        configured.root(common) if configured.scope == "user" else None,
    )
    return start.guard(wish)


@command(app, Common, Configured)
@click.argument("server", metavar="SERVER|URL")
@click.option(
    "--client-credentials", is_flag=True, help="Without a person: by MCPLOCK_CLIENT_ID and MCPLOCK_CLIENT_SECRET."
)
@click.option("--no-browser", is_flag=True, help="Print the page to log in at; open no browser.")
@click.option("--oauth-scope", metavar="SCOPE", default="", help="Ask for this, and not for what the server names.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=0,
    help="Of 127.0.0.1, for the browser to come back to; 0 is any.",
)
@click.option("--issuer", metavar="URL", default="", help="The authorization server that may see the client's secret.")
@click.option(
    "--timeout",
    metavar="SEC",
    type=Seconds(min=0, min_open=True),
    default=300,
    show_default=True,
    help="For the person at the browser.",
)
def login(
    common: Common,
    configured: Configured,
    server: str,
    client_credentials: bool,
    no_browser: bool,
    oauth_scope: str,
    port: int,
    issuer: str,
    timeout: float,
) -> int:
    """Log in to a remote server that asks for OAuth. Needs the extra: pip install 'mcp-lock[login]'.

    The token goes into the system's keyring if there is one, else into a file of mode 0600, and is renewed without
    asking. Only this command fetches what a server names as the place to log in.
    """
    from mcp_lock.login import log_in

    said, code = log_in(
        server,
        lambda: configured.found(common, configured.settings(common)),
        complain,
        browser=not no_browser,
        machine=client_credentials,
        scope=oauth_scope,
        port=port,
        issuer=issuer,
        timeout=timeout,
    )
    common.print(f"{said}\n")
    return code


@command(app, Common, Configured)
@click.argument("server", metavar="SERVER|URL")
def logout(common: Common, configured: Configured, server: str) -> int:
    """Forget the login at a remote server, and have its token revoked where that can be."""
    from mcp_lock.login import log_out

    common.print(f"{log_out(server, lambda: configured.found(common, configured.settings(common)), complain)}\n")
    return 0


@command(app, Common, Configured)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="For people, or for programs.",
)
def servers(common: Common, configured: Configured, form: str) -> int:
    """List the configured servers: where each is written, how it is started, and whether it can be. Starts none.

    Exits 2 if an entry is wrong; a variable that is not set here is told, and is no error.
    """
    from mcp_lock import run
    from mcp_lock.report import inventory

    found = configured.found(common, configured.settings(common))
    run.require_servers({*found.entries}, found)
    if form == "json":
        common.print(inventory.as_json(run.inventory(found)))
    else:
        common.print(inventory.as_text(run.inventory(found), common.screen()))
    return 2 if found.is_wrong else 0


@command(app, Common)
@click.argument("name", metavar="[SERVER[/TOOL]]", required=False, shell_complete=completion.servers_and_tools)
@click.option("--plain", is_flag=True, help="Every contract exactly, a value a line: for git's textconv.")
def show(common: Common, name: str | None, plain: bool) -> int:
    """Show what mcp.lock pins, readably."""
    from mcp_lock import lockfile
    from mcp_lock.report.listing import lock_text

    common.print(lock_text(lockfile.read(common.lock_path), name, common.screen(), plain=plain))
    return 0


@command(app, Common)
@click.argument("which", type=click.Choice(["lock", "report", "servers"]), default="lock")
def schema(common: Common, which: str) -> int:
    """Print the JSON Schema of a file that mcplock writes."""
    import json

    from mcp_lock import lockfile
    from mcp_lock.report import inventory, json_

    described = {"lock": lockfile.schema, "report": json_.schema, "servers": inventory.schema}[which]()
    common.print(json.dumps(described, indent=2) + "\n")
    return 0


app.commands.update(plumbing.COMMANDS.commands)
