"""Stacking: the weights against a direct search, and what earlier phases count."""

import numpy as np
import pytest
from scipy.optimize import minimize

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.stacking import (
    MEMORY,
    Stack,
    add_errors,
    empty_stack,
    fade,
    fit_weights,
)


def objective(stack: Stack) -> np.ndarray:
    """The matrix whose quadratic form the weights minimise: G and one percent of its mean."""
    G = np.asarray(stack.errors)
    return G + 0.01 * np.mean(np.diag(G)) * np.eye(len(G))


def direct(stack: Stack) -> np.ndarray:
    """The best weights by a generic constrained solver."""
    G = objective(stack)
    G = G / np.trace(G)  # the solver has an absolute tolerance
    n = len(G)
    found = minimize(
        lambda w: w @ G @ w,
        np.full(n, 1.0 / n),
        jac=lambda w: 2.0 * G @ w,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-15, "maxiter": 500},
        method="SLSQP",
    )
    return np.asarray(found.x)


def draw_errors(rng: np.random.Generator, n: int, quality: np.ndarray) -> np.ndarray:
    """Errors of predictors of this quality in n rounds with a common noise, (n, E)."""
    noise = 0.1 * rng.normal(size=(n, 1))
    return np.asarray(noise + quality * rng.normal(size=(n, len(quality))))


def seen(errors: np.ndarray) -> Stack:
    stack = empty_stack(errors.shape[1])
    for one in errors:
        stack = add_errors(stack, one, np.asarray(True))
    return stack


@in_float64
def test_the_sums_are_the_products_of_all_pairs_of_errors() -> None:
    errors = draw_errors(np.random.default_rng(3), 20, np.array([0.1, 0.5, 2.0]))
    np.testing.assert_allclose(seen(errors).errors, errors.T @ errors, rtol=1e-12)


@in_float64
def test_a_weighted_sum_of_the_products_is_the_squared_error_of_the_mixture() -> None:
    rng = np.random.default_rng(4)
    rewards = 1e3 + rng.normal(size=30)
    predicted = rewards[:, None] + rng.normal(size=(30, 3))
    G, w = np.asarray(seen(predicted - rewards[:, None]).errors), np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(w @ G @ w, np.sum((predicted @ w - rewards) ** 2), rtol=1e-9)


@in_float64
@pytest.mark.parametrize("seed", range(6))
def test_two_weights_are_those_of_a_direct_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stack = seen(draw_errors(rng, 30, rng.uniform(0.05, 0.5, 2)))
    np.testing.assert_allclose(fit_weights(stack), direct(stack), atol=1e-6)


@in_float64
@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_more_than_two_weights_are_almost_as_good_as_those_of_a_direct_search(
    seed: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    stack = seen(draw_errors(rng, 30, rng.uniform(0.05, 0.5, n)))
    w, best, equal = np.asarray(fit_weights(stack)), direct(stack), np.full(n, 1.0 / n)
    assert w.min() >= 0
    assert np.isclose(w.sum(), 1.0)

    def loss(v: np.ndarray) -> float:
        return float(v @ objective(stack) @ v)

    assert loss(best) <= loss(w) + 1e-9 <= loss(best) + 0.05 * (loss(equal) - loss(best)) + 1e-8


@in_float64
def test_twins_share_their_weight_equally() -> None:
    """Without the added error any split between equal predictors would be as good."""
    errors = draw_errors(np.random.default_rng(5), 30, np.array([0.1, 2.0]))
    w = np.asarray(fit_weights(seen(errors[:, [0, 0, 1]])))
    np.testing.assert_allclose(w[0], w[1], atol=0.02)
    assert w[2] < 0.05


@in_float64
@pytest.mark.parametrize("a", [1e-6, 1e6])
def test_weights_do_not_depend_on_the_unit_of_the_rewards(a: float) -> None:
    errors = draw_errors(np.random.default_rng(6), 30, np.array([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(
        fit_weights(seen(a * errors)), fit_weights(seen(errors)), rtol=1e-9, atol=1e-12
    )


@in_float64
def test_without_rounds_weights_are_equal_and_a_single_predictor_has_weight_one() -> None:
    np.testing.assert_allclose(fit_weights(empty_stack(3)), np.full(3, 1 / 3))
    np.testing.assert_allclose(fit_weights(empty_stack(1)), [1.0])


@in_float64
def test_a_round_that_does_not_count_changes_nothing() -> None:
    stack = seen(draw_errors(np.random.default_rng(0), 5, np.array([0.1, 0.2])))
    same = add_errors(stack, np.array([3.0, np.nan]), np.asarray(False))
    np.testing.assert_array_equal(same.errors, stack.errors)


@in_float64
def test_what_was_seen_before_a_phase_counts_less_and_fades_phase_by_phase() -> None:
    errors = draw_errors(np.random.default_rng(1), 9, np.array([0.1, 0.2]))
    stack = seen(errors[:3])
    for first in (3, 6):
        stack = fade(stack)
        for one in errors[first : first + 3]:
            stack = add_errors(stack, one, np.asarray(True))
    weight = np.repeat([MEMORY**2, MEMORY, 1.0], 3)
    np.testing.assert_allclose(stack.errors, (weight * errors.T) @ errors, rtol=1e-12)
