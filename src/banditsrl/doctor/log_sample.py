"""Which rounds of a log does the doctor look at? All, or a random sample if there are many.

A log is read once, batch by batch. Every round draws a number at random, and those with the
smallest numbers are kept, so memory does not grow with the log.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import Log, LogBatch
from banditsrl.theory.column_candidates import ColumnRounds

MOST_ROWS = 40_000
"""Most rounds that are kept."""

SEED = 0
"""Seed of the sample, so that the doctor says the same twice."""

Floats = NDArray[np.float64]


class LogSample(NamedTuple):
    """Rounds of a log, and what is known of the rest."""

    rounds: ColumnRounds
    n: int  # rounds of the whole log
    n_played: NDArray[np.int64]  # (A,) how often each action was played in the whole log
    least: float  # smallest propensity of the log; nan if none was logged
    n_missing: int  # rounds without a propensity


def sample_log(log: Log, *, most_rows: int = MOST_ROWS, progress: bool = False) -> LogSample:
    """Read a log and return at most `most_rows` of its rounds, in the order of the log.

    Args:
        log: The log.
        most_rows: Most rounds that are kept.
        progress: Whether to show how far the log has been read.
    """
    rng = np.random.default_rng(SEED)
    kept: list[_Drawn] = []
    n, n_missing, least = 0, 0, float("inf")
    n_played = np.zeros(log.schema.n_actions, dtype=np.int64)
    for batch in log.batches(progress=progress):
        n += len(batch.rewards)
        n_played += np.bincount(batch.actions, minlength=len(n_played))
        known = batch.propensities[~np.isnan(batch.propensities)]
        n_missing += len(batch.propensities) - len(known)
        least = min(least, float(known.min(initial=np.inf)))
        kept.append(_Drawn(rng.random(len(batch.rewards)), batch))
        kept = _keep_smallest(kept, most_rows)
    if not n:
        raise InvalidArgument(f"{log.name}: must hold at least one round, got none.")
    rounds = _join([drawn.batch for drawn in kept], len(n_played))
    return LogSample(rounds, n, n_played, least if n_missing < n else float("nan"), n_missing)


class _Drawn(NamedTuple):
    """Consecutive rounds, and the number that each of them drew."""

    numbers: Floats
    batch: LogBatch


def _keep_smallest(drawn: list[_Drawn], most_rows: int) -> list[_Drawn]:
    """Return the rounds with the smallest numbers."""
    together = np.concatenate([one.numbers for one in drawn])
    if len(together) <= most_rows:
        return drawn
    limit = np.partition(together, most_rows - 1)[most_rows - 1]
    return [_select(one, np.flatnonzero(one.numbers <= limit)) for one in drawn]


def _select(drawn: _Drawn, places: NDArray[np.int64]) -> _Drawn:
    batch = drawn.batch
    chosen = batch._replace(
        contexts=batch.contexts[places],
        actions=batch.actions[places],
        rewards=batch.rewards[places],
        available=None if batch.available is None else batch.available[places],
        pmf=None,  # not needed, and large
    )
    return _Drawn(drawn.numbers[places], chosen)


def _join(batches: list[LogBatch], n_actions: int) -> ColumnRounds:
    available = None
    if any(batch.available is not None for batch in batches):
        available = np.concatenate([_read_available(batch, n_actions) for batch in batches])
    return ColumnRounds(
        contexts=np.concatenate([batch.contexts for batch in batches]),
        actions=np.concatenate([batch.actions for batch in batches]).astype(np.int64),
        rewards=np.concatenate([batch.rewards for batch in batches]),
        n_actions=n_actions,
        available=available,
    )


def _read_available(batch: LogBatch, n_actions: int) -> NDArray[np.bool_]:
    if batch.available is None:
        return np.ones((len(batch.rewards), n_actions), dtype=bool)
    return batch.available
