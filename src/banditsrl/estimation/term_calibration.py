"""By how much does a reward model miss a target? By a constant, which doubly robust may add to it.

Doubly robust has no bias with any predictions that have not seen the round, so with q + b for any
number b as well. Its terms are then

    q_pi + b + w (r - q - b) = q_pi + w (r - q) - b (w - 1).

The mean residual under the target, b = sum w (r - q) / sum w, is nearly the b of least variance. It
makes doubly robust as insensitive to the sum of the weights as the self-normalised estimator is.
The b of a fold comes from the other folds, so the estimate stays without bias.
"""

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.estimation.target_terms import TargetTerms


def calibrate_terms(terms: TargetTerms, folds: NDArray[np.int64]) -> TargetTerms:
    """Return terms with the shift b of each round.

    Args:
        terms: Terms with predictions that have not seen the fold of their round.
        folds: Fold of each round, (n,), as `fold_of` gives it.
    """
    if len(folds) != len(terms.rewards):
        raise InvalidArgument(
            f"folds must have one entry per round, {len(terms.rewards)}, got {len(folds)}."
        )
    n_folds = int(folds.max(initial=0)) + 1
    residuals = terms.weights * (terms.rewards - terms.predicted_played)
    sums = np.bincount(folds, residuals, minlength=n_folds)
    weights = np.bincount(folds, terms.weights, minlength=n_folds)
    others = weights.sum() - weights
    shifts = np.where(others > 0.0, sums.sum() - sums, 0.0) / np.where(others > 0.0, others, 1.0)
    return terms._replace(shifts=shifts[folds])
