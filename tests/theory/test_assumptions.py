"""Is each violated assumption named in one sentence?"""

import numpy as np
import pytest

from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.synthetic import vardim
from banditsrl.representations.table import Table
from banditsrl.theory.assumptions import list_violations
from banditsrl.theory.diagnosis import diagnose

MEANS = [[0.5, -0.5], [0.4, -0.4]]
HLS = Table([[[1.0], [-1.0]], [[0.8], [-0.8]]])
WRONG = Table([[[1.0], [0.5]], [[1.0], [0.6]]])
LUCKY = Table([[[1.0], [3.0]], [[0.8], [2.0]]])


def found(means, *candidates, **settings):
    problem = FiniteProblem(means, candidates, **{"noise": "none", **settings})
    return list_violations(problem, [diagnose(problem, k) for k in range(len(candidates))])


def test_a_problem_inside_the_assumptions_violates_none():
    assert found(MEANS, HLS, WRONG) == ()


def test_gaussian_noise_is_not_bounded():
    assert found(MEANS, HLS, noise="gaussian", noise_std=0.1) == (
        "Rewards must satisfy |y| <= 1 almost surely, but Gaussian noise has no bound.",
    )
    assert found(MEANS, HLS, noise="gaussian", noise_std=0.0) == ()


def test_mean_rewards_above_one_are_named_but_only_where_they_can_occur():
    large = [[1.5, -0.5], [0.4, -0.4]]
    (sentence,) = found(large, HLS)[:1]
    assert sentence == "Rewards must satisfy |y| <= 1, but a mean reward has size 1.5."
    hidden = found(large, HLS, available=[[False, True], [True, True]])
    assert not any("size" in sentence for sentence in hidden)
    impossible = found(large, HLS, rho=[0.0, 1.0])
    assert not any("size" in sentence for sentence in impossible)


def test_predictions_are_bounded_over_the_whole_ball():
    """theta = (0.5, 0) is as long as before, but the ball turns it towards the long feature."""
    long = np.array([[[1.0, 0.0], [-1.0, 4.0]], [[0.8, 1.0], [-0.8, 1.0]]])
    (sentence,) = found(MEANS, long)
    assert sentence == (
        "Predictions must satisfy |phi.theta| <= 1 for every theta in the ball, "
        f"but L B reaches {0.5 * np.sqrt(17.0):.3g}."
    )


def test_two_optimal_actions_leave_no_gap():
    features = np.array([[[1.0], [1.0]], [[0.8], [-0.8]]])
    sentences = found([[0.5, 0.5], [0.4, -0.4]], features)
    assert sentences == (
        "The smallest gap must be positive, but some context has two optimal actions.",
    )


def test_redundant_realizable_representations_are_listed():
    twice = np.repeat(HLS.features, 2, axis=-1)
    sentences = found(MEANS, HLS, twice)
    assert sentences == (
        "Realizable representations must not be redundant, but representation 1 is.",
    )


@pytest.mark.parametrize(
    ("candidates", "ending"),
    [
        ((HLS, HLS), "but representations 0, 1 are."),
        ((WRONG, HLS, HLS, HLS), "but representations 1, 2, 3 are."),
    ],
)
def test_several_hls_representations_are_listed(candidates, ending):
    (sentence,) = found(MEANS, *candidates)
    assert sentence == f"Exactly one realizable representation must be HLS, {ending}"


def test_no_realizable_representation_is_two_sentences():
    assert found(MEANS, WRONG) == (
        "Some representation must be realizable, but none is.",
        "Exactly one realizable representation must be HLS, but none is.",
    )


def test_a_representation_that_fits_some_policy_has_unknown_misspecification():
    sentences = found(MEANS, HLS, WRONG, LUCKY)
    assert sentences[-1] == (
        "Each other representation must have a positive misspecification, "
        "but that of representation 2 is unknown."
    )


def test_the_papers_own_problem_violates_the_bounds_on_rewards_and_predictions():
    problem = vardim(variant="realizable", seed=0)
    sentences = list_violations(problem, [diagnose(problem, k) for k in range(6)])
    assert [sentence.split(",")[0] for sentence in sentences] == [
        "Rewards must satisfy |y| <= 1 almost surely",
        "Rewards must satisfy |y| <= 1",
        "Predictions must satisfy |phi.theta| <= 1 for every theta in the ball",
    ]
