"""What is configured, for people and for programs: `servers`. Starts nothing, compares nothing.

In JSON every text is as the config has it, in ASCII, so that no terminal obeys it; `schema` describes the object.
Within one `format` members are only ever added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_lock import launch, lockfile
from mcp_lock.report.json_ import listed, spelt, text
from mcp_lock.report.json_ import object_ as described
from mcp_lock.report.screen import Row, Span, draw
from mcp_lock.report.told import named
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_lock.launch import LaunchSpec
    from mcp_lock.report import Options

FORMAT = 1

STATES = ("ready", "skipped", "unreadable", "invalid")


@dataclass(frozen=True, slots=True)
class Configured:
    """One configured server."""

    name: str
    state: str
    """One of `STATES`."""
    reason: str
    """Why it cannot be contacted: one line, visible; empty when it can."""
    sources: tuple[tuple[str, str, int], ...]
    """Client, file and line."""
    launch: LaunchSpec | None
    """Redacted; None if nobody can tell."""
    notes: tuple[str, ...] = ()
    unpinned: str = ""
    """Why another program may start tomorrow under the same spec; empty when it is pinned."""
    approved: tuple[str, ...] = ()
    """The tools that a client calls without asking; `*` for all."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything that is configured."""

    servers: tuple[Configured, ...]
    files: tuple[str, ...]
    looked: tuple[str, ...]
    notes: tuple[str, ...] = ()


def as_text(inventory: Inventory, options: Options) -> str:
    """For people."""
    rows = [row for server in inventory.servers for row in _configured(server)]
    rows += [Row((Span(f"note: {note}", "dim"),)) for note in inventory.notes]
    return draw(rows, options.width, options.colour, options.unicode)


def _configured(server: Configured) -> Iterator[Row]:
    state = Span(server.reason or server.state, "good" if server.state == "ready" else "error")
    yield Row((Span(named(server.name), "name", solid=True), Span("  "), state), hang=4)
    if server.launch:
        yield Row((Span(launch.shown(server.launch), "command"),), 2, 6)
    where = ", ".join(f"{visible(file)}:{line} ({client})" for client, file, line in server.sources)
    yield Row((Span(f"from {where}", "dim"),), 2, 6)
    for note in (*server.notes, *_remarks(server)):
        yield Row((Span(f"note: {note}", "dim"),), 2, 6)


def _remarks(server: Configured) -> Iterator[str]:
    if server.unpinned:
        yield launch.may_change(server.unpinned)
    if server.approved:
        names = "every tool" if "*" in server.approved else ", ".join(map(visible, server.approved))
        yield f"called without asking: {names}"


def as_json(inventory: Inventory) -> str:
    """For programs."""
    return spelt(
        {
            "format": FORMAT,
            "servers": [_server(server) for server in inventory.servers],
            "files": list(inventory.files),
            "looked": list(inventory.looked),
            "notes": list(inventory.notes),
        }
    )


def _server(server: Configured) -> dict[str, Any]:
    return {
        "name": server.name,
        "sources": [{"client": client, "file": file, "line": line} for client, file, line in server.sources],
        "transport": server.launch.transport if server.launch else None,
        "launch": lockfile.launch_table(server.launch) if server.launch else None,
        "state": server.state,
        "reason": server.reason,
        "notes": list(server.notes),
        "unpinned": server.unpinned,
        "approved": list(server.approved),
    }


_SOURCE = described(
    "Where it is configured.",
    client=text("The client's name, as --client takes it; `file` for a file that no client keeps."),
    file=text("Relative to the project root, or from ~."),
    line={"type": "integer", "description": "Of the server's key, from 1."},
)
_SERVER = described(
    "One configured server.",
    name=text("As it is configured."),
    sources=listed(_SOURCE, "One, or several files that say the same."),
    transport={"type": ["string", "null"], "description": "stdio, http, sse, remote or ws; null if nobody can tell."},
    launch={
        "type": ["object", "null"],
        "description": "How it is started or reached, under the keys of mcp.lock, secrets taken out.",
    },
    state=text("Whether it can be contacted.", *STATES),
    reason=text("Why it cannot; empty when it can."),
    notes=listed({"type": "string"}, "What was read with a grain of salt."),
    unpinned=text("Why another program may start tomorrow under the same launch spec; empty when it is pinned."),
    approved=listed({"type": "string"}, "The tools that a client calls without asking; * for all."),
)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `as_json` writes."""
    strings = {"type": "string"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcplock servers",
        **described(
            "What is configured.",
            format={"const": FORMAT},
            servers=listed(_SERVER),
            files=listed(strings, "The files that hold servers."),
            looked=listed(strings, "Every file that was looked for."),
            notes=listed(strings),
        ),
    }
