"""The guard between official clients and `server-everything`: does anybody notice it while nothing has drifted?

    .venv/bin/python scripts/guard_interop.py [CACHE] [--only WORD] [--keep DIR]

Installs the server and a client of each SDK into CACHE (else a directory of the user's cache), where they stay for the
next run; needs Node.js with npm, and both package indexes. Each client holds one session that uses all that it can,
once with the server and once with the guard before it, while every line is recorded on both sides of the guard. Prints
a line for each client: `equal`, or each difference between the two sessions, ids, times and the order of unrelated
notifications aside; and whether the bytes went through untouched, the guard's own lists aside. Then the same client
calls a tool that has an output schema and is pinned otherwise: it must be shown the refusal as a result, not as a
failure of its own. Exits with 1 when anything differed. `--keep` leaves the records there.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mcp_lock import lockfile
from mcp_lock.contract import Contract, Kind
from scripts.real_servers import EVERYTHING, Package

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent / "interop"
RUN = 120
"""Seconds that a session may take."""
DRIFTED = "get-structured-content"
BLOCKED = "io.github.mcplock/blocked"
LISTS = frozenset(kind.method for kind in Kind)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?|\b\d{1,2}:\d\d:\d\d(?:\.\d+)?(?:\s?[AP]M)?")
_RANDOM = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")


@dataclass(frozen=True, slots=True)
class Client:
    """An official client."""

    package: Package

    def argv(self, cache: Path) -> list[str]:
        """What runs its session; a script's name and the server's command are to follow."""
        if self.package.index == "npm":
            return ["node", str(HERE / "session.mjs"), str(self.package.home(cache))]
        return [str(self.package.programs(cache) / "python"), str(HERE / "session.py")]


CLIENTS = (
    Client(Package("@modelcontextprotocol/sdk", "1.32.2", "npm")),
    Client(Package("@modelcontextprotocol/client", "2.4.0", "npm")),
    Client(Package("mcp", "1.26.0")),
    Client(Package("mcp", "2.3.0")),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A recorded message."""

    of_client: bool
    text: bytes

    @property
    def message(self) -> dict[str, Any]:
        """What it says."""
        message: dict[str, Any] = json.loads(self.text)
        return message


@dataclass(frozen=True, slots=True)
class Session:
    """What happened in one: as told by the client, and on the wire before and behind the guard, if there is one."""

    steps: Mapping[str, Any]
    client_side: Sequence[Line]
    server_side: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Shop:
    """A project with the server in its client config, behind a tee."""

    cache: Path
    project: Path

    @property
    def server(self) -> list[str]:
        """How the server is started."""
        program = EVERYTHING.programs(self.cache) / "mcp-server-everything"
        return [*_tee(self.project / "server.lines"), str(program), "stdio"]

    @property
    def guard(self) -> list[str]:
        """The same with the guard before it."""
        log = ["--log", str(self.project / "guard.log")]
        return [sys.executable, "-m", "mcp_lock", "guard", *log, "--server", "everything", "--", *self.server]

    def lock(self) -> None:
        """Pin the server as it is. Raises CalledProcessError."""
        command, *args = self.server
        entry = {"mcpServers": {"everything": {"command": command, "args": args}}}
        (self.project / ".mcp.json").write_text(json.dumps(entry), encoding="utf-8")
        lock = [sys.executable, "-m", "mcp_lock", "lock", "--no-progress"]
        subprocess.run(lock, cwd=self.project, check=True, timeout=RUN, capture_output=True, text=True)

    def tamper(self) -> None:
        """Pin another description of one tool, with the digest that belongs to it."""
        path = self.project / "mcp.lock"
        pin = lockfile.read(path).servers["everything"]
        tools = dict(pin.surface.contracts(Kind.TOOL))
        other = {**tools[DRIFTED].definition, "description": "What somebody has reviewed."}
        tools[DRIFTED] = Contract(Kind.TOOL, other)
        surface = replace(pin.surface, items={**pin.surface.items, Kind.TOOL: tools})
        lockfile.write(path, lockfile.Lock({"everything": replace(pin, surface=surface)}))

    def session(self, client: Client, script: str, command: Sequence[str]) -> Session:
        """Run a client. Raises `SubprocessError` when it does not get to its end."""
        records = [self.project / name for name in ("client.lines", "server.lines")]
        for record in records:
            record.unlink(missing_ok=True)
        argv = [*client.argv(self.cache), script, *_tee(records[0]), *command]
        done = subprocess.run(argv, cwd=self.project, check=True, timeout=RUN, capture_output=True, text=True)
        steps = dict(json.loads(line) for line in done.stdout.split("\n") if line)
        before, behind = (_lines(record) for record in records)
        return Session(steps, before, behind)


