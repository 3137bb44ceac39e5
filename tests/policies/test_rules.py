"""Every linear rule against a slow derivation from the data it has seen."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.actions import maximisers
from banditsrl.errors import BanditSRLError, InvalidArgument, InvalidType

X, A, D, N, SIGMA, LAM, DELTA, B = 7, 4, 3, 25, 0.4, 0.7, 0.05, 1.3


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(X, A, D))
    contexts, actions = rng.integers(X, size=N), rng.integers(A, size=N)
    rewards = rng.normal(size=N)
    phi = features[contexts, actions]
    V = LAM * np.eye(D) + phi.T @ phi
    theta = np.linalg.solve(V, phi.T @ rewards)
    table = banditsrl.representations.Table(features, B=B)
    return {
        "table": table, "V": V, "theta": theta, "phi": features[2],
        "values": features[2] @ theta,
        "norms": np.sqrt(np.einsum("ai,ij,aj->a", features[2], np.linalg.inv(V), features[2])),
        "rounds": list(zip(contexts, actions, rewards, strict=True)),
    }  # fmt: skip


def taught(policy: Any, data: dict[str, Any]) -> Any:
    state = policy.init(jax.random.key(0))
    _, learn, _ = banditsrl.compiled(policy)
    for context, action, reward in data["rounds"]:
        state = learn(state, int(context), int(action), float(reward))
    return state


def settings(data: dict[str, Any]) -> dict[str, Any]:
    return {"representation": data["table"], "sigma": SIGMA, "lam": LAM, "delta": DELTA}


def pmf(policy: Any, data: dict[str, Any], mask: Any = None) -> Any:
    choice = policy.act(taught(policy, data), 2, mask, jax.random.key(1))
    return np.asarray(choice.pmf)


def width(data: dict[str, Any], scale: float = 1.0) -> float:
    _, log_det = np.linalg.slogdet(data["V"])
    ratio = log_det - D * math.log(LAM)
    return scale * SIGMA * math.sqrt(ratio + 2 * math.log(1 / DELTA)) + math.sqrt(LAM) * B


def test_uniform_spreads_over_the_available_actions(data: dict[str, Any]) -> None:
    policy = banditsrl.Uniform(**settings(data))
    assert np.allclose(pmf(policy, data), 0.25)
    assert np.allclose(pmf(policy, data, [True, False, True, False]), [0.5, 0, 0.5, 0])


def test_greedy_plays_the_largest_estimate(data: dict[str, Any]) -> None:
    found = pmf(banditsrl.Greedy(**settings(data)), data)
    assert np.array_equal(found, np.arange(A) == data["values"].argmax())


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 4.0])
def test_linucb_plays_the_largest_upper_bound(data: dict[str, Any], scale: float) -> None:
    found = pmf(banditsrl.LinUCB(ucb_scale=scale, **settings(data)), data)
    ucb = data["values"] + width(data, scale) * data["norms"]
    assert np.array_equal(found, np.arange(A) == ucb.argmax())


def test_linucb_of_the_authors_scales_the_whole_width(data: dict[str, Any]) -> None:
    policy = banditsrl.LinUCB(ucb_scale=3.0, conventions="authors", **settings(data))
    ucb = data["values"] + 3.0 * width(data) * data["norms"]
    assert np.array_equal(pmf(policy, data), np.arange(A) == ucb.argmax())


@pytest.mark.parametrize(
    ("epsilon", "rate"),
    [
        ("t^-1/3", (N + 1) ** (-1 / 3)),
        ("t^-1/2", (N + 1) ** (-1 / 2)),
        (0.2, 0.2),
        (lambda t: 1.0 / t, 1 / (N + 1)),
    ],
)
def test_epsilon_greedy_mixes_greedy_and_uniform(
    data: dict[str, Any], epsilon: Any, rate: float
) -> None:
    found = pmf(banditsrl.EpsilonGreedy(epsilon=epsilon, **settings(data)), data)
    greedy = np.arange(A) == data["values"].argmax()
    assert np.allclose(found, (1 - rate) * greedy + rate / A, atol=1e-12)


def test_inverse_gap_weighting_follows_its_formula(data: dict[str, Any]) -> None:
    policy = banditsrl.IGW(gamma1=7.0, gamma2=0.5, **settings(data))
    mask = np.array([True, True, False, True])
    values = np.where(mask, data["values"], -np.inf)
    best = int(values.argmax())
    expected = np.zeros(A)
    for a in range(A):
        if mask[a] and a != best:
            expected[a] = 1 / (3 + 7.0 * math.sqrt(N + 1) * (values[best] - values[a]))
    expected[best] = 1 - expected.sum()
    assert np.allclose(pmf(policy, data, mask), expected, atol=1e-12)


def test_thompson_sampling_estimates_its_own_distribution(data: dict[str, Any]) -> None:
    policy = banditsrl.LinTS(draws=20_000, ts_scale=0.3, **settings(data))
    rng = np.random.default_rng(0)
    scale = 0.3 * width(data)
    covariance = scale**2 * np.linalg.inv(data["V"])
    thetas = rng.multivariate_normal(data["theta"], covariance, size=200_000)
    expected = np.bincount((thetas @ data["phi"].T).argmax(axis=1), minlength=A) / 200_000
    assert policy.pmf_draws == 20_000
    # four standard errors of 20,000 draws
    assert np.abs(pmf(policy, data) - expected).max() < 4 * 0.5 / math.sqrt(20_000)


def test_played_actions_follow_the_reported_pmf(data: dict[str, Any]) -> None:
    policy = banditsrl.EpsilonGreedy(epsilon=0.5, **settings(data))
    state = taught(policy, data)
    keys = jax.random.split(jax.random.key(5), 4000)
    choices = jax.vmap(policy.act, in_axes=(None, None, None, 0))(state, 2, None, keys)
    frequency = np.bincount(np.asarray(choices.action), minlength=A) / 4000
    assert np.abs(frequency - np.asarray(choices.pmf[0])).max() < 4 * 0.5 / math.sqrt(4000)


def test_unknown_noise_and_bounds_are_estimated(data: dict[str, Any]) -> None:
    table = banditsrl.representations.Table(np.asarray(data["table"].features))
    policy = banditsrl.LinUCB(table, lam=LAM, delta=DELTA)
    found = pmf(policy, data)
    rewards = np.array([reward for _, _, reward in data["rounds"]])
    residual = rewards @ rewards - data["theta"] @ data["V"] @ data["theta"]
    sigma = math.sqrt((residual + D * (rewards @ rewards) / N) / N)
    _, log_det = np.linalg.slogdet(data["V"])
    ratio = log_det - D * math.log(LAM)
    bound = math.sqrt(LAM) * np.linalg.norm(data["theta"])
    radius = sigma * math.sqrt(ratio + 2 * math.log(1 / DELTA)) + bound
    ucb = data["values"] + radius * data["norms"]
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


@pytest.mark.parametrize("epsilon", ["t^-2", 1.5, -0.1])
def test_an_unknown_epsilon_is_refused(epsilon: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"epsilon must be t\^-1/3, t\^-1/2, a number"):
        banditsrl.EpsilonGreedy(np.ones((2, 2, 1)), epsilon=epsilon)


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


def test_a_mask_without_actions_and_a_nan_reward_are_refused(data: dict[str, Any]) -> None:
    policy = banditsrl.LinUCB(**settings(data))
    state = policy.init(jax.random.key(0))
    with pytest.raises(InvalidArgument, match="mask must leave at least one available action"):
        policy.act(state, 0, np.zeros(A, dtype=bool), jax.random.key(0))
    with pytest.raises(InvalidArgument, match="reward must be finite, got nan"):
        policy.learn(state, 0, 0, float("nan"))
    act, learn, _ = banditsrl.compiled(policy)
    with pytest.raises(InvalidArgument, match="mask must leave at least one available action"):
        act(state, 0, np.zeros(A, dtype=bool), jax.random.key(0))
    with pytest.raises(BanditSRLError, match="reward must be finite, got inf"):
        learn(state, 0, 0, float("inf"))


def test_the_state_is_double_precision_and_the_world_is_not(data: dict[str, Any]) -> None:
    state = banditsrl.LinUCB(**settings(data)).init(jax.random.key(0))
    assert state.ridge.V.dtype == np.float64
    assert jnp.ones(1).dtype == jnp.float32


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


def test_thompson_sampling_shares_a_draw_among_equal_actions() -> None:
    features = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]])
    policy = banditsrl.LinTS(features, sigma=SIGMA, draws=4)
    state = policy.init(jax.random.key(0))
    choices = [policy.act(state, 0, None, jax.random.key(seed)) for seed in range(60)]
    for choice in choices:
        pmf = np.asarray(choice.pmf)
        np.testing.assert_allclose(pmf[[0, 2]], pmf[[1, 3]])
        assert pmf.sum() == pytest.approx(1.0)
    assert {int(choice.action) for choice in choices} == {0, 1, 2, 3}


def test_an_infinite_width_leaves_a_choice() -> None:
    values = jnp.asarray([jnp.inf, 1.0, jnp.inf])
    np.testing.assert_array_equal(maximisers(values), [True, False, True])


@pytest.mark.parametrize("epsilon", [True, [0.1], 1.5, -0.1, "t^-1", None])
def test_epsilon_is_a_schedule_a_number_or_a_function(epsilon: Any) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be t\\^-1/3, t\\^-1/2, a number in"):
        banditsrl.EpsilonGreedy(epsilon=epsilon)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (lambda t: 0.1 if t < 5 else 0.01, "written with jax.numpy, got TracerBool"),
        (lambda t: np.power(float(t), -0.5), "written with jax.numpy, got Concretization"),
        (lambda t: jnp.ones(2) * t, r"epsilon must return one number, got shape \(2,\)"),
        (lambda t: t * jnp.nan, r"epsilon\(1\) must be finite, got nan"),
    ],
)
def test_a_function_for_epsilon_is_tried_when_it_is_given(epsilon: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        banditsrl.EpsilonGreedy(epsilon=epsilon)
