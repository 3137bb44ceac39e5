"""How much memory does the doctor take? Plain columns, and the same embedding written out.

    python benchmarks/doctor_memory.py [--rounds 100000] [--actions 50] [--columns 20]
    python benchmarks/doctor_memory.py --written-out --rounds 1000

Prints the peak resident memory of the process. From plain columns the doctor makes its embeddings
and computes block by block. With --written-out, the embedding of the columns in blocks is an array
of rounds x actions x (actions columns) numbers, as candidates were given before.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from memory import peak_mb
from numpy.typing import NDArray

from banditsrl.doctor.doctor import examine
from banditsrl.theory.log_diagnosis import diagnose_log

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def make_rounds(n: int, n_actions: int, n_columns: int) -> tuple[Floats, Ints, Floats]:
    """Return contexts, actions and rewards that are linear in the columns."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(n, n_columns))
    actions = rng.integers(0, n_actions, n)
    effects = rng.normal(size=(n_actions, n_columns)) / np.sqrt(n_columns)
    rewards = (contexts * effects[actions]).sum(axis=1) + 0.5 * rng.normal(size=n)
    return contexts, actions, rewards


def examine_written_out(contexts: Floats, actions: Ints, rewards: Floats, n_actions: int) -> None:
    """Examine the embedding in blocks as an array."""
    n, k = contexts.shape
    table = np.zeros((n, n_actions, n_actions * k))
    for action in range(n_actions):
        table[:, action, action * k : (action + 1) * k] = contexts
    diagnose_log({"columns": table}, actions, rewards)


def examine_file(contexts: Floats, actions: Ints, rewards: Floats) -> None:
    """Write the rounds to a file, and examine it."""
    columns = {f"x{j}": contexts[:, j] for j in range(contexts.shape[1])}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rounds.parquet"
        pl.DataFrame({**columns, "action": actions, "reward": rewards}).write_parquet(path)
        print(f"before the examination: {peak_mb():,.0f} MB")
        print(examine(path).advice)


def main() -> None:
    """Examine rounds and print the peak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100_000, help="Logged rounds.")
    parser.add_argument("--actions", type=int, default=50, help="Actions.")
    parser.add_argument("--columns", type=int, default=20, help="Columns of a context.")
    parser.add_argument("--written-out", action="store_true", help="Write the embedding out.")
    given = parser.parse_args()
    rounds = make_rounds(given.rounds, given.actions, given.columns)
    start = time.perf_counter()
    if given.written_out:
        examine_written_out(*rounds, given.actions)
    else:
        examine_file(*rounds)
    seconds = time.perf_counter() - start
    print(f"{given.rounds:,} rounds in {seconds:.0f} s, at most {peak_mb():,.0f} MB")


if __name__ == "__main__":
    main()