def _tee(record: Path) -> list[str]:
    return [sys.executable, str(HERE / "tee.py"), str(record)]


def _lines(record: Path) -> list[Line]:
    return [Line(line[:1] == b">", line[1:]) for line in record.read_bytes().splitlines(keepends=True)]


def exchanges(lines: Sequence[Line]) -> dict[str, list[Any]]:
    """What was said, in a form that is equal for equal sessions.

    A list for each stream that has an order: requests of one side with their answers, notifications of one method.
    """
    answers = {(not line.of_client, _key(line.message)): line.message for line in lines if "method" not in line.message}
    asked = {(line.of_client, _key(line.message)): line.message for line in lines if _is_request(line.message)}
    said: dict[str, list[Any]] = defaultdict(list)
    for line in lines:
        message, side = line.message, "client" if line.of_client else "server"
        if _is_request(message):
            answer = answers.get((line.of_client, _key(message)))
            said[f"requests of the {side}"].append([_without_id(message), answer and _without_id(answer)])
        elif "method" in message:
            said[f"{message['method']} of the {side}"].append(_notification(message, line.of_client, asked))
        elif (not line.of_client, _key(message)) not in asked:
            said[f"answers of the {side} to nothing"].append(_without_id(message))
    return said


def _is_request(message: Mapping[str, Any]) -> bool:
    return "method" in message and "id" in message


def _key(message: Mapping[str, Any]) -> str:
    return json.dumps(message.get("id"))


def _without_id(message: Mapping[str, Any]) -> Any:
    known = {key: value for key, value in message.items() if key != "id"}
    meta = (known.get("params") or {}).get("_meta")
    if meta and "progressToken" in meta:
        known["params"] = {**known["params"], "_meta": {**meta, "progressToken": "some"}}
    return timeless(known)


def _notification(message: Mapping[str, Any], of_client: bool, asked: Mapping[tuple[bool, str], Any]) -> Any:
    """A notification with the request that it is about in place of the id or token."""
    params = dict(message.get("params") or {})
    if "requestId" in params:
        about = asked.get((of_client, json.dumps(params["requestId"])))
        params["requestId"] = about and _without_id(about)
    if "progressToken" in params:
        tokens = {_token(request): request for (side, _), request in asked.items() if side is not of_client}
        about = tokens.get(params["progressToken"])
        params["progressToken"] = about and _without_id(about)
    return timeless({**message, "params": params})


def _token(request: Mapping[str, Any]) -> Any:
    meta = (request.get("params") or {}).get("_meta") or {}
    return meta.get("progressToken")


def timeless(value: Any) -> Any:
    """`value` without the times and random ids that its strings tell, in base64 too."""
    if isinstance(value, dict):
        return {key: timeless(member) for key, member in value.items()}
    if isinstance(value, list):
        return [timeless(member) for member in value]
    if not isinstance(value, str):
        return value
    if _BASE64.fullmatch(value) and len(value) % 4 == 0:
        with suppress(UnicodeDecodeError):
            value = base64.b64decode(value).decode("utf-8")
    return _RANDOM.sub("RANDOM", _TIME.sub("TIME", value))


def differences(bare: Session, guarded: Session) -> Iterator[str]:
    """What is not the same with the guard, in words."""
    for step in bare.steps.keys() | guarded.steps.keys():
        pair = [timeless(session.steps.get(step)) for session in (bare, guarded)]
        if pair[0] != pair[1]:
            yield f"step {step}: {_apart(*pair)}"
    one, other = (exchanges(session.client_side) for session in (bare, guarded))
    for stream in sorted(one.keys() | other.keys()):
        first, second = one.get(stream, []), other.get(stream, [])
        if len(first) != len(second):
            yield f"{stream}: {len(first)} without the guard, {len(second)} with it"
        yield from (f"{stream}: {_apart(a, b)}" for a, b in zip(first, second, strict=False) if a != b)


