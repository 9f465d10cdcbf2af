"""What a server offers: contracts, exactly as they were listed, and the surface they make together.

Nothing here judges a definition; what cannot be pinned is kept beside what can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(Enum):
    """The four kinds of thing that a server lists. The value is the name of the kind's table in `mcp.lock`."""

    TOOL = "tools"
    PROMPT = "prompts"
    RESOURCE = "resources"
    TEMPLATE = "resource-templates"

    @property
    def key(self) -> str:
        """The member of a definition that names it."""
        return _KEY[self]

    @property
    def noun(self) -> str:
        """The kind in words, singular."""
        return _NOUN[self]

    @property
    def method(self) -> str:
        """The MCP method that lists this kind."""
        return _METHOD[self]

    @property
    def member(self) -> str:
        """The member of that method's result that holds the definitions."""
        return _MEMBER[self]


_KEY = {Kind.TOOL: "name", Kind.PROMPT: "name", Kind.RESOURCE: "uri", Kind.TEMPLATE: "uriTemplate"}
_NOUN = {
    Kind.TOOL: "tool",
    Kind.PROMPT: "prompt",
    Kind.RESOURCE: "resource",
    Kind.TEMPLATE: "resource template",
}
_METHOD = {
    Kind.TOOL: "tools/list",
    Kind.PROMPT: "prompts/list",
    Kind.RESOURCE: "resources/list",
    Kind.TEMPLATE: "resources/templates/list",
}
_MEMBER = {
    Kind.TOOL: "tools",
    Kind.PROMPT: "prompts",
    Kind.RESOURCE: "resources",
    Kind.TEMPLATE: "resourceTemplates",
}


@dataclass(frozen=True)
class Contract:
    """One definition as listed, every field included. Not slotted: the digest is computed once, when asked for."""

    kind: Kind
    definition: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the contract is called: the tool's or prompt's name, the resource's URI."""
        return str(self.definition[self.kind.key])

    @cached_property
    def digest(self) -> str:
        """The digest over the canonical form of the whole definition. Raises `Unpinnable`."""
        return digest(self.definition)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A listed item that cannot be pinned, so that its server cannot be called whole."""

    kind: Kind
    name: str
    """The item's name, or `#3` for the third of a list that has none."""
    pointer: str
    why: str


@dataclass(frozen=True, slots=True)
class Surface:
    """All that one server offers at one moment."""

    items: Mapping[Kind, Mapping[str, Contract]]
    """By kind and name; a kind that the server does not list has no entry."""
    instructions: str | None = None
    server: str = ""
    """What the server calls itself. Only told, never trusted."""
    server_version: str = ""
    protocol: str = ""
    """The negotiated protocol version: servers list different fields to different ones."""
    flaws: tuple[Flaw, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """What happened on the way that a person should know (junk on stdout, a repeated cursor): visible text."""
    second: Mapping[Kind, Mapping[str, Contract]] | None = None
    """The contracts of a second list on the same connection, where it differs: whether by more than is immaterial, the
    diff can say."""

    def contracts(self, kind: Kind) -> Mapping[str, Contract]:
        """The contracts of one kind by name; empty where the server lists none."""
        return self.items.get(kind, {})
