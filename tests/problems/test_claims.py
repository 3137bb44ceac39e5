"""Does every candidate of a problem get its claim and its bounds, and is a bad one refused?"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.problems.claims import Claim, best_fit
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.verification import verify_realizable
from banditsrl.representations import Given, Table

Floats = NDArray[np.float64]


def features_and_theta(seed: int = 0, dim: int = 3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, 3, dim)), rng.standard_normal(dim)


GOOD = [[1.0, 0.0], [0.0, 1.0]]


def test_best_fit_error_is_the_largest_residual_of_the_normal_equations() -> None:
    features, _ = features_and_theta(dim=2)
    means = np.random.default_rng(2).standard_normal((4, 3))
    rows = [(phi, means[at]) for at in np.ndindex(4, 3) for phi in [features[at]]]
    gram = sum(np.outer(phi, phi) for phi, _ in rows)
    theta = np.linalg.solve(gram, sum(mu * phi for phi, mu in rows))
    found, error = best_fit(features, means, np.ones((4, 3), dtype=bool))
    np.testing.assert_allclose(found, theta)
    assert error == pytest.approx(np.abs(features @ theta - means).max())


BAD_CANDIDATES = [
    (np.full((2, 2, 1), math.nan), np.ones(1), r"features must be finite, got nan at index"),
    (np.ones((2, 2)), np.ones(1), r"features must have shape \(n_contexts, n_actions, dim\), got"),
    (
        np.ones((2, 3, 1)),
        np.ones(1),
        r"features must have shape \(2, 2, dim\), got shape \(2, 3, 1\)",
    ),
    (
        np.ones((3, 2, 1)),
        np.ones(1),
        r"features must have shape \(2, 2, dim\), got shape \(3, 2, 1\)",
    ),
    (np.ones((2, 2, 1)), np.ones(2), r"theta must have shape \(1,\), got shape \(2,\)"),
    (np.ones((2, 2, 1)), np.array([math.inf]), r"theta must be finite, got inf at index \(0,\)"),
]


@pytest.mark.parametrize(("features", "theta", "message"), BAD_CANDIDATES)
def test_a_bad_candidate_is_refused_by_name(features: Any, theta: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        FiniteProblem(GOOD, (features,), claims=(Claim(theta, True),))


def test_a_candidate_given_as_an_array_is_fitted_where_a_round_can_be() -> None:
    rng = np.random.default_rng(0)
    features, theta = rng.normal(size=(6, 4, 3)), np.array([1.0, -0.5, 0.8])
    means = features @ theta
    available = np.ones((6, 4), dtype=bool)
    available[:3, 0] = False
    elsewhere = features.copy()
    elsewhere[:3, 0] = 50.0 * theta  # in cells that are never offered
    rho = np.array([0.0, 0.2, 0.2, 0.2, 0.2, 0.2])
    elsewhere[0] = -7.0  # in a context that never comes
    problem = FiniteProblem(means, [features, elsewhere], available=available, rho=rho)
    for claim in problem.claims:
        assert claim.realizable
        np.testing.assert_allclose(claim.theta, theta)


def test_a_fit_that_is_exact_up_to_a_file_s_rounding_counts() -> None:
    rng = np.random.default_rng(1)
    features, theta = rng.normal(size=(6, 4, 3)), np.array([1.0, -0.5, 0.8])
    rounded = np.round(features @ theta, 7)
    problem = FiniteProblem(rounded, [features])
    assert problem.claims[0].realizable
    verify_realizable(problem, 1e-6)


def test_bounds_of_an_array_are_its_largest_norm_and_the_norm_of_its_parameter() -> None:
    features, _ = features_and_theta(dim=2)
    claims = (Claim([3.0, 4.0], False), Claim([0.0, 0.0], False))
    means = np.random.default_rng(3).standard_normal((4, 3))
    first, second = FiniteProblem(means, (features, features), claims=claims).representations
    largest = max(math.hypot(*phi) for row in features for phi in row)
    assert (pytest.approx(largest, rel=1e-15), 5.0) == (first.L, first.B)
    assert second.B is not None
    assert 0.0 < second.B < 1e-9  # a bound that can still be divided by


def test_the_bound_of_an_array_counts_only_what_can_occur() -> None:
    features = np.ones((3, 2, 1))
    features[0] = 100.0  # a context of probability zero
    features[1, 1] = 50.0  # an action that is not available
    features[2, 1] = -3.0
    available = [[True, True], [True, False], [True, True]]
    means = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    problem = FiniteProblem(means, [features], rho=[0.0, 0.5, 0.5], available=available)
    assert problem.representations[0].L == 3.0
    everything = FiniteProblem(means, [features])
    assert everything.representations[0].L == 100.0


def test_a_table_keeps_the_bounds_that_it_has() -> None:
    features, theta = features_and_theta()
    table = Table(features, L=9.0, B=7.0)
    problem = FiniteProblem(features @ theta, [table, Table(features, L=9.0)])
    assert problem.representations[0] is table
    assert problem.representations[1].L == 9.0
    assert pytest.approx(float(np.linalg.norm(theta)), rel=1e-9) == problem.representations[1].B


def test_claims_must_be_claims_and_one_per_representation() -> None:
    with pytest.raises(InvalidArgument, match="claims must be one per representation, got 0 for 1"):
        FiniteProblem(GOOD, [np.ones((2, 2, 1))], claims=[])
    with pytest.raises(InvalidType, match="claims must be a sequence of Claim, got ndarray"):
        FiniteProblem(GOOD, [np.ones((2, 2, 1))], claims=[np.ones(1)])  # type: ignore[list-item]
    with pytest.raises(InvalidType, match=r"features must be an array of numbers .* got Given"):
        FiniteProblem(GOOD, [Given(n_actions=2, dim=1)])
    with pytest.raises(InvalidType, match="realizable must be True or False, got 'yes'"):
        Claim([1.0], "yes")  # type: ignore[arg-type]
