"""Which functions of the columns may a ridge model combine? Columns, products of two, and hinges.

With columns x in units of their standard deviations the features are

    z = (1, x, products of two columns, max(u_j . x - t_j, 0) for j = 1 .. H)

with random directions u_j of length one and random knots t_j, the same in every run. Sums of such
hinges can follow any bend, and need no bandwidth: a stretched hinge is a hinge. Products are left
out if the columns are many, and hinges if fitting them would take long. Features without hinges
are called plain.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_HINGES = 100
"""Number H of random hinges."""

HINGE_SEED = 0
"""Seed of directions and knots: a model of the same log is always the same."""

PRODUCT_FACTORS = (1.0, 1e6)
"""Candidates for the factor of penalties for products; the last one ignores products."""

MOST_FEATURES, MOST_SUMS = 100, 2**24
"""Products are left out if there would be more features, or more numbers in all sums, than this."""

MOST_WORK = 10**8
"""Hinges are left out if actions * features^3 would be more: fits would take many seconds."""


class FeatureMap(NamedTuple):
    """Which features there are, for columns of a given number."""

    n_columns: int
    n_products: int
    n_hinges: int

    @property
    def n_plain(self) -> int:
        """Number of features without hinges."""
        return 1 + self.n_columns + self.n_products

    @property
    def dim(self) -> int:
        """Number d of all features."""
        return self.n_plain + self.n_hinges

    def apply(self, columns: Floats) -> Floats:
        """Return z (n, d) for columns (n, m)."""
        n, m = columns.shape
        parts = [np.ones((n, 1)), columns]
        if self.n_products:
            i, j = np.triu_indices(m)
            parts.append(columns[:, i] * columns[:, j])
        if self.n_hinges:
            rng = np.random.default_rng(HINGE_SEED)
            directions = rng.normal(size=(self.n_hinges, m))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            parts.append(np.maximum(columns @ directions.T - rng.normal(size=self.n_hinges), 0.0))
        return np.concatenate(parts, axis=1)

    @property
    def penalty_shapes(self) -> Floats:
        """Candidates for the relative penalties of features, (Q, d); one if there are hinges."""
        factors = PRODUCT_FACTORS if self.n_products and not self.n_hinges else (1.0,)
        shapes = np.ones((len(factors), self.dim))
        shapes[:, 1 + self.n_columns : self.n_plain] = np.array(factors)[:, None]
        return shapes


def choose_features(n_folds: int, n_actions: int, n_columns: int) -> FeatureMap:
    """Return the features whose sums fit into memory and whose fits are quick."""
    n_products = n_columns * (n_columns + 1) // 2
    d = 1 + n_columns + n_products
    if d > MOST_FEATURES or n_folds * n_actions * d * d > MOST_SUMS:
        n_products, d = 0, 1 + n_columns
    d += N_HINGES
    few = n_folds * n_actions * d * d <= MOST_SUMS and n_actions * d**3 <= MOST_WORK
    return FeatureMap(n_columns, n_products, N_HINGES if few and n_columns else 0)
