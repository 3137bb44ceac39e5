"""Does a finite problem deal and pay what its tables say, and refuse tables that say nothing?"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType
from banditsrl.numerics import draws
from banditsrl.problems.claims import Claim, best_fit
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.verification import verify_optimum, verify_realizable
from banditsrl.representations import Given, Table

Floats = NDArray[np.float64]

N_DRAWS = 100_000

UNLIKELY = 1e-6
"""Keys are fixed, so a test either always passes or never does; a right sampler would fail for
one key in a million."""

STANDARD_ERRORS = 5.0
"""The same for means: five standard errors are exceeded by one key in two million."""


def features_and_theta(seed: int = 0, dim: int = 3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, 3, dim)), rng.standard_normal(dim)


def realizable_problem(**settings: Any) -> FiniteProblem:
    features, theta = features_and_theta()
    return FiniteProblem(features @ theta, (features,), claims=(Claim(theta, True),), **settings)


def test_sizes_and_defaults() -> None:
    problem = realizable_problem()
    assert (problem.n_contexts, problem.n_actions) == (4, 3)
    assert (problem.noise, problem.noise_std, problem.sigma) == ("gaussian", 0.3, 0.3)
    np.testing.assert_allclose(problem.rho, np.full(4, 0.25), rtol=1e-15)
    assert problem.available.all()
    assert problem.representations[0].dim == 3


def test_optimal_actions_and_gaps_are_those_of_the_table() -> None:
    problem = realizable_problem()
    for x, row in enumerate(problem.mean_rewards):
        best = max(range(3), key=lambda a, row=row: float(row[a]))
        assert problem.optimal_actions[x] == best
        np.testing.assert_allclose(problem.gaps[x], [row[best] - r for r in row])
    seconds = [sorted(row)[-1] - sorted(row)[-2] for row in problem.mean_rewards.tolist()]
    assert problem.gap == pytest.approx(min(seconds), rel=1e-14)


def test_actions_that_are_not_available_are_neither_optimal_nor_rivals() -> None:
    problem = FiniteProblem(
        [[9.0, 1.0, 0.5], [2.0, 8.0, 8.0]], available=[[False, True, True], [True, False, True]]
    )
    np.testing.assert_array_equal(problem.optimal_actions, [1, 2])
    np.testing.assert_array_equal(problem.gaps, [[math.inf, 0.0, 0.5], [6.0, math.inf, 0.0]])
    assert problem.gap == 0.5


def test_contexts_of_probability_zero_do_not_shrink_the_gap() -> None:
    problem = FiniteProblem([[1.0, 1.0], [3.0, 1.0]], rho=[0.0, 1.0])
    assert problem.gap == 2.0
    verify_optimum(problem)


def test_one_action_has_no_gap_to_close() -> None:
    assert FiniteProblem([[1.0], [2.0]]).gap == math.inf
    only_one_left = FiniteProblem([[1.0, 1.0]], available=[[True, False]])
    assert only_one_left.gap == math.inf
    verify_optimum(only_one_left)


@pytest.mark.parametrize("rho", [None, [0.1, 0.2, 0.3, 0.4], [0.97, 0.01, 0.01, 0.01]])
def test_context_frequencies_follow_rho(rho: list[float] | None) -> None:
    """Pearson's statistic of the counts is chi-square with three degrees of freedom."""
    problem = realizable_problem(rho=rho)
    drawn = np.asarray(problem.contexts(jax.random.key(0), N_DRAWS))
    expected = N_DRAWS * np.array([0.25] * 4 if rho is None else rho)
    counts = np.bincount(drawn, minlength=4)
    statistic = np.sum((counts - expected) ** 2 / expected)
    assert drawn.shape == (N_DRAWS,)
    assert statistic < chi2.ppf(1.0 - UNLIKELY, df=3)


def test_contexts_of_probability_zero_are_never_dealt() -> None:
    problem = realizable_problem(rho=[0.0, 0.5, 0.0, 0.5])
    drawn = np.asarray(problem.contexts(jax.random.key(1), N_DRAWS))
    assert set(drawn.tolist()) == {1, 3}


