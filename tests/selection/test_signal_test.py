"""Does the test for a signal hold its level at all times, and does it find a signal?"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.reward_scale import RewardScale, add_reward, empty_scale, subtract_anchor
from banditsrl.selection.signal_test import SignalTest, add_to_test, empty_test, found_signal

DELTA = 0.05
N_STREAMS = 2_000
N_ROUNDS = 500
N_ACTIONS, N_KINDS = 4, 5

Noise = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return 7.0 + 2.0 * rng.normal(size=shape)


def rare_clicks(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (rng.random(shape) < 0.03).astype(float)


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.exponential(size=shape) ** 2


def play(signal: float, draws: dict[str, Any]) -> Any:
    """Whether the test has passed after each round of one stream, (N_ROUNDS,).

    The predictions are as adaptive as can be: shrunk means of each kind of context and action, and
    mostly the action of largest mean is played.
    """

    def step(carry: Any, draw: dict[str, Any]) -> Any:
        scale, test, counts, sums = carry
        kind = draw["kind"]
        means = scale.mean + (sums[kind] - counts[kind] * scale.mean) / (1.0 + counts[kind])
        action = jnp.where(draw["explores"], draw["any"], jnp.argmax(means))
        scale, y = subtract_anchor(scale, draw["noise"] + signal * (kind == action))
        test = add_to_test(test, means[action], y, scale.mean, scale.deviation)
        counts, sums = counts.at[kind, action].add(1.0), sums.at[kind, action].add(y)
        return (add_reward(scale, y), test, counts, sums), found_signal(test, jnp.asarray(DELTA))

    cells = jnp.zeros((N_KINDS, N_ACTIONS))
    start = (empty_scale(), empty_test(), cells, cells)
    return jax.lax.scan(step, start, draws)[1]


stream = jax.jit(jax.vmap(play, in_axes=(None, 0)))


def share_that_ever_passes(noise: Noise, signal: float = 0.0) -> float:
    rng, shape = np.random.default_rng(17), (N_STREAMS, N_ROUNDS)
    draws = {
        "kind": rng.integers(N_KINDS, size=shape),
        "explores": rng.random(shape) < 0.2,
        "any": rng.integers(N_ACTIONS, size=shape),
        "noise": noise(rng, shape),
    }
    return float(np.asarray(stream(signal, draws)).any(axis=1).mean())


@in_float64
@pytest.mark.parametrize("noise", [normal, rare_clicks, skewed])
def test_on_pure_noise_the_share_of_streams_that_ever_pass_is_at_most_the_level(
    noise: Noise,
) -> None:
    error = np.sqrt(DELTA * (1.0 - DELTA) / N_STREAMS)
    assert share_that_ever_passes(noise) <= DELTA + 2.0 * error


@in_float64
def test_a_signal_as_large_as_the_noise_is_found_in_almost_every_stream() -> None:
    assert share_that_ever_passes(normal, signal=2.0) > 0.9


@jax.jit
def add_pair(scale: RewardScale, test: SignalTest, predicted: Any, reward: Any) -> Any:
    scale, y = subtract_anchor(scale, reward)
    test = add_to_test(test, predicted - scale.anchor, y, scale.mean, scale.deviation)
    return add_reward(scale, y), test


def follow(predicted: np.ndarray, rewards: np.ndarray) -> SignalTest:
    scale, test = empty_scale(), empty_test()
    for pair in zip(predicted, rewards, strict=True):
        scale, test = add_pair(scale, test, *pair)
    return test


def pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    predicted = rng.normal(size=n)
    return predicted, predicted + 2.0 * rng.normal(size=n)


@in_float64
def test_the_sums_and_the_decision_are_those_of_the_formula() -> None:
    predicted, rewards = pairs(60)
    total = variance = squares = 0.0
    decisions = set()
    for t in range(60):
        if t:
            f = predicted[t] - predicted[:t].mean()
            r, v = rewards[t] - rewards[:t].mean(), rewards[:t].var()
            total, variance, squares = total + f * r, variance + f**2 * v, squares + (f * r) ** 2
        if t % 10 != 9:
            continue
        test = follow(predicted[: t + 1], rewards[: t + 1])
        np.testing.assert_allclose(
            [test.total, test.variance, test.squares], [total, variance, squares], rtol=1e-9
        )
        N, N0 = max(variance, squares), rewards[:t].var() ** 2
        for delta in (0.5, 0.05, 1e-4):
            limit = np.sqrt(2.0 * np.log(1.0 / delta) + np.log((N + N0) / N0))
            passes = bool(total / np.sqrt(N + N0) > limit)
            assert bool(found_signal(test, jnp.asarray(delta))) is passes
            decisions.add(passes)
    assert decisions == {True, False}


@in_float64
@pytest.mark.parametrize(("a", "b"), [(1e-6, 0.0), (1e6, -1e9), (1.0, 1e6)])
def test_neither_the_unit_nor_the_zero_of_the_rewards_matters(a: float, b: float) -> None:
    predicted, rewards = pairs(50)
    one, other = follow(predicted, rewards), follow(a * predicted + b, a * rewards + b)
    np.testing.assert_allclose(other.total, a**2 * one.total, rtol=1e-6)
    for name in ("variance", "squares", "start"):
        np.testing.assert_allclose(getattr(other, name), a**4 * getattr(one, name), rtol=1e-6)
    for delta in np.geomspace(1e-8, 0.5, 20):
        level = jnp.asarray(delta)
        assert bool(found_signal(other, level)) is bool(found_signal(one, level))


@in_float64
def test_predictions_that_are_always_wrong_and_equal_rewards_are_no_signal() -> None:
    predicted, rewards = pairs(400)
    assert bool(found_signal(follow(predicted, rewards), jnp.asarray(DELTA)))
    assert not bool(found_signal(follow(-predicted, rewards), jnp.asarray(DELTA)))
    assert not bool(found_signal(follow(predicted, np.full(400, 3.0)), jnp.asarray(DELTA)))
    assert not bool(found_signal(empty_test(), jnp.asarray(DELTA)))
