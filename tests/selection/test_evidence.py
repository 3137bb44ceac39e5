"""Is the evidence about the candidates what a direct computation over the rounds says?"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import history_of

from banditsrl.representations.mapped import Mapped
from banditsrl.representations.table import Table
from banditsrl.selection.evidence import Review, review_candidates

X, A, N, LAM, DELTA, LEVEL = 8, 4, 500, 0.9, 0.05, 0.002
RNG = np.random.default_rng(1)
TRUTH = RNG.normal(size=(X, A, 3))
THETA = np.array([0.8, -0.5, 1.6])
SHORT = np.ascontiguousarray(TRUTH[..., :2])  # lacks a column that matters
CONTEXTS, ACTIONS = RNG.integers(X, size=N), RNG.integers(A, size=N)
REWARDS = TRUTH[CONTEXTS, ACTIONS] @ THETA + 0.1 * RNG.normal(size=N)
CANDIDATES = [
    Table(TRUTH, B=2.0),
    Table(SHORT, B=2.0),
    Mapped(lambda x: 2.0 * jnp.asarray(TRUTH)[x], n_actions=A, dim=3),
]
FEATURES = [TRUTH, SHORT, 2.0 * TRUTH]


def review(**changes: Any) -> Review:
    settings: dict[str, Any] = {
        "lam": LAM, "sigma": None, "delta": DELTA, "offset": "tight", "in_ball": True,
        "needs_forms": True, "needs_uncertainty": True, **changes,
    }  # fmt: skip

    @eqx.filter_jit
    def run(history: Any) -> Any:
        found = review_candidates(CANDIDATES, history, level=jnp.asarray(LEVEL), **settings)
        fixed = found.evidence._replace(lam=0.0, delta=0.0, n_actions=0)
        return found._replace(evidence=fixed)

    with jax.enable_x64(True):
        return run(history_of((CONTEXTS, ACTIONS, REWARDS), capacity=N))


@pytest.fixture(scope="module")
def found() -> Review:
    return review()


def played(m: int) -> Any:
    return FEATURES[m][CONTEXTS, ACTIONS]


def ridge_theta(m: int) -> Any:
    phi = played(m)
    return np.linalg.solve(LAM * np.eye(phi.shape[1]) + phi.T @ phi, phi.T @ REWARDS)


def test_spectra_forms_and_uncertainties_are_those_of_loops(found: Review) -> None:
    evidence = found.evidence
    for m in range(3):
        phi = played(m)
        gram = phi.T @ phi
        forms = np.array([row @ gram @ row for row in phi])
        V = LAM * np.eye(phi.shape[1]) + gram
        widths = [row @ np.linalg.solve(V, row) for row in phi]
        expected = {
            "lambda_min": np.linalg.eigvalsh(gram)[0],
            "weak": forms.min(),
            "weak_normalised": (forms / (phi**2).sum(1)).min(),
            "uncertainty": max(widths),
            "dim": phi.shape[1],
        }
        for name, value in expected.items():
            assert float(getattr(evidence, name)[m]) == pytest.approx(value, rel=1e-8), name
    assert float(evidence.t) == N
    assert float(evidence.level) == pytest.approx(LEVEL)


def test_bounds_are_given_or_else_the_largest_norm_and_the_norm_of_the_estimate(
    found: Review,
) -> None:
    norms = [np.linalg.norm(features, axis=-1).max() for features in FEATURES]
    np.testing.assert_allclose(found.evidence.L, norms, rtol=1e-12)
    np.testing.assert_allclose(found.largest_norms, norms, rtol=1e-12)
    expected = [2.0, 2.0, np.linalg.norm(ridge_theta(2))]
    np.testing.assert_allclose(found.evidence.B, expected, rtol=1e-9)


def test_an_unknown_noise_level_is_estimated_for_each_candidate(found: Review) -> None:
    expected = []
    for m in range(3):
        residual = REWARDS @ REWARDS - (played(m).T @ REWARDS) @ ridge_theta(m)
        extra = FEATURES[m].shape[2] * (REWARDS @ REWARDS) / N
        expected.append(np.sqrt((residual + extra) / N))
    np.testing.assert_allclose(found.evidence.sigma, expected, rtol=1e-9)
    assert expected[1] > 2 * expected[0]
    np.testing.assert_allclose(review(sigma=0.3).evidence.sigma, [0.3] * 3)


def test_the_fits_are_those_of_ridge_regression(found: Review) -> None:
    for m in range(3):
        d = FEATURES[m].shape[2]
        np.testing.assert_allclose(found.fits.ridge(m).theta[:d], ridge_theta(m), rtol=1e-8)


def slow_offset(m: int) -> float:
    """The tight offset of one candidate."""
    B = 2.0 if m < 2 else float(np.linalg.norm(ridge_theta(m)))
    L = np.linalg.norm(FEATURES[m], axis=-1).max()
    cover = 8 * FEATURES[m].shape[2] * math.log(12 * L * B * N)
    return (24 * math.log(2 * N) + 8 * math.log(9 / DELTA) + cover + 1) / N


def test_the_set_is_that_of_the_errors_and_offsets(found: Review) -> None:
    """No ball binds here, so the best parameters are those of least squares."""
    best = [np.linalg.lstsq(played(m), REWARDS, rcond=None)[0] for m in range(3)]
    errors = [float(np.mean((played(m) @ best[m] - REWARDS) ** 2)) for m in range(3)]
    np.testing.assert_allclose(np.asarray(found.fits.squared_errors) / N, errors, rtol=1e-7)
    bound = min(errors[m] + slow_offset(m) for m in range(3))
    assert found.evidence.active.tolist() == [error <= bound for error in errors]
    assert found.evidence.active.tolist() == [True, False, True]
    assert review(offset="paper").evidence.active.tolist() == [True, True, True]


def test_a_candidate_that_left_for_good_is_not_taken_back() -> None:
    with jax.enable_x64(True):
        among = jnp.asarray([False, True, True])
    assert review(offset="paper", among=among).evidence.active.tolist() == [False, True, True]


def test_costly_evidence_that_no_loss_reads_is_zero() -> None:
    evidence = review(needs_forms=False, needs_uncertainty=False).evidence
    for name in ("weak", "weak_normalised", "uncertainty"):
        assert getattr(evidence, name).tolist() == [0.0, 0.0, 0.0]
