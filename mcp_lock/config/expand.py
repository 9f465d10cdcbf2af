r"""Variables in client configs: each dialect's own spelling, to a value and to one neutral template.

One pass, no recursion, no shell: `$(…)` stays the text it is. A variable that is unset or empty and has no default is
reported as missing, never replaced by nothing and never left as it is; what a dialect does not expand stays literal, as
in the client. In a template a variable is `${NAME}` or `${NAME:-default}` and an answer `${input:ID}`, whatever the
dialect spells; a literal that would read as one is written with `$$`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from mcp_lock.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Keys: TypeAlias = "tuple[str, ...]"


class Kind(Enum):
    """Where the value of a form comes from."""

    VARIABLE = auto()
    INPUT = auto()
    """The user's answer to a question that the client would ask."""
    FILE = auto()
    PATH = auto()
    """A path that the client knows, such as the project's."""
    OUTSIDE = auto()
    """Something only the client itself can answer."""
    PLACEHOLDER = auto()
    """What a client puts in for each of its users."""
    COMMAND = auto()
    """What a command of the client's shell would print."""


@dataclass(frozen=True, slots=True)
class Form:
    """One spelling that a dialect expands."""

    kind: Kind
    pattern: str
    """A regular expression; its first group is the name, its second one, if any, the default."""
    shown: Keys
    """The spellings, as documentation has them."""


_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
BRACES = Form(Kind.VARIABLE, r"\$\{([^{}$\s]+?)(?::-([^}]{0,4096}))?\}", ("${V}", "${V:-d}"))
"""`${V}` and `${V:-d}`; whatever else stands in the braces is a name that no variable has."""
BARE = Form(Kind.VARIABLE, rf"\$({_NAME})", ("$V",))
ENV = Form(Kind.VARIABLE, r"\$\{env:([^{}]+)\}", ("${env:V}",))
CURLY_ENV = Form(Kind.VARIABLE, r"\{env:([^{}]+)\}", ("{env:V}",))
CURLY_FILE = Form(Kind.FILE, r"\{file:([^{}]+)\}", ("{file:p}",))
INPUT = Form(Kind.INPUT, r"\$\{input:([^{}]+)\}", ("${input:id}",))
EDITOR = Form(Kind.OUTSIDE, r"\$\{((?:config|command):[^{}]+)\}", ("${config:…}", "${command:…}"))
SECRETS = Form(Kind.VARIABLE, r"\$\{\{\s*secrets\.([^{}\s]+)\s*\}\}", ("${{ secrets.V }}",))
INPUTS = Form(Kind.INPUT, r"\$\{\{\s*inputs\.([^{}\s]+)\s*\}\}", ("${{ inputs.id }}",))
USERS = Form(Kind.PLACEHOLDER, r"\{\{\s*([^{}\s]+)\s*\}\}", ("{{NAME}}",))
SHELL = Form(Kind.COMMAND, r"\$\(((?s:.*))\)", ("$(…)",))


def paths(*names: str) -> Form:
    """The form `${name}` for predefined paths: see `_PATHS`."""
    shown = tuple(f"${{{name}}}" for name in names)
    return Form(Kind.PATH, rf"\$\{{({'|'.join(map(re.escape, names))})\}}", shown)


_PATHS = {
    "workspaceFolder": "workspaceFolder",
    "workspaceFolderBasename": "workspaceFolderBasename",
    "CLAUDE_PROJECT_DIR": "workspaceFolder",
    "cwd": "workspaceFolder",
    "userHome": "userHome",
    "pathSeparator": "/",
    "/": "/",
}
"""A predefined path as clients spell it, and its neutral name."""


