"""How long a check takes beside the servers' own time: four figures.

    .venv/bin/python bench/verify.py [LISTS] [--runs N]

CPU of a `verify` of one stdio server without what the server uses, ten servers that take a second each to start, what
`mcplock --help` loads, and reading a lock of 700 tools. LISTS is a directory with `tools/list` results as JSON, however
deep, to take those tools from; else they are made up. Prints the best and the median of N runs and the machine's load;
judges nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mcp_lock import lockfile
from mcp_lock.canonical import parse
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.lockfile import Lock, ServerPin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOOLS = 700
SLOW = ("mcp", "pydantic", "rich", "jsonschema", "httpx2", "anyio", "asyncio")
"""What the help of a command has no use for."""

# the least that can be listed; says at its end what it used itself
SERVER = """\
import json, sys, time

time.sleep(float(sys.argv[1]))
tool = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object", "properties": {}}}
answers = {
    "initialize": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "least", "version": "1"}
    },
    "tools/list": {"tools": [tool]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        known = asked["method"] in answers
        answer = {"result": answers[asked["method"]]} if known else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
with open(sys.argv[2], "w") as file:
    file.write(str(time.process_time()))
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What one command took: seconds, and what it printed."""

    wall: float
    cpu: float
    """Its own and that of all whom it started and waited for."""
    out: str


def run(directory: Path, *command: str) -> Run:
    """Run Python with `command`. Raises CalledProcessError."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], cwd=directory, env=env, check=True, capture_output=True, text=True, timeout=60
    )
    wall, after = time.perf_counter() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(wall, cpu, done.stdout)


def mcplock(directory: Path, *args: str) -> Run:
    """Run a command of mcplock."""
    return run(directory, "-m", "mcp_lock", *args)


def configure(directory: Path, count: int, seconds: float) -> None:
    """Make `directory` a locked project of `count` servers that take `seconds` to start."""
    (directory / "server.py").write_text(SERVER, encoding="utf-8")
    args = ["-S", "server.py", str(seconds)]
    servers = {f"s{at}": {"command": sys.executable, "args": [*args, f"cpu-{at}"]} for at in range(count)}
    (directory / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    mcplock(directory, "lock")


def own_cpu(directory: Path) -> float:
    """Seconds of CPU that `verify` uses itself."""
    done = mcplock(directory, "verify")
    return done.cpu - float((directory / "cpu-0").read_text(encoding="utf-8"))


def loaded(directory: Path) -> str:
    """How many modules the help loads, and which slow ones."""
    code = (
        "import atexit, sys\n"
        "from mcp_lock.__main__ import main\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "sys.argv[1:] = ['--help']\n"
        "main()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=60)
    names = done.stderr.split()
    slow = [name for name in SLOW if name in names]
    return f"{len(names)} modules, of the slow ones {', '.join(slow) or 'none'}"


def listed(directory: Path) -> Iterator[Contract]:
    """The tools of all lists below a directory, each definition once."""
    known: set[str] = set()
    for file in sorted(directory.rglob("*.json")):
        for definition in parse(file.read_text(encoding="utf-8")).get("tools", []):
            contract = Contract(Kind.TOOL, definition)
            if contract.digest not in known:
                known.add(contract.digest)
                yield contract


def made_up() -> Iterator[Contract]:
    """Tools of a usual size."""
    for at in range(TOOLS):
        properties = {f"p{n}": {"type": "string", "description": f"What {n} is. " * 6} for n in range(8)}
        schema = {"type": "object", "properties": properties, "required": ["p0"], "additionalProperties": False}
        yield Contract(Kind.TOOL, {"name": f"t{at}", "description": "Does it well. " * 30, "inputSchema": schema})


def write_lock(path: Path, contracts: Iterator[Contract]) -> str:
    """A lock of so many tools, fifty to a server; what it holds, in words."""
    chosen = list(islice(contracts, TOOLS))
    pins = {}
    for at in range(0, len(chosen), 50):
        # two releases of one server may list a tool of the same name
        items = {f"{at + n} {one.name}": one for n, one in enumerate(chosen[at : at + 50])}
        pins[f"s{at}"] = ServerPin(None, Surface({Kind.TOOL: items}))
    lockfile.write(path, Lock(pins))
    return f"{len(chosen)} tools, {path.stat().st_size / 1e6:.1f} MB"


def seconds_of(work: Callable[[], Any]) -> float:
    """How long it takes, by the clock."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def row(what: str, work: Callable[[], float], runs: int, note: str = "") -> None:
    """Print a line of the table."""
    work()  # whatever is not yet in a cache
    took = [work() for _ in range(runs)]
    print(f"{what:<52}{min(took):>8.3f} s{statistics.median(took):>8.3f} s  {note}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("lists", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    chosen = parser.parse_args()
    load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
    print(f"{os.cpu_count()} processors, load {load}\n{'':<52}{'best':>10}{'median':>10}")
    with TemporaryDirectory(prefix="mcplock-") as name:
        directory = Path(name)
        configure(directory, 1, 0)
        row("verify one stdio server, CPU without the server's", partial(own_cpu, directory), chosen.runs)
        help_ = partial(mcplock, directory, "--help")
        row("--help, wall", lambda: help_().wall, chosen.runs, loaded(directory))
        lock = directory / "big.lock"
        note = write_lock(lock, listed(chosen.lists) if chosen.lists else made_up())
        row("read a lock, wall", partial(seconds_of, partial(lockfile.read, lock)), chosen.runs, note)
        configure(directory, 10, 1)
        verify = partial(mcplock, directory, "verify")
        row("verify ten servers that take 1 s to start, wall", lambda: verify().wall, max(chosen.runs // 2, 1))


if __name__ == "__main__":
    main()
