"""How does the default policy of an earlier version do? Run this where that version is installed.

    python benchmarks/trust.py --export ROUNDS
    OLD/bin/python benchmarks/trust_reference.py ROUNDS --label 0.2.0 --out benchmarks/results/trust

It needs the `Agent`, `Stream` and `make_policy` of the installed version, and reads the rounds that
`trust.py` exported. Settings are left at their defaults, as they are for somebody with a new
stream.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from trust_rounds import Rounds, append_row, load_rounds, make_row, play, read_rows

import banditsrl


def run(rounds: Rounds, policy: str) -> dict[str, object]:
    """Return the row of one run."""
    started = time.perf_counter()
    (n, n_columns), n_actions = rounds.contexts.shape, rounds.means.shape[1]
    stream = banditsrl.Stream(n_columns=n_columns, n_actions=n_actions)
    agent = banditsrl.Agent(banditsrl.make_policy(policy, stream), seed=rounds.seed)

    def act(context: object) -> tuple[int, bool, object]:
        choice = agent.act(context)
        return int(choice.action), bool(choice.certified), choice

    counts = play(rounds, act, agent.learn)
    row = make_row(rounds.family, rounds.seed, n, rounds.random_loss, counts)
    return {**row, "seconds": round(time.perf_counter() - started, 1)}


def main() -> None:
    """Run every file of rounds that has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=Path, help="Folder that trust.py --export wrote.")
    parser.add_argument("--label", default=banditsrl.__version__, help="Name of the results.")
    parser.add_argument("--policy", default="banditsrl-auto", help="Name of the policy.")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/trust"))
    options = parser.parse_args()
    file = options.out / f"{options.label}.jsonl"
    done = {(row["family"], row["seed"], row["rounds"]) for row in read_rows(file)}
    for path in sorted(options.rounds.glob("*.npz")):
        rounds = load_rounds(path)
        if (rounds.family, rounds.seed, len(rounds.means)) in done:
            continue
        row = run(rounds, options.policy)
        append_row(file, row)
        print(f"{rounds.family:20} seed {rounds.seed:5} regret {row['regret']:10.1f}", flush=True)


if __name__ == "__main__":
    main()
