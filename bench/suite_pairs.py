"""Every schema of the official JSON Schema test suite against every other: is a proved verdict ever wrong?

    python -m bench.suite_pairs [SUITE/tests/draft2020-12]

Without a checkout of the suite, the part of it that the tests carry is taken. Takes some minutes; a fault is printed,
and ends it with exit code 1.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from tests.suite import fault, groups, judged, verdicts

CARRIED = Path(__file__).parents[1] / "tests" / "cases" / "suite"


def run(suite: Path) -> int:
    """Prints the counts and every fault; the exit code says whether there was one."""
    found = judged(groups(suite.glob("*.json")))
    counts: Counter[str] = Counter()
    faults, times, began = 0, [], time.perf_counter()
    for old, new, direction, verdict in verdicts(found, every=1):
        times.append(time.perf_counter() - began)
        counts[f"{direction.value} {verdict.impact.word}"] += 1
        if wrong := fault(old, new, direction, verdict):
            faults += 1
            print(wrong, json.dumps(old.schema), json.dumps(new.schema), direction.value, verdict)
        began = time.perf_counter()
    times.sort()
    median, most = times[len(times) // 2] * 1e3, times[len(times) * 95 // 100] * 1e3
    print(f"{len(found)} schemas, {len(times)} judgements, {faults} wrong; {dict(sorted(counts.items()))}")
    print(f"median {median:.2f} ms, p95 {most:.1f} ms, max {times[-1]:.2f} s")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]) if len(sys.argv) > 1 else CARRIED))
