"""A small server as its author would write it, with the decorators of whichever MCP SDK is installed, 1.12 or newer.

    python built.py [PORT]

Over stdio, or with a port over streamable HTTP at /mcp on loopback. What it lists is made by the SDK from signatures
and docstrings, so it is another contract with another SDK. `scripts/real_servers.py` runs it.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

from pydantic import BaseModel, Field

try:
    from mcp.server.mcpserver import MCPServer as Server
    from mcp_types import ToolAnnotations

    over_http: dict[str, Any] = {}
except ImportError:  # the same before SDK 2, which takes the address elsewhere
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.types import ToolAnnotations

    over_http = {"host": "127.0.0.1", "port": int(sys.argv[1])} if len(sys.argv) > 1 else {}

server = Server("built", instructions="Ask before you cancel a booking.", **over_http)


class Guest(BaseModel):
    """Whoever sleeps there."""

    name: str
    age: int | None = Field(default=None, ge=0, description="In years.")


class Booking(BaseModel):
    """A room that is taken."""

    number: int = Field(description="Identifies the booking.")
    guests: list[Guest]
    price: float = 1.0
    partner: Booking | None = None


@server.tool(title="Book a room", annotations=ToolAnnotations.model_validate({"destructiveHint": False}))
def book(guests: list[Guest], nights: int = 1, room: Literal["single", "double"] = "double") -> Booking:
    """Book a room.

    Args:
        guests: who sleeps there
        nights: how many
    """
    return Booking(number=nights + len(room), guests=guests)


@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True, "openWorldHint": False}))
def bookings(limit: int = 10, after: float | None = None) -> list[Booking]:
    """The latest bookings; ümlauts and “quotes” are kept."""
    return [Booking(number=int(after or 0), guests=[])][:limit]


@server.tool(annotations=ToolAnnotations.model_validate({"destructiveHint": True, "idempotentHint": True}))
def cancel(number: int) -> str:
    """Cancel a booking."""
    return f"cancelled {number}"


@server.prompt()
def apologise(guest: str, reason: str = "") -> str:
    """A letter to a guest."""
    return f"Tell {guest} that we are sorry: {reason}"


@server.resource("hotel://rules")
def rules() -> str:
    """The rules of the house."""
    return "No smoking."


@server.resource("hotel://rooms/{number}")
def room(number: str) -> str:
    """What a room is like."""
    return f"Room {number} is quiet."


if __name__ == "__main__":
    if len(sys.argv) == 1:
        server.run()
    elif over_http:
        server.run("streamable-http")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
