"""How were the settings of `banditsrl-auto` chosen? On generated tables, wheel and magic.

    python benchmarks/tuning.py [--problems species,mixture,wheel] [--horizon 10000] [--seeds 3]
                                [--table-seed 0] [--set NAME=VALUE]...

Prints the same lines as `constant_regret.py`. Seeds start at 0 here, and at 100 or above in
reported results. The generated tables:

- species: 23 species, each with its own categories, some of which vary; each species has a class.
- rules: categories that depend on each other; a random tree of depth three gives the class.
- mixture: 40 normal clusters in 50 columns, seven classes that overlap.
- letters: 26 classes in four styles each, 16 columns of small whole numbers.
- strokes: pictures of 28 by 28 points; ten classes, each of four strokes at varying positions.
- notes: four columns, two classes with a curved boundary.
- terrain: seven classes, by bands of one column that one of 40 categories shifts; noisy labels.
- trees: five unequal classes, by a random tree over nine columns, some of them heavy-tailed.
"""

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np
from constant_regret import measure

import banditsrl
from banditsrl.experiments.run_spec import parse_settings
from banditsrl.problems import TableProblem

ROWS = 8_000


def species(rng: np.random.Generator) -> TableProblem:
    """Make a table of species, most of whose marks are fixed while the others vary."""
    sizes = rng.integers(2, 10, 22)
    centers = np.stack([rng.integers(0, sizes) for _ in range(23)])
    varies = rng.random((23, 22)) < 0.4
    which = rng.choice(23, ROWS, p=rng.dirichlet(np.ones(23)))
    marks = np.where(varies[which], rng.integers(0, sizes, (ROWS, 22)), centers[which])
    return TableProblem(marks.astype(float), rng.integers(0, 2, 23)[which], name="species")


def rules(rng: np.random.Generator) -> TableProblem:
    """Make a table whose classes are given by a random tree over categories."""
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
    """Make a table of overlapping clusters in columns of different scale."""
    centers = rng.normal(size=(40, 50)) * rng.gamma(1.0, 1.0, 50)
    which = rng.choice(40, ROWS, p=rng.dirichlet(np.ones(40)))
    columns = centers[which] + 1.6 * rng.normal(size=(ROWS, 50))
    return TableProblem(columns, rng.integers(0, 7, 40)[which], name="mixture")


def letters(rng: np.random.Generator) -> TableProblem:
    """Make a table with many classes and few columns."""
    centers = rng.uniform(2, 13, (26, 1, 16)) + 1.5 * rng.normal(size=(26, 4, 16))
    together = 0.3 * rng.normal(size=(16, 16))
    labels, styles = rng.integers(0, 26, ROWS), rng.integers(0, 4, ROWS)
    noise = rng.normal(size=(ROWS, 16)) @ together + 0.7 * rng.normal(size=(ROWS, 16))
    columns = np.clip(np.round(centers[labels, styles] + noise), 0, 15)
    return TableProblem(columns, labels, name="letters")


def strokes(rng: np.random.Generator) -> TableProblem:
    """Make a table with many columns: grey values of points near four line segments."""
    side = np.arange(28)
    points = np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
    ends = rng.uniform(4, 24, (10, 4, 2, 2))  # class, stroke, end, coordinate
    labels = rng.integers(0, 10, ROWS)
    shift = 1.2 * rng.normal(size=(ROWS, 1, 1, 2)) + 1.2 * rng.normal(size=(ROWS, 4, 2, 2))
    pictures = np.empty((ROWS, len(points)))
    for row, (start, end) in enumerate(np.moveaxis(ends[labels] + shift, 2, 1)):
        along = (end - start)[:, None]  # (4, 1, 2)
        place = ((points - start[:, None]) * along).sum(-1) / (along**2).sum(-1)
        nearest = start[:, None] + np.clip(place, 0, 1)[..., None] * along
        pictures[row] = np.exp(-0.5 * ((points - nearest) ** 2).sum(-1).min(0))
    return TableProblem(pictures, labels, name="strokes")


def notes(rng: np.random.Generator) -> TableProblem:
    """Make a table with few columns, whose class depends on all of them together."""
    x = rng.normal(size=(ROWS, 4)) @ rng.normal(size=(4, 4))
    height = x[:, 0] * x[:, 1] + 2.0 * np.sin(x[:, 2]) - 0.3 * x[:, 3] ** 2
    return TableProblem(x, (height > np.median(height)).astype(int), name="notes")


def terrain(rng: np.random.Generator) -> TableProblem:
    """Make a table of bands and categories, whose labels are noisy."""
    x = rng.normal(size=(ROWS, 10))
    x[:, 3:] = np.exp(0.6 * x[:, 3:])
    soil, area = rng.choice(40, ROWS, p=rng.dirichlet(0.5 * np.ones(40))), rng.integers(0, 4, ROWS)
    height = x[:, 0] + 0.5 * rng.normal(size=40)[soil]
    scores = [
        -2.0 * (height - rng.normal()) ** 2
        + 0.7 * rng.normal(size=40)[soil]
        + 0.5 * rng.normal(size=4)[area]
        + 0.4 * np.sin(0.5 * x @ rng.normal(size=10))
        + 0.4 * rng.normal()
        for _ in range(7)
    ]
    labels = (np.stack(scores, 1) + 0.25 * rng.gumbel(size=(ROWS, 7))).argmax(1)
    columns = np.concatenate([x, np.eye(40)[soil], np.eye(4)[area]], axis=1)
    return TableProblem(columns, labels, name="terrain")


def trees(rng: np.random.Generator) -> TableProblem:
    """Make a table whose classes are given by thresholds on columns of any scale."""
    x = rng.standard_t(2, size=(ROWS, 9))
    x[:, :5] = np.round(20 * rng.normal(size=(ROWS, 5)))
    labels = np.zeros(ROWS, dtype=int)

    def grow(rows: Any, depth: int) -> None:
        if depth == 0 or len(rows) < 40:
            labels[rows] = rng.choice(5, p=[0.5, 0.2, 0.15, 0.1, 0.05])
            return
        column = rng.integers(9)
        left = x[rows, column] > np.quantile(x[rows, column], rng.uniform(0.2, 0.8))
        grow(rows[left], depth - 1)
        grow(rows[~left], depth - 1)

    grow(np.arange(ROWS), 5)
    return TableProblem(x, labels, name="trees")


TABLES = (species, rules, mixture, letters, strokes, notes, terrain, trees)
GENERATED: dict[str, Callable[[np.random.Generator], TableProblem]] = {
    table.__name__: table for table in TABLES
}


def main() -> None:
    """Measure every problem with the given settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--problems",
        default=",".join([*GENERATED, "wheel", "magic"]),
        help="Problems, separated by commas.",
    )
    parser.add_argument("--horizon", type=int, default=10_000, help="Steps of each run.")
    parser.add_argument("--seeds", type=int, default=3, help="Number of seeds.")
    parser.add_argument("--table-seed", type=int, default=0, help="Seed of the generated tables.")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Setting of banditsrl-auto.",
    )
    arguments = parser.parse_args()
    settings = parse_settings(arguments.set)
    for name in arguments.problems.split(","):
        generate = GENERATED.get(name)
        rng = np.random.default_rng(arguments.table_seed)
        problem = generate(rng) if generate else banditsrl.make_problem(name)
        print(measure(problem, arguments.horizon, range(arguments.seeds), **settings), flush=True)


if __name__ == "__main__":
    main()