def test_the_smallest_draw_is_the_first_context_that_is_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(draws, "_unit", lambda words, counts: jnp.zeros(counts.shape))
    problem = realizable_problem(rho=[0.0, 0.5, 0.0, 0.5])
    np.testing.assert_array_equal(problem.contexts(jax.random.key(0), 3), [1, 1, 1])


def test_consecutive_contexts_are_independent() -> None:
    """Pearson's statistic of the pairs is chi-square with fifteen degrees of freedom."""
    problem = realizable_problem()
    drawn = np.asarray(problem.contexts(jax.random.key(2), N_DRAWS)).reshape(-1, 2)
    counts = np.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16)
    expected = len(drawn) / 16
    assert np.sum((counts - expected) ** 2 / expected) < chi2.ppf(1.0 - UNLIKELY, df=15)


def test_the_same_key_deals_the_same_contexts_and_noise() -> None:
    problem, key, other = realizable_problem(), jax.random.key(3), jax.random.key(4)
    np.testing.assert_array_equal(problem.contexts(key, 50), problem.contexts(key, 50))
    np.testing.assert_array_equal(problem.noises(key, 50), problem.noises(key, 50))
    assert (problem.contexts(key, 50) != problem.contexts(other, 50)).any()


def rewards(problem: FiniteProblem, mean: float) -> Floats:
    with jax.enable_x64(True):
        noises = problem.noises(jax.random.key(5), N_DRAWS)
        paid = jax.vmap(problem.reward, in_axes=(None, 0))(jnp.asarray(mean), noises)
    return np.asarray(paid)


@pytest.mark.parametrize("noise_std", [0.3, 2.0])
def test_gaussian_rewards_have_the_mean_and_the_deviation(noise_std: float) -> None:
    paid = rewards(realizable_problem(noise_std=noise_std), 0.7)
    standardised = (paid - 0.7) / noise_std
    assert abs(standardised.mean()) < STANDARD_ERRORS / math.sqrt(N_DRAWS)
    assert abs(np.mean(standardised**2) - 1.0) < STANDARD_ERRORS * math.sqrt(2.0 / N_DRAWS)
    share_below = np.mean(standardised < 1.0)
    exact = 0.5 * (1.0 + math.erf(1.0 / math.sqrt(2.0)))
    assert abs(share_below - exact) < STANDARD_ERRORS * math.sqrt(exact * (1 - exact) / N_DRAWS)


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.9, 1.0])
def test_bernoulli_rewards_are_zero_or_one_with_their_mean(mean: float) -> None:
    problem = FiniteProblem([[0.1, 0.9]], noise="bernoulli")
    paid = rewards(problem, mean)
    assert set(paid.tolist()) <= {0.0, 1.0}
    error = STANDARD_ERRORS * math.sqrt(mean * (1.0 - mean) / N_DRAWS)
    assert abs(paid.mean() - mean) <= error
    assert (problem.sigma, problem.noise_std) == (0.5, 0.0)


def test_without_noise_the_reward_is_its_mean() -> None:
    problem = realizable_problem(noise="none")
    assert (rewards(problem, 0.7) == 0.7).all()
    assert problem.sigma == 0.0


def test_gaussian_noise_of_deviation_zero_is_none() -> None:
    assert (rewards(realizable_problem(noise_std=0.0), 0.7) == 0.7).all()


def test_means_and_masks_are_the_rows_of_the_tables() -> None:
    available = np.random.default_rng(1).random((4, 3)) < 0.5
    available[:, 1] = True
    problem = realizable_problem(available=available)
    with jax.enable_x64(True):
        every = jnp.arange(4)
        np.testing.assert_array_equal(jax.vmap(problem.means)(every), problem.mean_rewards)
        np.testing.assert_array_equal(jax.vmap(problem.mask)(every), available)
        np.testing.assert_array_equal(realizable_problem().mask(every[0]), [True, True, True])


def test_a_problem_is_a_pytree_that_compiled_code_takes_as_an_argument() -> None:
    problem = realizable_problem(rho=[0.1, 0.2, 0.3, 0.4])
    key = jax.random.key(6)
    with jax.enable_x64(True):
        compiled = eqx.filter_jit(lambda p, k: p.contexts(k, 20))(problem, key)
    np.testing.assert_array_equal(compiled, problem.contexts(key, 20))


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
    features, theta = features_and_theta()
    claims = (Claim(theta, True), Claim(theta[:2], False))
    problem = FiniteProblem(features @ theta, (features, features[..., :2]), claims=claims)
    verify_optimum(problem)
    verify_realizable(problem, 1e-9)


