"""What the guard costs: time a call, time to the first answer, memory.

    .venv/bin/python bench/guard.py [--calls N] [--runs N]

The same client calls the same small server with and without the guard in front, with 14 and with 500 tools; the list is
read and judged before every call. Prints p50 and p95 of both and what lies between; the time from start to the answer
of `initialize`, best and median of N runs; the resident memory at the end. Judges nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, cast

from mcp_lock import lockfile
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.lockfile import Lock, ServerPin

if TYPE_CHECKING:
    from collections.abc import Iterator

# the least that can list and be called
SERVER = """\
import json, sys

listed = open(sys.argv[1]).read()
answers = {
    "initialize": '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}',
    "tools/list": listed,
    "tools/call": '{"content":[{"type":"text","text":"done"}],"isError":false}',
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print('{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(asked["id"]), answers[asked["method"]]), flush=True)
"""
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def tool(number: int) -> dict[str, Any]:
    """A definition of the usual size, about 1.4 KB."""
    about = "What the parameter is for, in a sentence or two, as people write them for models to read. "
    properties = {f"parameter_{n}": {"type": "string", "description": about + about} for n in range(5)}
    schema = {"type": "object", "properties": properties, "required": ["parameter_0"]}
    return {"name": f"tool_{number}", "description": about * 3, "inputSchema": schema}


@contextmanager
def started(argv: list[str], cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running command, ended at the end."""
    process = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        cast("IO[bytes]", process.stdin).close()
        cast("IO[bytes]", process.stdout).close()
        process.wait(30)


def ask(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> float:
    """Seconds until the answer has come."""
    begin = time.perf_counter()
    line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
    cast("IO[bytes]", process.stdin).write(line + b"\n")
    cast("IO[bytes]", process.stdin).flush()
    answer = cast("IO[bytes]", process.stdout).readline()
    took = time.perf_counter() - begin
    assert b'"isError":true' not in answer, answer
    return took


def calls(argv: list[str], cwd: Path, count: int) -> tuple[list[float], float]:
    """Milliseconds of each call, and the megabytes that are resident at the end."""
    with started(argv, cwd) as process:
        ask(process, 0, "initialize", HELLO)
        took = [ask(process, n, "tools/call", {"name": "tool_7", "arguments": {}}) for n in range(1, count + 20)]
        return [1000 * one for one in took[19:]], resident(process.pid)


def resident(pid: int) -> float:
    """Megabytes; not a number where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def first_answer(argv: list[str], cwd: Path) -> float:
    """Milliseconds from start to the answer of `initialize`."""
    begin = time.perf_counter()
    with started(argv, cwd) as process:
        ask(process, 0, "initialize", HELLO)
        return 1000 * (time.perf_counter() - begin)


def p50_p95(values: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.95)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        for count in (14, 500):
            measure(Path(name), count, options)
    print(f"load {os.getloadavg()[0]:.1f}")


def measure(root: Path, count: int, options: argparse.Namespace) -> None:
    """All figures with one number of tools."""
    tools = [tool(number) for number in range(count)]
    (root / "server.py").write_text(SERVER, encoding="utf-8")
    (root / "tools.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    pins = {one["name"]: Contract(Kind.TOOL, one) for one in tools}
    lockfile.write(root / "mcp.lock", Lock({"s": ServerPin(None, Surface({Kind.TOOL: pins}))}))
    bare = [sys.executable, "server.py", "tools.json"]
    guarded = [sys.executable, "-m", "mcp_lock", "guard", "--server", "s", "--log", "guard.log", "--", *bare]
    alone, _ = calls(bare, root, options.calls)
    behind, memory = calls(guarded, root, options.calls)
    (a50, a95), (b50, b95) = p50_p95(alone), p50_p95(behind)
    print(f"{count} tools, {(root / 'tools.json').stat().st_size >> 10} KB")
    print(
        f"  a call      bare {a50:.2f} / {a95:.2f} ms   guarded {b50:.2f} / {b95:.2f} ms   "
        f"added {b50 - a50:.2f} / {b95 - a95:.2f} ms (p50 / p95)"
    )
    first = {
        name: [first_answer(argv, root) for _ in range(options.runs)]
        for name, argv in (("bare", bare), ("guarded", guarded))
    }
    for name, took in first.items():
        print(f"  first answer, {name:8} best {min(took):.0f} ms, median {statistics.median(took):.0f} ms")
    print(f"  memory of the guard {memory:.0f} MB")


if __name__ == "__main__":
    main()
