"""Does Thompson sampling estimate its own distribution?"""

import math

import jax
import numpy as np
import pytest
from linear_rounds import PHI, SETTINGS, SIGMA, THETA, A, V, pmf_of, width

import banditsrl


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
