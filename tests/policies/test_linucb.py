"""Does LinUCB play the largest upper confidence bound of its formula?"""

import numpy as np
import pytest
from linear_rounds import NORMS, SETTINGS, VALUES, A, pmf_of, width

import banditsrl


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 4.0])
def test_linucb_plays_the_largest_upper_bound(scale: float) -> None:
    found = pmf_of(banditsrl.LinUCB(ucb_scale=scale, **SETTINGS))
    ucb = VALUES + width(scale) * NORMS
    assert np.array_equal(found, np.arange(A) == ucb.argmax())


def test_linucb_of_the_authors_scales_the_whole_width() -> None:
    policy = banditsrl.LinUCB(ucb_scale=3.0, conventions="authors", **SETTINGS)
    ucb = VALUES + 3.0 * width() * NORMS
    assert np.array_equal(pmf_of(policy), np.arange(A) == ucb.argmax())
