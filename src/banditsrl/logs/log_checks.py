"""Can a row of a log be used? Every defect is one sentence with the number of the row.

A propensity must lie in (0, 1], a pmf must be a law that agrees with the propensity, rewards and
contexts must be finite, and the action that was played must be one that is known and available.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import LARGEST_NUMBER
from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import LogBatch, LogSchema, SkippedRows
from banditsrl.logs.log_batches import take_rows

SUM_TOLERANCE = 1e-3
"""By how much the sum of a law may differ from one: some logs round to three digits."""

ROUNDING = 1e-6
"""By how much one probability may be off: some logs have single precision."""

AGREEMENT = 0.02
"""Share by which a propensity may differ from the law, where both were rounded."""

EXACT = 1e-12
"""Laws whose sum is closer to one than this are kept as they are; others are divided by it."""

Defects = Mapping[int, str]
"""What is wrong with rows, by their place in the batch."""


def keep_good_rows(
    batch: LogBatch, schema: LogSchema, broken: Defects, name: str, skipped: SkippedRows | None
) -> LogBatch:
    """Return the rows that can be used; the first bad one is refused unless they are skipped.

    Args:
        batch: Rows as they were read.
        schema: Actions and columns of the log.
        broken: Rows that could not even be read, by their place in the batch.
        name: What the log is called in messages.
        skipped: Where bad rows are counted; None refuses them.
    """
    batch = _fill_propensities(batch)
    defects = {**_find_defects(batch, schema), **broken}
    for at in sorted(defects):
        sentence = f"{name}: row {batch.rows[at]}: {defects[at]}"
        if skipped is None:
            raise InvalidArgument(sentence)
        skipped.add(sentence)
    if defects:
        good = np.ones(len(batch.rows), dtype=bool)
        good[list(defects)] = False
        batch = take_rows(batch, good)
    return _normalise(batch)


def _fill_propensities(batch: LogBatch) -> LogBatch:
    """Take propensities that were not logged from the pmf, if there is one."""
    missing = np.isnan(batch.propensities)
    if batch.pmf is None or not missing.any():
        return batch
    within = np.clip(batch.actions, 0, batch.pmf.shape[1] - 1)
    played = batch.pmf[np.arange(len(within)), within]
    return batch._replace(propensities=np.where(missing, played, batch.propensities))


def _find_defects(batch: LogBatch, schema: LogSchema) -> dict[int, str]:
    """Return the first defect of each bad row."""
    defects: dict[int, str] = {}

    def note(bad: Any, describe: Callable[[int], str]) -> None:
        for at in np.flatnonzero(bad):
            defects.setdefault(int(at), describe(int(at)))

    _check_contexts(batch, schema, note)
    _check_rounds(batch, schema, note)
    _check_masks(batch, schema, note)
    _check_laws(batch, schema, note)
    return defects


Note = Callable[[Any, Callable[[int], str]], None]


def _check_contexts(batch: LogBatch, schema: LogSchema, note: Note) -> None:
    odd = ~(np.abs(batch.contexts) <= LARGEST_NUMBER)
    if odd.any():
        note(
            odd.any(axis=1),
            lambda at: _describe_number(schema.columns, batch.contexts[at], odd[at]),
        )


def _check_rounds(batch: LogBatch, schema: LogSchema, note: Note) -> None:
    n_actions, rewards, p = schema.n_actions, batch.rewards, batch.propensities
    note(
        (batch.actions < 0) | (batch.actions >= n_actions),
        lambda at: f"action must be an index below {n_actions}, got {batch.actions[at]}.",
    )
    note(np.isnan(rewards), lambda _: "reward must be a number, got none.")
    note(~(np.abs(rewards) <= LARGEST_NUMBER), lambda at: _describe_size("reward", rewards[at]))
    note(
        (p <= 0.0) | (p > 1.0 + ROUNDING),
        lambda at: f"propensity must be above 0 and at most 1, got {p[at]:g}.",
    )


def _check_masks(batch: LogBatch, schema: LogSchema, note: Note) -> None:
    if batch.available is None:
        return
    played = _take_played(batch.available, batch.actions)
    note(
        ~played,
        lambda at: (
            f"action must be available, got {_name(schema, batch.actions[at])}, which was not."
        ),
    )


def _check_laws(batch: LogBatch, schema: LogSchema, note: Note) -> None:
    pmf, p = batch.pmf, batch.propensities
    if pmf is None:
        return
    inside = ((pmf >= 0.0) & (pmf <= 1.0 + ROUNDING)).all(axis=1)
    note(~inside, lambda at: f"pmf must hold probabilities, got {_first_odd(pmf[at]):g}.")
    sums = pmf.sum(axis=1)
    note(
        ~(np.abs(sums - 1.0) <= SUM_TOLERANCE),
        lambda at: f"pmf must sum to 1, got {sums[at]:g}.",
    )
    played = _take_played(pmf, batch.actions)
    note(
        np.abs(played - p) > ROUNDING + AGREEMENT * p,
        lambda at: (
            f"propensity must agree with the pmf, got {p[at]:g} and {played[at]:g} for "
            f"{_name(schema, batch.actions[at])}."
        ),
    )
    if batch.available is not None:
        outside = np.where(batch.available, 0.0, pmf).max(axis=1)
        note(
            outside > ROUNDING,
            lambda at: f"pmf must be 0 for actions that are not available, got {outside[at]:g}.",
        )


def _take_played(values: NDArray[Any], actions: NDArray[np.int32]) -> NDArray[Any]:
    """Return the entry of the action that was played; indices outside are a defect already."""
    within = np.clip(actions, 0, values.shape[1] - 1)
    return values[np.arange(len(within)), within]


def _name(schema: LogSchema, action: np.int32) -> str:
    return repr(schema.actions[min(max(int(action), 0), schema.n_actions - 1)])


def _first_odd(law: NDArray[np.float64]) -> float:
    return float(law[~((law >= 0.0) & (law <= 1.0 + ROUNDING))][0])


def _describe_number(
    columns: tuple[str, ...], context: NDArray[np.float64], odd: NDArray[np.bool_]
) -> str:
    at = int(np.argmax(odd))
    return _describe_size(columns[at], context[at])


def _describe_size(name: str, number: float) -> str:
    if not np.isfinite(number):
        return f"{name} must be finite, got {number:g}."
    return f"{name} must be at most {LARGEST_NUMBER:g} in size, got {number:g}."


def _normalise(batch: LogBatch) -> LogBatch:
    """Let probabilities that were rounded be a law: none above one, and a sum of one."""
    p = np.minimum(batch.propensities, 1.0)
    if batch.pmf is None:
        return batch._replace(propensities=p)
    sums = batch.pmf.sum(axis=1, keepdims=True)
    rounded = np.abs(sums - 1.0) > EXACT
    return batch._replace(propensities=p, pmf=np.where(rounded, batch.pmf / sums, batch.pmf))
