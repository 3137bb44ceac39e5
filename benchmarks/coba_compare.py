"""How do our policies do in experiments of coba? Makes the table of docs/coba.md.

    python benchmarks/coba_compare.py
    python benchmarks/coba_compare.py --quick

Every learner plays the same interactions of three synthetic environments of coba, in coba's own
evaluator. Regret is counted against the best action of every round. Learners of coba have their
default settings, and those of Vowpal Wabbit are left out where `vowpalwabbit` is not installed.
Results are appended to a file, and what is in there is not played again.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import coba
import numpy as np
from numpy.typing import NDArray

from banditsrl.integrations.coba_learner import CobaLearner

N_ACTIONS, N_COLUMNS = 5, 5

SHAPE = {"n_actions": N_ACTIONS, "n_context_features": N_COLUMNS, "n_action_features": 0}
"""coba's default sizes, except that actions are names: their features would change every round."""

ENVIRONMENTS: dict[str, Callable[..., Any]] = {
    "linear": coba.Environments.from_linear_synthetic,
    "neighbours": coba.Environments.from_neighbors_synthetic,
    "mlp": coba.Environments.from_mlp_synthetic,
}


def list_learners(rounds: int) -> dict[str, Callable[[int], Any]]:
    """Return a maker of every learner, which takes a seed."""
    learners: dict[str, Callable[[int], Any]] = {
        "random": lambda seed: coba.RandomLearner(seed=seed),
        "coba LinUCB": lambda seed: coba.LinUCBLearner(seed=seed),
        "banditsrl linucb-disjoint": lambda seed: CobaLearner(
            "linucb-disjoint", seed=seed, capacity=rounds
        ),
        "banditsrl-auto": lambda seed: CobaLearner("banditsrl-auto", seed=seed, capacity=rounds),
    }
    if find_spec("vowpalwabbit") is not None:
        learners |= {
            "VW epsilon": lambda seed: coba.VowpalEpsilonLearner(seed=seed),
            "VW softmax": lambda seed: coba.VowpalSoftmaxLearner(seed=seed),
            "VW bag": lambda seed: coba.VowpalBagLearner(seed=seed),
            "VW cover": lambda seed: coba.VowpalCoverLearner(seed=seed),
            "VW rnd": lambda seed: coba.VowpalRndLearner(seed=seed),
            "VW regcb": lambda seed: coba.VowpalRegcbLearner(seed=seed),
            "VW squarecb": lambda seed: coba.VowpalSquarecbLearner(seed=seed),
        }
    return learners


def play(environment: str, learner: Any, *, rounds: int, seed: int) -> dict[str, float]:
    """Play one learner on one environment; return its regret, mean reward and time."""
    (chosen,) = ENVIRONMENTS[environment](rounds, seed=seed, **SHAPE)
    best = [max(map(one["rewards"], one["actions"])) for one in chosen.read()]
    started = time.perf_counter()
    rows = list(coba.SequentialCB(record=["reward"], seed=seed).evaluate(chosen, learner))
    rewards = np.array([row["reward"] for row in rows])
    return {
        "regret": float(np.sum(best) - rewards.sum()),
        "late_regret": float(np.sum(best[rounds // 2 :]) - rewards[rounds // 2 :].sum()),
        "reward": float(rewards.mean()),
        "seconds": time.perf_counter() - started,
    }


def play_all(options: argparse.Namespace, file: Path) -> Iterator[dict[str, Any]]:
    """Yield the result of every environment, seed and learner; append those that are new."""
    known = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {(row["environment"], row["learner"], row["rounds"], row["seed"]): row for row in known}
    for seed in range(1, options.seeds + 1):
        for environment in ENVIRONMENTS:
            for name, make in list_learners(options.rounds).items():
                if options.only and name not in options.only:
                    continue
                key = (environment, name, options.rounds, seed)
                if key not in done:
                    found = play(environment, make(seed), rounds=options.rounds, seed=seed)
                    words = ("environment", "learner", "rounds", "seed")
                    done[key] = {**dict(zip(words, key, strict=True)), **found}
                    with file.open("a") as stream:
                        stream.write(json.dumps(done[key]) + "\n")
                yield done[key]


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print regret and mean reward, with standard errors over the seeds, as a page has them."""
    names = list(dict.fromkeys(row["learner"] for row in rows))
    print("| learner | " + " | ".join(f"{one}: regret | reward" for one in ENVIRONMENTS) + " |")
    print("|---" * (1 + 2 * len(ENVIRONMENTS)) + "|")
    for name in names:
        cells = [name]
        for environment in ENVIRONMENTS:
            mine = [r for r in rows if (r["learner"], r["environment"]) == (name, environment)]
            regret = np.array([row["regret"] for row in mine])
            reward = np.mean([row["reward"] for row in mine])
            cells += [_with_error(regret), f"{reward:.3f}"]
        print("| " + " | ".join(cells) + " |")


def _with_error(values: NDArray[np.float64]) -> str:
    """Return the mean, with its standard error if there are several values."""
    if len(values) == 1:
        return f"{values[0]:.0f}"
    return f"{values.mean():.0f} ± {values.std(ddof=1) / np.sqrt(len(values)):.0f}"


def main() -> None:
    """Play what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5000, help="Rounds of every environment.")
    parser.add_argument("--seeds", type=int, default=5, help="Number of seeds, from 1 on.")
    parser.add_argument("--only", nargs="*", help="Names of the learners to play.")
    parser.add_argument("--out", type=Path, default=Path("build/coba.jsonl"), help="Results.")
    parser.add_argument("--quick", action="store_true", help="Few rounds of the fast learners.")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seeds = 200, 2
        options.only = ["random", "coba LinUCB", "banditsrl linucb-disjoint", "VW epsilon"]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in play_all(options, options.out):
        rows.append(row)
        line = "{learner} on {environment}, seed {seed}: regret {regret:.1f}, {seconds:.0f} s"
        print(line.format(**row), flush=True)
    print_table(rows)


if __name__ == "__main__":
    main()
