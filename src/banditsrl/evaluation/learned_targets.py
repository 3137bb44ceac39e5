"""What would a policy earn once it has learned from a log like this one? Cross-fitting answers.

The rounds are split into folds by a hash of their row numbers. For each fold a policy learns from
all other folds, and its play on this fold is judged. So no round judges a policy that has seen it,
and the estimate is that of a policy which has learned from (K - 1) / K of the log.
"""

import sys
import time
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.core.adapters import as_policy
from banditsrl.core.policy import AnyPolicy, Policy, State
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.row_folds import SAMPLE_SALT, fold_of, hash_rows
from banditsrl.evaluation.policy_targets import PolicyTarget, check_sizes
from banditsrl.logs.log import Log, LogBatch
from banditsrl.logs.log_batches import join_batches, take_rows
from banditsrl.serving.warm_start import warm_start

FOLDS = 3
"""Every fold costs one training of the policy."""

MOST_LEARNED = 100_000
"""Rounds from which one policy learns; of a longer log an even sample of the rows is taken."""


class LearnedTarget:
    """One policy per fold of a log, which has learned from the other folds only."""

    def __init__(self, name: str, folds: list[PolicyTarget]) -> None:
        self.name, self.folds = name, folds

    def pmf(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return the probability of every action, (n, A), by a policy that has not seen the row."""
        pmf = np.zeros((len(batch.rows), self.folds[0].n_actions))
        folds = fold_of(batch.rows, len(self.folds))
        for fold, target in enumerate(self.folds):
            mine = folds == fold
            if mine.any():
                pmf[mine] = target.pmf(take_rows(batch, mine))
        return pmf


def learn_target(
    policy: AnyPolicy,
    log: Log,
    *,
    name: str | None = None,
    folds: int = FOLDS,
    greedy: bool | None = None,
    weighting: str = "none",
    most_learned: int = MOST_LEARNED,
    seed: int = 0,
    progress: bool = False,
) -> LearnedTarget:
    """Return a policy that has learned from the log, cross-fitted.

    Args:
        policy: Any policy whose contexts are vectors.
        log: The log to learn from, which is also the one that judges.
        name: Name of the target.
        folds: Number of folds K.
        greedy: Whether to judge the action that is predicted to be best, without the policy's
            exploration; None means yes if the policy predicts rewards.
        weighting: How rows count while the policy learns, see `warm_start`.
        most_learned: Rounds to learn from at most, for each fold.
        seed: Seed of the policy's randomness.
        progress: Whether to write a line on stderr for every fold.
    """
    adapted = as_policy(policy)
    n_actions, _ = check_sizes(adapted, log.schema.n_actions)
    rounds = _collect(log, count("folds", folds, 2), count("most_learned", most_learned))
    chosen = predicts(adapted, len(log.schema.columns)) if greedy is None else greedy
    mine = fold_of(rounds.rows, folds)
    sizes = _count_others(mine, folds)
    title = f"learned:{adapted.display_name}" if name is None else name
    targets, started = [], time.monotonic()
    for fold in range(folds):
        if progress:
            _say(title, fold, folds, sizes[fold], time.monotonic() - started)
        # The same capacity for every fold: then the training is compiled once.
        room = max(sizes) - sizes[fold]
        others = take_rows(rounds, mine != fold)
        state = _learn(adapted, others, fold=fold, room=room, weighting=weighting, seed=seed)
        targets.append(PolicyTarget(adapted, state, n_actions=n_actions, greedy=chosen, seed=seed))
    return LearnedTarget(title, targets)


def _count_others(mine: NDArray[np.int64], folds: int) -> list[int]:
    """Return the number of rounds outside each fold; none may be zero."""
    sizes = [int((mine != fold).sum()) for fold in range(folds)]
    if min(sizes) == 0:
        raise InvalidArgument(
            f"log must have rounds in at least two of {folds} folds, got {len(mine)} rounds."
        )
    return sizes


def _say(title: str, fold: int, folds: int, size: int, seconds: float) -> None:
    """Write which fold is learned; the first one also takes the time to compile."""
    so_far = f"{seconds:.0f} s so far" if fold else "its program is compiled first"
    place = f"fold {fold + 1} of {folds}"
    sys.stderr.write(f"{title}: learning {size:,} rounds for {place}, {so_far}\n")
    sys.stderr.flush()


def _learn(
    policy: Policy[Any], batch: LogBatch, *, fold: int, room: int, weighting: str, seed: int
) -> State:
    """Return the state of a policy that has learned some rounds of a log."""
    state, _ = warm_start(
        policy,
        jax.random.fold_in(jax.random.key(seed), fold),
        contexts=batch.contexts,
        actions=batch.actions,
        rewards=batch.rewards,
        propensities=None if np.isnan(batch.propensities).any() else batch.propensities,
        weighting=weighting,
        capacity=room,
    )
    return state


def _collect(log: Log, folds: int, most: int) -> LogBatch:
    """Return the rounds to learn from: all, or an even sample such that K - 1 folds hold `most`."""
    n = sum(len(batch.rows) for batch in log.batches())
    if n == 0:
        raise InvalidArgument(f"log must have at least one round, got none in {log.name}.")
    share = min(most * folds / ((folds - 1) * n), 1.0)
    return join_batches(list(_sample(log, share)), log.schema)


def _sample(log: Log, share: float) -> Iterator[LogBatch]:
    limit = share * 2.0**64
    for batch in log.batches():
        mine = hash_rows(batch.rows, SAMPLE_SALT) < limit
        yield batch if share >= 1.0 else take_rows(batch, mine)


def predicts(policy: Policy[Any], n_columns: int) -> bool:
    """Return whether a policy predicts rewards, without computing anything."""
    state = jax.eval_shape(policy.init, jax.random.key(0))
    return jax.eval_shape(policy.predict, state, np.zeros(n_columns)) is not None
