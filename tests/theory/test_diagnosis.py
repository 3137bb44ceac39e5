"""Does the diagnosis follow the definitions? Each property is computed again from its own."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.synthetic import mixing, vardim
from banditsrl.representations import Given, Table
from banditsrl.theory.diagnosis import Diagnosis, diagnose

Floats = NDArray[np.float64]

SPAN = 1e-8
"""How far from a span a unit vector may be and still lie in it."""


def best_actions(problem: FiniteProblem) -> list[int]:
    masked = np.where(problem.available, problem.mean_rewards, -np.inf)
    return [max(range(problem.n_actions), key=row.__getitem__) for row in masked.tolist()]


def possible(problem: FiniteProblem) -> list[int]:
    return [x for x in range(problem.n_contexts) if problem.rho[x] > 0]


def optimal_rows(problem: FiniteProblem, features: Floats) -> Floats:
    best = best_actions(problem)
    return np.array([features[x, best[x]] for x in possible(problem)])


def all_rows(problem: FiniteProblem, features: Floats) -> tuple[Floats, Floats]:
    """Features and mean rewards of everything that can happen."""
    pairs = [
        (x, a)
        for x in possible(problem)
        for a in range(problem.n_actions)
        if problem.available[x, a]
    ]
    return (
        np.array([features[x, a] for x, a in pairs]),
        np.array([problem.mean_rewards[x, a] for x, a in pairs]),
    )


def basis(rows: Floats) -> Floats:
    """An orthonormal basis of the span, one vector after another (Gram-Schmidt, twice)."""
    found: list[Floats] = []
    for row in rows:
        scale = float(np.linalg.norm(row))
        for _ in range(2):
            for vector in found:
                row = row - (row @ vector) * vector  # noqa: PLW2901
        if scale > 0 and float(np.linalg.norm(row)) > 1e-6 * scale:
            found.append(row / np.linalg.norm(row))
    return np.array(found).reshape(-1, rows.shape[1])


def inside(rows: Floats, span: Floats) -> bool:
    """Whether every row lies in the span."""
    norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    units = rows / norms
    return bool((np.linalg.norm(units - units @ span.T @ span, axis=1) < SPAN).all())


def second_moment(problem: FiniteProblem, features: Floats) -> Floats:
    """E[phi(x, a*) phi(x, a*)^T]."""
    best, dim = best_actions(problem), features.shape[-1]
    total = np.zeros((dim, dim))
    for x in range(problem.n_contexts):
        total += problem.rho[x] * np.outer(features[x, best[x]], features[x, best[x]])
    return total


def check(problem: FiniteProblem, features: Floats, diagnosis: Diagnosis) -> None:
    everything, means = all_rows(problem, features)
    optimal, dim = optimal_rows(problem, features), features.shape[-1]
    whole, best = basis(everything), basis(optimal)
    assert diagnosis.dim == dim
    assert diagnosis.rank == len(whole)
    assert diagnosis.optimal_rank == len(best)
    assert diagnosis.hls == inside(np.eye(dim), best)
    assert diagnosis.weak_hls == inside(everything, best)
    assert diagnosis.redundant == (not inside(np.eye(dim), whole))
    eigenvalues = np.linalg.eigvalsh(second_moment(problem, features))
    positive = eigenvalues[eigenvalues > 1e-10 * eigenvalues[-1]]
    assert diagnosis.lambda_star == pytest.approx(eigenvalues[0] if diagnosis.hls else 0.0)
    assert diagnosis.lambda_plus == pytest.approx(positive[0])
    gamma = np.zeros((dim, dim))
    for x, a in np.ndindex(*problem.mean_rewards.shape):
        if problem.available[x, a]:
            gamma += problem.rho[x] * np.outer(features[x, a], features[x, a])
    smallest = 0.0 if diagnosis.redundant else np.linalg.eigvalsh(gamma)[0]
    assert diagnosis.gamma == pytest.approx(smallest)
    law = np.array(
        [problem.rho[x] for x, a in np.argwhere(problem.available) if problem.rho[x] > 0]
    )
    weighted = np.sqrt(law)[:, None] * everything  # theta-star weighs contexts by rho
    theta = np.linalg.pinv(weighted, rcond=1e-6) @ (np.sqrt(law) * means)
    assert diagnosis.error == pytest.approx(np.abs(everything @ theta - means).max(), abs=1e-9)
    assert diagnosis.realizable == (diagnosis.error <= 1e-6)
    norms = max(math.hypot(*phi) for phi in everything), math.hypot(*theta)
    np.testing.assert_allclose([diagnosis.L, diagnosis.B], norms, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", ["realizable", "no-hls", "weak-hls"])
def test_every_property_of_vardim_candidates_follows_its_definition(
    variant: str, seed: int
) -> None:
    problem = vardim(variant=variant, seed=seed)
    for k, candidate in enumerate(problem.representations):
        check(problem, candidate.features, diagnose(problem, k))


def test_every_property_of_mixing_candidates_follows_its_definition() -> None:
    problem = mixing(seed=1)
    for k, candidate in enumerate(problem.representations):
        diagnosis = diagnose(problem, k)
        check(problem, candidate.features, diagnosis)
        assert (diagnosis.optimal_rank, diagnosis.hls, diagnosis.weak_hls) == (5, False, False)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_every_property_of_random_features_follows_its_definition(dim: int, seed: int) -> None:
    """Not realizable, with a law, a context that never comes and actions that are missing."""
    rng = np.random.default_rng(seed)
    available = rng.random((5, 3)) < 0.7
    available[:, 1] = True
    rho = np.array([0.4, 0.1, 0.0, 0.2, 0.3])
    problem = FiniteProblem(rng.standard_normal((5, 3)), rho=rho, available=available)
    features = rng.standard_normal((5, 3, dim))
    diagnosis = diagnose(problem, features)
    check(problem, features, diagnosis)
    assert not diagnosis.realizable
    assert 0.0 <= diagnosis.misspecification_lower <= diagnosis.misspecification_upper


def test_a_candidate_its_table_and_its_array_have_the_same_diagnosis() -> None:
    problem = vardim(variant="realizable")
    candidate = problem.representations[2]
    by_index = diagnose(problem, 2)
    for source in (candidate, Table(candidate.features), candidate.features):
        assert diagnose(problem, source) == by_index


def lemma_minimum(problem: FiniteProblem, features: Floats) -> float:
    """The paper's min over (x, a) of phi^T E[phi* phi*^T] phi / |phi|^2."""
    moment = second_moment(problem, features)
    flat = features.reshape(-1, features.shape[-1])
    return min(float(phi @ moment @ phi / (phi @ phi)) for phi in flat)


