"""How are the terms of a log collected? In one pass, for all targets at once."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from banditsrl.estimation.reward_models import CrossFitted, RoundSource
from banditsrl.estimation.row_folds import fold_of
from banditsrl.estimation.target_terms import TargetTerms, join_terms, make_terms
from banditsrl.estimation.term_calibration import calibrate_terms
from banditsrl.logs.log import LogBatch

Floats = NDArray[np.float64]


class PmfSource(Protocol):
    """A target, as far as estimators are concerned."""

    def pmf(self, batch: LogBatch) -> Floats:
        """Return the probability of every action in each round, (n, A)."""


def collect_terms(
    log: RoundSource, targets: Sequence[PmfSource], *, model: CrossFitted | None = None
) -> list[TargetTerms]:
    """Return the terms of every target, with predictions calibrated for it.

    Args:
        log: The log.
        targets: The targets; each must be fixed before the rounds that judge it.
        model: Reward model of the log; None leaves "dm" and "dr" without predictions.
    """
    parts: list[list[TargetTerms]] = [[] for _ in targets]
    rows = []
    for batch in log.batches():
        rows.append(batch.rows)
        predictions = None if model is None else model.predict(batch)
        earlier = None if model is None else model.predict_from_earlier(batch)
        for target, found in zip(targets, parts, strict=True):
            pmf = target.pmf(batch)
            found.append(make_terms(batch, pmf, predictions=predictions, earlier=earlier))
    joined = [join_terms(found) for found in parts]
    if model is None:
        return joined
    folds = fold_of(np.concatenate(rows), len(model.models))
    return [calibrate_terms(terms, folds) for terms in joined]
