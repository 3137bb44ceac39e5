"""Do the ridge statistics say what the data say? Compared with NumPy on the samples themselves."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from banditsrl.linear import ridge as plain
from banditsrl.linear.ridge import REFRESH_GROWTH, Ridge, observed
from banditsrl.linear.spectra import Spectrum

Floats = NDArray[np.float64]

PROPERTY = settings(max_examples=60, deadline=None, derandomize=True)

RTOL = 1e-10
"""Twelve updates of matrices of condition below 1e4 lose five of sixteen digits at most."""

DRIFT = 1e-8
"""What the design allows V^-1 to drift, relative to its largest entry."""

NUMBERS = st.floats(-2.0, 2.0, width=32, allow_subnormal=False)

# Compiled, as policies run them.
empty = jax.jit(plain.empty, static_argnums=0)
observe = jax.jit(observed)
refreshed = jax.jit(plain.refreshed)
padded = jax.jit(plain.padded, static_argnums=1)
from_spectrum = jax.jit(plain.from_spectrum)
inverse, squared_error, noise_estimate = map(
    jax.jit, (plain.inverse, plain.squared_error, plain.noise_estimate)
)


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


class Samples(NamedTuple):
    """Samples, the regularizer, and a parameter to try on them."""

    X: Floats  # (n, d)
    y: Floats  # (n,)
    lam: float
    theta: Floats  # (d,)

    @property
    def dim(self) -> int:
        return self.X.shape[1]

    @property
    def V(self) -> Floats:
        return self.lam * np.eye(self.dim) + self.X.T @ self.X

    @property
    def log_det(self) -> float:
        return float(np.linalg.slogdet(self.V)[1] - self.dim * math.log(self.lam))


@st.composite
def samples(draw: st.DrawFn, least: int = 0) -> Samples:
    dim, n = draw(st.sampled_from([1, 2, 5])), draw(st.integers(least, 12))
    return Samples(
        draw(arrays(np.float64, (n, dim), elements=NUMBERS)),
        draw(arrays(np.float64, (n,), elements=NUMBERS)),
        draw(st.sampled_from([0.1, 1.0, 10.0])),
        draw(arrays(np.float64, (dim,), elements=NUMBERS)),
    )


def learned(data: Samples) -> Ridge:
    ridge = empty(data.dim, data.lam)
    for phi, y in zip(data.X, data.y, strict=True):
        ridge = observe(ridge, phi, y)
    return ridge


def near(actual: Any, expected: Any, rtol: float = RTOL) -> None:
    """Equal relative to the largest entry."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1.0)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=rtol * scale)


def equal_statistics(actual: Ridge, expected: Ridge) -> None:
    for name in Ridge._fields:
        np.testing.assert_allclose(
            getattr(actual, name), getattr(expected, name), rtol=1e-13, atol=1e-13, err_msg=name
        )


def check_against_samples(ridge: Ridge, data: Samples) -> None:
    near(inverse(ridge), np.linalg.inv(data.V))
    near(ridge.theta, np.linalg.solve(data.V, data.X.T @ data.y))
    near(ridge.log_det, data.log_det)


@PROPERTY
@given(samples())
def test_statistics_after_any_number_of_samples_are_the_direct_sums(data: Samples) -> None:
    ridge = learned(data)
    near(ridge.V, data.V)
    near(ridge.b, data.X.T @ data.y)
    near(ridge.yy, np.sum(data.y**2))
    assert float(ridge.n) == len(data.y)
    check_against_samples(ridge, data)


@PROPERTY
@given(samples())
def test_squared_error_of_any_theta_is_that_of_the_samples(data: Samples) -> None:
    direct = np.sum((data.X @ data.theta - data.y) ** 2)
    near(squared_error(learned(data), data.theta, lam=data.lam), direct)


@PROPERTY
@given(samples())
def test_refreshed_forgets_drift_and_agrees_with_the_inverse_of_v(data: Samples) -> None:
    ridge = learned(data)
    drifted = ridge._replace(
        root=1.01 * ridge.root, theta=ridge.theta + 1.0, log_det=ridge.log_det - 1.0
    )
    fresh = refreshed(drifted, lam=data.lam)
    check_against_samples(fresh, data)
    for name in ("b", "n", "yy"):
        np.testing.assert_array_equal(getattr(fresh, name), getattr(ridge, name))


