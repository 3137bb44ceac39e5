"""Does the greedy policy play the largest estimate?"""

import numpy as np
from linear_rounds import SETTINGS, VALUES, A, pmf_of

import banditsrl


def test_greedy_plays_the_largest_estimate() -> None:
    found = pmf_of(banditsrl.Greedy(**SETTINGS))
    assert np.array_equal(found, np.arange(A) == VALUES.argmax())
