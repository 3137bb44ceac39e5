"""What do all linear policies share? Statistics, estimates, and what they refuse."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from linear_rounds import (
    CONTEXT,
    DELTA,
    LAM,
    NORMS,
    REWARDS,
    SETTINGS,
    TABLE,
    THETA,
    VALUES,
    A,
    D,
    N,
    V,
    pmf_of,
    teach,
)

import banditsrl
from banditsrl.core.actions import maximisers
from banditsrl.errors import BanditSRLError, InvalidArgument, InvalidType
from banditsrl.policies import View


def test_played_actions_follow_the_reported_pmf() -> None:
    policy = banditsrl.EpsilonGreedy(epsilon=0.5, **SETTINGS)
    state = teach(policy)
    keys = jax.random.split(jax.random.key(5), 4000)
    choices = jax.vmap(policy.act, in_axes=(None, None, None, 0))(state, 2, None, keys)
    frequency = np.bincount(np.asarray(choices.action), minlength=A) / 4000
    assert np.abs(frequency - np.asarray(choices.pmf[0])).max() < 4 * 0.5 / math.sqrt(4000)


def test_unknown_noise_and_bounds_are_estimated() -> None:
    table = banditsrl.representations.Table(np.asarray(TABLE.features))
    policy = banditsrl.LinUCB(table, lam=LAM, delta=DELTA)
    found = pmf_of(policy)
    rewards = REWARDS
    residual = rewards @ rewards - THETA @ V @ THETA
    sigma = math.sqrt((residual + D * (rewards @ rewards) / N) / N)
    _, log_det = np.linalg.slogdet(V)
    ratio = log_det - D * math.log(LAM)
    bound = math.sqrt(LAM) * np.linalg.norm(THETA)
    radius = sigma * math.sqrt(ratio + 2 * math.log(1 / DELTA)) + bound
    ucb = VALUES + radius * NORMS
    assert np.array_equal(found, np.arange(A) == ucb.argmax())


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1, got 0.0"),
        ({"delta": 1.5}, "delta must lie strictly between 0 and 1, got 1.5"),
        ({"lam": 0.0}, "lam must be greater than 0, got 0.0"),
        ({"lam": -1.0}, "lam must be greater than 0, got -1.0"),
        ({"sigma": 0.0}, "sigma must be greater than 0, got 0.0"),
        ({"sigma": math.nan}, "sigma must be finite, got nan"),
        ({"ucb_scale": -1.0}, "ucb_scale must be at least 0, got -1.0"),
        ({"conventions": "mine"}, "conventions must be one of paper, authors, got 'mine'"),
    ],
)
def test_settings_outside_their_range_are_refused(settings_: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        banditsrl.LinUCB(np.ones((2, 2, 1)), **settings_)


def test_a_setting_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(InvalidType, match="lam must be a real number, got 'one'"):
        banditsrl.LinUCB(np.ones((2, 2, 1)), lam="one")


def test_features_with_nan_are_refused() -> None:
    features = np.ones((2, 2, 1))
    features[1, 0, 0] = np.nan
    with pytest.raises(
        InvalidArgument, match=r"features must be finite, got nan at index \(1, 0, 0\)"
    ):
        banditsrl.LinUCB(features)


def test_a_policy_alone_needs_a_representation() -> None:
    with pytest.raises(InvalidArgument, match="representation must be given when LinUCB is used"):
        banditsrl.LinUCB().init(jax.random.key(0))


def test_a_mask_without_actions_and_a_nan_reward_are_refused() -> None:
    policy = banditsrl.LinUCB(**SETTINGS)
    state = policy.init(jax.random.key(0))
    with pytest.raises(InvalidArgument, match="mask must leave at least one available action"):
        policy.act(state, 0, np.zeros(A, dtype=bool), jax.random.key(0))
    with pytest.raises(InvalidArgument, match="reward must be finite, got nan"):
        policy.learn(state, 0, 0, float("nan"))
    act, learn = banditsrl.compiled(policy)[:2]
    with pytest.raises(InvalidArgument, match="mask must leave at least one available action"):
        act(state, 0, np.zeros(A, dtype=bool), jax.random.key(0))
    with pytest.raises(BanditSRLError, match="reward must be finite, got inf"):
        learn(state, 0, 0, float("inf"))


def test_the_state_is_in_float64_and_the_settings_of_the_caller_stay() -> None:
    state = banditsrl.LinUCB(**SETTINGS).init(jax.random.key(0))
    assert state.ridge.V.dtype == np.float64
    assert jnp.ones(1).dtype == jnp.float32


# A rule of one's own.


class Proportional(banditsrl.policies.LinearPolicy):
    """Play in proportion to the norms of the available actions; `pmf` is all that it owes."""

    def pmf(self, view: View) -> Any:
        norms = jnp.where(view.mask, view.norms, 0.0)
        return norms / norms.sum()


def test_a_rule_owes_only_its_distribution_and_works_alone_and_as_a_base() -> None:
    mask = np.array([True, False, True, True])
    expected = np.where(mask, NORMS, 0.0) / NORMS[mask].sum()
    alone = Proportional(**SETTINGS)
    around = banditsrl.GLRT(Proportional(**SETTINGS), glrt_scale=0)
    for policy in (alone, around):
        state = teach(policy)
        choices = [policy.act(state, CONTEXT, mask, jax.random.key(seed)) for seed in range(40)]
        np.testing.assert_allclose(choices[0].pmf, expected, rtol=1e-9)
        assert {int(choice.action) for choice in choices} == {0, 2, 3}


def test_a_class_without_a_rule_cannot_be_used() -> None:
    with pytest.raises(TypeError, match="abstract"):
        banditsrl.policies.LinearPolicy()  # type: ignore[abstract]
    with pytest.raises(TypeError, match="abstract"):
        banditsrl.policies.RidgePolicy()  # type: ignore[abstract]


def test_unavailable_actions_have_a_value_of_minus_infinity() -> None:
    view = View(*[jnp.zeros(2)] * 3, jnp.asarray([True, False]), *[jnp.zeros(())] * 5)
    assert view.available(jnp.asarray([1.0, 2.0])).tolist() == [1.0, -math.inf]


# The best actions.


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ([1.0, 1.0 - 1e-15, 0.5], [True, True, False]),  # the same up to rounding
        ([1.0, 1.0 - 1e-9, 0.5], [True, False, False]),
        ([1e-20, 0.0, -1.0], [True, True, False]),  # what is left when numbers cancel
        ([-2.0, -2.0, -math.inf], [True, True, False]),
        ([-math.inf, 0.0, -math.inf], [False, True, False]),
        ([0.0, 0.0, 0.0], [True, True, True]),
    ],
)
def test_the_maximum_is_attained_up_to_rounding(values: list[float], best: list[bool]) -> None:
    with jax.enable_x64(True):
        assert maximisers(jnp.asarray(values, dtype=jnp.float64)).tolist() == best


def test_several_infinite_values_are_all_maximal() -> None:
    values = jnp.asarray([jnp.inf, 1.0, jnp.inf])
    np.testing.assert_array_equal(maximisers(values), [True, False, True])