@PROPERTY
@given(samples())
def test_from_spectrum_agrees_with_the_inverse_of_v(data: Samples) -> None:
    gram = data.X.T @ data.X
    values, vectors = np.linalg.eigh(gram)
    ridge = from_spectrum(
        Spectrum(jnp.asarray(values), jnp.asarray(vectors)),
        jnp.asarray(gram),
        jnp.asarray(data.X.T @ data.y),
        jnp.asarray(float(len(data.y))),
        jnp.asarray(np.sum(data.y**2)),
        lam=data.lam,
    )
    near(ridge.V, data.V)
    assert float(ridge.n) == len(data.y)
    check_against_samples(ridge, data)


def test_from_spectrum_treats_a_slightly_negative_eigenvalue_as_zero() -> None:
    spectrum = Spectrum(jnp.asarray([-1e-9, 3.0]), jnp.eye(2))
    zero = jnp.zeros(())
    gram = jnp.diag(jnp.asarray([0.0, 3.0]))
    ridge = from_spectrum(spectrum, gram, jnp.zeros(2), zero, zero, lam=1e-9)
    np.testing.assert_allclose(np.diag(inverse(ridge)), [1e9, 1.0 / (3.0 + 1e-9)], rtol=1e-12)


@PROPERTY
@given(samples(), st.integers(0, 3))
def test_padding_changes_neither_theta_nor_log_det_nor_norms(data: Samples, extra: int) -> None:
    ridge, dim = learned(data), data.dim + extra
    wide = padded(ridge, dim, lam=data.lam)
    phi = np.pad(data.theta, (0, extra))  # any vector will do
    np.testing.assert_array_equal(wide.theta, np.pad(ridge.theta, (0, extra)))
    assert float(wide.log_det) == float(ridge.log_det)
    near(phi @ inverse(wide) @ phi, data.theta @ np.linalg.inv(data.V) @ data.theta)
    near(
        squared_error(wide, phi, lam=data.lam), squared_error(ridge, data.theta, lam=data.lam), 1e-9
    )
    near(inverse(wide), np.linalg.inv(np.asarray(wide.V)))
    equal_statistics(padded(wide, dim, lam=data.lam), wide)


@PROPERTY
@given(samples())
def test_learning_from_padded_features_is_padding_what_was_learned(data: Samples) -> None:
    wide = data._replace(X=np.pad(data.X, ((0, 0), (0, 2))), theta=np.pad(data.theta, (0, 2)))
    equal_statistics(learned(wide), padded(learned(data), data.dim + 2, lam=data.lam))


@PROPERTY
@given(samples(least=1))
def test_noise_estimate_is_the_smallest_ridge_objective_with_what_d_parameters_absorb(
    data: Samples,
) -> None:
    rows = np.vstack([data.X, math.sqrt(data.lam) * np.eye(data.dim)])
    targets = np.append(data.y, np.zeros(data.dim))
    theta = np.linalg.lstsq(rows, targets, rcond=None)[0]
    objective, n = np.sum((rows @ theta - targets) ** 2), len(data.y)
    expected = (objective + data.dim * np.mean(data.y**2)) / n
    found = float(noise_estimate(learned(data), jnp.asarray(float(data.dim))))
    assert found**2 == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_noise_estimate_is_one_before_any_reward() -> None:
    assert float(noise_estimate(empty(4, 1.0), jnp.asarray(4.0))) == 1.0


def test_noise_estimate_approaches_the_deviation_from_above() -> None:
    """With 100,000 samples four standard errors are 0.9 %, and what is added for d is 0.2 %."""
    rng = np.random.default_rng(0)
    X, theta = rng.standard_normal((100_000, 5)), np.array([1.0, -1.0, 0.5, 0.0, 2.0])
    y = X @ theta + 0.3 * rng.standard_normal(100_000)
    estimates = []
    for n in (20, 100_000):
        gram = X[:n].T @ X[:n]
        spectrum = Spectrum(*np.linalg.eigh(gram))
        sums = (gram, X[:n].T @ y[:n], jnp.asarray(float(n)), jnp.asarray(np.sum(y[:n] ** 2)))
        ridge = from_spectrum(spectrum, *sums, lam=1.0)
        estimates.append(float(noise_estimate(ridge, jnp.asarray(5.0))))
    assert estimates[0] > 0.3
    assert estimates[1] == pytest.approx(0.3, rel=0.011)