def test_a_positive_normalised_form_is_not_enough_for_weak_hls() -> None:
    """The rival leaves the line of the optimal features but is not orthogonal to it."""
    features = np.array([[[1.0, 0.0], [0.5, 0.5]], [[2.0, 0.0], [1.0, -1.0]]])
    problem = FiniteProblem(features @ np.array([1.0, 0.0]))
    diagnosis = diagnose(problem, features)
    assert lemma_minimum(problem, features) > 0.1
    assert (diagnosis.optimal_rank, diagnosis.rank) == (1, 2)
    assert diagnosis.realizable
    assert not diagnosis.weak_hls


def test_a_weakly_hls_representation_has_a_positive_normalised_form() -> None:
    """The direction of the lemma that does hold, where the redundant features are not HLS."""
    problem = vardim(variant="weak-hls", seed=2)
    diagnosis = diagnose(problem, 0)
    assert (diagnosis.hls, diagnosis.weak_hls, diagnosis.redundant) == (False, True, True)
    minimum = lemma_minimum(problem, problem.representations[0].features)
    assert minimum >= diagnosis.lambda_plus * (1.0 - 1e-9) > 0.0


def test_a_context_of_probability_zero_does_not_count() -> None:
    """With it the features would span the plane, be realizable only by chance, and be longer."""
    features = np.array([[[1.0, 0.0], [0.5, 0.0]], [[0.0, 9.0], [0.0, 5.0]]])
    means = np.array([[1.0, 0.5], [7.0, -3.0]])
    without = diagnose(FiniteProblem(means, rho=[1.0, 0.0]), features)
    assert (without.rank, without.optimal_rank) == (1, 1)
    assert (without.hls, without.weak_hls, without.redundant) == (False, True, True)
    assert without.realizable
    np.testing.assert_allclose([without.L, without.B], [1.0, 1.0], rtol=1e-12)
    assert without.lambda_plus == pytest.approx(1.0)
    both = diagnose(FiniteProblem(means, rho=[0.5, 0.5]), features)
    assert (both.hls, both.realizable, both.L) == (True, False, 9.0)


