"""Is the distribution of inverse gap weighting its formula?"""

import math

import numpy as np
from linear_rounds import SETTINGS, VALUES, A, N, pmf_of

import banditsrl


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
