"""Do the fits of the candidates explain the rewards as well as a direct computation says?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.fits import Fits, fit_candidates

DIMS, N, LAM = (2, 4, 3), 60, 0.6
RADII = (0.3, None, 50.0)
"""Of the first the ball is too small for its best parameter, of the others it is not."""


def samples() -> tuple[list[Any], Any]:
    """Features of every candidate, (n, d) each, and rewards."""
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(N, dim)) for dim in DIMS]
    features[1][:, 3] = features[1][:, 0]  # a singular Gram matrix
    return features, features[0] @ [1.0, -0.5] + 0.3 * rng.normal(size=N)


@in_float64
def fit(in_ball: bool) -> Fits:
    features, rewards = samples()
    sums = [(jnp.asarray(phi.T @ phi), jnp.asarray(phi.T @ rewards)) for phi in features]
    yy = jnp.asarray(rewards @ rewards)
    return fit_candidates(sums, jnp.asarray(float(N)), yy, radii=RADII, lam=LAM, in_ball=in_ball)


@pytest.fixture(scope="module")
def fits() -> dict[bool, Fits]:
    return {in_ball: fit(in_ball) for in_ball in (False, True)}


def ridge_theta(phi: Any, rewards: Any) -> Any:
    return np.linalg.solve(LAM * np.eye(phi.shape[1]) + phi.T @ phi, phi.T @ rewards)


def best_in_ball(phi: Any, rewards: Any, radius: float) -> float:
    """Squared error of the best theta in the ball, by a generic solver."""

    def loss(theta: Any) -> Any:
        residual = phi @ theta - rewards
        return residual @ residual, 2 * phi.T @ residual

    inside = {"type": "ineq", "fun": lambda t: radius**2 - t @ t, "jac": lambda t: -2 * t}
    found = minimize(loss, np.zeros(phi.shape[1]), jac=True, constraints=[inside], method="SLSQP",
                     options={"ftol": 1e-14, "maxiter": 500})  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize("in_ball", [False, True])
def test_the_statistics_of_every_candidate_are_padded_with_zeros(
    fits: dict[bool, Fits], in_ball: bool
) -> None:
    for m, phi in enumerate(samples()[0]):
        ridge, d = fits[in_ball].ridge(m), DIMS[m]
        V = LAM * np.eye(4)
        V[:d, :d] += phi.T @ phi
        theta = np.zeros(4)
        theta[:d] = ridge_theta(phi, samples()[1])
        np.testing.assert_allclose(ridge.V, V, rtol=1e-12, atol=1e-12)
        root = np.asarray(ridge.root)
        np.testing.assert_allclose(root @ root.T, np.linalg.inv(V), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ridge.theta, theta, rtol=1e-9, atol=1e-12)
        log_det = np.linalg.slogdet(V / LAM)[1]
        assert float(ridge.log_det) == pytest.approx(log_det, rel=1e-10)
        assert float(ridge.n) == N
        assert float(ridge.yy) == pytest.approx(samples()[1] @ samples()[1])


def test_the_norms_are_those_of_the_ridge_estimates(fits: dict[bool, Fits]) -> None:
    features, rewards = samples()
    expected = [np.linalg.norm(ridge_theta(phi, rewards)) for phi in features]
    with jax.enable_x64(True):
        np.testing.assert_allclose(fits[True].theta_norms, expected, rtol=1e-9)


def test_errors_in_the_ball_are_those_of_the_best_parameter_in_it(fits: dict[bool, Fits]) -> None:
    features, rewards = samples()
    for m, phi in enumerate(features):
        radius = RADII[m]
        if radius is None:
            best = np.linalg.lstsq(phi, rewards, rcond=None)[0]
            expected = float(((phi @ best - rewards) ** 2).sum())
        else:
            expected = best_in_ball(phi, rewards, radius)
        assert float(fits[True].squared_errors[m]) == pytest.approx(expected, rel=1e-6)


def test_errors_outside_the_ball_are_those_of_the_ridge_fit(fits: dict[bool, Fits]) -> None:
    features, rewards = samples()
    for m, phi in enumerate(features):
        residual = phi @ ridge_theta(phi, rewards) - rewards
        expected = float(residual @ residual)
        assert float(fits[False].squared_errors[m]) == pytest.approx(expected, rel=1e-9)
    assert float(fits[True].squared_errors[0]) > 2 * float(fits[False].squared_errors[0])


def test_the_smallest_eigenvalue_is_that_of_the_candidate_without_its_padding(
    fits: dict[bool, Fits],
) -> None:
    expected = [np.linalg.eigvalsh(phi.T @ phi)[0] for phi in samples()[0]]
    assert expected[0] > 1.0
    for in_ball in (False, True):
        np.testing.assert_allclose(fits[in_ball].lambda_mins, expected, rtol=1e-9, atol=1e-9)


def test_a_candidate_may_be_looked_up_by_a_traced_index(fits: dict[bool, Fits]) -> None:
    with jax.enable_x64(True):
        found = jax.jit(lambda m: fits[True].ridge(m).theta)(jnp.asarray(2))
    np.testing.assert_array_equal(found, fits[True].thetas[2])
