"""What a project makes of changes: another impact for a rule, and known differences with a reason and an end.

A change that is ignored becomes immaterial: it is still reported where everything is, and says why. Changes of impact
security stay what they are. How a project says all this in a file is the business of `settings`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mcp_lock.outcome import Change, Impact
from mcp_lock.text import visible

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Ignore:
    """A known difference. What is empty fits everything."""

    place: str
    """Where it is written: `mcplock.toml:12`, visible."""
    reason: str
    server: str = ""
    item: str = ""
    """The name of a tool, prompt, resource or template."""
    rule: str = ""
    pointer: str = ""
    """A JSON Pointer in which a segment `*` stands for any one."""
    pattern: re.Pattern[str] | None = None
    """What both texts may differ in: they must be equal once whatever matches is taken out."""
    until: dt.date | None = None
    """The last day it counts."""

    def fits(self, change: Change) -> bool:
        """Whether `change` is the known difference, whatever the day."""
        wanted = ((self.server, change.server), (self.item, change.item.name), (self.rule, change.rule.id))
        return (
            all(want in ("", there) for want, there in wanted)
            and (not self.pointer or bool(_glob(self.pointer).fullmatch(change.place)))
            and (self.pattern is None or self._differs_inside(change))
        )

    def _differs_inside(self, change: Change) -> bool:
        assert self.pattern  # the caller has looked
        if not isinstance(change.old, str) or not isinstance(change.new, str):
            return False
        return self.pattern.sub("", change.old) == self.pattern.sub("", change.new)

    def counts(self, day: dt.date | None) -> bool:
        """Whether it has not ended by `day`."""
        return self.until is None or (day is not None and day <= self.until)

    def __str__(self) -> str:
        until = f", until {self.until}" if self.until else ""
        return f"{visible(self.reason)} ({self.place}{until})"


def _glob(pointer: str) -> re.Pattern[str]:
    return re.compile("/".join("[^/]*" if part == "*" else re.escape(part) for part in pointer.split("/")))


@dataclass(frozen=True, slots=True)
class Policy:
    """All that a project says of changes; by default nothing."""

    impacts: Mapping[str, Impact] = field(default_factory=dict)
    """Ids of rules to the impact that their changes have here."""
    ignores: tuple[Ignore, ...] = ()
    day: dt.date | None = None
    """The day it is; where nobody says, every end has passed."""

    def applied(self, change: Change) -> Change:
        """`change` as this project sees it."""
        if change.impact is Impact.SECURITY:
            return change
        change = replace(change, impact=self.impacts.get(change.rule.id, change.impact))
        fitting = [known for known in self.ignores if change.impact > Impact.IMMATERIAL and known.fits(change)]
        counting = next((known for known in fitting if known.counts(self.day)), None)
        if counting:
            return replace(change, impact=Impact.IMMATERIAL, ignored=f"ignored: {counting}")
        return replace(change, ignored=f"no longer ignored: {fitting[0]}") if fitting else change


EVERYTHING_COUNTS = Policy()
"""The policy of a project without settings."""