def test_a_million_updates_refreshed_now_and_then_keep_the_inverse_exact() -> None:
    """Features of very different scales, so that the rank-one updates have something to lose."""
    rng = np.random.default_rng(1)
    pool = jnp.asarray(rng.standard_normal((4099, 6)) * np.geomspace(1.0, 1e-2, 6))
    rewards = jnp.asarray(rng.standard_normal(4099))

    @jax.jit
    def advance(ridge: Ridge, first: int, last: int) -> Ridge:
        def step(i: Any, ridge: Ridge) -> Ridge:
            at = i % pool.shape[0]
            after: Ridge = observed(ridge, pool[at], rewards[at])
            return after

        return jax.lax.fori_loop(first, last, step, ridge)

    ridge, horizon = empty(6, 1.0), 1_000_000
    ends = [int(REFRESH_GROWTH**k) for k in range(7)]
    for first, last in zip([0, *ends], [*ends, horizon], strict=True):
        ridge = advance(ridge, first, last)
        if last in ends:
            ridge = refreshed(ridge, lam=1.0)

    counts = np.bincount(np.arange(horizon) % len(pool), minlength=len(pool))
    features = np.asarray(pool)
    V = np.eye(6) + (features * counts[:, None]).T @ features
    fresh = np.linalg.inv(V)
    assert float(ridge.n) == horizon
    np.testing.assert_allclose(inverse(ridge), fresh, rtol=0.0, atol=DRIFT * np.abs(fresh).max())
    np.testing.assert_allclose(inverse(ridge), np.linalg.inv(np.asarray(ridge.V)), rtol=DRIFT)
    theta = fresh @ (features.T @ (counts * np.asarray(rewards)))
    np.testing.assert_allclose(ridge.theta, theta, rtol=0.0, atol=DRIFT * np.abs(theta).max())
    assert float(ridge.log_det) == pytest.approx(np.linalg.slogdet(V)[1], rel=DRIFT)


def several(shape: tuple[int, ...], dim: int = 4) -> tuple[Ridge, Floats, Floats]:
    """Statistics of three samples for each entry of `shape`, and a fourth sample to learn."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((*shape, 4, dim)), rng.standard_normal((*shape, 4))
    each = [learned(Samples(X[at][:3], y[at][:3], 0.5, np.zeros(dim))) for at in np.ndindex(*shape)]
    stacked = jax.tree.map(lambda *rows: np.stack(rows).reshape(*shape, *rows[0].shape), *each)
    return stacked, X[..., 3, :], y[..., 3]


def entry(ridges: Ridge, at: tuple[Any, ...]) -> Ridge:
    one: Ridge = jax.tree.map(lambda leaf: leaf[at], ridges)
    return one


def test_mapping_over_seeds_gives_the_same_numbers_as_one_by_one() -> None:
    ridges, phi, y = several((5,))
    together = jax.jit(jax.vmap(observed))(ridges, phi, y)
    for i in range(5):
        equal_statistics(entry(together, (i,)), observe(entry(ridges, (i,)), phi[i], y[i]))


def test_mapping_with_a_shared_argument_gives_the_same_numbers_as_one_by_one() -> None:
    ridges, phi, y = several((5,))
    together = jax.jit(jax.vmap(observed, in_axes=(0, None, 0)))(ridges, phi[0], y)
    for i in range(5):
        equal_statistics(entry(together, (i,)), observe(entry(ridges, (i,)), phi[0], y[i]))


def test_mapping_along_the_last_axis_gives_the_same_numbers_as_one_by_one() -> None:
    ridges, phi, y = several((5,))
    last = jax.tree.map(lambda leaf: np.moveaxis(leaf, 0, -1), ridges)
    together = jax.jit(jax.vmap(observed, in_axes=-1, out_axes=-1))(last, phi.T, y)
    for i in range(5):
        equal_statistics(entry(together, (..., i)), observe(entry(ridges, (i,)), phi[i], y[i]))


@pytest.mark.parametrize("compiled", [False, True])
def test_nested_mapping_gives_the_same_numbers_as_one_by_one(compiled: bool) -> None:
    ridges, phi, y = several((2, 3))
    nested = jax.vmap(jax.vmap(observed))
    together = (jax.jit(nested) if compiled else nested)(ridges, phi, y)
    for at in np.ndindex(2, 3):
        equal_statistics(entry(together, at), observe(entry(ridges, at), phi[at], y[at]))


def test_nested_mapping_over_different_arguments_gives_the_same_numbers_as_one_by_one() -> None:
    """The outer map runs over statistics, the inner one over samples."""
    ridges, phi, y = several((3,))
    inner = jax.vmap(observed, in_axes=(None, 0, 0))
    together = jax.jit(jax.vmap(inner, in_axes=(0, None, None)))(ridges, phi, y)
    for i, j in np.ndindex(3, 3):
        equal_statistics(entry(together, (i, j)), observe(entry(ridges, (i,)), phi[j], y[j]))
