"""Actions are drawn as the distribution says, and ties are drawn fairly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.core.actions import (
    ROUNDING,
    draw_action,
    draw_best,
    maximisers,
    uniform_from_key,
    uniform_over,
)


def test_a_quantile_picks_the_action_that_the_cumulative_pmf_says() -> None:
    pmf = np.array([0.0, 0.25, 0.5, 0.0, 0.25, 0.0])
    for u in np.linspace(0.0, 0.999, 40):
        expected = int(np.searchsorted(np.cumsum(pmf), u, side="right"))
        assert int(draw_action(jnp.asarray(pmf), jnp.asarray(u))) == expected
        assert pmf[expected] > 0


def test_an_action_of_probability_zero_is_never_drawn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        pmf = rng.random(5) * (rng.random(5) > 0.5)
        if pmf.sum() == 0:
            continue
        for u in (0.0, 0.5, 1.0 - 2.0**-24):
            assert pmf[int(draw_action(jnp.asarray(pmf), jnp.asarray(u)))] > 0


def test_a_pmf_that_misses_one_by_rounding_is_drawn_from_all_the_same() -> None:
    short = jnp.asarray([0.3, 0.3, 0.3, 0.0])  # sums to 0.9: quantiles are of the sum
    assert [int(draw_action(short, jnp.asarray(u))) for u in (0.0, 0.34, 0.67, 0.999)] == [
        0,
        1,
        2,
        2,
    ]


@pytest.mark.parametrize("seed", [0, 7])
def test_the_uniform_number_of_a_key_follows_the_mixing_written_in_plain_integers(
    seed: int,
) -> None:
    keys = [jax.random.key(seed), *jax.random.split(jax.random.key(seed), 20)]
    for key in keys:
        mixed = 0
        for word in np.asarray(jax.random.key_data(key)).tolist():
            mixed = ((mixed ^ word) + 0x9E3779B9) % 2**32
            mixed = ((mixed ^ mixed >> 16) * 0x85EBCA6B) % 2**32
            mixed = ((mixed ^ mixed >> 13) * 0xC2B2AE35) % 2**32
            mixed = mixed ^ mixed >> 16
        with jax.enable_x64(True):
            assert float(uniform_from_key(key)) == (mixed >> 8) / 2**24


def test_uniform_numbers_are_uniform_for_split_keys_and_for_small_seeds() -> None:
    with jax.enable_x64(True):
        for keys in (
            jax.random.split(jax.random.key(0), 20_000),
            jax.vmap(jax.random.key)(jnp.arange(20_000)),
        ):
            u = np.asarray(jax.vmap(uniform_from_key)(keys))
            assert u.min() >= 0.0
            assert u.max() < 1.0
            shares = np.histogram(u, bins=10, range=(0.0, 1.0))[0] / len(u)
            np.testing.assert_allclose(shares, 0.1, atol=5 * np.sqrt(0.09 / len(u)))
            assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 5 / np.sqrt(len(u))


def test_uniform_over_shares_the_probability_among_the_chosen() -> None:
    found = uniform_over(jnp.asarray([True, False, True, True, False]))
    np.testing.assert_allclose(found, [1 / 3, 0, 1 / 3, 1 / 3, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 3.0, 3.0, 2.0], [1, 2]),
        ([1e6, 1e6 * (1 + ROUNDING / 2), 0.0], [0, 1]),  # equal up to rounding
        ([1.0, 1.0 + 3 * ROUNDING], [1]),  # not equal
        ([-np.inf, -4.0, -np.inf], [1]),  # unavailable actions do not blur the comparison
        ([0.0, 0.0], [0, 1]),
        ([-1.0, -1.0 - 1e-13, -2.0], [0, 1]),
    ],
)
def test_the_maximisers_are_those_within_rounding_of_the_largest_value(
    values: list[float], expected: list[int]
) -> None:
    with jax.enable_x64(True):
        found = np.asarray(maximisers(jnp.asarray(values)))
    assert np.flatnonzero(found).tolist() == expected


def test_the_best_action_is_drawn_fairly_among_equals() -> None:
    with jax.enable_x64(True):
        index = jnp.asarray([2.0, 5.0, -jnp.inf, 5.0])
        keys = jax.random.split(jax.random.key(1), 4_000)
        actions, pmfs = jax.vmap(draw_best, in_axes=(None, 0))(index, keys)
    np.testing.assert_array_equal(np.unique(np.asarray(pmfs), axis=0), [[0.0, 0.5, 0.0, 0.5]])
    counts = np.bincount(np.asarray(actions), minlength=4)
    assert counts[0] == counts[2] == 0
    assert abs(counts[1] - counts[3]) < 4 * np.sqrt(4_000)