def _apart(first: Any, second: Any) -> str:
    """Where two texts part."""
    texts = [json.dumps(value, sort_keys=True) for value in (first, second)]
    common = next((at for at, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), min(map(len, texts)))
    begin = max(common - 60, 0)
    return f"… {texts[0][begin : common + 100]} … without, … {texts[1][begin : common + 100]} … with the guard"


def touched(session: Session) -> Iterator[str]:
    """Lines that the guard did not hand on as they were, and lines of its own that are no lists; in words.

    Lists and what introduces the server are its business, everything else passes byte for byte and in order.
    """
    own = _ids(session.server_side) - _ids(session.client_side)
    for of_client in (True, False):
        before = [line for line in _passing(session.client_side) if line.of_client is of_client]
        behind = [line for line in _passing(session.server_side) if line.of_client is of_client]
        if [line.text for line in before] != [line.text for line in behind]:
            other = next((a for a, b in zip(before, behind, strict=False) if a.text != b.text), None)
            what = other.text[:200] if other else f"{len(before)} lines, and {len(behind)} behind the guard"
            yield f"not handed on as it was: {what!r}"
    for line in session.server_side:
        is_own = line.of_client and _is_request(line.message) and _key(line.message) in own
        if is_own and line.message["method"] not in LISTS:
            yield f"of the guard's own: {line.text[:200]!r}"


def _ids(lines: Sequence[Line]) -> set[str]:
    return {_key(line.message) for line in lines if line.of_client and _is_request(line.message)}


def _passing(lines: Sequence[Line]) -> Iterator[Line]:
    lists = {_key(line.message) for line in lines if line.of_client and line.message.get("method") in LISTS}
    for line in lines:
        message = line.message
        is_list = message.get("method") in LISTS and line.of_client
        if not is_list and not ("method" not in message and not line.of_client and _key(message) in lists):
            yield line


def refused(session: Session) -> Iterator[str]:
    """What is wrong with how a client shows a blocked call."""
    result = session.steps["structured"]
    if "error" in result:
        yield f"the blocked call fails in the client: {result['error']}"
    elif not result.get("isError") or BLOCKED not in (result.get("_meta") or {}):
        yield f"the blocked call is not shown as one: {json.dumps(result)[:200]}"
    if any(line.message.get("method") == "tools/call" for line in session.server_side):
        yield "the blocked call reached the server"


def tried(client: Client, shop: Shop) -> list[str]:
    """All that is wrong between a client and the guard."""
    shop.lock()
    bare = shop.session(client, "everything", shop.server)
    guarded = shop.session(client, "everything", shop.guard)
    faults = [*differences(bare, guarded), *touched(guarded)]
    shop.tamper()
    return [*faults, *refused(shop.session(client, "blocked", shop.guard))]


def _line(client: Client, cache: Path, directory: Path) -> tuple[str, bool]:
    """What became of a client, and whether it is well."""
    try:
        client.package.install(cache)
        faults = tried(client, Shop(cache, directory))
    except subprocess.SubprocessError as error:
        return f"FAILED: {error}\n{getattr(error, 'stderr', '') or ''}", False
    if faults:
        return "\n    ".join([f"{len(faults)} differences", *faults]), False
    return "equal, bytes untouched, a blocked call is a result", True


def run(clients: Sequence[Client], cache: Path, keep: Path | None) -> int:
    """Prints a line for each client; the exit code."""
    EVERYTHING.install(cache)
    failures = 0
    with TemporaryDirectory(prefix="mcplock-") as temporary:
        for client in clients:
            package = client.package
            directory = (keep or Path(temporary)) / package.home(cache).name
            directory.mkdir(parents=True, exist_ok=True)
            print(f"{package.name:<28}  {package.version:<7}", end="  ", flush=True)
            line, is_well = _line(client, cache, directory)
            failures += not is_well
            print(line, flush=True)
    return int(failures > 0)


def main() -> int:
    """Read the command line and run."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcplock" / "guard-interop"
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("cache", nargs="?", type=Path, default=usual)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    chosen = parser.parse_args()
    clients = [client for client in CLIENTS if chosen.only in client.package.name]
    if not clients:
        parser.error(f"no client is called like {chosen.only!r}")
    return run(clients, chosen.cache.resolve(), chosen.keep and chosen.keep.resolve())


if __name__ == "__main__":
    sys.exit(main())
