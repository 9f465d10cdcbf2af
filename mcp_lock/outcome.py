"""What every command ends in: changes, notices, the status of each server, and the report over all of them.

Plain values that know no server, no file and no format.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcp_lock.contract import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet


class Impact(IntEnum):
    """What a change does to whoever relies on the contract, least first, so that `max` is the worst."""

    IMMATERIAL = 0
    """Nothing a model reads and nothing a call depends on; the only impact that is not drift."""
    COSMETIC = 1
    """The same meaning in other words."""
    COMPATIBLE = 2
    """Nothing that worked is refused or read otherwise."""
    SILENT = 3
    """Every call still works, but may mean something else."""
    UNPROVEN = 4
    """Nobody has shown that it is harmless."""
    BREAKING = 5
    """A call that the old contract takes is refused by the new one."""
    SECURITY = 6
    """It changes what somebody is led to allow."""

    @property
    def word(self) -> str:
        """The impact as it is written in reports and settings."""
        return self.name.lower()


LEAST = {impact.word: impact for impact in (Impact.COSMETIC, Impact.COMPATIBLE, Impact.SILENT)}
"""The least impacts that a check can be asked to fail on, by their words; whatever is worse always fails."""


class Confidence(Enum):
    """How an impact is known."""

    PROVED = "proved"
    WITNESSED = "witnessed"
    HEURISTIC = "heuristic"
    UNPROVEN = "unproven"


class Absent(Enum):
    """A type with one member, since None is JSON's null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of change: one row of the catalogue."""

    id: str
    input: Impact
    """What it does where the schema is a tool's input, or where there is no direction."""
    output: Impact
    """What it does where the schema is a tool's output."""
    summary: str
    """What changed, in a few words; `{name}` stands for the parameter, field or member, `{to}` for its new name."""
    why: str
    """What it does to whom, one plain sentence."""
    hits: str = ""
    """Who is hit where the schema is an input, or where there is no direction: letters of C (cached callers), R (agents
    that read), O (consumers of results), H (host or human)."""
    because: Mapping[Impact, str] = field(default_factory=dict)
    """In place of `why` where the change turned out to have this impact."""
    provable: bool = False
    """Whether it is about which values a schema takes, so that a proof or a witness can decide."""


@dataclass(frozen=True)
class Item:
    """What a change is about: one named thing of a server, or the server itself when `kind` is None."""

    kind: Kind | None
    name: str = ""


def item_key(item: Item) -> str:
    """How an item is named among the digests of its server: `tools/NAME`; `instructions` for the server's own text."""
    return f"{item.kind.value}/{item.name}" if item.kind else "instructions"


GONE = "absent"
"""What stands for a digest where an item is expected to be gone."""


@dataclass(frozen=True)
class Change:
    """One difference, under one rule."""

    rule: Rule
    item: Item
    pointer: str
    """Where inside the definition (RFC 6901); empty for the whole item."""
    old: Any
    """A JSON value, or ABSENT."""
    new: Any
    impact: Impact
    server: str = ""
    confidence: Confidence = Confidence.HEURISTIC
    hits: str = ""
    """Who is hit, in the letters of `Rule.hits`, and A where a client calls the tool without asking anybody."""
    witness: Any = ABSENT
    """A call, as an object of arguments, that proves the impact."""
    name: str = ""
    """The parameter, field or member that the change is about, for the rule's words."""
    part: str = ""
    """Pointer below `pointer`, where one raw difference is several changes: the names in a map that is gone whole."""
    to: str = ""
    """What `name` is called now, where it was renamed."""
    also: tuple[str, ...] = ()
    """Pointers of further raw differences that this change is: where the new name of something renamed stands."""
    ignored: str = ""
    """Why the project's settings ignore it, so that it is immaterial; or that they no longer do. Visible."""

    @property
    def place(self) -> str:
        """The very place of the change."""
        return self.pointer + self.part

    @property
    def summary(self) -> str:
        """The rule's words for this change. `name` is as the server wrote it: not yet made visible."""
        return self.rule.summary.replace("{to}", self.to).replace("{name}", self.name)

    @property
    def why(self) -> str:
        """What the change does to whom; empty where the rule speaks of a worse impact than it turned out to have."""
        said = self.rule.why if self.impact is max(self.rule.input, self.rule.output) else ""
        return self.rule.because.get(self.impact, said)

    @property
    def pointers(self) -> frozenset[str]:
        """Every raw difference that this change accounts for."""
        return frozenset((self.pointer, *self.also))

    @cached_property
    def fingerprint(self) -> str:
        """Names this change across runs: a SHA-256 over server, item, rule and place, not over the texts."""
        kind = self.item.kind.value if self.item.kind else ""
        said = f"{self.server}\0{kind}\0{self.item.name}\0{self.rule.id}\0{self.place}"
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Notice:
    """A fact about one side alone: shown, never drift."""

    text: str
    """One line, made visible."""
    item: Item | None = None
    pointer: str = ""