def test_probabilities_weigh_the_eigenvalues() -> None:
    features = np.array([[[1.0, 0.0], [0.0, 0.1]], [[0.0, 1.0], [0.1, 0.0]]])
    problem = FiniteProblem(features @ np.ones(2), rho=[0.9, 0.1])
    diagnosis = diagnose(problem, features)
    assert diagnosis.lambda_star == pytest.approx(0.1)
    assert diagnosis.gamma == pytest.approx(0.1 + 0.9 * 0.01)


def test_an_unavailable_action_does_not_count() -> None:
    features = np.array([[[1.0, 0.0], [0.5, 0.0], [0.0, 9.0]]])
    means = np.array([[1.0, 0.5, 77.0]])
    problem = FiniteProblem(means, available=[[True, True, False]])
    diagnosis = diagnose(problem, features)
    assert (diagnosis.rank, diagnosis.L, diagnosis.realizable) == (1, 1.0, True)
    assert diagnosis.weak_hls


def test_realizable_features_are_not_misspecified_and_wrong_ones_are() -> None:
    problem = vardim(variant="misspecified")
    right, wrong = diagnose(problem, 0), diagnose(problem, 7)
    assert (right.misspecification_lower, right.misspecification_upper) == (0.0, 0.0)
    assert 0.0 < wrong.misspecification_lower <= wrong.misspecification_upper
    assert wrong.error > 0.1


def test_features_that_vanish_span_nothing() -> None:
    problem = FiniteProblem([[1.0, 2.0], [3.0, 4.0]])
    diagnosis = diagnose(problem, np.zeros((2, 2, 3)))
    assert (diagnosis.rank, diagnosis.optimal_rank) == (0, 0)
    assert (diagnosis.lambda_star, diagnosis.lambda_plus, diagnosis.gamma) == (0.0, 0.0, 0.0)
    assert (diagnosis.L, diagnosis.B, diagnosis.redundant) == (0.0, 0.0, True)


def test_a_diagnosis_is_a_dictionary_of_its_properties() -> None:
    diagnosis = banditsrl.diagnose(vardim(variant="realizable"), 0)
    named = diagnosis.as_dict()
    assert named["hls"] is True
    assert set(named) == set(Diagnosis.__dataclass_fields__)
    assert Diagnosis(**named) == diagnosis


@pytest.mark.parametrize("index", [-1, 6])
def test_an_index_that_names_no_candidate_is_refused(index: int) -> None:
    problem = vardim(variant="realizable")
    message = f"representation must be an index below 6, got {index}"
    with pytest.raises(InvalidArgument, match=message):
        diagnose(problem, index)


@pytest.mark.parametrize(
    "source",
    [
        np.ones((4, 5, 2)),
        np.ones((20, 4, 2)),
        Given(n_actions=5, dim=2),
        Table(np.ones((3, 5, 2))),
    ],
)
def test_a_representation_of_another_problem_is_refused(source: Any) -> None:
    message = r"representation must be a table of shape \(20, 5, dim\) .* got \w+ of shape"
    with pytest.raises(InvalidArgument, match=message):
        diagnose(vardim(variant="realizable"), source)


def test_something_else_can_not_be_diagnosed() -> None:
    with pytest.raises(InvalidType, match=r"representation must be .* got str"):
        diagnose(vardim(variant="realizable"), "phi")


