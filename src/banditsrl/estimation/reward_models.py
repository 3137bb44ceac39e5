"""What would an action have earned? Reward models that never predict a round they were fitted to.

Every row belongs to one of K folds by a hash of its number, and is predicted by a model that has
not seen its fold (cross-fitting). Without that, a model that fits noise would be corrected by the
same noise: the direct method would be biased, and the intervals of doubly robust too short.

- "ridge": linear per action (`ridge_sums.py`) in the columns, in products of two, and in hinges
  along random directions (`ridge_features.py`).
- "portfolio": ridge and boosted trees, combined by stacking like the predictors of
  `banditsrl-auto` (`tree_rewards.py`).

Predictions are cut to the range of the rewards that the model has seen. A second prediction of each
row, by a ridge model of earlier rows only and without hinges, serves the intervals that may be
watched at every row; this model is fitted again whenever the number of rows has doubled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count, one_of
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.ridge_features import FeatureMap
from banditsrl.estimation.ridge_sums import RidgeSums
from banditsrl.estimation.row_folds import KeptRows, fold_of
from banditsrl.estimation.tree_rewards import Predict, StackedTrees, fit_stacked_trees
from banditsrl.logs.log import LogBatch, LogSchema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("ridge", "portfolio")

FIRST_FIT = 32
"""Number of rows before the first model of earlier rows."""


class RoundSource(Protocol):
    """A log, as far as models and estimators are concerned."""

    @property
    def schema(self) -> LogSchema:
        """Actions and columns."""

    def batches(self) -> Iterator[LogBatch]:
        """Yield all rounds, in the order of the log."""


class LinearModel(NamedTuple):
    """Coefficients of every action, and the range of the rewards they were fitted to."""

    theta: Floats  # (A, d)
    low: float
    high: float

    def predict(self, z: Floats) -> Floats:
        """Return the predicted reward of every action, (n, A), for z (n, d)."""
        return np.asarray(np.clip(z @ self.theta.T, self.low, self.high))


class Anchor(NamedTuple):
    """Units of the columns in the first batch, so that sums lose no digits; and the features."""

    location: Floats  # (m,)
    scale: Floats  # (m,)
    features: FeatureMap

    def apply(self, contexts: Floats, *, plain: bool = False) -> Floats:
        """Return the features z of contexts, (n, d); plain ones are without hinges."""
        features = self.features._replace(n_hinges=0) if plain else self.features
        return features.apply((contexts - self.location) / self.scale)


@dataclass(frozen=True)
class CrossFitted:
    """A reward model for every fold, and models of the first rows of the log.

    Attributes:
        kind: "ridge" or "portfolio".
        anchor: How columns are scaled.
        models: The model without fold k, for each k.
        last_rows: Number of the last row that each earlier model has seen, increasing.
        earlier: Those models.
        trees: Trees and weights without fold k, for each k; empty for "ridge".
    """

    kind: str
    anchor: Anchor
    models: tuple[LinearModel, ...]
    last_rows: tuple[int, ...]
    earlier: tuple[LinearModel, ...]
    trees: tuple[StackedTrees, ...] = ()

    def predict(self, batch: LogBatch) -> Floats:
        """Return the predicted reward of every action, (n, A), by models without the row's fold."""
        z, folds = self.anchor.apply(batch.contexts), fold_of(batch.rows, len(self.models))
        found = np.empty((len(z), len(self.models[0].theta)))
        for fold, model in enumerate(self.models):
            rows = np.flatnonzero(folds == fold)
            found[rows] = model.predict(z[rows])
            if self.trees:
                mixed = self.trees[fold].mix(found[rows], batch.contexts[rows])
                found[rows] = np.clip(mixed, model.low, model.high)
        return found

    def predict_from_earlier(self, batch: LogBatch) -> Floats:
        """Return the predicted reward of every action, (n, A), by models of earlier rows only.

        The first rows, before any model, are predicted as zero.
        """
        z = self.anchor.apply(batch.contexts, plain=True)
        which = np.searchsorted(np.asarray(self.last_rows), batch.rows, side="left")
        found = np.zeros((len(z), len(self.models[0].theta)))
        for i in np.unique(which[which > 0]):
            rows = np.flatnonzero(which == i)
            found[rows] = self.earlier[i - 1].predict(z[rows])
        return found


