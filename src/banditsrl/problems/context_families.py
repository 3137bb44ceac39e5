"""Which contexts occur in practice? Families of situations that differ in their columns.

Unless a family says otherwise, columns are standard normal, rewards are clicks (zero or one), the
best action pays HIGH on average and all others pay LOW.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from banditsrl.problems.reward_laws import RewardLaw
from banditsrl.problems.situations import Draft, Floats, add_family

HIGH, LOW = 0.8, 0.2
N_COLUMNS = 6
RARE_SHARE = 0.03
N_EARLY = 500
"""Rounds in which the column of "late-column" is constant."""

Rng: TypeAlias = np.random.Generator
Best: TypeAlias = NDArray[np.int64] | NDArray[np.bool_]
"""The best action of every round; true is the second of two actions."""


def pay_best(best: Best, n_actions: int) -> Floats:
    """Return means (n, A) that are HIGH for the best action and LOW for the others."""
    return np.where(np.arange(n_actions) == best.astype(np.int64)[:, None], HIGH, LOW)


def clicks(columns: Floats, best: Best, n_actions: int = 2) -> Draft:
    """Return rounds whose rewards are clicks, mostly on the best action."""
    return Draft(columns, pay_best(best, n_actions), RewardLaw("bernoulli"))


def direction(rng: Rng, n_columns: int) -> Floats:
    """Return a random unit vector."""
    drawn = rng.normal(size=n_columns)
    return np.asarray(drawn / np.linalg.norm(drawn))


@add_family("linear-boundary", easy=True)
def linear_boundary(rng: Rng, n: int) -> Draft:
    """Two actions, divided by a plane."""
    x = rng.normal(size=(n, N_COLUMNS))
    return clicks(x, x @ direction(rng, N_COLUMNS) > 0)


@add_family("linear-regions")
def linear_regions(rng: Rng, n: int) -> Draft:
    """Four actions, each best where its own linear score is the largest."""
    x = rng.normal(size=(n, N_COLUMNS))
    return clicks(x, np.argmax(x @ rng.normal(size=(N_COLUMNS, 4)), axis=1), 4)


@add_family("xor", easy=True)
def xor(rng: Rng, n: int) -> Draft:
    """Two actions, by whether two columns have the same sign."""
    x = rng.normal(size=(n, N_COLUMNS))
    return clicks(x, x[:, 0] * x[:, 1] > 0)


@add_family("parity")
def parity(rng: Rng, n: int) -> Draft:
    """Two actions, by the sign of a product of three columns."""
    x = rng.normal(size=(n, N_COLUMNS))
    return clicks(x, x[:, 0] * x[:, 1] * x[:, 2] > 0)


@add_family("interactions")
def interactions(rng: Rng, n: int) -> Draft:
    """Four actions: a pair of columns decides within each sign of a third one."""
    x = rng.normal(size=(n, N_COLUMNS))
    inside = np.where(x[:, 2] > 0, x[:, 0] * x[:, 1] > 0, x[:, 0] + x[:, 1] > 0)
    return clicks(x, 2 * (x[:, 2] > 0) + inside, 4)


@add_family("thresholds", easy=True)
def thresholds(rng: Rng, n: int) -> Draft:
    """Four actions, by whether each of two columns exceeds its threshold."""
    x = rng.normal(size=(n, N_COLUMNS))
    above = x[:, :2] > rng.uniform(-0.5, 0.5, 2)
    return clicks(x, above @ np.array([1, 2]), 4)


@add_family("steps")
def steps(rng: Rng, n: int) -> Draft:
    """Four actions: one uniform column has eight intervals, each with its own best action."""
    x = rng.random((n, N_COLUMNS))
    best = np.repeat(rng.permutation(4)[None], 2, axis=0).ravel()  # neighbours always differ
    return clicks(x, best[(8 * x[:, 0]).astype(np.int64)], 4)


@add_family("flags")
def flags(rng: Rng, n: int) -> Draft:
    """Six columns of zero or one; three of them name a cell, and each has its own best action."""
    codes = rng.integers(0, 2, (n, N_COLUMNS))
    best = rng.integers(0, 4, 8)[codes[:, :3] @ np.array([1, 2, 4])]
    return clicks(codes.astype(np.float64), best, 4)


@add_family("categories-10x10")
def categories_10x10(rng: Rng, n: int) -> Draft:
    """Two columns of ten integer codes; each of the hundred pairs has its own best action."""
    codes = rng.integers(0, 10, (n, 2))
    best = rng.integers(0, 4, (10, 10))[codes[:, 0], codes[:, 1]]
    return clicks(codes.astype(np.float64), best, 4)


@add_family("category-50")
def category_50(rng: Rng, n: int) -> Draft:
    """One column of fifty integer codes, each with its own best action, and five useless ones."""
    code = rng.integers(0, 50, n)
    x = np.column_stack([code, rng.normal(size=(n, N_COLUMNS - 1))])
    return clicks(x, rng.integers(0, 4, 50)[code], 4)


@add_family("offers")
def offers(rng: Rng, n: int) -> Draft:
    """Twelve numbers, eight columns of codes and eight offers; clicks are logistic in both."""
    numbers, sizes = rng.normal(size=(n, 12)), np.array([2, 3, 4, 5, 6, 8, 10, 12])
    codes = rng.integers(0, sizes, (n, 8))
    score = 0.4 * numbers @ rng.normal(size=(12, 8)) - 1.5
    for column in range(8):
        score += 0.6 * rng.normal(size=(sizes[column], 8))[codes[:, column]]
    means = 1.0 / (1.0 + np.exp(-score))
    return Draft(np.column_stack([numbers, codes]), means, RewardLaw("bernoulli"))


@add_family("segments")
def segments(rng: Rng, n: int) -> Draft:
    """A category of six codes selects which of six directions divides the two actions."""
    code, x = rng.integers(0, 6, n), rng.normal(size=(n, N_COLUMNS - 1))
    normals = np.stack([direction(rng, N_COLUMNS - 1) for _ in range(6)])
    return clicks(np.column_stack([code, x]), (x * normals[code]).sum(axis=1) > 0)


@add_family("irrelevant-50")
def irrelevant_50(rng: Rng, n: int) -> Draft:
    """Four linear regions of six columns, next to fifty columns that do not matter."""
    x = rng.normal(size=(n, N_COLUMNS + 50))
    scores = x[:, :N_COLUMNS] @ rng.normal(size=(N_COLUMNS, 4))
    return clicks(x, np.argmax(scores, axis=1), 4)


@add_family("heavy-columns", easy=True)
def heavy_columns(rng: Rng, n: int) -> Draft:
    """Columns with infinite variance (Student's t, two degrees of freedom), divided by a plane."""
    x = rng.standard_t(2, size=(n, N_COLUMNS))
    return clicks(x, x @ direction(rng, N_COLUMNS) > 0)


@add_family("duplicates", easy=True)
def duplicates(rng: Rng, n: int) -> Draft:
    """Three columns and exact copies of them, divided by a plane."""
    x = rng.normal(size=(n, 3))
    return clicks(np.column_stack([x, x]), x @ direction(rng, 3) > 0)


@add_family("collinear")
def collinear(rng: Rng, n: int) -> Draft:
    """Six linear combinations of three hidden columns, of sizes from 1e-3 to 1e3 and far from 0."""
    x = rng.normal(size=(n, 3))
    mixed = x @ rng.normal(size=(3, N_COLUMNS)) * np.logspace(-3, 3, N_COLUMNS)
    offsets = 20.0 * rng.normal(size=N_COLUMNS) * np.logspace(-3, 3, N_COLUMNS)
    return clicks(mixed + offsets, x @ direction(rng, 3) > 0)


@add_family("late-column")
def late_column(rng: Rng, n: int) -> Draft:
    """A column that is zero in the first rounds, and then decides together with another one."""
    x = rng.normal(size=(n, N_COLUMNS))
    x[:N_EARLY, 0] = 0.0
    return clicks(x, x[:, 1] + 2.0 * x[:, 0] > 0)


@add_family("rare-action")
def rare_action(rng: Rng, n: int) -> Draft:
    """Four actions, one of which is best in three rounds out of a hundred only."""
    x = rng.normal(size=(n, N_COLUMNS))
    best = np.argmax(x @ rng.normal(size=(N_COLUMNS, 3)), axis=1)
    score = x @ direction(rng, N_COLUMNS)
    return clicks(x, np.where(score > np.quantile(score, 1.0 - RARE_SHARE), 3, best), 4)


@add_family("logistic-20")
def logistic_20(rng: Rng, n: int) -> Draft:
    """Twenty actions with logistic click rates."""
    x = rng.normal(size=(n, 10))
    score = x @ rng.normal(size=(10, 20)) / np.sqrt(10.0) - 0.5
    return Draft(x, 1.0 / (1.0 + np.exp(-score)), RewardLaw("bernoulli"))


@add_family("nearest-30")
def nearest_30(rng: Rng, n: int) -> Draft:
    """Thirty actions; the best one has the prototype that is nearest to the context."""
    x, prototypes = rng.normal(size=(n, 4)), rng.normal(size=(30, 4))
    distances = ((x[:, None] - prototypes) ** 2).sum(axis=2)
    return clicks(x, np.argmin(distances, axis=1), 30)
