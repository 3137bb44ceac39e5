"""How do trees join a linear reward model? By stacking, fold by fold, like in `banditsrl-auto`.

For fold k the trees are fitted to kept rows of the other folds. How much they count is decided by
the squared errors on one further fold, of trees and ridge that have seen neither of the two; so
nothing that predicts fold k has seen it, not even through the weights.

Of the five predictors of the portfolio these are the two that can be fitted to a log in seconds,
fold by fold: ridge on the plain columns, and boosted trees.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.estimation.row_folds import KeptRows, fold_of
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.trees import Trees, TreeWeights
from banditsrl.selection.stacking import Stack, fit_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Predict = Callable[[Floats], Floats]
"""Contexts (n, m) to the predicted reward of every action, (n, A)."""

SMALLEST_SIZE = 1024
"""Rows are padded to this size times a power of two, so that few programs are compiled."""


class StackedTrees(NamedTuple):
    """Trees, and the weights of the linear model and of the trees."""

    trees: Trees
    fitted: TreeWeights
    weights: Floats  # (2,)

    def mix(self, linear: Floats, contexts: Floats) -> Floats:
        """Return the weighted mean of linear predictions (n, A) and those of the trees."""
        found = predict_rows(self.trees, self.fitted, contexts)
        return np.asarray(self.weights[0] * linear + self.weights[1] * found)


def fit_stacked_trees(
    kept: KeptRows,
    linear_without: Callable[..., Predict],
    *,
    n_actions: int,
    n_folds: int,
    seed: int,
) -> tuple[StackedTrees, ...]:
    """Return trees and weights for each fold, which have not seen the fold.

    Args:
        kept: Rows of all folds.
        linear_without: Returns the linear model that has not seen the given folds.
        n_actions: Number of actions A.
        n_folds: Number of folds K.
        seed: Seed of the trees.
    """
    trees = Trees(n_actions=n_actions, n_columns=kept.contexts.shape[1])
    folds = fold_of(kept.rows, n_folds)
    fit = partial(fit_trees, trees, kept, jax.random.key(seed))

    def fit_fold(fold: int) -> StackedTrees:
        other = (fold + 1) % n_folds
        inner = fit((folds != fold) & (folds != other))
        judged = folds == other
        contexts, actions = kept.contexts[judged], kept.actions[judged]
        both = linear_without(fold, other)(contexts), predict_rows(trees, inner, contexts)
        errors = np.stack([p[np.arange(len(actions)), actions] for p in both])
        weights = weigh(errors - kept.rewards[judged])
        return StackedTrees(trees, fit(folds != fold), weights)

    return tuple(fit_fold(fold) for fold in range(n_folds))


@in_float64
def weigh(errors: Floats) -> Floats:
    """Return the weights of least squared error, (E,), from errors (E, n)."""
    return np.asarray(fit_weights(Stack(jax.numpy.asarray(errors @ errors.T))))


@in_float64
def fit_trees(trees: Trees, kept: KeptRows, key: Array, seen: NDArray[np.bool_]) -> TreeWeights:
    """Return trees fitted to the kept rows that may be seen."""
    size = SMALLEST_SIZE
    while size < len(seen):
        size *= 2
    columns, actions, rewards, weight = (
        np.pad(part, [(0, size - len(part)), *[(0, 0)] * (part.ndim - 1)])
        for part in (kept.contexts, kept.actions, kept.rewards, seen.astype(np.float64))
    )
    fitted: TreeWeights = _fit(trees, key, columns, actions, rewards, weight)
    return fitted


@in_float64
def predict_rows(trees: Trees, fitted: TreeWeights, contexts: Floats) -> Floats:
    """Return the predicted reward of every action, (n, A)."""
    size = SMALLEST_SIZE
    while size < len(contexts):
        size *= 2
    padded = np.pad(contexts, [(0, size - len(contexts)), (0, 0)])
    return np.asarray(_predict(trees, fitted, padded))[: len(contexts)]


@jax.jit
def _fit(
    trees: Trees, key: Array, columns: Array, actions: Array, rewards: Array, weight: Array
) -> TreeWeights:
    return trees.fit(key, columns, actions, rewards, weight)


@jax.jit
def _predict(trees: Trees, fitted: TreeWeights, contexts: Array) -> Array:
    return jax.vmap(lambda row: trees.predict(fitted, row))(contexts)