def fit_reward_model(
    log: RoundSource, *, kind: str = "ridge", folds: int = 5, seed: int = 0
) -> CrossFitted:
    """Return reward models of a log, fitted in one pass over it.

    Args:
        log: The log.
        kind: "ridge" or "portfolio".
        folds: Number of folds K, at least 3: penalties are chosen within the folds that are seen.
        seed: Seed of the trees.
    """
    one_of("kind", kind, KINDS)
    fitter, kept = _Fitter(log.schema, count("folds", folds, 3)), KeptRows(len(log.schema.columns))
    for batch in log.batches():
        fitter.add(batch)
        if kind == "portfolio":
            kept.add(batch)
    anchor = fitter.anchor
    if anchor is None:
        raise InvalidArgument("log must have at least one round, got none.")
    models = tuple(fitter.fit(fold) for fold in range(folds))
    trees: tuple[StackedTrees, ...] = ()
    if kind == "portfolio":
        sizes = {"n_actions": log.schema.n_actions, "n_folds": folds}
        trees = fit_stacked_trees(kept, fitter.predictor_without, **sizes, seed=seed)
    return CrossFitted(kind, anchor, models, tuple(fitter.last_rows), tuple(fitter.earlier), trees)


class _Fitter:
    """Sums over the rows seen so far, and the models that were fitted on the way."""

    def __init__(self, schema: LogSchema, n_folds: int) -> None:
        self.sums = RidgeSums(n_folds, schema.n_actions, len(schema.columns))
        self.lowest, self.highest = np.full(n_folds, np.inf), np.full(n_folds, -np.inf)
        self.anchor: Anchor | None = None
        self.n_rows, self.next_fit = 0, FIRST_FIT
        self.last_rows: list[int] = []
        self.earlier: list[LinearModel] = []

    def add(self, batch: LogBatch) -> None:
        """Add a batch; fit a model of earlier rows whenever their number has doubled."""
        start, n = 0, len(batch.rows)
        while start < n:
            end = min(n, start + self.next_fit - self.n_rows)
            self._add_rows(batch, slice(start, end))
            if self.n_rows == self.next_fit:
                self.earlier.append(self.fit(sums=self.sums.plain()))
                self.last_rows.append(int(batch.rows[end - 1]))
                self.next_fit *= 2
            start = end

    def _add_rows(self, batch: LogBatch, part: slice) -> None:
        contexts, rewards = batch.contexts[part], batch.rewards[part]
        if self.anchor is None:
            spread = batch.contexts.std(axis=0)
            scale = np.where(spread > 0.0, spread, 1.0)
            self.anchor = Anchor(batch.contexts.mean(axis=0), scale, self.sums.features)
        folds = fold_of(batch.rows[part], len(self.lowest))
        actions = batch.actions[part].astype(np.int64)
        self.sums.add(folds, actions, self.anchor.apply(contexts), rewards)
        np.minimum.at(self.lowest, folds, rewards)
        np.maximum.at(self.highest, folds, rewards)
        self.n_rows += len(rewards)

    def fit(self, *left_out: int, sums: RidgeSums | None = None) -> LinearModel:
        """Return the model of the rows seen so far that are not in the given folds."""
        sums = self.sums if sums is None else sums
        seen = [k for k in range(len(self.lowest)) if k not in left_out]
        low, high = self.lowest[seen].min(), self.highest[seen].max()
        if low > high:  # no row was seen
            return LinearModel(np.zeros_like(sums.sums.cross[0]), 0.0, 0.0)
        return LinearModel(sums.fit(*left_out), float(low), float(high))

    def predictor_without(self, *left_out: int) -> Predict:
        """Return predictions of the model that has not seen the given folds."""
        model, anchor = self.fit(*left_out), self.anchor
        if anchor is None:
            raise InvalidArgument("log must have at least one round, got none.")
        return lambda contexts: model.predict(anchor.apply(contexts))
