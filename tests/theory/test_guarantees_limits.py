"""What does `theory` return when the paper guarantees nothing, and which inputs does it refuse?"""

import math

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.problems.finite import FiniteProblem
from banditsrl.representations.table import Table
from banditsrl.theory.guarantees import theory

HLS = Table([[[1.0], [-1.0]], [[0.8], [-0.8]]])
FLAT = Table([[[1.0, 0.0], [-1.0, 1.0]], [[0.8, 0.0], [-0.8, 1.0]]])  # optimal actions on one line
WRONG = Table([[[1.0], [0.5]], [[1.0], [0.6]]])


def small_problem(*candidates, **settings):
    return FiniteProblem([[0.5, -0.5], [0.4, -0.4]], candidates, **settings)


def test_an_unknown_misspecification_makes_every_later_time_infinite():
    fits = Table([[[1.0], [3.0]], [[0.8], [2.0]]])
    result = theory(small_problem(HLS, FLAT, fits), delta=0.05, lam=4.0, horizon=100)
    assert result.tau_elim == result.tau_hls == result.tau_glrt == result.bound == math.inf
    assert result.tau_alg < math.inf
    assert any("misspecification of 1 candidates is unknown" in note for note in result.notes)
    assert any("that of representation 2 is unknown" in text for text in result.violations)


def test_nothing_is_guaranteed_without_a_realizable_representation():
    result = theory(small_problem(WRONG), delta=0.05, lam=4.0, horizon=100)
    assert {value for _, value, _ in result.as_rows()} == {math.inf}
    assert result.notes == ("The paper guarantees nothing here: no representation is realizable.",)


def test_a_zero_gap_leaves_every_time_infinite_and_says_so():
    features = np.array([[[1.0], [1.0]], [[0.8], [-0.8]]])
    tied = FiniteProblem([[0.5, 0.5], [0.4, -0.4]], (features,))
    result = theory(tied, delta=0.05, lam=4.0)
    assert result.tau_glrt == result.bound_single == math.inf
    assert any(
        "No t up to 2^900 satisfies the inequality, so these times are infinite: tau_glrt" in note
        for note in result.notes
    )


def test_the_product_in_linucbs_theorem_is_flagged_where_it_is_not_safe():
    careful = theory(small_problem(HLS, FLAT, noise_std=0.5), delta=0.05, lam=4.0)
    assert not any("multiplies" in note for note in careful.notes)
    noiseless = theory(small_problem(HLS, FLAT, noise="none"), delta=0.05, lam=4.0)
    assert any("multiplies two terms that its proof adds" in note for note in noiseless.notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "ucb"}, "base must be one of linucb, egreedy, got 'ucb'"),
        ({"loss": "weak"}, "loss must be one of eig, bic, got 'weak'"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"lam": 0.0}, "lam must be greater than 0"),
        ({"horizon": 1}, "horizon must be at least 2, got 1"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, message):
    with pytest.raises(InvalidArgument, match=message):
        theory(small_problem(HLS), **settings)


def test_a_problem_without_representations_is_refused():
    with pytest.raises(InvalidArgument, match="at least one representation, got none"):
        theory(small_problem())
