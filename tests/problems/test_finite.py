"""Does a finite problem deal contexts and pay rewards by its tables, and refuse bad tables?"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.numerics import draws
from banditsrl.problems.claims import Claim
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.verification import verify_optimum

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


def test_tables_of_words_are_refused_by_name() -> None:
    with pytest.raises(InvalidType, match=r"mean_rewards must be an array of numbers .* got list"):
        FiniteProblem([["high", "low"]])
    with pytest.raises(InvalidType, match="noise_std must be a real number, got 'small'"):
        FiniteProblem(GOOD, noise_std="small")  # type: ignore[arg-type]


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
