"""Compare three policies on a problem of the paper and draw their regret.

python examples/researcher.py
"""

from pathlib import Path

import banditsrl
from banditsrl.reports import draw, save


def main(horizon: int = 10_000, n_seeds: int = 20, folder: Path = Path("results")) -> list[Path]:
    problem = banditsrl.make_problem("vardim-realizable", seed=0)
    results = [
        banditsrl.simulate(
            problem,
            banditsrl.make_policy(name, problem),
            horizon=horizon,
            seeds=n_seeds,
            name=name,
        )
        for name in ("banditsrl-linucb", "banditsrl-egreedy", "egreedy")
    ]
    for result in results:
        print(f"{result.policy:20} {result.mean[-1]:7.1f} ± {result.stderr[-1]:.1f}")
    return save(draw([(problem.name, results)], "Regret goes flat"), folder / "researcher")


if __name__ == "__main__":
    main()
