"""One settings table to `Settings`: every key and value checked, each error with its place and a hint."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp_lock.errors import ConfigError
from mcp_lock.outcome import LEAST, Impact
from mcp_lock.policy import Ignore, Policy
from mcp_lock.rules import RULES
from mcp_lock.settings import LAUNCH_UNPINNED, UNPINNED, Settings
from mcp_lock.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_lock.config.document import Document


class Reader:
    """One settings table while it is read; `path` is where in the document a value stands."""

    def __init__(self, document: Document, shown: str, keys: tuple[str, ...]) -> None:
        self.document, self.shown, self.keys = document, shown, keys

    def wrong(self, why: str, *path: str | int) -> ConfigError:
        """The error that the settings are wrong at `path` within them."""
        return ConfigError(f"{self.shown}:{self.document.place((*self.keys, *path))}: {why}")

    def line(self, *path: str | int) -> str:
        """Where `path` is written, as messages name it."""
        return f"{self.shown}:{self.document.place((*self.keys, *path)).line}"

    def known(self, name: str, names: Iterable[str], what: str, *path: str | int) -> None:
        """Raises `ConfigError` for a name that is none of `names`, with the one it may be meant to be."""
        names = sorted(names)
        if name in names:
            return
        from difflib import get_close_matches

        close = get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(names[:12])}"
        raise self.wrong(f"unknown {what} {one_line(name, 60)}: {hint}", *path)

    def settings(self, table: Any, above: int) -> Settings:
        """All of it."""
        if not isinstance(table, Mapping):
            raise self.wrong("settings are a table")
        for key in table:
            self.known(key, _KEYS, "key", key)
        read = {field_: reader(self, table[key], key) for key, (field_, reader) in _KEYS.items() if key in table}
        impacts = {rule: impact for rule, impact in read.pop("rules", {}).items() if isinstance(impact, Impact)}
        policy = Policy(impacts, read.pop("ignores", ()), dt.datetime.now(tz=dt.UTC).date())
        unpinned = table.get("rules", {}).get(LAUNCH_UNPINNED, "note")
        return Settings(self.shown, above, unpinned=unpinned, policy=policy, document=self.document, **read)

    def strings(self, value: Any, key: str) -> tuple[str, ...]:
        """A list of strings that are not empty."""
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.wrong(f'{key} must be a list of strings, ["first", "second"]', key)
        return tuple(value)

    def paths(self, value: Any, key: str) -> tuple[str, ...]:
        """Files; an empty list would mean that there are no servers."""
        paths = self.strings(value, key)
        if not paths:
            raise self.wrong(f"{key} names no file; leave it out to have the files looked for", key)
        return paths

    def excluded(self, value: Any, key: str) -> Mapping[str, str]:
        """Names of servers, each with the line that a report says of it."""
        return dict.fromkeys(self.strings(value, key), f"left out by {key} in {self.line(key)}")

    def least(self, value: Any, key: str) -> Impact:
        """What `--fail-on` takes."""
        if not isinstance(value, str) or value not in LEAST:
            raise self.wrong(f"{key} must be one of {', '.join(LEAST)}", key)
        return LEAST[value]

    def seconds(self, value: Any, key: str) -> float:
        """A time."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.wrong(f"{key} must be a number of seconds above 0", key)
        return float(value)

    def switch(self, value: Any, key: str) -> bool:
        """Yes or no."""
        if not isinstance(value, bool):
            raise self.wrong(f"{key} must be true or false", key)
        return value

    def table(self, value: Any, *path: str | int) -> Mapping[str, Any]:
        """A table."""
        if not isinstance(value, Mapping):
            raise self.wrong(f"{path[0]} must be a table, [{path[0]}]", *path)
        return value

    def rules(self, value: Any, key: str) -> Mapping[str, Impact | str]:
        """Another impact for some rules; `off` is immaterial."""
        return {rule: self._impact(rule, said, key) for rule, said in self.table(value, key).items()}

    def _impact(self, rule: str, said: Any, key: str) -> Impact | str:
        words = UNPINNED if rule == LAUNCH_UNPINNED else (*(impact.word for impact in Impact), "off")
        if rule != LAUNCH_UNPINNED:
            self._changeable(rule, key, rule)
        if not isinstance(said, str):
            raise self.wrong(f"the impact of {rule} must be one of {', '.join(words)}", key, rule)
        self.known(said, words, "impact", key, rule)
        if rule == LAUNCH_UNPINNED:
            return said
        return Impact.IMMATERIAL if said == "off" else Impact[said.upper()]

    def _changeable(self, rule: str, *path: str | int) -> None:
        self.known(rule, {*RULES, LAUNCH_UNPINNED}, "rule", *path)
        if rule in RULES and Impact.SECURITY in (RULES[rule].input, RULES[rule].output):
            raise self.wrong(f"{rule} has impact security, which settings cannot change", *path)

    def servers(self, value: Any, key: str) -> tuple[str, ...]:
        """Where the table of servers is."""
        for name, entry in self.table(value, key).items():
            if not isinstance(entry, Mapping):
                raise self.wrong(f"a server is a table, [{key}.{one_line(name, 60)}]", key, name)
        return (*self.keys, key)

    def ignores(self, value: Any, key: str) -> tuple[Ignore, ...]:
        """The known differences."""
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.wrong(f"{key} must be an array of tables, [[{key}]]", key)
        return tuple(self._ignore(item, key, at) for at, item in enumerate(value))

    def _ignore(self, item: Mapping[str, Any], key: str, at: int) -> Ignore:
        for name in item:
            self.known(name, (*_TEXTS, "pattern", "until"), "key", key, at, name)
        texts = {to: self._text(item.get(name, ""), key, at, name) for name, to in _TEXTS.items()}
        if not texts["reason"].strip():
            raise self.wrong("a known difference needs a reason", key, at)
        if not texts["rule"] and not texts["pointer"]:
            raise self.wrong("a known difference needs a rule or a pointer: nothing is ignored as a whole", key, at)
        if texts["rule"]:
            self._changeable(texts["rule"], key, at, "rule")
        if texts["pointer"] and not texts["pointer"].startswith("/"):
            raise self.wrong("a pointer begins with /, as in /inputSchema/properties/*", key, at, "pointer")
        return Ignore(
            self.line(key, at),
            pattern=self._pattern(item["pattern"], key, at) if "pattern" in item else None,
            until=self._day(item["until"], key, at) if "until" in item else None,
            **texts,
        )

    def _text(self, value: Any, *path: str | int) -> str:
        if not isinstance(value, str):
            raise self.wrong(f"{path[-1]} must be a string", *path)
        return value

    def _pattern(self, value: Any, key: str, at: int) -> re.Pattern[str]:
        try:
            return re.compile(self._text(value, key, at, "pattern"))
        except re.error as error:
            raise self.wrong(f"pattern is no regular expression: {error.msg}", key, at, "pattern") from None

    def _day(self, value: Any, key: str, at: int) -> dt.date:
        if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
            raise self.wrong("until must be a date without quotes, as in 2027-03-01", key, at, "until")
        return value


_TEXTS = {"server": "server", "tool": "item", "rule": "rule", "pointer": "pointer", "reason": "reason"}
"""Members of a known difference that are strings, and the field of `Ignore` each fills."""

_KEYS: Mapping[str, tuple[str, Callable[[Reader, Any, str], Any]]] = {
    "config": ("config", Reader.paths),
    "exclude-servers": ("excluded", Reader.excluded),
    "fail-on": ("fail_on", Reader.least),
    "timeout": ("timeout", Reader.seconds),
    "resources": ("resources", Reader.switch),
    "rules": ("rules", Reader.rules),
    "ignore": ("ignores", Reader.ignores),
    "servers": ("servers", Reader.servers),
}
"""Every key, the field it fills, and how it is read."""
