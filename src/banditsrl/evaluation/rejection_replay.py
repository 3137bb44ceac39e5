"""What would a policy that learns while it runs have earned? Replay it on a log, by rejection.

A policy that learns has no fixed distribution, so weights cannot judge it: what it would have done
in round 1,000 depends on what it would have learned before. Rejection turns the rows of a log into
a run of the policy (`replay_rounds`). Two estimates of the mean reward of this run are offered:

- `replay_by_rejection`: the mean reward of accepted rows. It is right on average if no ratio was
  cut, and accepts one row in 1 / (smallest propensity).
- `replay_doubly_robust`: with the rate c_k at which row k was visited, a reward model q and the
  distribution pi_k of the policy at that time,

      R_k = sum_b pi_k(b | x_k) q(x_k, b) + pi_k(a_k | x_k) / p_k (r_k - q(x_k, a_k)),
      value = sum_k c_k R_k / sum_k c_k.

  All rows count, not only accepted ones, and the rate may follow a quantile of the ratios (DR-ns of
  Dudik, Erhan, Langford and Li, 2012; `acceptance_rates`). A row is visited before the policy has
  learned it, so R_k is right on average whatever q is. What bias there is comes from cut ratios:
  the policy then learns from too few of the actions that it prefers.

Both are about the first N rounds of a run, N being the number of accepted rows: a policy that still
learns earns more later. Intervals are about the run that was replayed; another seed gives another
run.
"""

import math
from collections.abc import Iterator
from typing import Any, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count, probability, real
from banditsrl.core.adapters import as_policy
from banditsrl.core.policy import AnyPolicy, State
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.mean_intervals import student_interval
from banditsrl.evaluation.acceptance_rates import AcceptanceRate, fixed_rate, rate_by_quantile
from banditsrl.evaluation.policy_replay import PolicyReplay, check_propensities
from banditsrl.evaluation.policy_targets import check_sizes
from banditsrl.evaluation.replay_estimates import (
    ReplayedRows,
    ReplayEstimate,
    always_mean,
    draw_curve,
)
from banditsrl.evaluation.replay_rounds import SeenRows
from banditsrl.logs.log import Log, LogBatch

FIRST_SHARE = 0.25
"""Share of rows for whose acceptance room is made, if the rate is not known beforehand."""