@dataclass(frozen=True)
class Dialect:
    """The forms that one client expands, in the order in which they are tried."""

    forms: tuple[Form, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches any of the forms; the group that matched is named for the form's index."""
        # "(?!)" never matches: a dialect without forms expands nothing
        return re.compile("|".join(f"(?P<f{at}>{form.pattern})" for at, form in enumerate(self.forms)) or "(?!)")

    def form(self, found: re.Match[str]) -> Form:
        """The form that `found` is of."""
        return next(form for at, form in enumerate(self.forms) if found[f"f{at}"] is not None)


@dataclass(frozen=True, slots=True)
class Values:
    """What the forms are replaced by."""

    variables: Mapping[str, str] = field(repr=False)
    project: Path
    """The directory that owns the config file."""
    beside: Path
    """The directory the file is in."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """One text, expanded."""

    value: str = field(repr=False)
    """Meaningless when something is missing."""
    template: str
    used: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values that came from outside the file, by the names they are known under."""
    missing: tuple[str, ...] = ()
    """What has no value, each in words, without a value."""
    literal: tuple[str, ...] = ()
    """Kinds of variable that other clients expand and this one does not: `$NAME`, `%NAME%`, …"""


def expand(text: str, dialect: Dialect, values: Values) -> Expanded:
    """`text` with the forms of `dialect` replaced."""
    pieces = list(_pieces(text, dialect, values))
    return Expanded(
        "".join(piece.value for piece in pieces),
        "".join(piece.template for piece in pieces),
        {name: value for piece in pieces for name, value in piece.used.items()},
        tuple(dict.fromkeys(why for piece in pieces for why in piece.missing)),
        tuple(dict.fromkeys(kind for piece in pieces for kind in piece.literal)),
    )


def _pieces(text: str, dialect: Dialect, values: Values) -> Iterator[Expanded]:
    at = 0
    for found in dialect.pattern.finditer(text):
        yield _literal(text[at : found.start()])
        form = dialect.form(found)
        parts = re.fullmatch(form.pattern, found[0])
        assert parts  # the same pattern has just matched there
        default = parts[2] if len(parts.groups()) > 1 else None
        yield _RESOLVE[form.kind](parts[1], default, values)
        at = found.end()
    yield _literal(text[at:])


_REFERENCE = re.compile(r"\$(?=\{[^{}]+\})")
_FOREIGN = {
    "${NAME}": re.compile(r"\$\{[^{}]+\}"),
    "${{ … }}": re.compile(r"\$\{\{[^{}]+\}\}"),
    "{env:NAME}": re.compile(r"(?<!\$)\{(?:env|file):[^{}]+\}"),
    "%NAME%": re.compile(rf"%{_NAME}%"),
    "$NAME": re.compile(r"\$[A-Z_][A-Z0-9_]{2,}"),
    "$(…)": re.compile(r"\$\("),
}


def _literal(text: str) -> Expanded:
    if not text:
        return Expanded("", "")
    foreign = tuple(kind for kind, pattern in _FOREIGN.items() if pattern.search(text))
    return Expanded(text, _REFERENCE.sub("$$", text), literal=foreign)


def _variable(name: str, default: str | None, values: Values) -> Expanded:
    template = f"${{{name}}}" if default is None else f"${{{name}:-{default}}}"
    value = values.variables.get(name)
    if default is not None and "${" in default:
        return Expanded("", template, missing=(f"the default of variable {name} holds another variable",))
    if value:
        return Expanded(value, template, {name: value})
    if default is not None:
        return Expanded(default, template)
    return Expanded("", template, missing=(f"variable {name} is {'not set' if value is None else 'empty'}",))


def answer_name(identifier: str) -> str:
    """The variable that answers `${input:identifier}`."""
    return "MCPLOCK_INPUT_" + re.sub(r"[^A-Za-z0-9]", "_", identifier).upper()


def _input(name: str, _default: str | None, values: Values) -> Expanded:
    template = f"${{input:{name}}}"
    value = values.variables.get(answer_name(name))
    if value:
        return Expanded(value, template, {f"input:{name}": value})
    return Expanded("", template, missing=(f"input {name} has no answer: set {answer_name(name)}",))


def _file(name: str, _default: str | None, values: Values) -> Expanded:
    from mcp_lock.config.files import regular_content  # loads the readers of all formats

    template = f"${{file:{name}}}"
    home = values.variables.get("HOME") or values.variables.get("USERPROFILE") or "~"
    path = values.beside / (home + name[1:] if name.startswith("~/") else name)
    try:
        value = regular_content(path, name).decode().strip()
    except (ConfigError, ValueError):
        return Expanded("", template, missing=(f"file {name} cannot be read",))
    if not value:
        return Expanded("", template, missing=(f"file {name} is empty",))
    return Expanded(value, template, {f"file:{name}": value})


def _path(name: str, _default: str | None, values: Values) -> Expanded:
    neutral = _PATHS[name]
    known = {
        "workspaceFolder": str(values.project),
        "workspaceFolderBasename": values.project.name,
        "userHome": values.variables.get("HOME") or values.variables.get("USERPROFILE") or "",
        "/": os.sep,
    }
    missing = () if known[neutral] else (f"{name} is not known: HOME is not set",)
    return Expanded(known[neutral], f"${{{neutral}}}", missing=missing)


def _outside(name: str, _default: str | None, _values: Values) -> Expanded:
    return Expanded("", f"${{{name}}}", missing=(f"only the client itself can answer ${{{name}}}",))


def _placeholder(name: str, _default: str | None, _values: Values) -> Expanded:
    return Expanded("", f"{{{{{name}}}}}", missing=(f"only the client itself can answer {{{{{name}}}}}",))


def _command(line: str, _default: str | None, _values: Values) -> Expanded:
    return Expanded("", f"$({line})", missing=("it needs what a command prints, $(…), and that is never run",))


_RESOLVE = {
    Kind.VARIABLE: _variable,
    Kind.INPUT: _input,
    Kind.FILE: _file,
    Kind.PATH: _path,
    Kind.OUTSIDE: _outside,
    Kind.PLACEHOLDER: _placeholder,
    Kind.COMMAND: _command,
}