def test_best_fit_error_is_the_largest_residual_of_the_normal_equations() -> None:
    features, _ = features_and_theta(dim=2)
    means = np.random.default_rng(2).standard_normal((4, 3))
    rows = [(phi, means[at]) for at in np.ndindex(4, 3) for phi in [features[at]]]
    gram = sum(np.outer(phi, phi) for phi, _ in rows)
    theta = np.linalg.solve(gram, sum(mu * phi for phi, mu in rows))
    found, error = best_fit(features, means, np.ones((4, 3), dtype=bool))
    np.testing.assert_allclose(found, theta)
    assert error == pytest.approx(np.abs(features @ theta - means).max())


GOOD = [[1.0, 0.0], [0.0, 1.0]]

BAD = [
    (
        {"mean_rewards": [[1.0, math.nan]]},
        r"mean_rewards must be finite, got nan at index \(0, 1\)",
    ),
    ({"mean_rewards": [[1.0], [math.inf]]}, r"mean_rewards must be finite, got inf at index"),
    ({"mean_rewards": [1.0, 2.0]}, r"mean_rewards must have shape \(n_contexts, n_actions\), got"),
    ({"mean_rewards": np.ones((0, 2))}, r"mean_rewards must not be empty, got shape \(0, 2\)"),
    ({"rho": [1.0]}, r"rho must have shape \(2,\), got shape \(1,\)"),
    ({"rho": [0.5, 0.6]}, "rho must sum to 1, got a sum of 1.1"),
    ({"rho": [1.5, -0.5]}, "rho must be non-negative, got -0.5"),
    ({"rho": [0.5, math.nan]}, r"rho must be finite, got nan at index \(1,\)"),
    ({"noise": "cauchy"}, "noise must be one of gaussian, bernoulli, none, got 'cauchy'"),
    ({"noise_std": -0.1}, "noise_std must be at least 0, got -0.1"),
    ({"noise_std": math.nan}, "noise_std must be finite, got nan"),
    ({"available": [[True, False]]}, r"available must have shape \(2, 2\), got shape \(1, 2\)"),
    (
        {"available": [[True, False], [False, False]]},
        "available must leave an action in every context, got none in context 1",
    ),
    (
        {"mean_rewards": [[0.5, 1.2], [-0.1, 0.3]], "noise": "bernoulli"},
        r"mean_rewards must lie in \[0, 1\] when noise is bernoulli, got values from -0.1 to 1.2",
    ),
]


@pytest.mark.parametrize(("changed", "message"), BAD)
def test_a_bad_argument_is_refused_by_name(changed: dict[str, Any], message: str) -> None:
    settings = dict(changed)
    with pytest.raises(InvalidArgument, match=message):
        FiniteProblem(settings.pop("mean_rewards", GOOD), **settings)


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


def test_tables_of_words_are_refused_by_name() -> None:
    with pytest.raises(InvalidType, match=r"mean_rewards must be an array of numbers .* got list"):
        FiniteProblem([["high", "low"]])
    with pytest.raises(InvalidType, match="noise_std must be a real number, got 'small'"):
        FiniteProblem(GOOD, noise_std="small")  # type: ignore[arg-type]


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


def test_a_law_in_single_precision_is_taken_for_what_it_is() -> None:
    law = np.full(7, 1 / 7, dtype=np.float32)
    assert FiniteProblem(np.eye(7), rho=law).rho.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"available": [["yes", "no"], ["yes", "yes"]]}, "available must hold True and False only"),
        ({"available": [[True], [True, False]]}, "available must be an array of shape"),
        ({"representations": None}, "representations must be a sequence of candidates, got None"),
        ({"noise": "none", "noise_std": -1.0}, "noise_std must be at least 0, got -1.0"),
    ],
)
def test_further_bad_arguments(changed: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        FiniteProblem(GOOD, **changed)


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