class RewardModel(Protocol):
    """A model of rewards, none of whose predictions has seen the reward that it predicts."""

    def predict(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return the predicted reward of every action in each round, (n, A)."""


def replay_by_rejection(
    policy: AnyPolicy,
    log: Log,
    *,
    rate: float | None = None,
    level: float = 0.05,
    reward_range: tuple[float, float] | None = None,
    name: str | None = None,
    seed: int = 0,
    progress: bool = False,
) -> ReplayEstimate:
    """Return the mean reward of a run of the policy that is made of accepted rows.

    Args:
        policy: Any policy whose contexts are vectors.
        log: Rounds with propensities.
        rate: Rows are accepted with probability min(1, rate * pi / p). None takes the smallest
            propensity in the log, for which no ratio is cut, whatever the policy does.
        level: Probability that an interval misses the value.
        reward_range: Least and largest reward that is possible, for the interval that holds at
            all rows.
        name: Name in the result; the policy's by default.
        seed: Seed of the policy and of the acceptance.
        progress: Whether to show a progress bar.
    """
    probability("level", level)
    known = find_smallest_propensity(log) if rate is None else _check_rate("rate", rate)
    found, state = _replay(policy, log, fixed_rate(known), seed=seed, progress=progress)
    earned = _accepted_rewards(found)
    low, high = student_interval(earned, level=level)
    always = always_mean(earned, reward_range, level=level)
    stderr = float(earned.std(ddof=1) / math.sqrt(len(earned))) if len(earned) > 1 else math.inf
    return ReplayEstimate(
        name=as_policy(policy).display_name if name is None else name,
        value=float(earned.mean()),
        stderr=stderr,
        low=low,
        high=high,
        always_low=always.low,
        always_high=always.high,
        n_accepted=len(earned),
        n=len(found.rewards),
        rate=known,
        cut_share=found.cut_share,
        curve=draw_curve(earned, np.ones_like(earned), np.arange(1, len(earned) + 1)),
        state=state,
    )


def replay_doubly_robust(
    policy: AnyPolicy,
    log: Log,
    *,
    model: RewardModel | None = None,
    quantile: float = 0.05,
    largest_rate: float = 1.0,
    level: float = 0.05,
    name: str | None = None,
    seed: int = 0,
    progress: bool = False,
) -> ReplayEstimate:
    """Return the doubly robust estimate of the mean reward of a run of the policy.

    Args:
        policy: Any policy whose contexts are vectors.
        log: Rounds with propensities.
        model: A reward model that is fitted across folds, such as `fit_reward_model` returns; None
            predicts zero.
        quantile: The rate is this quantile of the values p / pi seen so far; 0 takes the least.
        largest_rate: Largest rate, which is also the first one.
        level: Probability that the interval misses the value.
        name: Name in the result; the policy's by default.
        seed: Seed of the policy and of the acceptance.
        progress: Whether to show a progress bar.
    """
    probability("level", level)
    if not 0.0 <= real("quantile", quantile) < 1.0:
        raise InvalidArgument(f"quantile must be at least 0 and below 1, got {quantile!r}.")
    rate = rate_by_quantile(quantile, _check_rate("largest_rate", largest_rate))
    found, state = _replay(policy, log, rate, seed=seed, progress=progress, model=model)
    value, errors = _average_terms(found)
    low, high = student_interval(value + errors, level=level)
    return ReplayEstimate(
        name=as_policy(policy).display_name if name is None else name,
        value=value,
        stderr=float(np.sqrt((errors**2).sum()) / len(errors)),
        low=low,
        high=high,
        always_low=-math.inf,
        always_high=math.inf,
        n_accepted=int(found.accepted.sum()),
        n=len(errors),
        rate=float(found.rates[-1]),
        cut_share=found.cut_share,
        curve=draw_curve(found.terms, found.rates, found.accepted.cumsum()),
        state=state,
    )


def _replay(
    policy: AnyPolicy,
    log: Log,
    rate: AcceptanceRate,
    *,
    seed: int,
    progress: bool,
    model: RewardModel | None = None,
) -> tuple[ReplayedRows, State]:
    """Replay a policy on a log; return what was found in each row, and the last state."""
    adapted = as_policy(policy)
    n_actions, n_slots = check_sizes(adapted, log.schema.n_actions)
    replay = PolicyReplay(
        adapted,
        rate,
        n_actions=n_actions,
        n_slots=n_slots,
        capacity=_expect_accepted(log, rate),
        key=jax.random.key(count("seed", seed, 0)),
    )
    parts = [_describe(batch, seen, model) for batch, seen in _visit(replay, log, progress)]
    if not parts:
        raise InvalidArgument(f"log must have at least one round, got none in {log.name}.")
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return ReplayedRows(*columns), replay.state


def _accepted_rewards(found: ReplayedRows) -> NDArray[np.float64]:
    """Return the rewards of accepted rows, of which there must be one."""
    if not found.accepted.any():
        raise InvalidArgument(
            "log must have rounds that the policy would have played, got none in "
            f"{len(found.rewards)} rows."
        )
    return found.rewards[found.accepted]


def _average_terms(found: ReplayedRows) -> tuple[float, NDArray[np.float64]]:
    """Return the mean of the terms, weighted by the rates, and what each row adds to its error.

    sum_k c_k (R_k - mu_k) is a martingale; differences between the mu_k only widen the interval.
    """
    value = float((found.rates * found.terms).sum() / found.rates.sum())
    return value, found.rates * (found.terms - value) / found.rates.mean()


def _visit(replay: PolicyReplay, log: Log, progress: bool) -> Iterator[tuple[LogBatch, SeenRows]]:
    for batch in log.batches(progress=progress):
        yield from replay.visit(batch)


def _describe(
    batch: LogBatch, seen: SeenRows, model: RewardModel | None
) -> tuple[NDArray[Any], ...]:
    """Return the fields of `ReplayedRows` for some rows."""
    ratios = np.asarray(seen.ratios)
    terms = ratios * batch.rewards
    if model is not None:
        predicted = model.predict(batch)
        pmfs = np.asarray(seen.pmfs)[:, : predicted.shape[1]]
        played = predicted[np.arange(len(batch.rows)), batch.actions]
        terms = (pmfs * predicted).sum(axis=1) + ratios * (batch.rewards - played)
    return batch.rewards, np.asarray(seen.accepted), ratios, np.asarray(seen.rates), terms


def _expect_accepted(log: Log, rate: AcceptanceRate) -> int:
    """Return room for a few more rounds than are expected, so that training compiles once."""
    n = sum(len(batch.rows) for batch in log.batches())
    share = float(rate.rate) if rate.quantile is None else FIRST_SHARE
    return math.ceil(min(n * share + 5.0 * math.sqrt(n * share) + 1.0, n))


def find_smallest_propensity(log: Log) -> float:
    """Return the smallest propensity of a log; one that is not known is refused."""
    smallest = 1.0
    for batch in log.batches():
        check_propensities(batch)
        smallest = min(smallest, float(batch.propensities.min(initial=1.0)))
    return smallest


def _check_rate(name: str, value: float) -> float:
    if not 0.0 < real(name, value) <= 1.0:
        raise InvalidArgument(f"{name} must be above 0 and at most 1, got {value!r}.")
    return float(value)
