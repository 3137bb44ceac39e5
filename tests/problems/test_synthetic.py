"""Is every generated problem what its name promises? Claims are derived again for five seeds."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType, UnknownName
from banditsrl.problems import synthetic
from banditsrl.problems.claims import Claim
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.synthetic import mixing, vardim
from banditsrl.representations.table import Table

Floats = NDArray[np.float64]

SEEDS = range(5)
VARIANTS = ["realizable", "misspecified", "no-hls", "weak-hls"]
NAMES = ["mixing", *[f"vardim-{variant}" for variant in VARIANTS]]

REALIZABLE = 1e-9
"""Largest error of a realizable candidate; the rest is rounding."""

RANK = 1e-8
"""Share of the largest singular value below which a direction is missing."""

PAPER_GAP, NOISE = 0.14, 0.3

STANDARD_ERRORS = 5.0
"""Seeds are fixed; features that are N(0, 1) would fail for one seed in two million."""


def best_actions(problem: FiniteProblem) -> list[int]:
    return [max(range(len(row)), key=row.__getitem__) for row in problem.mean_rewards.tolist()]


def optimal_features(problem: FiniteProblem, candidate: Table) -> Floats:
    """One row per context."""
    return np.array([candidate.features[x, a] for x, a in enumerate(best_actions(problem))])


def rank(rows: Floats) -> int:
    singular = np.linalg.svd(rows, compute_uv=False)
    return int(np.sum(singular > RANK * singular[0]))


def all_rank(candidate: Table) -> int:
    return rank(candidate.features.reshape(-1, candidate.dim))


def optimal_ranks(problem: FiniteProblem) -> list[int]:
    return [rank(optimal_features(problem, c)) for c in problem.representations]


def prediction_error(problem: FiniteProblem, k: int) -> float:
    predicted = problem.representations[k].features @ problem.claims[k].theta
    return float(np.abs(predicted - problem.mean_rewards).max())


def best_error(problem: FiniteProblem, candidate: Table) -> float:
    """Largest error of the least squares fit, by the pseudo-inverse."""
    flat = candidate.features.reshape(-1, candidate.dim)
    theta = np.linalg.pinv(flat) @ problem.mean_rewards.ravel()
    return float(np.abs(flat @ theta - problem.mean_rewards.ravel()).max())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_problem_has_the_sizes_the_noise_and_the_gap_of_the_paper(
    name: str, seed: int
) -> None:
    problem = banditsrl.make_problem(name, seed=seed)
    assert problem.mean_rewards.shape == (20, 5)
    assert (problem.noise, problem.noise_std) == ("gaussian", NOISE)
    np.testing.assert_allclose(problem.rho, np.full(20, 1 / 20), rtol=1e-12)
    ordered = np.sort(problem.mean_rewards, axis=1)
    gap = float((ordered[:, -1] - ordered[:, -2]).min())
    assert gap >= PAPER_GAP
    assert problem.gap == pytest.approx(gap, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_candidate_predicts_the_rewards_exactly_or_not_at_all(name: str, seed: int) -> None:
    problem = banditsrl.make_problem(name, seed=seed)
    for k, candidate in enumerate(problem.representations):
        if problem.claims[k].realizable:
            assert prediction_error(problem, k) <= REALIZABLE
        else:
            assert best_error(problem, candidate) > 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_realizable_holds_the_hls_candidate_and_five_with_collinear_optimal_features(
    seed: int,
) -> None:
    problem = vardim(variant="realizable", seed=seed)
    assert [c.dim for c in problem.representations] == [6, 2, 3, 4, 5, 6]
    assert all(claim.realizable for claim in problem.claims)
    assert optimal_ranks(problem) == [6, 1, 1, 1, 1, 1]
    assert [all_rank(c) for c in problem.representations] == [6, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("seed", SEEDS)
def test_parameters_are_unit_vectors_and_the_hls_candidate_has_a_visible_lambda_star(
    seed: int,
) -> None:
    problem = vardim(variant="realizable", seed=seed)
    for candidate, claim in zip(problem.representations, problem.claims, strict=True):
        assert float(np.linalg.norm(claim.theta)) == pytest.approx(1.0, rel=1e-12)
        assert float(np.linalg.norm(claim.theta)) == candidate.B
    optimal = optimal_features(problem, problem.representations[0])
    second_moment = sum(np.outer(phi, phi) for phi in optimal) / 20
    assert float(np.linalg.eigvalsh(second_moment)[0]) >= 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_collinear_optimal_features_point_along_their_parameter(seed: int) -> None:
    """They are mu* theta / |theta|^2, the shortest vectors that still predict the rewards."""
    problem = vardim(variant="no-hls", seed=seed)
    best = problem.mean_rewards.max(axis=1)
    for candidate, claim in zip(problem.representations, problem.claims, strict=True):
        expected = np.outer(best, claim.theta / (claim.theta @ claim.theta))
        np.testing.assert_allclose(optimal_features(problem, candidate), expected, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_other_actions_keep_their_features_with_the_surplus_folded_up_to_a_rotation(
    seed: int,
) -> None:
    """Inner products do not change under a rotation; folding is by the unit surplus parameter."""
    problem = vardim(variant="realizable", seed=seed)
    reference, *collinear = problem.representations
    theta = problem.claims[0].theta
    best = best_actions(problem)
    others = [(x, a) for x in range(20) for a in range(5) if a != best[x]]
    for candidate in collinear:
        kept = candidate.dim - 1
        direction = theta[kept:] / np.linalg.norm(theta[kept:])
        plain = [reference.features[x, a] for x, a in others]
        folded = np.array([[*phi[:kept], phi[kept:] @ direction] for phi in plain])
        found = np.array([candidate.features[x, a] for x, a in others])
        np.testing.assert_allclose(found @ found.T, folded @ folded.T, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_hls_holds_the_five_collinear_candidates_only(seed: int) -> None:
    problem = vardim(variant="no-hls", seed=seed)
    assert [c.dim for c in problem.representations] == [2, 3, 4, 5, 6]
    assert all(claim.realizable for claim in problem.claims)
    assert optimal_ranks(problem) == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_misspecified_adds_a_half_a_third_and_five_random_candidates(seed: int) -> None:
    problem = vardim(variant="misspecified", seed=seed)
    right, wrong = problem.representations[:6], problem.representations[6:]
    assert [claim.realizable for claim in problem.claims] == [True] * 6 + [False] * 7
    assert [c.dim for c in wrong] == [3, 2, 3, 9, 12, 12, 18]
    assert [rank(optimal_features(problem, c)) for c in right] == [6, 1, 1, 1, 1, 1]
    np.testing.assert_array_equal(wrong[0].features, right[0].features[..., :3])
    np.testing.assert_array_equal(wrong[1].features, right[0].features[..., :2])
    for candidate in wrong[2:]:
        spread = STANDARD_ERRORS / math.sqrt(2 * candidate.features.size)
        assert candidate.features.std() == pytest.approx(1.0, abs=spread)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_misspecified_candidate_carries_the_parameter_of_its_best_fit(seed: int) -> None:
    problem = vardim(variant="misspecified", seed=seed)
    for candidate, claim in list(zip(problem.representations, problem.claims, strict=True))[6:]:
        residual = problem.mean_rewards - candidate.features @ claim.theta
        normal = np.einsum("xa,xad->d", residual, candidate.features)
        np.testing.assert_allclose(normal, np.zeros(candidate.dim), atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_weak_hls_appends_five_ones_so_that_only_the_first_is_weakly_hls(seed: int) -> None:
    problem = vardim(variant="weak-hls", seed=seed)
    plain = vardim(variant="realizable", seed=seed)
    assert [c.dim for c in problem.representations] == [11, 7, 8, 9, 10, 11]
    for candidate, original in zip(problem.representations, plain.representations, strict=True):
        np.testing.assert_array_equal(candidate.features[..., :-5], original.features)
        np.testing.assert_array_equal(candidate.features[..., -5:], np.ones((20, 5, 5)))
    for padded, claim in zip(problem.claims, plain.claims, strict=True):
        np.testing.assert_array_equal(padded.theta, [*claim.theta, 0, 0, 0, 0, 0])
    spans = [all_rank(c) for c in problem.representations]
    assert spans == [7, 3, 4, 5, 6, 7]  # the ones add a single direction
    assert optimal_ranks(problem) == [7, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_mixing_candidates_have_optimal_rank_five_and_each_lacks_another_direction(
    seed: int,
) -> None:
    problem = mixing(seed=seed)
    assert [c.dim for c in problem.representations] == [6] * 6
    assert optimal_ranks(problem) == [5] * 6
    for k, candidate in enumerate(problem.representations):
        np.testing.assert_array_equal(problem.claims[k].theta, np.ones(6))
        lost = np.zeros(6)
        lost[k], lost[(k + 1) % 6] = 1.0, -1.0
        optimal = optimal_features(problem, candidate)
        np.testing.assert_allclose(optimal @ lost, np.zeros(20), atol=1e-12)
        assert all_rank(candidate) == 6
    together = np.vstack([optimal_features(problem, c) for c in problem.representations])
    assert rank(together) == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_mixing_candidates_agree_on_every_action_that_is_not_optimal(seed: int) -> None:
    problem = mixing(seed=seed)
    optimal = np.eye(5, dtype=bool)[best_actions(problem)]  # (20, 5)
    first = problem.representations[0]
    for candidate in problem.representations[1:]:
        np.testing.assert_array_equal(candidate.features[~optimal], first.features[~optimal])
        np.testing.assert_allclose(candidate.features.sum(axis=-1), problem.mean_rewards)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_feature_of_mixing_is_spanned_by_the_optimal_ones_of_a_candidate(seed: int) -> None:
    problem = mixing(seed=seed)
    errors = []
    for candidate in problem.representations:
        optimal = optimal_features(problem, candidate)
        everything = candidate.features.reshape(-1, 6)
        weights = np.linalg.lstsq(optimal.T, everything.T, rcond=None)[0]
        errors.append(np.abs(optimal.T @ weights - everything.T).max(axis=0))
    outside = np.array(errors) > 1e-9  # (6, 100)
    assert not outside.all(axis=0).any()
    assert outside.any(axis=1).all()


def test_a_generator_that_does_not_mix_refuses_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = synthetic._average_pairs

    def optimal_only(features: Floats, k: Any) -> Floats:
        return features.copy() if features.ndim == 3 else whole(features, k)

    monkeypatch.setattr(synthetic, "_average_pairs", optimal_only)
    with pytest.raises(InvalidProblem, match="mixing: some candidate's optimal features must span"):
        mixing()


def tables(problem: FiniteProblem) -> list[Floats]:
    return [
        problem.mean_rewards,
        *[candidate.features for candidate in problem.representations],
        *[claim.theta for claim in problem.claims],
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_problem_and_another_seed_another(name: str) -> None:
    first, again = (banditsrl.make_problem(name, seed=7) for _ in range(2))
    other = banditsrl.make_problem(name, seed=8)
    assert first.name == name
    for one, two in zip(tables(first), tables(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert (first.mean_rewards != other.mean_rewards).all()


def test_variants_of_one_seed_share_their_rewards() -> None:
    rewards = [vardim(variant=variant, seed=3).mean_rewards for variant in VARIANTS]
    for table in rewards[1:]:
        np.testing.assert_array_equal(table, rewards[0])


def test_the_seed_is_zero_unless_given() -> None:
    np.testing.assert_array_equal(mixing().mean_rewards, mixing(seed=0).mean_rewards)
    default = banditsrl.make_problem("vardim-realizable")
    np.testing.assert_array_equal(
        default.mean_rewards, vardim(variant="realizable", seed=0).mean_rewards
    )


@pytest.mark.parametrize("generate", [mixing, lambda seed: vardim(variant="no-hls", seed=seed)])
def test_a_bad_seed_is_refused(generate: Any) -> None:
    with pytest.raises(InvalidArgument, match="seed must be at least 0, got -1"):
        generate(seed=-1)
    with pytest.raises(InvalidType, match=r"seed must be an integer, got 1\.5"):
        generate(seed=1.5)


def test_an_unknown_problem_gives_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="no problem named 'vardim-weak'; did you mean 'vardim-w"):
        banditsrl.make_problem("vardim-weak")


def test_a_generator_that_breaks_realizability_refuses_its_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = synthetic._make_collinear

    def bent(features: Any, theta: Any, dim: int, rng: Any) -> tuple[Floats, Claim]:
        table, claim = whole(features, theta, dim, rng)
        return table, Claim(1.001 * claim.theta, True, claim.name)

    monkeypatch.setattr(synthetic, "_make_collinear", bent)
    message = "vardim-realizable: representation 1 claims to be realizable to 1e-09, got an error"
    with pytest.raises(InvalidProblem, match=message):
        vardim(variant="realizable")


def test_a_generator_that_adds_a_second_hls_candidate_refuses_its_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unchanged(features: Any, theta: Any, dim: int, rng: Any) -> tuple[Floats, Claim]:
        return features, Claim(theta, True)

    monkeypatch.setattr(synthetic, "_make_collinear", unchanged)
    message = "representation 1 must not be HLS, got optimal features of rank 6 in dimension 6"
    with pytest.raises(InvalidProblem, match=message):
        vardim(variant="realizable")
    with pytest.raises(InvalidProblem, match="representation 1 must not be weakly HLS, got"):
        vardim(variant="weak-hls")


def test_a_generator_whose_reference_is_not_hls_refuses_its_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = synthetic._draw_reference

    def flat(rng: np.random.Generator) -> tuple[Floats, Floats]:
        features, theta = whole(rng)
        table, claim = synthetic._make_collinear(features, theta, 6, rng)
        return table, claim.theta

    monkeypatch.setattr(synthetic, "_draw_reference", flat)
    message = "representation 0 must be HLS, got optimal features of rank 1 in dimension 6"
    with pytest.raises(InvalidProblem, match=message):
        vardim(variant="realizable")


def test_a_generator_that_draws_ties_refuses_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = synthetic._draw_reference

    def tied(rng: np.random.Generator) -> tuple[Floats, Floats]:
        features, theta = whole(rng)
        features[4] = features[4, 0]
        return features, theta

    monkeypatch.setattr(synthetic, "_draw_reference", tied)
    with pytest.raises(InvalidProblem, match="got two best actions in context 4"):
        vardim(variant="realizable")


def test_a_generated_problem_takes_any_law_and_noise() -> None:
    rho = np.zeros(20)
    rho[3:] = 1 / 17
    for name in ("vardim-realizable", "mixing"):
        problem = banditsrl.make_problem(name, rho=rho, noise="none", seed=1)
        np.testing.assert_allclose(problem.rho, rho)
        assert problem.sigma == 0.0
    assert banditsrl.make_problem("vardim-no-hls", noise_std=0.1).sigma == 0.1


def test_a_law_under_which_a_claim_fails_is_refused() -> None:
    """Two contexts cannot span six dimensions."""
    rho = np.zeros(20)
    rho[:2] = 0.5
    message = "representation 0 must be HLS, got optimal features of rank 2 in dimension 6"
    with pytest.raises(InvalidProblem, match=message):
        vardim(variant="realizable", rho=rho)


def test_an_unknown_setting_gives_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="no setting of mixing named 'sed'; did you mean 'seed'"):
        banditsrl.make_problem("mixing", sed=1)
    with pytest.raises(InvalidType, match="name must be a problem's name or a path, got 3"):
        banditsrl.make_problem(3)  # type: ignore[arg-type]
