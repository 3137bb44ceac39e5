"""Which directions do features span, and what fits the rewards? In units of each column.

Columns of a feature table may have very different scales, such as an age and a price. Spans and
least-squares predictions do not depend on these scales, so every column is divided by its own
largest entry before singular values are compared with each other.
"""

import numpy as np
from numpy.typing import NDArray

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest count as zero: numbers in files are rounded."""

ZERO_COLUMN = 1e-12
"""A column whose largest entry is below this share of the largest entry of all counts as zero."""

Floats = NDArray[np.float64]


def column_scales(rows: Floats) -> Floats:
    """Return what each column of (n, d) is divided by, (d,): its largest entry, or infinity.

    Example:
        >>> column_scales(np.array([[1.0, -1e-7, 0.0], [2.0, 0.0, 1e-20]])).tolist()
        [2.0, 1e-07, inf]
    """
    largest = np.abs(rows).max(axis=0, initial=0.0)
    is_zero = largest <= ZERO_COLUMN * largest.max(initial=0.0)
    return np.where(is_zero, np.inf, largest)


def rank_of(rows: Floats) -> int:
    """Return the dimension of the span of rows (n, d)."""
    return int(np.linalg.matrix_rank(rows / column_scales(rows), rtol=RANK_TOLERANCE))


def fit_least_squares(rows: Floats, targets: Floats) -> tuple[Floats, int]:
    """Return the least-squares fit of targets (n,) by rows (n, d), (d,), and its rank."""
    scales = column_scales(rows)
    theta, _, rank, _ = np.linalg.lstsq(rows / scales, targets, rcond=RANK_TOLERANCE)
    return np.asarray(theta / scales), int(rank)
