"""What is pinned, for people to read: `show`. No differences, no judgement."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_lock import launch, lockfile
from mcp_lock.contract import Contract, Kind
from mcp_lock.errors import UsageError
from mcp_lock.report.schema_words import member, signature, value
from mcp_lock.report.screen import Row, Span, draw, said
from mcp_lock.report.told import named
from mcp_lock.text import visible

if TYPE_CHECKING:
    from mcp_lock.lockfile import Lock, ServerPin
    from mcp_lock.report import Options


def lock_text(lock: Lock, name: str | None, options: Options, *, plain: bool) -> str:
    """What `mcplock show` prints: all servers in short, or one server or one item in full.

    Plain text says everything, one value a line and the same on every screen, so that two of them can be compared.
    Raises `UsageError` for a name that is not pinned.
    """
    if plain:
        options = replace(options, width=_UNBROKEN, colour=False)
    detail = "exact" if plain else "short" if name is None else "full"
    rows = _all(lock, detail) if name is None else _chosen(lock, name, detail)
    return draw(rows, options.width, options.colour, options.unicode)


_UNBROKEN = 1 << 30
"""Columns; no line is that long."""


def _all(lock: Lock, detail: str) -> Iterator[Row]:
    for server in sorted(lock.servers):
        yield from _server(server, lock.servers[server], detail)


def _chosen(lock: Lock, name: str, detail: str) -> Iterator[Row]:
    server = lockfile.owner(name, lock.servers)
    if server is None:
        there = ", ".join(map(visible, sorted(lock.servers))) or "none"
        raise UsageError(f"no server {visible(name)!r} in the lock; there are: {there}")
    if name == server:
        return _server(server, lock.servers[server], detail)
    return _items(lock.servers[server], name[len(server) + 1 :], detail)


def _items(pin: ServerPin, name: str, detail: str) -> Iterator[Row]:
    found = [pin.surface.contracts(kind)[name] for kind in Kind if name in pin.surface.contracts(kind)]
    if not found:
        raise UsageError(f"no tool, prompt or resource {visible(name)!r} in the lock")
    return (row for contract in found for row in _contract(contract, detail))


def _server(name: str, pin: ServerPin, detail: str) -> Iterator[Row]:
    surface = pin.surface
    says = f"{visible(surface.server)} {visible(surface.server_version)}".strip()
    about = ", ".join(
        filter(None, (f"says it is {says}" if says else "", f"MCP {surface.protocol}" if surface.protocol else ""))
    )
    yield Row((Span(named(name), "name", solid=True), Span(f"  {about}", "dim")), hang=4)
    if pin.launch:
        yield Row((Span(launch.shown(pin.launch), "command"),), 2, 6)
        if detail == "exact" and pin.launch.env_file_digest:
            yield Row((Span("env file's content: ", "dim"), Span(visible(pin.launch.env_file_digest))), 2, 6)
    if surface.instructions:
        text = value(surface.instructions, 200) if detail == "short" else surface.instructions
        yield Row((Span("instructions: ", "dim"), *said(text)), 2, 4)
    for kind in Kind:
        contracts = surface.contracts(kind)
        for item in sorted(contracts):
            yield from _contract(contracts[item], detail)


def _contract(contract: Contract, detail: str) -> Iterator[Row]:
    definition = contract.definition
    kind = "" if contract.kind is Kind.TOOL else f"{contract.kind.noun} "
    name = (Span(kind, "dim"), Span(named(contract.name), "name", solid=True))
    if detail == "short":
        described = value(definition["description"], 200) if definition.get("description") else ""
        inside = signature(definition) if contract.kind is Kind.TOOL else f"  {described}"
        yield Row((*name, *said(inside)), 2, 6)
        return
    yield Row((*name, Span(f"  {contract.digest}", "dim", solid=True)), 2, 6)
    for field, held in definition.items():
        if field != contract.kind.key:
            yield from _exact(field, held) if detail == "exact" else _field(field, held)


def _exact(field: str, held: Any) -> Iterator[Row]:
    spelt = held if isinstance(held, str) else json.dumps(held, ensure_ascii=False, indent=2, sort_keys=True)
    yield Row((Span(f"{visible(field)}: ", "dim"), *said(spelt)), 4, 6)


def _field(field: str, held: Any) -> Iterator[Row]:
    properties = held.get("properties") if isinstance(held, Mapping) else None
    if not isinstance(properties, Mapping):
        yield Row(
            (Span(f"{visible(field)}: ", "dim"), *said(held if isinstance(held, str) else value(held, 2000))), 4, 6
        )
        return
    rest = {key: kept for key, kept in held.items() if key not in ("properties", "required")}
    yield Row((Span(f"{visible(field)}: ", "dim"), *said(value(rest, 1000))), 4, 6)
    needed = held.get("required") if isinstance(held.get("required"), Sequence) else ()
    for name, schema in properties.items():
        yield Row(said(member(name, schema, optional=name not in needed)), 6, 8)
