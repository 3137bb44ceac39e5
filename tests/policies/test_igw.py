"""Is the distribution of inverse gap weighting its formula?"""

import math

import jax
import numpy as np
import pytest
from linear_rounds import SETTINGS, SIGMA, VALUES, A, N, pmf_of

import banditsrl
from banditsrl.errors import InvalidArgument


def test_inverse_gap_weighting_follows_its_formula() -> None:
    policy = banditsrl.IGW(gamma1=7.0, gamma2=0.5, **SETTINGS)
    mask = np.array([True, True, False, True])
    values = np.where(mask, VALUES, -np.inf)
    best = int(values.argmax())
    expected = np.zeros(A)
    for a in range(A):
        if mask[a] and a != best:
            expected[a] = 1 / (3 + 7.0 * math.sqrt(N + 1) * (values[best] - values[a]))
    expected[best] = 1 - expected.sum()
    assert np.allclose(pmf_of(policy, mask), expected, atol=1e-12)


def test_several_greedy_actions_share_the_rest() -> None:
    features = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    policy = banditsrl.IGW(features, gamma1=4.0, gamma2=0.0, sigma=SIGMA)
    state = policy.learn(policy.init(jax.random.key(0)), 0, 0, 1.0)  # theta = (1/2, 0)
    found = np.asarray(policy.act(state, 0, None, jax.random.key(1)).pmf)
    other = 1 / (3 + 4.0 * 0.5)
    assert np.allclose(found, [(1 - other) / 2, (1 - other) / 2, other])


@pytest.mark.parametrize("name", ["gamma1", "gamma2"])
def test_a_negative_factor_or_exponent_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"{name} must be at least 0, got -1\.0"):
        banditsrl.IGW(np.ones((2, 2, 1)), **{name: -1.0})
