"""One entry of a client config to one server: what its fields mean together, and what keeps it from being started.

Decided by what the entry holds, whoever wrote it; only the client's row in `clients` makes a difference between them.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_lock.config import Entry, HttpServer, NotReady, Server, Source, StdioServer, commands
from mcp_lock.config.files import regular_content
from mcp_lock.config.given import env_file, is_header_name, is_header_value
from mcp_lock.config.reading import ConfigFile, EntryError, Reading
from mcp_lock.config.spellings import TYPES, URL_TYPES
from mcp_lock.config.switches import approved, distrusted, off
from mcp_lock.errors import ConfigError
from mcp_lock.launch import LaunchSpec, literal_secrets, redacted, steers, unclear
from mcp_lock.outcome import Status
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mcp_lock.config.commands import Guarded
    from mcp_lock.config.expand import Expanded
    from mcp_lock.config.given import Given
    from mcp_lock.config.shapes import RawEntry


def read_entry(raw: RawEntry, file: ConfigFile, given: Given) -> Entry:
    """The server that `raw` configures. Never raises: what is wrong with the entry is kept in it."""
    source = Source(file.client.name if file.known else "file", file.shown, raw.place.line)
    why_off = off(raw, file)
    try:
        reading = Reading(raw, file, given)
        launch, server = _read(reading)
    except EntryError as error:
        why = f"{file.shown}:{error.place}: server {one_line(raw.name, 80)}: {error}"
        broken = NotReady(Status.SKIPPED, why_off) if why_off else NotReady(Status.UNREADABLE, why, invalid=True)
        return Entry(raw.name, (source,), None, broken, approved=approved(raw.value))
    notes = tuple(reading.notes)
    if why_off and given.include_disabled:
        notes, why_off = (*notes, f"{why_off}; read all the same"), ""
    server = NotReady(Status.SKIPPED, why_off) if why_off else server
    return Entry(raw.name, (source,), launch, server, notes, approved(raw.value))


def _read(reading: Reading) -> tuple[LaunchSpec, Server | NotReady]:
    for note in distrusted(reading.fields, reading.file.client):
        reading.note(note)
    transport = _transport(reading)
    return _stdio(reading) if transport == "stdio" else _remote(reading, transport)


def _transport(reading: Reading) -> str:
    """`stdio`, `http`, `sse`, `remote` or `ws`. Raises `EntryError` where the entry does not say one thing."""
    spelling = reading.spelling("type")
    word = reading.string("type")
    declared = TYPES.get(word.lower(), "") if word else ""
    if word and not declared:
        known = "stdio, http, sse"
        raise reading.wrong(f"{spelling} {one_line(word, 40)} is unknown: write one of {known}", spelling)
    command, url = reading.get("command") not in (None, "", []), reading.get("url") not in (None, "")
    if command and url and not declared:
        raise reading.wrong("has both a command and a url: remove one, or say which with type")
    if declared == "stdio" and not command:
        raise reading.wrong("type says stdio, but there is no command: write one", spelling)
    if declared not in ("", "stdio") and not url:
        raise reading.wrong(f"type says {declared}, but there is no url: write one", spelling)
    if not command and not url:
        raise reading.wrong("has neither a command nor a url: write one of them")
    return declared or ("stdio" if command else _untyped(reading))


def _untyped(reading: Reading) -> str:
    client = reading.file.client
    named = URL_TYPES.get(reading.spelling("url"))
    if not named and client.untyped_note:
        reading.note(client.untyped_note)
    return named or client.untyped


def _raw_words(reading: Reading) -> list[str]:
    """The command and its arguments as they are written, whether in one list or two fields."""
    spelling = reading.spelling("command")
    command = reading.get("command")
    first = reading.strings("command") if isinstance(command, list) else [reading.string("command")]
    if not first[0].strip():
        raise reading.wrong(f"{spelling} is empty: write the program to start", spelling)
    if any(char < " " for char in first[0]):
        raise reading.wrong(f"{spelling} holds a control character: a path needs doubled backslashes", spelling)
    return [*first, *reading.strings("args")]


def _stdio(reading: Reading) -> tuple[LaunchSpec, Server | NotReady]:
    raw = _raw_words(reading)
    guarded = commands.behind_guard(raw)
    if not guarded and commands.looks_guarded(raw):
        raise reading.wrong("starts a guard in an unknown way: write `mcplock guard --server NAME -- CMD…`")
    if guarded:
        raw = _behind(reading, guarded)
        if not raw:
            return _remote(reading, "remote", guarded)
    words = reading.words(raw)
    env = reading.all_expanded({**reading.pairs("env"), **(guarded.env if guarded else {})}, "env")
    cwd = reading.expanded(reading.string("cwd"), "cwd")
    named = _named_variables(reading)
    file_template, file_digest, file_values = _env_file(reading)
    _check_env(reading, env)
    spec = LaunchSpec(
        "stdio",
        words[0].template,
        tuple(word.template for word in words[1:]),
        cwd=commands.joined(reading.file.base, cwd.template),
        env_file=file_template,
        env_file_digest=file_digest,
        env={name: value.template for name, value in env.items()} | {name: f"${{{name}}}" for name in named},
    )
    _require_clear(reading, spec, [*words, cwd], env)
    directory = _directory(reading, cwd.value)
    if reading.missing:
        return redacted(spec), _unset(reading)
    if not directory.is_dir():
        return redacted(spec), _not_now(reading, f"the working directory {visible(cwd.template)} does not exist")
    values = {name: value.value for name, value in env.items()}
    return redacted(spec), StdioServer(
        tuple(_argv(reading, raw, words, directory)),
        directory,
        {**file_values, **named, **values, **reading.given.env},
        _secrets(reading, spec, {name: value for name, value in file_values.items() if _hides(name, value)}),
    )


def _require_clear(reading: Reading, spec: LaunchSpec, words: Sequence[Expanded], env: Mapping[str, Expanded]) -> None:
    """Raises `EntryError` for a launch spec that does not tell what is run: it could change unseen."""
    if where := unclear(spec):
        raise reading.wrong(
            f"{where} hides a secret among what a shell may run: put the secret into a variable, ${{NAME}}"
        )
    steering = [value for name, value in env.items() if steers(name)]
    if any("${file:" in value.template for value in (*words, *steering)):
        raise reading.wrong("what is run comes from a {file:…}: write it here, or give a secret through env or headers")


def _behind(reading: Reading, guarded: Guarded) -> list[str]:
    """The words of the command behind a guard; none when it guards a URL."""
    if bool(guarded.words) == bool(guarded.url):
        raise reading.wrong("mcplock guard needs what it guards: `mcplock guard --server NAME -- CMD…` or `--url URL`")
    if guarded.server and guarded.server != reading.raw.name:
        reading.note(f"is guarded as {one_line(guarded.server, 80)}, another name than its own")
    return list(guarded.words)


def _named_variables(reading: Reading) -> dict[str, str]:
    """The variables that the client hands on by name (`env_vars`)."""
    value, spelling = reading.get("env names"), reading.spelling("env names")
    items = value if isinstance(value, list) else [] if value is None else [value]
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    if not isinstance(value, list | None) or not all(isinstance(name, str) for name in names):
        raise reading.wrong(f'{spelling} must be a list of names: write ["FIRST", "SECOND"]', spelling)
    return {str(name): reading.given_variable(str(name), spelling) for name in names}


def _env_file(reading: Reading) -> tuple[str, str, Mapping[str, str]]:
    """The template of the path of an env file, the digest of its bytes, and its values."""
    text = reading.string("env file")
    if not text or not reading.file.client.env_file:
        return "", "", {}
    path = reading.expanded(text, reading.spelling("env file"))
    template = commands.joined(reading.file.base, path.template)
    if reading.missing:
        return template, "", {}
    try:
        data = regular_content(reading.file.owner / _at_home(reading, path.value), visible(path.template))
        values = env_file(data, visible(path.template))
    except ConfigError as error:
        reading.lacks(str(error), reading.spelling("env file"))
        return template, "", {}
    return template, f"sha256:{hashlib.sha256(data).hexdigest()}", values


def _check_env(reading: Reading, env: Mapping[str, Expanded]) -> None:
    spelling = reading.spelling("env")
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise reading.wrong(f"{spelling} holds a name that no variable can have", spelling, name)
        if "\0" in value.value:
            reading.lacks("the value holds a NUL character", f"{spelling}.{one_line(name, 60)}")


def _at_home(reading: Reading, path: str) -> str:
    """`path` with a leading `~/` replaced, as the clients do for programs and directories."""
    home = reading.values.variables.get("HOME") or reading.values.variables.get("USERPROFILE")
    return home + path[1:] if home and re.match(r"~[/\\]", path) else path


def _directory(reading: Reading, cwd: str) -> Path:
    return reading.file.owner / _at_home(reading, cwd) if cwd else reading.file.owner


def _argv(reading: Reading, raw: Sequence[str], words: Sequence[Expanded], cwd: Path) -> list[str]:
    """What is really started: a line taken apart, `cmd /c` left out where there is none."""
    first, search = _at_home(reading, words[0].value), reading.values.variables.get("PATH", "")
    argv = [first, *(word.value for word in words[1:])]
    if re.search(r"\s", raw[0].strip()) and commands.is_whole_line(first, search, cwd):
        parts = commands.split(raw[0])
        if not parts:
            raise reading.wrong("the command is a whole line with an open quote: put arguments in args", "command")
        argv[:1] = [reading.expanded(part, "command").value for part in parts]
        reading.note("the command holds a whole line, which is taken apart: put arguments in args")
    if not reading.given.windows and (rest := commands.off_windows(argv)) != argv:
        argv = rest
        reading.note("`cmd /c` is there on Windows only: what stands behind it is started")
    if commands.lacks_stdin(argv):
        reading.note("docker run without -i: the server cannot read what it is asked")
    return argv


def _remote(reading: Reading, transport: str, guarded: Guarded | None = None) -> tuple[LaunchSpec, Server | NotReady]:
    url = reading.expanded(guarded.url if guarded else reading.string("url"), "url")
    supplied = {name.lower() for name in reading.given.headers}
    texts = {**reading.pairs("headers"), **(guarded.headers if guarded else {})}
    headers = {
        name: reading.expanded(text, f"headers.{one_line(name, 60)}", needed=name.lower() not in supplied)
        for name, text in texts.items()
    }
    by_name = _header_variables(reading, supplied)
    _check_headers(reading, headers)
    if reading.get("env") and not guarded:
        reading.note("env means nothing beside a url")
    spec = LaunchSpec(
        transport,
        url=url.template,
        headers={name: value.template for name, value in headers.items()}
        | {name: template for name, (template, _) in by_name.items()},
    )
    if "${file:" in url.template:
        raise reading.wrong("the url comes from a {file:…}: write it here", reading.spelling("url"))
    if reading.missing:
        return redacted(spec), _unset(reading)
    if why := _unreachable(reading, transport, url.value):
        return redacted(spec), _not_now(reading, why)
    values = {name: value.value for name, value in headers.items()}
    values |= {name: value for name, (_, value) in by_name.items()}
    kept = {name: value for name, value in values.items() if name.lower() not in supplied}
    sent = {**kept, **reading.given.headers}
    return redacted(spec), HttpServer(url.value, transport, sent, _secrets(reading, spec), reading.raw.name)


def _header_variables(reading: Reading, supplied: set[str]) -> dict[str, tuple[str, str]]:
    """Headers whose value is a variable given by name: template and value, by header."""
    named = {name: ("", variable) for name, variable in reading.pairs("header variables").items()}
    if bearer := reading.string("bearer variable"):
        named["Authorization"] = ("Bearer ", bearer)
    headers: dict[str, tuple[str, str]] = {}
    for name, (scheme, variable) in named.items():
        needed = name.lower() not in supplied
        value = reading.given_variable(variable, f"headers.{one_line(name, 60)}", needed=needed)
        headers[name] = (f"{scheme}${{{variable}}}", scheme + value)
    return headers


def _check_headers(reading: Reading, headers: Mapping[str, Expanded]) -> None:
    spelling = reading.spelling("headers")
    for name, value in headers.items():
        if not is_header_name(name):
            raise reading.wrong(f"{spelling} holds a name that no header can have", spelling, name)
        if not is_header_value(value.value):
            reading.lacks("the value holds a control character", f"headers.{name}")
    if reading.get("headers command") is not None and not reading.given.headers:
        name = reading.spelling("headers command")
        reading.lacks("the header comes from a command, which is never run: give it with --header NAME=VALUE", name)


def _unreachable(reading: Reading, transport: str, url: str) -> str:
    """Why this URL cannot be tried; empty when it can. Raises `EntryError` for one that is none."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise reading.wrong("url is malformed: write https://HOST/PATH", reading.spelling("url")) from None
    if transport == "ws" or parts.scheme in ("ws", "wss"):
        return "a WebSocket server cannot be checked"
    if parts.scheme in ("unix", "pipe"):
        return "a server behind a local socket cannot be checked"
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x1f\\]", url):
        raise reading.wrong("url must be http://… or https://…", reading.spelling("url"))
    return ""


def _unset(reading: Reading) -> NotReady:
    told = "; ".join(f"{why} ({', '.join(fields)})" for why, fields in reading.missing.items())
    advice = "; set it, or give it with --env NAME=VALUE" if " is not set" in told or " is empty" in told else ""
    return _not_now(reading, told + advice)


def _not_now(reading: Reading, why: str) -> NotReady:
    name = one_line(reading.raw.name, 80)
    return NotReady(Status.UNREADABLE, f"{reading.file.shown}:{reading.raw.place}: server {name}: {why}")


def _hides(name: str, value: str) -> bool:
    spec = LaunchSpec("stdio", env={name: value})
    return redacted(spec) != spec


def _secrets(reading: Reading, spec: LaunchSpec, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Everything that must never be shown: values from outside the file, and literals that look like secrets."""
    given = {**reading.given.env, **{f"header {name}": value for name, value in reading.given.headers.items()}}
    secrets = {**literal_secrets(spec), **(more or {}), **given, **reading.used}
    return {name: value for name, value in secrets.items() if value}
