"""Does LinUCB play the largest upper confidence bound of its formula?"""

import jax
import numpy as np
import pytest
from linear_rounds import NORMS, SETTINGS, VALUES, A, pmf_of, width

import banditsrl
from banditsrl.linear.regret import linucb_worst_case


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 4.0])
def test_linucb_plays_the_largest_upper_bound(scale: float) -> None:
    found = pmf_of(banditsrl.LinUCB(ucb_scale=scale, **SETTINGS))
    ucb = VALUES + width(scale) * NORMS
    assert np.array_equal(found, np.arange(A) == ucb.argmax())


def test_with_the_authors_conventions_the_scale_multiplies_the_whole_width() -> None:
    policy = banditsrl.LinUCB(ucb_scale=3.0, conventions="authors", **SETTINGS)
    ucb = VALUES + 3.0 * width() * NORMS
    assert np.array_equal(pmf_of(policy), np.arange(A) == ucb.argmax())


def test_the_regret_bound_is_that_of_linear_bandits_whatever_the_number_of_actions() -> None:
    known = {"dim": 3.0, "delta": 0.01, "sigma": 0.3, "lam": 1.0, "L": 2.0, "B": 1.5}
    bound = banditsrl.LinUCB().worst_case_regret
    assert bound is not None
    with jax.enable_x64(True):
        found = [float(bound(1000.0, n_actions=n, **known)) for n in (2, 50)]
        expected = float(linucb_worst_case(1000.0, **known))
    assert found == [expected, expected]
