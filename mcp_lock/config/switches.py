"""What a user chose for a server in the client: whether it is on, and what may be called without asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_lock.config.client import ANY_KEY
from mcp_lock.config.spellings import APPROVALS, starts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_lock.config.client import Client
    from mcp_lock.config.expand import Keys
    from mcp_lock.config.reading import ConfigFile
    from mcp_lock.config.shapes import RawEntry

ALL = "*"
"""In place of the names of all tools."""


def off(raw: RawEntry, file: ConfigFile) -> str:
    """Why the client itself does not start this server; empty when it does."""
    place = f"{file.shown}:{raw.place}"
    client, value = file.client, raw.value
    for keys, inside in ((client.allowed, False), (client.excluded, True)):
        names = _listed(keys, raw, file)
        if isinstance(names, list) and (raw.key in names) is inside:
            where = keys[-1] if ANY_KEY in keys else ".".join(keys)
            return f"{place}: {'left out' if inside else 'not let in'} by {where}"
    if not isinstance(value, dict):
        return ""
    for member, state in client.switches.items():
        if value.get(member) is state:
            return f"{place}: disabled"
    if client.overrides and not value.keys() - {"enabled"}:
        return f"{place}: switches a server on that is configured elsewhere"
    is_elsewhere = client.elsewhere and not starts(value) and client.elsewhere_by in ("", *value)
    return f"{place}: {client.elsewhere}" if is_elsewhere else ""


def _listed(keys: Keys, raw: RawEntry, file: ConfigFile) -> Any:
    """What stands at `keys` in the document; `*` is the project that the entry is for."""
    found = file.document.value if keys else None
    for key in keys:
        found = found.get(raw.project if key == ANY_KEY else key) if isinstance(found, dict) else None
    return found


def distrusted(fields: Mapping[str, Any], client: Client) -> Iterator[str]:
    """A note on every switch that this client does not know and that would turn the entry off in another."""
    for member, state in (("disabled", True), ("enabled", False)):
        if fields.get(member) is state and member not in client.switches:
            yield f"{client.title} knows no {member}, so the server counts as enabled"


def approved(value: Any) -> frozenset[str]:
    """The tools that are called without asking, whoever's spelling it is: more attention does no harm.

    What is neither a list of names nor `true` is passed over, as clients do.
    """
    if not isinstance(value, dict):
        return frozenset()
    said = [value.get(member) for member in APPROVALS]
    named = {name for names in said if isinstance(names, list) for name in names if isinstance(name, str)}
    return frozenset(named | ({ALL} if any(names is True for names in said) else set()) | set(_codex(value)))


def _codex(value: dict[str, Any]) -> Iterator[str]:
    """Tools that Codex is told to approve, each in a table of its own."""
    tools = value.get("tools")
    for name, chosen in tools.items() if isinstance(tools, dict) else ():
        if isinstance(chosen, dict) and chosen.get("approval_mode") == "approve":
            yield name