class Status(Enum):
    """What became of one server."""

    UNCHANGED = "unchanged"
    DRIFTED = "drifted"
    NOT_LOCKED = "not-locked"
    """Configured, but not in the lock."""
    GONE = "gone"
    """In the lock, but no longer configured."""
    LAUNCH_CHANGED = "launch-changed"
    """Configured otherwise than it was when it was locked; not started."""
    HELD = "held"
    """Read, but not to be written to the lock."""
    UNREADABLE = "unreadable"
    """Could not be checked."""
    SKIPPED = "skipped"
    """Left out on purpose: disabled, or excluded."""


def fails(impact: Impact, fail_on: Impact) -> bool:
    """Whether a change fails a check that forgives drift below `fail_on`; what is silent or worse always does."""
    return impact >= min(fail_on, Impact.SILENT)


FINDINGS = frozenset({Status.DRIFTED, Status.NOT_LOCKED, Status.GONE, Status.LAUNCH_CHANGED})
"""The statuses that fail a check."""


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What is to be told about one server."""

    name: str
    status: Status
    changes: tuple[Change, ...] = ()
    """Worst first; immaterial ones included."""
    notices: tuple[Notice, ...] = ()
    error: str = ""
    """Why it could not be checked, or how its launch spec differs: one line, made visible."""
    digests: Mapping[str, str] | None = None
    """The live digest of every changed item by its `KIND/NAME`, for the command that accepts it."""
    unchanged: int = 0
    """How many items are as pinned."""
    is_invalid: bool = False
    """Whether it was not checked because its config is wrong."""
    same: tuple[Item, ...] = ()
    """The items that were read and are as pinned."""
    source: tuple[str, int] | None = None
    """The file and line where it is configured, as `config.Source` has them."""
    flaws: str = ""
    """Why some of it could not be read, though it answered: one line, made visible."""

    def is_finding(self, fail_on: Impact) -> bool:
        """Whether it fails a check that forgives drift below `fail_on`."""
        if self.status is Status.DRIFTED:
            return fails(self.worst, fail_on)
        return self.status in FINDINGS

    @property
    def drift(self) -> tuple[Change, ...]:
        """The changes that are not immaterial."""
        return tuple(change for change in self.changes if change.impact > Impact.IMMATERIAL)

    @property
    def now(self) -> dict[str, str]:
        """The live digest of everything that drifted, by its key; `GONE` for what is not there any more.

        What has no digest, such as the name that a server gives itself, is not in it.
        """
        digests = self.digests or {}
        drifted = [c.item for c in self.drift if c.item.kind or c.pointer == "/instructions"]
        return {item_key(item): digests.get(item_key(item), GONE) for item in drifted}

    @property
    def worst(self) -> Impact:
        """The worst impact among the changes."""
        return max((change.impact for change in self.changes), default=Impact.IMMATERIAL)


def _approved(server: ServerReport, names: AbstractSet[str]) -> ServerReport:
    def marked(change: Change) -> Change:
        is_meant = change.item.kind is Kind.TOOL and bool({"*", change.item.name} & names)
        return replace(change, hits=f"{change.hits}A") if is_meant else change

    return replace(server, changes=tuple(map(marked, server.changes))) if names else server


@dataclass(frozen=True, slots=True)
class Report:
    """What a whole run found."""

    servers: tuple[ServerReport, ...]
    notes: tuple[str, ...] = ()
    """What belongs to no server: visible text, one line each."""

    @property
    def worst(self) -> Impact:
        """The worst impact among all servers."""
        return max((server.worst for server in self.servers), default=Impact.IMMATERIAL)

    @property
    def has_checked(self) -> bool:
        """Whether any server was to be checked: nothing was found where all were left out, and nothing is fine."""
        return any(server.status is not Status.SKIPPED for server in self.servers)

    def exit_code(self, fail_on: Impact = Impact.COSMETIC, *, forgives_findings: bool = False) -> int:
        """0 nothing to report, 1 findings, 2 a config is wrong, 3 something could not be checked; 2 beats 1 beats 3."""
        if any(server.is_invalid for server in self.servers):
            return 2
        if not forgives_findings and any(server.is_finding(fail_on) for server in self.servers):
            return 1
        unread = any(server.flaws or server.status is Status.UNREADABLE for server in self.servers)
        return 3 if unread or not self.has_checked else 0

    def with_sources(self, sources: Mapping[str, tuple[str, int]]) -> Report:
        """The same report, its servers with the place where each is configured."""
        return replace(self, servers=tuple(replace(one, source=sources.get(one.name)) for one in self.servers))

    def with_approved(self, approved: Mapping[str, AbstractSet[str]]) -> Report:
        """The same report, saying of changed tools that a client calls them without asking; `*` is every tool."""
        return replace(self, servers=tuple(_approved(one, approved.get(one.name, frozenset())) for one in self.servers))

    def with_notes(self, *notes: str) -> Report:
        """The same report with more notes."""
        return replace(self, notes=(*self.notes, *notes))
