"""Do rewards have the law and the mean that they should have?"""

import math
from statistics import NormalDist

import jax
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.reward_laws import LARGEST_AMOUNT, LAWS, MEAN_AMOUNT, RewardLaw

MIDPOINTS = (np.arange(20_000) + 0.5) / 20_000
"""Quantiles whose average stands for an integral over u."""


@in_float64
def draw_all(law: RewardLaw, mean: float, u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(jax.jit(jax.vmap(lambda one: law.draw(mean, one)))(u))


@pytest.mark.parametrize(
    ("name", "mean"),
    [
        ("gaussian", -1.5),
        ("bernoulli", 0.02),
        ("bernoulli", 0.8),
        ("counts", 0.5),
        ("counts", 6.0),
        ("counts", 16.0),
        ("revenue", 7.0),
        ("revenue", 50.0),
        ("heavy", 2.0),
    ],
)
def test_the_average_reward_is_the_mean(name: str, mean: float) -> None:
    drawn = draw_all(RewardLaw(name, spread=0.7), mean, MIDPOINTS)
    # A step of the inverse distribution function is misplaced by at most half of a midpoint's
    # interval; the steps of a count or of revenue add up to at most the largest reward.
    assert drawn.mean() == pytest.approx(mean, abs=np.abs(drawn).max() / len(MIDPOINTS) + 1e-9)


def test_gaussian_rewards_have_normal_quantiles() -> None:
    drawn = draw_all(RewardLaw("gaussian", spread=2.0), 3.0, MIDPOINTS[::500])
    wanted = [NormalDist(3.0, 2.0).inv_cdf(u) for u in MIDPOINTS[::500]]
    np.testing.assert_allclose(drawn, wanted, rtol=1e-9)


def test_heavy_rewards_have_quantiles_of_student_with_four_degrees_of_freedom() -> None:
    u = np.array([1e-9, 1e-4, 0.3, 0.5, 0.75, 0.9999])
    drawn = draw_all(RewardLaw("heavy", spread=0.5), 1.0, u)
    np.testing.assert_allclose(drawn, 1.0 + 0.5 * stats.t(4).ppf(u), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("mean", [0.5, 6.0, 16.0])
def test_counts_are_those_of_a_slow_search(mean: float) -> None:
    def search(u: float) -> int:
        k, below = 0, math.exp(-mean)
        while below <= u:
            k += 1
            below += math.exp(-mean) * mean**k / math.factorial(k)
        return k

    u = MIDPOINTS[::97]
    assert draw_all(RewardLaw("counts"), mean, u).tolist() == [search(one) for one in u]


def test_revenue_is_mostly_zero_and_sometimes_large() -> None:
    drawn = draw_all(RewardLaw("revenue"), 0.1 * MEAN_AMOUNT, MIDPOINTS)
    assert (drawn > 0).mean() == pytest.approx(0.1)
    assert drawn[drawn > 0].mean() == pytest.approx(MEAN_AMOUNT, rel=1e-3)
    assert 0.99 * LARGEST_AMOUNT < drawn.max() <= LARGEST_AMOUNT


@pytest.mark.parametrize("name", LAWS)
def test_shift_and_scale_move_every_reward(name: str) -> None:
    u = MIDPOINTS[::501]
    plain = draw_all(RewardLaw(name), 0.4, u)
    moved = draw_all(RewardLaw(name, shift=-10.0, scale=4.0), -10.0 + 4.0 * 0.4, u)
    np.testing.assert_allclose(moved, -10.0 + 4.0 * plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_no_reward_is_infinite(name: str) -> None:
    ends = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert np.isfinite(draw_all(RewardLaw(name), 0.5, ends)).all()


def test_an_unknown_law_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"name must be one of gaussian, .*, got 'cauchy'"):
        RewardLaw("cauchy")
