"""Does the uniform policy spread over the available actions?"""

import numpy as np
from linear_rounds import SETTINGS, pmf_of

import banditsrl


def test_uniform_spreads_over_the_available_actions() -> None:
    policy = banditsrl.Uniform(**SETTINGS)
    assert np.allclose(pmf_of(policy), 0.25)
    assert np.allclose(pmf_of(policy, [True, False, True, False]), [0.5, 0, 0.5, 0])
