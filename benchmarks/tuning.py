"""How were the settings of `banditsrl-auto` chosen? On generated tables, wheel and magic.

    python benchmarks/tuning.py [--problems species,mixture,wheel] [--horizon 10000] [--seeds 3]
                                [--set NAME=VALUE]...

Prints what `constant_regret.py` prints. Seeds start at 0; reported ones at 100. The tables:

- species: 23 species with categories of their own, of which some vary; the class is the species'.
- rules: categories that depend on each other; the class is given by a random tree of depth three.
- mixture: 40 normal clusters in 50 columns, seven classes that overlap.
"""

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np
from constant_regret import measured

import banditsrl
from banditsrl.experiments.spec import parsed_settings
from banditsrl.problems import TableProblem

ROWS = 8_000


def species(rng: np.random.Generator) -> TableProblem:
    """Marks of species: most are fixed for a species, the others vary."""
    sizes = rng.integers(2, 10, 22)
    centers = np.stack([rng.integers(0, sizes) for _ in range(23)])
    varies = rng.random((23, 22)) < 0.4
    which = rng.choice(23, ROWS, p=rng.dirichlet(np.ones(23)))
    marks = np.where(varies[which], rng.integers(0, sizes, (ROWS, 22)), centers[which])
    return TableProblem(marks.astype(float), rng.integers(0, 2, 23)[which], name="species")


def rules(rng: np.random.Generator) -> TableProblem:
    """Classes by a random tree over categories."""
    sizes = rng.integers(2, 10, 22)
    centers = np.stack([rng.integers(0, sizes) for _ in range(20)])
    which = rng.integers(0, 20, ROWS)
    noise = rng.integers(0, sizes, (ROWS, 22))
    values = np.where(rng.random((ROWS, 22)) < 0.6, centers[which], noise)
    labels = np.zeros(ROWS, dtype=int)

    def grow(rows: Any, depth: int) -> None:
        if depth == 0 or len(rows) < 30:
            labels[rows] = rng.integers(2)
            return
        column = rng.integers(22)
        left = (rng.random(sizes[column]) < 0.5)[values[rows, column]]
        grow(rows[left], depth - 1)
        grow(rows[~left], depth - 1)

    grow(np.arange(ROWS), 3)
    return TableProblem(values.astype(float), labels, name="rules")


def mixture(rng: np.random.Generator) -> TableProblem:
    """Overlapping clusters in columns of unequal use."""
    centers = rng.normal(size=(40, 50)) * rng.gamma(1.0, 1.0, 50)
    which = rng.choice(40, ROWS, p=rng.dirichlet(np.ones(40)))
    columns = centers[which] + 1.6 * rng.normal(size=(ROWS, 50))
    return TableProblem(columns, rng.integers(0, 7, 40)[which], name="mixture")


GENERATED: dict[str, Callable[[np.random.Generator], TableProblem]] = {
    "species": species,
    "rules": rules,
    "mixture": mixture,
}


def main() -> None:
    """Measure every problem with the settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default="species,rules,mixture,wheel,magic")
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    settings = parsed_settings(arguments.set)
    for name in arguments.problems.split(","):
        generate = GENERATED.get(name)
        problem = generate(np.random.default_rng(0)) if generate else banditsrl.make_problem(name)
        print(measured(problem, arguments.horizon, range(arguments.seeds), **settings), flush=True)


if __name__ == "__main__":
    main()
