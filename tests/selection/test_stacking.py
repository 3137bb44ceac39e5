"""Stacking: the weights against a direct search, and what earlier phases count."""

import numpy as np
import pytest
from scipy.optimize import minimize

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.stacking import Stack, add_predictions, empty_stack, fade, fit_weights


def direct(stack: Stack) -> np.ndarray:
    """The best weights by a generic constrained solver."""
    gram, cross = np.asarray(stack.gram), np.asarray(stack.cross)
    n = len(cross)
    found = minimize(
        lambda w: 0.5 * w @ gram @ w - cross @ w,
        np.full(n, 1.0 / n),
        jac=lambda w: gram @ w - cross,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-14, "maxiter": 500},
        method="SLSQP",
    )
    return np.asarray(found.x)


def seen(rng: np.random.Generator, n: int, quality: np.ndarray) -> Stack:
    """Sums over rounds whose predictors have these errors."""
    stack = empty_stack(len(quality))
    for _ in range(n):
        truth = rng.normal()
        predicted = truth + quality * rng.normal(size=len(quality))
        stack = add_predictions(stack, predicted, truth + 0.1 * rng.normal(), True)
    return stack


@in_float64
@pytest.mark.parametrize("seed", range(6))
def test_two_weights_are_those_of_a_direct_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stack = seen(rng, 30, rng.uniform(0.0, 0.5, 2))
    np.testing.assert_allclose(fit_weights(stack), direct(stack), atol=1e-6)


@in_float64
@pytest.mark.parametrize("seed", range(6))
def test_more_than_two_weights_are_almost_as_good_as_those_of_a_direct_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stack = seen(rng, 30, rng.uniform(0.0, 0.5, 4))
    w, best = np.asarray(fit_weights(stack)), direct(stack)
    assert w.min() >= 0
    assert np.isclose(w.sum(), 1.0)

    def loss(v: np.ndarray) -> float:
        return float(0.5 * v @ stack.gram @ v - stack.cross @ v)

    equal = np.full(4, 0.25)
    assert loss(w) - loss(best) <= 0.05 * (loss(equal) - loss(best)) + 1e-9


@in_float64
def test_without_rounds_weights_are_equal_and_a_single_predictor_has_weight_one() -> None:
    np.testing.assert_allclose(fit_weights(empty_stack(3)), np.full(3, 1 / 3))
    np.testing.assert_allclose(fit_weights(empty_stack(1)), [1.0])


@in_float64
def test_a_round_that_does_not_count_changes_nothing() -> None:
    stack = seen(np.random.default_rng(0), 5, np.array([0.1, 0.2]))
    same = add_predictions(stack, np.array([3.0, -2.0]), 1.0, False)
    np.testing.assert_array_equal(same.gram, stack.gram)
    np.testing.assert_array_equal(same.cross, stack.cross)


@in_float64
def test_what_was_seen_counts_half_in_the_next_phase_but_the_initial_sums_count_in_full() -> None:
    stack = seen(np.random.default_rng(1), 5, np.array([0.1, 0.2]))
    half = fade(stack)
    np.testing.assert_allclose(half.gram, np.eye(2) + 0.5 * (np.asarray(stack.gram) - np.eye(2)))
    np.testing.assert_allclose(half.cross, 0.5 + 0.5 * (np.asarray(stack.cross) - 0.5))
