"""Is the fit the best theta in the ball? Checked with a generic solver and the KKT conditions."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from banditsrl.linear.ball import BallFit, fit_in_ball_diagonal
from banditsrl.linear.spectra import Spectrum

Floats = NDArray[np.float64]

PROPERTY = settings(max_examples=80, deadline=None, derandomize=True)

KKT_TOLERANCE = 1e-8
"""On stationarity relative to b, on feasibility relative to the radius."""

SOLVER_TOLERANCE = 1e-6
"""What SLSQP reaches on the squared error, relative to sum y^2."""

DIMS = [1, 3, 6]

RADII = [0.01, 0.5, 0.999, 1.0, 1.001, 10.0, math.inf]
"""Radii relative to the norm of the smallest unconstrained solution; below 1 they bind."""


def fit_in_ball(spectrum: Spectrum, b: jax.Array, yy: jax.Array, *, radius: jax.Array) -> BallFit:
    """Return the fit in the original basis."""
    fit = fit_in_ball_diagonal(spectrum.values, spectrum.vectors.T @ b, yy, radius)
    return BallFit(spectrum.vectors @ fit.theta, fit.squared_error)


compiled_fit = jax.jit(fit_in_ball)


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


class Instance(NamedTuple):
    """Least squares data; `rank` may be below the dimension."""

    X: Floats  # (n, d)
    y: Floats  # (n,)
    rank: int

    @property
    def gram(self) -> Floats:
        return self.X.T @ self.X

    @property
    def b(self) -> Floats:
        return self.X.T @ self.y

    @property
    def smallest(self) -> Floats:
        """The unconstrained solution of smallest norm."""
        return np.linalg.lstsq(self.X, self.y, rcond=1e-10)[0]

    def error(self, theta: Floats) -> float:
        return float(np.sum((self.X @ theta - self.y) ** 2))


def instance(seed: int, dim: int, rank: int, n: int = 12) -> Instance:
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1.0, rng.choice([1.0, 0.03]), rank)
    X = (rng.standard_normal((n, rank)) * scales) @ rng.standard_normal((rank, dim))
    return Instance(X, rng.standard_normal(n), rank)


def fit(data: Instance, radius: float) -> tuple[Floats, float]:
    spectrum = Spectrum(*np.linalg.eigh(data.gram))
    found = compiled_fit(
        spectrum, data.b, jnp.asarray(np.sum(data.y**2)), radius=jnp.asarray(radius)
    )
    return np.asarray(found.theta), float(found.squared_error)


@st.composite
def instances(draw: st.DrawFn) -> tuple[Instance, float]:
    dim = draw(st.sampled_from(DIMS))
    data = instance(draw(st.integers(0, 10_000)), dim, draw(st.integers(1, dim)))
    share = draw(st.sampled_from(RADII))
    return data, share * float(np.linalg.norm(data.smallest))


@PROPERTY
@given(instances())
def test_the_fit_satisfies_the_kkt_conditions(drawn: tuple[Instance, float]) -> None:
    data, radius = drawn
    theta, error = fit(data, radius)
    norm, scale = float(np.linalg.norm(theta)), float(np.linalg.norm(data.b))
    assert norm <= radius * (1.0 + KKT_TOLERANCE)
    pull = data.b - data.gram @ theta  # nu theta at the optimum
    nu = float(theta @ pull / (theta @ theta))
    np.testing.assert_allclose(pull, nu * theta, rtol=0.0, atol=KKT_TOLERANCE * scale)
    assert nu * norm >= -KKT_TOLERANCE * scale
    if norm < radius * (1.0 - KKT_TOLERANCE):
        assert abs(nu) * norm <= KKT_TOLERANCE * scale
    assert error == pytest.approx(data.error(theta), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.99, 1.5])
@pytest.mark.parametrize(("dim", "rank"), [(1, 1), (3, 3), (3, 1), (6, 6), (6, 4)])
def test_the_fit_agrees_with_a_generic_constrained_solver(
    dim: int, rank: int, share: float
) -> None:
    for seed in range(3):
        data = instance(seed, dim, rank)
        radius = share * float(np.linalg.norm(data.smallest))
        theta, error = fit(data, radius)
        generic = minimize(
            data.error,
            np.full(dim, 0.1 * radius / dim),
            jac=lambda x, data=data: 2.0 * (data.gram @ x - data.b),
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda x, radius=radius: 1.0 - x @ x / radius**2,
                "jac": lambda x, radius=radius: -2.0 * x / radius**2,
            },
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        total = float(np.sum(data.y**2))
        assert error == pytest.approx(float(generic.fun), abs=SOLVER_TOLERANCE * total)
        if rank == dim or share < 1.0:  # otherwise the minimiser is not unique
            np.testing.assert_allclose(theta, generic.x, rtol=0.0, atol=1e-3 * radius)


@pytest.mark.parametrize("radius", [math.inf, 1e9])
@pytest.mark.parametrize(("dim", "rank"), [(1, 1), (6, 6), (6, 4)])
def test_without_a_binding_radius_it_is_the_smallest_least_squares_solution(
    dim: int, rank: int, radius: float
) -> None:
    data = instance(3, dim, rank)
    theta, error = fit(data, radius)
    np.testing.assert_allclose(theta, data.smallest, rtol=1e-8, atol=1e-10)
    assert error == pytest.approx(data.error(data.smallest), rel=1e-9)


@PROPERTY
@given(instances())
def test_no_other_theta_in_the_ball_fits_better(drawn: tuple[Instance, float]) -> None:
    data, radius = drawn
    theta, error = fit(data, radius)
    limit = min(radius, 100.0 * float(np.linalg.norm(data.smallest)))
    rng = np.random.default_rng(0)
    for step in (1e-3, 0.1, 1.0):
        for move in rng.standard_normal((20, len(theta))):
            other = theta + step * limit * move
            other *= min(1.0, limit / float(np.linalg.norm(other)))
            assert data.error(other) >= error - 1e-9 * float(np.sum(data.y**2))


def test_a_smaller_ball_never_fits_better() -> None:
    data = instance(4, 6, 6)
    norm = float(np.linalg.norm(data.smallest))
    errors = [fit(data, share * norm)[1] for share in np.linspace(0.01, 1.5, 40)]
    assert (np.diff(errors) <= 1e-12).all()


def test_before_any_sample_theta_is_zero_and_so_is_the_error() -> None:
    spectrum = Spectrum(jnp.zeros(3), jnp.eye(3))
    found = fit_in_ball(spectrum, jnp.zeros(3), jnp.zeros(()), radius=jnp.asarray(2.0))
    np.testing.assert_array_equal(found.theta, np.zeros(3))
    assert float(found.squared_error) == 0.0


def test_features_that_vanish_leave_the_rewards_unexplained() -> None:
    spectrum = Spectrum(jnp.zeros(3), jnp.eye(3))
    found = fit_in_ball(spectrum, jnp.zeros(3), jnp.asarray(5.0), radius=jnp.asarray(jnp.inf))
    assert float(found.squared_error) == 5.0


@pytest.mark.parametrize("radius", [0.3, math.inf])
def test_entries_without_data_change_nothing(radius: float) -> None:
    values, c = jnp.asarray([0.5, 2.0, 7.0]), jnp.asarray([0.4, -1.0, 2.0])
    yy, bound = jnp.asarray(3.0), jnp.asarray(radius)
    plain = fit_in_ball_diagonal(values, c, yy, bound)
    wide = fit_in_ball_diagonal(jnp.pad(values, (0, 2)), jnp.pad(c, (0, 2)), yy, bound)
    np.testing.assert_allclose(wide.theta, np.pad(plain.theta, (0, 2)), rtol=1e-14)
    assert float(wide.squared_error) == pytest.approx(float(plain.squared_error), rel=1e-14)


def test_mapping_over_candidates_gives_the_same_numbers_as_one_by_one() -> None:
    rng = np.random.default_rng(5)
    values, c = rng.random((4, 3)), rng.standard_normal((4, 3))
    radii = jnp.asarray([0.1, 1.0, 10.0, jnp.inf])
    yy = jnp.asarray(20.0)
    together = jax.vmap(fit_in_ball_diagonal, in_axes=(0, 0, None, 0))(values, c, yy, radii)
    for i in range(4):
        one = fit_in_ball_diagonal(jnp.asarray(values[i]), jnp.asarray(c[i]), yy, radii[i])
        np.testing.assert_allclose(together.theta[i], one.theta, rtol=1e-12)
        assert float(together.squared_error[i]) == pytest.approx(float(one.squared_error))
