"""Does the greedy policy play the largest estimate?"""

import jax
import numpy as np
from linear_rounds import CONTEXT, SETTINGS, VALUES, A, pmf_of

import banditsrl


def test_greedy_plays_the_largest_estimate() -> None:
    found = pmf_of(banditsrl.Greedy(**SETTINGS))
    assert np.array_equal(found, np.arange(A) == VALUES.argmax())


def test_equal_estimates_are_played_with_equal_probability() -> None:
    policy = banditsrl.Greedy(**SETTINGS)
    choice = policy.act(policy.init(jax.random.key(0)), CONTEXT, None, jax.random.key(1))
    assert np.allclose(choice.pmf, 1.0 / A)  # every estimate is zero before the first reward
