"""How long does it take to read a large log, and how much memory? One process per format.

    python benchmarks/read_logs.py [--rows 1000000] [--endings jsonl dsjson] [--quick]

A log with ten columns, five actions and their laws is written in every format, and then read
without being told anything about it: a first pass finds columns and actions, a second one yields
the rounds. Prints the seconds of writing and reading, and the peak resident memory of the process
that reads, beside that of a process that reads nothing. Seconds of the processor are the ones to
compare on a machine that does other things as well.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from banditsrl.logs.log import BATCH_ROWS, Log, LogBatch, LogSchema, SkippedRows

ENDINGS = {
    "Parquet": "parquet",
    "CSV": "csv",
    "JSON lines": "jsonl",
    "VW dsjson": "dsjson",
    "VW text": "vw",
    "Open Bandit arrays": "npz",
}
N_COLUMNS, N_ACTIONS = 10, 5
QUICK_ROWS = 20_000


class DrawnRounds:
    """A log of random rounds that is never held as a whole."""

    name = "drawn rounds"
    schema = LogSchema(
        tuple("abcde"[:N_ACTIONS]), tuple(f"column{k}" for k in range(1, N_COLUMNS + 1))
    )

    def __init__(self, n: int) -> None:
        self._n = n

    def batches(self, skipped: SkippedRows) -> Iterator[LogBatch]:  # noqa: ARG002  (these rows are never bad)
        """Yield rounds; they are the same in every pass."""
        rng = np.random.default_rng(0)
        for first in range(0, self._n, BATCH_ROWS):
            n = min(BATCH_ROWS, self._n - first)
            laws = rng.dirichlet(np.ones(N_ACTIONS), size=n)
            actions = (laws.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, N_ACTIONS - 1)
            yield LogBatch(
                rows=np.arange(first + 1, first + n + 1),
                contexts=rng.normal(size=(n, N_COLUMNS)),
                actions=actions.astype(np.int32),
                rewards=rng.normal(size=n),
                propensities=laws[np.arange(n), actions],
                pmf=laws,
                available=None,
                certified=None,
                audited=None,
            )


def peak_mb() -> float:
    """Return the peak resident memory; ru_maxrss would include that of the parent process."""
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_once(path: str) -> dict[str, float]:
    """Read a log and return the seconds, the peak memory and a sum that shows it was read."""
    start, before, n, total = time.perf_counter(), time.process_time(), 0, 0.0
    if path:
        for batch in Log.read(path).batches():
            n += len(batch.rows)
            total += float(batch.rewards.sum())
    spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - before}
    return {**spent, "peak": peak_mb(), "n": n, "total": total}


def read_elsewhere(path: str) -> dict[str, float]:
    """Read a log in a process of its own."""
    command = [sys.executable, __file__, "--read", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    return dict(json.loads(done.stdout))


def main() -> int:
    """Write and read all formats, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="Rounds of the log.")
    parser.add_argument("--endings", nargs="*", help="Endings of the formats; all if not given.")
    parser.add_argument("--quick", action="store_true", help=f"Only {QUICK_ROWS:,} rounds.")
    parser.add_argument("--read", help="Read one log and print what it took, as JSON.")
    arguments = parser.parse_args()
    if arguments.read is not None:
        print(json.dumps(read_once(arguments.read)))
        return 0
    n = QUICK_ROWS if arguments.quick else arguments.rows
    log, idle = Log(DrawnRounds(n)), read_elsewhere("")["peak"]
    total = sum(float(batch.rewards.sum()) for batch in log.batches())
    print(f"{n:,} rounds; a process that reads nothing takes {idle:.0f} MB\n")
    print("| format | file, MB | write, s | read, s | read, CPU s | peak, MB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, ending in ENDINGS.items():
            if arguments.endings and ending not in arguments.endings:
                continue
            path = Path(folder) / f"rounds.{ending}"
            start = time.perf_counter()
            log.write(path)
            written, size = time.perf_counter() - start, path.stat().st_size / 1e6
            found = read_elsewhere(str(path))
            if found["n"] != n or abs(found["total"] - total) > 1e-6:
                print(f"{name}: the log that was read differs from the one that was written.")
                return 1
            path.unlink()
            print(
                f"| {name} | {size:.0f} | {written:.0f} | {found['seconds']:.0f} | "
                f"{found['cpu']:.0f} | {found['peak']:.0f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
