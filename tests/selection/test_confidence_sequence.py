"""The bound agrees with a direct search, and covers at all times when means and bounds move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.confidence_sequence import (
    BETS,
    BetSequence,
    add_observation,
    empty_bets,
    evidence_against,
    upper_bound,
)

LEVEL = 0.05


def add_all(values: np.ndarray, bounds: np.ndarray) -> BetSequence:
    """Add observations (n, S) one by one."""
    bets = empty_bets(values.shape[1])
    for value, bound in zip(values, bounds, strict=True):
        bets = add_observation(bets, value, bound)
    return bets


def capital(values: np.ndarray, mean: float) -> float:
    """Multiply the capital of every bet out, and average it, as in the docstring."""
    return float(np.mean([np.prod((1 - g * values) / (1 - g * mean)) for g in BETS]))


def test_the_bound_is_where_the_capital_reaches_one_over_the_level() -> None:
    values = np.random.default_rng(0).uniform(-1, 1, size=60)
    bound = float(upper_bound(add_all(values[:, None], np.ones(60)), LEVEL)[0])
    grid = np.linspace(-0.99, 0.99, 4001)
    kept = grid[[capital(values, mean) < 1 / LEVEL for mean in grid]]
    assert bound == pytest.approx(kept.max(), abs=6e-4)


def test_the_evidence_is_the_logarithm_of_the_capital() -> None:
    values = np.random.default_rng(1).uniform(-2, 1, size=40)
    found = float(evidence_against(add_all(values[:, None], np.ones(40)), np.array([0.3]))[0])
    assert found == pytest.approx(np.log(capital(values, 0.3)))


def test_units_scale_the_bound() -> None:
    values = np.random.default_rng(2).uniform(-1, 1, size=(50, 1))
    plain = upper_bound(add_all(values, np.ones(50)), LEVEL)
    scaled = upper_bound(add_all(7.0 * values, np.full(50, 7.0)), LEVEL)
    np.testing.assert_allclose(np.asarray(scaled), 7.0 * np.asarray(plain))


def test_without_observations_nothing_is_claimed() -> None:
    assert np.isinf(np.asarray(upper_bound(empty_bets(2), LEVEL))).all()


def test_the_bound_narrows_as_the_square_root_of_the_rounds() -> None:
    values = np.random.default_rng(3).choice([-1.0, 1.0], size=(1000, 1))
    bound = float(upper_bound(add_all(values, np.ones(1000)), LEVEL)[0])
    assert values.mean() < bound < values.mean() + 4.0 / np.sqrt(1000)


N_RUNS, N_STEPS = 4000, 400


@in_float64
def share_of_runs_exceeded(kind: str) -> float:
    """Return the share of runs in which the true average ever exceeds the bound."""
    keys = jax.random.split(jax.random.key(7), N_STEPS)
    t = jnp.arange(N_STEPS)
    # Rare large losses are the hard case of an upper bound: early averages are too low.
    rate = jnp.where(kind == "moving", jnp.where(t < 200, 0.02, 0.1), 0.05)
    bounds = jnp.where(kind == "growing", 1.0 + 0.02 * t, 1.0) * jnp.ones(N_STEPS)

    def step(carry: tuple, now: tuple) -> tuple:
        bets, total = carry
        key, p, bound = now
        hit = jax.random.uniform(key, (N_RUNS,)) < p
        bets = add_observation(bets, jnp.where(hit, bound, 0.0), bound)
        total = total + p  # mean p * bound with weight 1 / bound
        exceeded = evidence_against(bets, total / bets.weight) >= -jnp.log(LEVEL)
        return (bets, total), exceeded

    start = (empty_bets(N_RUNS), jnp.zeros(()))
    _, exceeded = jax.jit(lambda s, xs: jax.lax.scan(step, s, xs))(start, (keys, rate, bounds))
    return float(exceeded.any(0).mean())


@pytest.mark.parametrize("kind", ["constant", "moving", "growing"])
def test_the_bound_covers_at_all_times(kind: str) -> None:
    share = share_of_runs_exceeded(kind)
    allowed = stats.binom.ppf(0.999, N_RUNS, LEVEL) / N_RUNS
    assert share <= allowed
    assert share > 0.0  # a bound that never fails would be wasteful
