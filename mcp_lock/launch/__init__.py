"""Launch specs: how a server is started or reached, as its config writes it, without a secret.

A spec holds templates, never values: what stands for a variable stays `${NAME}`, whatever the client's dialect spells.
Literals stay as they are, so that they cannot change unseen, unless they look like secrets: what looks like one is the
business of `redact`. How a client config becomes a spec is the business of `config`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mcp_lock.launch import pinned
from mcp_lock.launch.redact import MARKS, REDACTED, Redactor, steers
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "MARKS",
    "REDACTED",
    "LaunchSpec",
    "differences",
    "literal_secrets",
    "may_change",
    "redacted",
    "shown",
    "steers",
    "unclear",
    "unpinned",
]


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """How one server is started or reached. Fields that do not apply are empty."""

    transport: str
    """`stdio`, `http` (streamable HTTP), `sse`, or `remote`: a URL that is tried as both."""
    command: str = ""
    args: tuple[str, ...] = ()
    cwd: str = ""
    """Relative to the project root with `/`, unless the config itself says an absolute path."""
    env_file: str = ""
    env_file_digest: str = ""
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    """Names to templates."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names to templates."""


def redacted(spec: LaunchSpec) -> LaunchSpec:
    """`spec` with every literal that looks like a secret replaced by `<redacted>`; redacting twice changes nothing."""
    return _redacted(spec, Redactor())


def literal_secrets(spec: LaunchSpec) -> dict[str, str]:
    """The literals that `redacted` takes out, by where they stand, such as `env.API_KEY`. Never to be shown."""
    redactor = Redactor()
    _redacted(spec, redactor)
    return redactor.removed


def unclear(spec: LaunchSpec) -> str:
    """Where in a command line `redacted` would take out what a shell may run, such as `args[1]`; empty if nowhere.

    It could change unseen, and what runs must not. Where no shell and no interpreter is started, text is only text.
    """
    if not pinned.runs_text((*spec.command.split(), *spec.args)):
        return ""
    redactor = Redactor()
    _redacted(replace(spec, env={}, headers={}, url=""), redactor)
    return next(iter(redactor.unclear), "")


def _redacted(spec: LaunchSpec, redactor: Redactor) -> LaunchSpec:
    return replace(
        spec,
        command=redactor.command(spec.command),
        args=tuple(redactor.args(spec.args)),
        url=redactor.text(spec.url, where="url"),
        env={name: redactor.text(value, name, f"env.{name}") for name, value in spec.env.items()},
        headers={name: redactor.text(value, name, f"headers.{name}") for name, value in spec.headers.items()},
    )


def differences(old: LaunchSpec, new: LaunchSpec) -> list[str]:
    """How two specs differ, one readable line a field; nothing for the same spec, and never a secret.

    A transport of `remote` is no difference from `http` and `sse`: it leaves open which of the two it is.
    """
    old, new = redacted(old), redacted(new)
    return [line for difference in _DIFFERENCES for line in difference(old, new)]


def _transport(old: LaunchSpec, new: LaunchSpec) -> Iterator[str]:
    both = {old.transport, new.transport}
    if len(both) > 1 and not ("remote" in both and both <= {"remote", "http", "sse"}):
        yield f"transport: {_word(old.transport)} → {_word(new.transport)}"


def _args(old: LaunchSpec, new: LaunchSpec) -> Iterator[str]:
    if old.args == new.args:
        return
    if len(old.args) == len(new.args):
        pairs = [(a, b) for a, b in zip(old.args, new.args, strict=True) if a != b]
        yield "args: " + ", ".join(f"{_word(a)} → {_word(b)}" for a, b in pairs)
    else:
        yield f"args: {_line(old.args)} → {_line(new.args)}"


def _single(name: str, label: str) -> Callable[[LaunchSpec, LaunchSpec], Iterator[str]]:
    def compared(old: LaunchSpec, new: LaunchSpec) -> Iterator[str]:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield f"{label}: {_word(before)} → {_word(after)}"

    return compared


def _named(name: str) -> Callable[[LaunchSpec, LaunchSpec], Iterator[str]]:
    def compared(old: LaunchSpec, new: LaunchSpec) -> Iterator[str]:
        before, after = getattr(old, name), getattr(new, name)
        for key in sorted({*before, *after}):
            label = f"{name}.{visible(key)}"
            if key not in after:
                yield f"{label}: removed (was {_word(before[key])})"
            elif key not in before:
                yield f"{label}: added ({_word(after[key])})"
            elif before[key] != after[key]:
                yield f"{label}: {_word(before[key])} → {_word(after[key])}"

    return compared


_DIFFERENCES: tuple[Callable[[LaunchSpec, LaunchSpec], Iterator[str]], ...] = (
    _transport,
    _single("command", "command"),
    _args,
    _single("cwd", "working directory"),
    _single("env_file", "env file"),
    _single("env_file_digest", "env file's content"),
    _single("url", "url"),
    _named("env"),
    _named("headers"),
)


def shown(spec: LaunchSpec) -> str:
    """How the server is started or reached, whole and on one line, fit to be shown."""
    spec = redacted(spec)
    start = _word(spec.url) if spec.url else _line((spec.command, *spec.args))
    facts = [
        "" if spec.transport == "stdio" else _WAYS.get(spec.transport, visible(spec.transport)),
        f"in {_word(spec.cwd)}" if spec.cwd else "",
        f"env {_pairs(spec.env)}" if spec.env else "",
        f"env file {_word(spec.env_file)}" if spec.env_file else "",
        f"headers {_pairs(spec.headers)}" if spec.headers else "",
    ]
    told = "; ".join(fact for fact in facts if fact)
    return f"{start} ({told})" if told else start


_WAYS = {"http": "streamable HTTP", "sse": "SSE", "remote": "streamable HTTP or SSE"}


def _pairs(values: Mapping[str, str]) -> str:
    """Names, each with what it is set to unless that is the variable of the same name."""
    return ", ".join(
        visible(name) + ("" if value == f"${{{name}}}" else f"={_word(value)}")
        for name, value in sorted(values.items())
    )


def _line(words: Sequence[str]) -> str:
    return " ".join(map(_word, words)) or "nothing"


def _word(word: str) -> str:
    """One word, quoted where a shell would need it, templates aside."""
    plain = re.fullmatch(r"[\w@%+=:,./?&#~^<>${}-]+", word)
    return visible(word) if plain else visible(shlex.quote(word))


def unpinned(spec: LaunchSpec) -> str:
    """Why the program may be another one tomorrow under the same spec; empty when it is pinned or nobody can tell."""
    whole_line = " " in spec.command and not re.search(r"[/\\]", spec.command.split()[0])
    words = (*(spec.command.split() if whole_line else [spec.command]), *spec.args)
    return visible(pinned.unpinned(words))


def may_change(why: str) -> str:
    """What to say of a spec that is `unpinned`."""
    return f"can change under the lock: {why}"
