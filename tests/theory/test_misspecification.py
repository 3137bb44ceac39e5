"""Do the bounds on the misspecification hold? Compared with a minimum over all policies."""

import itertools

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.synthetic import vardim
from banditsrl.theory import misspecification as module
from banditsrl.theory.diagnosis import diagnose
from banditsrl.theory.misspecification import bound_misspecification


def over_all_policies(problem, features):
    """The definition: least squares for every policy, over possible contexts."""
    possible = np.flatnonzero(problem.rho > 0)
    roots = np.sqrt(problem.rho[possible])
    offered = [np.flatnonzero(problem.available[x]) for x in possible]
    best = np.inf
    for actions in itertools.product(*offered):
        rows = roots[:, None] * features[possible, actions]
        targets = roots * problem.mean_rewards[possible, actions]
        theta = np.linalg.lstsq(rows, targets, rcond=None)[0]
        best = min(best, float(np.sum((rows @ theta - targets) ** 2)))
    return best


def random_instance(seed, *, dim, n_contexts=4, n_actions=3, **settings):
    rng = np.random.default_rng(seed)
    problem = FiniteProblem(rng.standard_normal((n_contexts, n_actions)), **settings)
    return problem, rng.standard_normal((n_contexts, n_actions, dim))


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_both_bounds_equal_the_minimum_over_all_policies(seed, dim):
    problem, features = random_instance(seed, dim=dim)
    exact = over_all_policies(problem, features)
    lower, upper = bound_misspecification(problem, features)
    assert upper == pytest.approx(exact, rel=1e-6, abs=1e-9)
    assert lower == pytest.approx(exact, rel=1e-6, abs=1e-9)


def test_weights_and_missing_actions_count_as_in_the_definition():
    rng = np.random.default_rng(3)
    available = rng.random((6, 3)) < 0.6
    available[:, 0] = True
    rho = np.array([0.3, 0.0, 0.1, 0.2, 0.25, 0.15])
    problem, features = random_instance(4, dim=2, n_contexts=6, rho=rho, available=available)
    exact = over_all_policies(problem, features)
    assert bound_misspecification(problem, features) == pytest.approx((exact, exact), rel=1e-6)


def test_an_impossible_context_and_an_unavailable_action_change_nothing():
    problem, features = random_instance(5, dim=1)
    wider = FiniteProblem(
        np.pad(problem.mean_rewards, ((0, 1), (0, 1)), constant_values=7.0),
        rho=np.append(problem.rho, 0.0),
        available=np.pad(problem.available, ((0, 1), (0, 1)), constant_values=((0, 1), (0, 0))),
    )
    padded = np.pad(features, ((0, 1), (0, 1), (0, 0)), constant_values=50.0)
    assert bound_misspecification(wider, padded) == pytest.approx(
        bound_misspecification(problem, features)
    )


def test_dependent_features_and_their_scale_do_not_matter():
    problem, features = random_instance(6, dim=2)
    mixed = features @ np.array([[1e4, 0.0, 1e4, 3.0], [0.0, 1e-2, 1e-2, 5.0]])
    assert bound_misspecification(problem, mixed) == pytest.approx(
        bound_misspecification(problem, features)
    )


def test_rewards_scale_the_bounds_by_their_square():
    problem, features = random_instance(7, dim=2)
    larger = FiniteProblem(1e3 * problem.mean_rewards)
    expected = [1e6 * bound for bound in bound_misspecification(problem, features)]
    assert bound_misspecification(larger, features) == pytest.approx(expected)


def test_a_realizable_representation_has_none():
    problem = vardim(variant="realizable", seed=0)
    for candidate in problem.representations:
        lower, upper = bound_misspecification(problem, candidate.features)
        assert lower == 0.0
        assert upper == pytest.approx(0.0, abs=1e-10)


def test_one_fitting_policy_is_enough_for_zero():
    problem = FiniteProblem([[1.0, 5.0], [7.0, 1.0], [1.0, 9.0]])
    lower, upper = bound_misspecification(problem, np.ones((3, 2, 1)))
    assert lower == 0.0
    assert upper == pytest.approx(0.0, abs=1e-10)


def test_no_rewards_at_all_have_none():
    assert bound_misspecification(FiniteProblem(np.zeros((3, 2))), np.ones((3, 2, 1))) == (0.0, 0.0)


def test_features_that_vanish_miss_the_smallest_reward_of_every_context():
    problem = FiniteProblem([[1.0, -2.0], [3.0, 4.0]])
    assert bound_misspecification(problem, np.zeros((2, 2, 3))) == pytest.approx((5.0, 5.0))


def test_vardim_is_bracketed_and_certified_in_low_dimension():
    problem = vardim(variant="misspecified", seed=0)
    wrong = [k for k, claim in enumerate(problem.claims) if not claim.realizable]
    for k in wrong:
        diagnosis = diagnose(problem, k)
        lower, upper = diagnosis.misspecification_lower, diagnosis.misspecification_upper
        assert 0.0 <= lower <= upper
        assert (lower > 0.0) == (diagnosis.dim <= 3)


def test_a_spent_budget_leaves_a_smaller_bound_that_still_holds(monkeypatch):
    problem, features = random_instance(8, dim=2, n_contexts=12, n_actions=4)
    exact, _ = bound_misspecification(problem, features)
    monkeypatch.setattr(module, "NODE_BUDGET", 60)
    monkeypatch.setattr(module, "CHUNK", 4)
    lower, upper = bound_misspecification(problem, features)
    assert 0.0 <= lower < exact <= upper * (1 + 1e-9)


def test_features_of_another_problem_are_refused():
    problem, _ = random_instance(9, dim=2)
    with pytest.raises(InvalidArgument, match=r"features must have shape \(4, 3, dim\) .*got"):
        bound_misspecification(problem, np.ones((4, 2, 2)))
