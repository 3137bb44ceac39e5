"""Have rewards changed? A sequential test on the errors of a policy's predictions.

The error y - f_a of every round is divided by the mean absolute error of its action, clipped, and
centred by its mean so far. While nothing changes, the mean of the result z is zero up to the errors
that a learning model makes, which `tolerance` allows for. For a bet c and a sign, the statistic

    E_t = max(E_{t-1}, 1) (1 + c (sign z_t - tolerance_t))

is multiplied in every round by something of mean at most one as long as the mean of sign z_t stays
below the tolerance, and grows exponentially when it does not. There is one statistic for each
action, for all actions together, for each sign and for several bets. Large changes are found sooner
by counting large errors: with q a little above the share of errors beyond TAIL so far,

    E_t = max(E_{t-1}, 1) (1 + c (1{large error} / q - 1)).

The alarm is raised when the average of all statistics exceeds the stated run length. By the theory
of e-detectors (Shin, Ramdas and Rinaldo, 2022) the average number of rounds up to a false alarm is
then at least this run length. The theory assumes that errors of the model move by less than the
tolerances. That is not proved, so the run length of policies that learn is measured.

The change is placed where the statistic that grew most was last at its start.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.numerics.precision import in_float64

BETS_ON_CHANGE = np.array([0.2, 0.1, 0.05, 0.025])
"""Large bets find large changes soon, and small bets find small ones. The largest is such that the
statistic stays positive: |z| <= CLIP + LARGEST_CENTRE, and the tolerance is at most 0.4."""

BETS_ON_TAILS = np.array([0.5, 0.25, 0.1, 0.05])

TAIL, TAIL_TOLERANCE = 2.5, 0.03
"""Errors beyond TAIL mean absolute errors are large; their share may grow by the tolerance."""

CLIP = 3.0
"""Errors beyond this many mean absolute errors count as this many: noise may have heavy tails."""

LARGEST_CENTRE = 1.5

WARM_UP = 300
"""Rounds before the first errors count: a policy that has just started learns quickly."""

ENOUGH = 50
"""Errors of an action before its statistics run: their centre must be known."""

TOLERANCE = 0.1
"""Mean of z that is attributed to errors of the model."""

CENTRE_ERROR = 2.0
"""Standard errors of the centre that are tolerated in addition."""

PRIOR = 20.0
"""Weight, in rounds, of all actions together in the scale of one, and of zero in its centre."""


class DriftState(NamedTuple):
    """What the test keeps; streams are the A actions, all of them together, and large errors."""

    n_rounds: Array  # ()  rounds since the start or the last alarm
    n: Array  # (A,)  rounds of every action
    absolute: Array  # (A,)  sum of absolute errors
    n_centred: Array  # (A,)  rounds after the warm-up
    total: Array  # (A,)  sum of clipped errors after the warm-up
    n_large: Array  # (2,)  large errors after the warm-up, above and below
    log_e: Array  # (A + 2, 2, bets)  log E
    start: Array  # (A + 2, 2, bets)  round in which E was last at its start


class Alarm(NamedTuple):
    """Whether rewards have changed, and since which round."""

    raised: Array  # ()
    since: Array  # ()  index of a round


@in_float64
def empty_drift(n_actions: int) -> DriftState:
    """Return the state before the first round."""
    zeros = jnp.zeros((n_actions,), dtype=jnp.float64)
    shape = (n_actions + 2, 2, len(BETS_ON_CHANGE))
    return DriftState(
        n_rounds=jnp.zeros((), dtype=jnp.int32),
        n=zeros,
        absolute=zeros,
        n_centred=zeros,
        total=zeros,
        n_large=jnp.zeros((2,), dtype=jnp.float64),
        log_e=jnp.zeros(shape, dtype=jnp.float64),
        start=jnp.zeros(shape, dtype=jnp.int32),
    )


@in_float64
def add_error(
    drift: DriftState, error: Array, action: Array, index: Array, run_length: float
) -> tuple[DriftState, Alarm]:
    """Return the state after the error of one round, and the alarm.

    Args:
        drift: The state before the round.
        error: Reward minus prediction.
        action: The action played.
        index: Index of the round in the whole run.
        run_length: Average number of rounds between two false alarms, at least.
    """
    is_own = jnp.arange(drift.n.shape[0]) == action  # (A,)
    clipped = jnp.clip(error / _scale(drift, is_own), -CLIP, CLIP)
    counts = drift.n_rounds >= WARM_UP
    log_e, start = _bet(drift, clipped, is_own, index)
    log_e = jnp.where(counts, log_e, drift.log_e)
    after = DriftState(
        n_rounds=drift.n_rounds + 1,
        n=drift.n + is_own,
        absolute=drift.absolute + is_own * jnp.abs(error),
        n_centred=drift.n_centred + is_own * counts,
        total=drift.total + is_own * counts * clipped,
        n_large=drift.n_large + counts * _is_large(clipped),
        log_e=log_e,
        start=start,
    )
    average = jax.nn.logsumexp(log_e) - np.log(log_e.size)
    since = start.ravel()[jnp.argmax(log_e)]
    return after, Alarm(average >= np.log(run_length), since)


def _scale(drift: DriftState, is_own: Array) -> Array:
    """Return the mean absolute error of the action, drawn towards that of all actions."""
    pooled = drift.absolute.sum() / jnp.maximum(drift.n.sum(), 1.0)
    own = (drift.absolute * is_own).sum() + PRIOR * pooled
    scale = own / ((drift.n * is_own).sum() + PRIOR)
    return jnp.where(scale > 0, scale, 1.0)


def _bet(drift: DriftState, clipped: Array, is_own: Array, index: Array) -> tuple[Array, Array]:
    """Return log E and the starts of all streams after one round."""
    n = jnp.append(drift.n_centred, drift.n_centred.sum())  # (A + 1,)
    growth = jnp.concatenate(
        [_bet_on_means(drift, clipped, is_own, n), _bet_on_tails(drift, clipped)]
    )
    plays = jnp.append(is_own, True) & (n >= ENOUGH)
    runs = jnp.append(plays, plays[-1])[:, None, None]  # large errors are counted over all actions
    restarts = runs & (drift.log_e <= 0.0)
    log_e = jnp.where(runs, jnp.maximum(drift.log_e, 0.0) + growth, drift.log_e)
    return log_e, jnp.where(restarts, index, drift.start).astype(jnp.int32)


def _bet_on_means(drift: DriftState, clipped: Array, is_own: Array, n: Array) -> Array:
    """Return the increment of log E for every action and for all of them, (A + 1, 2, bets)."""
    centre = ((drift.total / (drift.n_centred + PRIOR)) * is_own).sum()
    z = clipped - jnp.clip(centre, -LARGEST_CENTRE, LARGEST_CENTRE)
    tolerance = TOLERANCE + CENTRE_ERROR / jnp.sqrt(jnp.maximum(n, ENOUGH))
    gain = jnp.array([1.0, -1.0]) * z - tolerance[:, None]
    return jnp.log1p(jnp.asarray(BETS_ON_CHANGE) * gain[:, :, None])


def _bet_on_tails(drift: DriftState, clipped: Array) -> Array:
    """Return the increment of log E for large errors above and below, (1, 2, bets)."""
    n = jnp.maximum(drift.n_centred.sum(), ENOUGH)
    usual = drift.n_large / n + TAIL_TOLERANCE
    q = jnp.minimum(usual + CENTRE_ERROR * jnp.sqrt(usual / n), 1.0)
    gain = _is_large(clipped) / q - 1.0
    return jnp.log1p(jnp.asarray(BETS_ON_TAILS) * gain[None, :, None])


def _is_large(clipped: Array) -> Array:
    """Return whether an error is large, above and below, (2,)."""
    return jnp.array([1.0, -1.0]) * clipped >= TAIL
