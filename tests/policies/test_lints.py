"""Does Thompson sampling estimate its own distribution?"""

import math

import jax
import numpy as np
import pytest
from linear_rounds import CONTEXT, PHI, SETTINGS, SIGMA, THETA, A, V, pmf_of, teach, width

import banditsrl
from banditsrl.errors import InvalidArgument


def test_thompson_sampling_estimates_its_own_distribution() -> None:
    policy = banditsrl.LinTS(draws=20_000, ts_scale=0.3, **SETTINGS)
    rng = np.random.default_rng(0)
    scale = 0.3 * width()
    covariance = scale**2 * np.linalg.inv(V)
    thetas = rng.multivariate_normal(THETA, covariance, size=200_000)
    expected = np.bincount((thetas @ PHI.T).argmax(axis=1), minlength=A) / 200_000
    assert policy.pmf_draws == 20_000
    # four standard errors of 20,000 draws
    assert np.abs(pmf_of(policy) - expected).max() < 4 * 0.5 / math.sqrt(20_000)


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


def test_the_action_that_is_played_has_positive_probability() -> None:
    policy = banditsrl.LinTS(draws=1, **SETTINGS)
    state = teach(policy)
    for seed in range(30):
        choice = policy.act(state, CONTEXT, None, jax.random.key(seed))
        pmf = np.asarray(choice.pmf)
        assert pmf[int(choice.action)] > 0.0
        assert pmf.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draws": 0}, "draws must be at least 1, got 0"),
        ({"ts_scale": -1.0}, r"ts_scale must be at least 0, got -1\.0"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        banditsrl.LinTS(np.ones((2, 2, 1)), **settings)  # type: ignore[arg-type]


def test_a_rare_action_has_a_propensity_of_its_size() -> None:
    """Counting wins of 64 draws could not report less than 1 / 65 for what was played."""
    policy = banditsrl.LinTS(ts_scale=0.12, **SETTINGS)
    rng = np.random.default_rng(0)
    covariance = (0.12 * width()) ** 2 * np.linalg.inv(V)
    thetas = rng.multivariate_normal(THETA, covariance, size=400_000)
    expected = np.bincount((thetas @ PHI.T).argmax(axis=1), minlength=A) / 400_000
    rare = [a for a in range(A) if 1e-4 < expected[a] < 1 / 65]
    assert rare
    state, act = teach(policy), banditsrl.compiled(policy).act
    pmfs = np.array([act(state, CONTEXT, None, jax.random.key(s)).pmf for s in range(200)])
    for a in rare:
        error = pmfs[:, a].std(ddof=1) / math.sqrt(200) + math.sqrt(expected[a] / 400_000)
        assert abs(pmfs[:, a].mean() - expected[a]) < 4 * error
        assert pmfs[:, a].std(ddof=1) < 0.5 * math.sqrt(expected[a] / 65)  # that of counting


def test_unavailable_actions_and_a_single_one_have_their_probability() -> None:
    policy = banditsrl.LinTS(**SETTINGS)
    state = teach(policy)
    for action in range(A):
        mask = np.arange(A) == action
        pmf = np.asarray(policy.act(state, CONTEXT, mask, jax.random.key(0)).pmf)
        np.testing.assert_allclose(pmf, mask.astype(float))
    without = np.asarray(policy.act(state, CONTEXT, np.arange(A) != 1, jax.random.key(0)).pmf)
    assert without[1] == 0.0
    assert without.sum() == pytest.approx(1.0)


def test_without_width_the_greedy_action_has_all_of_the_probability() -> None:
    policy = banditsrl.LinTS(ts_scale=0.0, **SETTINGS)
    choice = policy.act(teach(policy), CONTEXT, None, jax.random.key(0))
    assert float(choice.pmf[int(np.argmax(PHI @ THETA))]) == pytest.approx(1.0)
