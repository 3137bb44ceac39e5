"""Are location and scale of the rewards those of NumPy, also far from zero?"""

import jax
import numpy as np
import pytest

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.reward_scale import RewardScale, add_reward, empty_scale, subtract_anchor


def seen(rewards: np.ndarray) -> RewardScale:
    @jax.jit
    def step(scale: RewardScale, reward: float) -> RewardScale:
        return add_reward(*subtract_anchor(scale, reward))

    scale = empty_scale()
    for reward in rewards:
        scale = step(scale, reward)
    return scale


@in_float64
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (1e-6, 0.0), (1e6, -1e9), (1.0, 1e6)])
def test_mean_and_deviation_are_those_of_all_rewards(a: float, b: float) -> None:
    rewards = a * np.random.default_rng(0).gamma(2.0, size=50) + b
    scale = seen(rewards)
    assert float(scale.n) == 50
    assert float(scale.anchor) == rewards[0]
    np.testing.assert_allclose(scale.mean + scale.anchor, rewards.mean(), rtol=1e-12)
    np.testing.assert_allclose(scale.deviation, rewards.std(), rtol=1e-9)


@in_float64
def test_the_mean_is_relative_to_the_first_reward() -> None:
    rewards = 1e9 + np.array([1.0, 4.0, 7.0])
    scale = seen(rewards)
    np.testing.assert_allclose(scale.mean, 3.0, rtol=1e-15)  # no digit is lost to 1e9
    np.testing.assert_allclose(scale.deviation, np.sqrt(6.0), rtol=1e-15)


@in_float64
def test_before_two_rewards_differ_the_deviation_is_zero() -> None:
    assert float(empty_scale().deviation) == 0.0
    assert float(seen(np.full(5, 0.1)).deviation) == 0.0
    assert float(seen(np.array([0.1, 0.1, 0.2])).deviation) > 0.0


@in_float64
def test_the_anchor_is_the_first_reward_even_if_that_is_zero_and_then_stays() -> None:
    scale, y = subtract_anchor(empty_scale(), np.asarray(5.0))
    assert (float(scale.anchor), float(y), float(scale.n)) == (5.0, 0.0, 0.0)
    later, y = subtract_anchor(add_reward(scale, y), np.asarray(7.5))
    assert (float(later.anchor), float(y)) == (5.0, 2.5)
    zero = add_reward(*subtract_anchor(empty_scale(), np.asarray(0.0)))
    assert float(subtract_anchor(zero, np.asarray(3.0))[0].anchor) == 0.0
