"""Are a tie of best actions and a false claim refused, and true claims accepted?"""

import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.errors import InvalidProblem
from banditsrl.problems.claims import Claim
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.verification import verify_optimum, verify_realizable

Floats = NDArray[np.float64]


def features_and_theta(seed: int = 0, dim: int = 3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, 3, dim)), rng.standard_normal(dim)


@pytest.mark.parametrize("context", [0, 1])
def test_two_best_actions_are_refused(context: int) -> None:
    means = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 1.0]])
    means[context] = [1.0, 3.0, 3.0]
    message = f"tied must have one optimal action .* got two best actions in context {context}"
    with pytest.raises(InvalidProblem, match=message):
        verify_optimum(FiniteProblem(means, name="tied"))


def test_a_candidate_that_does_not_predict_the_rewards_can_not_claim_to() -> None:
    features, theta = features_and_theta()
    means = features @ theta
    means[2, 1] += 1e-3
    claims = (Claim(np.ones(1), True), Claim(theta, True))
    problem = FiniteProblem(means, (means[..., None], features), claims=claims, name="bent")
    message = "bent: representation 1 claims to be realizable to 1e-09, got an error of 0.001"
    with pytest.raises(InvalidProblem, match=message):
        verify_realizable(problem, 1e-9)
    verify_realizable(problem, 2e-3)


def test_a_candidate_that_predicts_the_rewards_can_not_claim_to_be_misspecified() -> None:
    features, theta = features_and_theta()
    claims = (Claim(np.zeros(3), False),)
    problem = FiniteProblem(features @ theta, (features,), claims=claims, name="modest")
    message = "modest: representation 0 claims to be misspecified, got a linear fit exact to 1e-09"
    with pytest.raises(InvalidProblem, match=message):
        verify_realizable(problem, 1e-9)


def test_claims_that_hold_are_accepted() -> None:
    """The claims are decided here by sorting, and by the normal equations of the shorter one."""
    features, theta = features_and_theta()
    means, short = features @ theta, features[..., :2]
    assert all(row[-1] > row[-2] for row in np.sort(means, axis=1))
    rows = short.reshape(-1, 2)
    fit = np.linalg.solve(rows.T @ rows, rows.T @ means.ravel())
    error = float(np.abs(short @ fit - means).max())
    assert error > 1e-9
    claims = [Claim(theta, True), Claim(theta[:2], False)]
    problem = FiniteProblem(means, [features, short], claims=claims)
    verify_optimum(problem)
    verify_realizable(problem, 1e-9)
    verify_realizable(problem, 0.99 * error)
    with pytest.raises(InvalidProblem, match="representation 1 claims to be misspecified"):
        verify_realizable(problem, 1.01 * error)
