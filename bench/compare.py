"""What a comparison costs beyond reading: two surfaces of 500 tools of which one differs.

    .venv/bin/python -m bench.compare

Prints the least and the median of many runs in milliseconds. Digests are known, since reading computes them; the prover
is loaded before, as it is once in a run.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.lockfile import ServerPin
from mcp_lock.verify import compare

TOOLS = 500
RUNS = 30


def tool(number: int, **more: Any) -> dict[str, Any]:
    """A tool of ordinary size: five parameters with descriptions."""
    properties = {
        f"parameter_{at}": {"type": "string", "description": f"What number {at} is about, in a sentence or two."}
        for at in range(5)
    }
    schema = {"type": "object", "properties": {**properties, **more}, "required": ["parameter_0"]}
    return {"name": f"tool_{number}", "description": "Does one thing, and says so.", "inputSchema": schema}


def pin(definitions: list[dict[str, Any]]) -> ServerPin:
    """A side that has just been read."""
    contracts = [Contract(Kind.TOOL, definition) for definition in definitions]
    assert all(contract.digest for contract in contracts)
    return ServerPin(None, Surface({Kind.TOOL: {contract.name: contract for contract in contracts}}))


def main() -> None:
    old = [tool(number) for number in range(TOOLS)]
    new = [*old[:-1], tool(TOOLS - 1, added={"type": "integer"})]
    pinned = pin(old)
    compare({"s": pinned}, {"s": pin(new)})
    times = []
    for _ in range(RUNS):
        live = pin(new)
        start = time.perf_counter()
        compare({"s": pinned}, {"s": live})
        times.append((time.perf_counter() - start) * 1000)
    print(f"{TOOLS} tools, one changed: least {min(times):.1f} ms, median {statistics.median(times):.1f} ms")


if __name__ == "__main__":
    main()