def verdicts(found: Diagnosis) -> tuple[Any, ...]:
    ranks = (found.rank, found.optimal_rank, found.n_tied)
    return (found.realizable, found.hls, found.weak_hls, found.redundant, *ranks)


def scaled(
    problem: FiniteProblem, features: Floats, factor: float, shift: float, columns: Floats
) -> tuple[Any, ...]:
    """The verdicts with rewards factor y + shift, a constant column added, and columns scaled."""
    means = factor * problem.mean_rewards + shift
    with_constant = np.concatenate([features, np.ones((*features.shape[:2], 1))], axis=2)
    other = FiniteProblem(means, rho=problem.rho, noise_std=0.0)
    return verdicts(diagnose(other, with_constant * columns))


@pytest.mark.parametrize(
    ("factor", "shift"), [(1e-7, 0.0), (1e11, 0.0), (1e-300, 0.0), (1.0, 1e6), (1e-6, -1.0)]
)
def test_verdicts_do_not_depend_on_the_unit_or_the_origin_of_rewards(
    factor: float, shift: float
) -> None:
    problem = vardim(variant="misspecified", seed=0)
    ones = np.ones(1)
    kinds = set()
    for table in problem.representations:
        plain = scaled(problem, table.features, 1.0, 0.0, ones)
        assert scaled(problem, table.features, factor, shift, ones) == plain
        kinds.add(plain[0])
    assert kinds == {True, False}


@pytest.mark.parametrize("size", [1e-7, 1e-10, 1e9])
def test_verdicts_do_not_depend_on_the_scale_of_a_column(size: float) -> None:
    problem = vardim(variant="misspecified", seed=0)
    for table in problem.representations:
        columns = np.ones(table.dim + 1)
        plain = scaled(problem, table.features, 1.0, 0.0, columns)
        columns[0] = size
        assert scaled(problem, table.features, 1.0, 0.0, columns) == plain


def test_a_needed_column_of_small_scale_is_needed() -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(20, 3, 2))
    means = features @ [1.0, -1.0]
    small = features * [1.0, 1e-7]
    found = diagnose(FiniteProblem(means), small)
    assert (found.realizable, found.redundant, found.hls) == (True, False, True)
    assert pytest.approx(1e7) == found.B
    without = diagnose(FiniteProblem(means), small[..., :1])
    assert not without.realizable


def test_the_misspecification_of_scaled_rewards_is_scaled() -> None:
    problem = vardim(variant="misspecified", seed=0)
    k = next(k for k, claim in enumerate(problem.claims) if not claim.realizable)
    features = problem.representations[k].features
    one = diagnose(problem, k)
    for factor in (1e-7, 1e11):
        other = diagnose(FiniteProblem(factor * problem.mean_rewards), features)
        assert other.misspecification_upper == pytest.approx(
            factor**2 * one.misspecification_upper, rel=1e-6
        )
        assert not FiniteProblem(factor * problem.mean_rewards, [features]).claims[0].realizable


def test_tied_optimal_actions_are_counted_and_their_order_does_not_matter() -> None:
    means = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.1 + 0.2, 0.3, 0.0]])
    features = np.random.default_rng(0).normal(size=(3, 3, 4))
    found = []
    for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        found.append(diagnose(FiniteProblem(means[:, order]), features[:, order]))
    for one in found:
        assert (one.n_tied, one.optimal_rank, one.hls) == (2, 4, True)  # five optimal features
        assert one.lambda_star == pytest.approx(found[0].lambda_star)
    rows = [features[0, 0], features[0, 1], features[1, 1], features[2, 0], features[2, 1]]
    shares = np.array([1, 1, 2, 1, 1]) / 6
    moment = sum(share * np.outer(row, row) for share, row in zip(shares, rows, strict=True))
    assert found[0].lambda_star == pytest.approx(np.linalg.eigvalsh(moment)[0])
    untied = diagnose(FiniteProblem(means - [[0.0, 0.0, 0.0], [0, 0, 0], [0, 0.1, 0]]), features)
    assert untied.n_tied == 1
