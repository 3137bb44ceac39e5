"""How do the outcomes of batches become one result? By joining them along the axis of the seeds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.policy import State
from banditsrl.numerics.draws import is_key
from banditsrl.simulation.result import Result
from banditsrl.simulation.tally import Tally


class BatchOutcome(NamedTuple):
    """What one batch of seeds leaves behind; seeds are the last axis."""

    state: State
    tally: Tally
    records: Array  # (rows, fields of Tally, seeds)
    reports: list[dict[str, NDArray[Any]]]  # at the start and after each phase


def collect_result(
    outcomes: Sequence[BatchOutcome],
    *,
    problem: str,
    policy: str,
    seeds: NDArray[np.int64],
    horizon: int,
    recorded: NDArray[np.int64],
    phases: Sequence[int],
    pmf_draws: int,
    seconds: float,
) -> Result:
    """Return the result of all batches."""
    rows = _join([outcome.records for outcome in outcomes])[: len(recorded)]  # (K, fields, S)
    columns = {field: rows[:, k].T for k, field in enumerate(Tally._fields)}
    totals = {f: _join([getattr(o.tally, f) for o in outcomes]) for f in Tally._fields}
    for field in ("last_regret", "last_uncertified", "largest_reward"):
        del columns[field]
    return Result(
        problem=problem,
        policy=policy,
        horizon=horizon,
        seeds=seeds,
        steps=recorded,
        last_regret=totals["last_regret"].astype(np.int64),
        last_uncertified=totals["last_uncertified"].astype(np.int64),
        largest_reward=totals["largest_reward"],
        phases=np.asarray(phases, dtype=np.int64),
        reports={field: _join_reports(outcomes, field) for field in outcomes[0].reports[0]},
        state=_join_states([outcome.state for outcome in outcomes]),
        pmf_draws=pmf_draws,
        seconds=seconds,
        **columns,
    )


def _join_reports(outcomes: Sequence[BatchOutcome], field: str) -> NDArray[Any]:
    """Return what was reported under one name, (S, J + 1, ...)."""
    stacked = [np.stack([report[field] for report in outcome.reports]) for outcome in outcomes]
    return np.moveaxis(_join(stacked), -1, 0)


def _join_states(states: Sequence[State]) -> State:
    """Return the states of all seeds."""

    def join(*leaves: Any) -> Any:
        return jnp.concatenate(leaves, axis=-1) if is_key(leaves[0]) else _join(leaves)

    return jax.device_put(states[0] if len(states) == 1 else jax.tree.map(join, *states))


def _join(arrays: Sequence[Any]) -> NDArray[Any]:
    return np.concatenate([np.asarray(array) for array in arrays], axis=-1)
