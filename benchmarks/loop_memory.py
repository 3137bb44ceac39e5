"""Does a loop need more memory the longer it runs? It decides a million times, and should not.

    python benchmarks/loop_memory.py [--decisions 1000000] [--policy linucb-disjoint] [--quick]

One process decides in batches; rewards come a thousand decisions later. The table shows the memory
of the process (resident set) and the size of the log as the number of decisions grows. What counts
is the growth of memory in the second half of the run: the log grows, the process should not.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import banditsrl

N_ACTIONS, N_COLUMNS = 8, 20
BATCH = 200
"""Decisions that are asked for in one call, as a server with as many clients would commit them."""

LATE = 1000
"""Number of decisions that wait for their reward."""

N_READINGS = 20
ALLOWED_GROWTH = 0.05
"""Growth of memory in the second half of the run that counts as none: allocators keep a little."""


def make_config(policy: str) -> dict[str, Any]:
    """Return the configuration of the loop."""
    return {
        "name": "offers",
        "actions": [f"offer-{i}" for i in range(N_ACTIONS)],
        "columns": {f"x{i}": "number" for i in range(N_COLUMNS)},
        "policy": policy,
        "spare_actions": 0,
        "reward": {"range": [-10, 10], "wait": 3600},
    }


def read_memory() -> float:
    """Return the memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(loop: Any, n_decisions: int, store: Path) -> list[dict[str, float]]:
    """Decide and reward, and return readings of memory."""
    chance, waiting = random.Random(0), deque[Any]()
    readings, next_reading, started = [], 0, time.monotonic()
    for done in range(0, n_decisions + 1, BATCH):
        if done >= next_reading:
            size = sum(path.stat().st_size for path in store.parent.iterdir()) / 2**20
            reading = {"decisions": done, "memory": read_memory(), "log": size}
            readings.append({**reading, "seconds": time.monotonic() - started})
            print(
                f"{done:>10,} decisions  {reading['memory']:8.0f} MB of memory  "
                f"{size:8.0f} MB on disk  {readings[-1]['seconds']:7.0f} s",
                flush=True,
            )
            next_reading += n_decisions // N_READINGS
        contexts = [
            {f"x{i}": chance.gauss(0.0, 1.0) for i in range(N_COLUMNS)} for _ in range(BATCH)
        ]
        decisions = loop.decide_many([{"context": context} for context in contexts])
        for context, decision in zip(contexts, decisions, strict=True):
            best = decision.action == ("offer-1" if context["x0"] > 0 else "offer-2")
            waiting.append({"id": decision.id, "value": float(best)})
        if len(waiting) > LATE:
            loop.reward_many([waiting.popleft() for _ in range(len(waiting) - LATE)])
    return readings


def main() -> None:
    """Run, and exit with 1 if memory grows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--policy", default="linucb-disjoint")
    parser.add_argument("--quick", action="store_true", help="a few thousand decisions")
    parser.add_argument("--out", type=Path, help="JSON file for the readings")
    arguments = parser.parse_args()
    n = 4000 if arguments.quick else arguments.decisions
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "offers.db"
        with banditsrl.Loop.create(str(store), make_config(arguments.policy)) as loop:
            readings = run(loop, n, store)
    half, last = readings[len(readings) // 2]["memory"], readings[-1]["memory"]
    growth = last / half - 1.0
    print(f"Memory grew by {growth:.1%} in the second half of {n:,} decisions.")
    if arguments.out is not None:
        document = {"policy": arguments.policy, "growth": growth, "readings": readings}
        arguments.out.write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(0 if growth <= ALLOWED_GROWTH or arguments.quick else 1)


if __name__ == "__main__":
    main()
