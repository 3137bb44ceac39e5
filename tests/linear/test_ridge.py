"""Are the ridge statistics right? They are compared with NumPy on the samples themselves."""

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

from banditsrl.linear import ridge as module
from banditsrl.linear.ridge import REFRESH_GROWTH, Ridge, add_sample
from banditsrl.linear.spectra import Spectrum

Floats = NDArray[np.float64]

PROPERTY = settings(max_examples=60, deadline=None, derandomize=True)

RTOL = 1e-10
"""Twelve updates of matrices of condition below 1e4 lose five of sixteen digits at most."""

DRIFT = 1e-8
"""Largest permitted rounding error of V^-1, relative to its largest entry."""

NUMBERS = st.floats(-2.0, 2.0, width=32, allow_subnormal=False)

# Policies run these functions compiled, and so do the tests.
empty_ridge = jax.jit(module.empty_ridge, static_argnums=0)
add_one = jax.jit(add_sample)
recompute = jax.jit(module.recompute)
crop = jax.jit(module.crop, static_argnums=1)
ridge_from_spectrum = jax.jit(module.ridge_from_spectrum)
inverse, squared_error, estimate_noise = map(
    jax.jit, (module.inverse, module.squared_error, module.estimate_noise)
)


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


class Samples(NamedTuple):
    """Samples, the regulariser, and a parameter to evaluate on them."""

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


def learn(data: Samples) -> Ridge:
    ridge = empty_ridge(data.dim, data.lam)
    for phi, y in zip(data.X, data.y, strict=True):
        ridge = add_one(ridge, phi, y)
    return ridge


def assert_near(actual: Any, expected: Any, rtol: float = RTOL) -> None:
    """Compare two arrays relative to the largest entry."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1.0)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=rtol * scale)


def assert_equal_statistics(actual: Ridge, expected: Ridge) -> None:
    for name in Ridge._fields:
        np.testing.assert_allclose(
            getattr(actual, name), getattr(expected, name), rtol=1e-13, atol=1e-13, err_msg=name
        )


def check_against_samples(ridge: Ridge, data: Samples) -> None:
    assert_near(inverse(ridge), np.linalg.inv(data.V))
    assert_near(ridge.theta, np.linalg.solve(data.V, data.X.T @ data.y))
    assert_near(ridge.log_det, data.log_det)


@PROPERTY
@given(samples())
def test_statistics_after_any_number_of_samples_are_the_direct_sums(data: Samples) -> None:
    ridge = learn(data)
    assert_near(ridge.V, data.V)
    assert_near(ridge.b, data.X.T @ data.y)
    assert_near(ridge.yy, np.sum(data.y**2))
    assert float(ridge.n) == len(data.y)
    check_against_samples(ridge, data)


@PROPERTY
@given(samples())
def test_squared_error_of_any_theta_is_that_of_the_samples(data: Samples) -> None:
    direct = np.sum((data.X @ data.theta - data.y) ** 2)
    assert_near(squared_error(learn(data), data.theta, lam=data.lam), direct)


@PROPERTY
@given(samples())
def test_recompute_removes_drift_and_agrees_with_the_inverse_of_v(data: Samples) -> None:
    ridge = learn(data)
    drifted = ridge._replace(
        root=1.01 * ridge.root, theta=ridge.theta + 1.0, log_det=ridge.log_det - 1.0
    )
    fresh = recompute(drifted, lam=data.lam)
    check_against_samples(fresh, data)
    for name in ("b", "n", "yy"):
        np.testing.assert_array_equal(getattr(fresh, name), getattr(ridge, name))


@PROPERTY
@given(samples())
def test_ridge_from_spectrum_agrees_with_the_inverse_of_v(data: Samples) -> None:
    gram = data.X.T @ data.X
    values, vectors = np.linalg.eigh(gram)
    ridge = ridge_from_spectrum(
        Spectrum(jnp.asarray(values), jnp.asarray(vectors)),
        jnp.asarray(gram),
        jnp.asarray(data.X.T @ data.y),
        jnp.asarray(float(len(data.y))),
        jnp.asarray(np.sum(data.y**2)),
        lam=data.lam,
    )
    assert_near(ridge.V, data.V)
    assert float(ridge.n) == len(data.y)
    check_against_samples(ridge, data)


def test_ridge_from_spectrum_treats_a_slightly_negative_eigenvalue_as_zero() -> None:
    spectrum = Spectrum(jnp.asarray([-1e-9, 3.0]), jnp.eye(2))
    zero = jnp.zeros(())
    gram = jnp.diag(jnp.asarray([0.0, 3.0]))
    ridge = ridge_from_spectrum(spectrum, gram, jnp.zeros(2), zero, zero, lam=1e-9)
    np.testing.assert_allclose(np.diag(inverse(ridge)), [1e9, 1.0 / (3.0 + 1e-9)], rtol=1e-12)


def pad(data: Samples, extra: int) -> Samples:
    """Append zeros to every feature and to the parameter."""
    wide = np.pad(data.X, ((0, 0), (0, extra)))
    return data._replace(X=wide, theta=np.pad(data.theta, (0, extra)))


@PROPERTY
@given(samples(), st.integers(0, 3))
def test_padding_changes_neither_theta_nor_log_det_nor_norms(data: Samples, extra: int) -> None:
    ridge, wide, phi = learn(data), learn(pad(data, extra)), np.pad(data.theta, (0, extra))
    assert_near(wide.theta, np.pad(ridge.theta, (0, extra)), 1e-13)
    assert_near(wide.log_det, ridge.log_det, 1e-13)
    assert_near(phi @ inverse(wide) @ phi, data.theta @ np.linalg.inv(data.V) @ data.theta)
    error = squared_error(ridge, data.theta, lam=data.lam)
    assert_near(squared_error(wide, phi, lam=data.lam), error, 1e-9)
    assert_near(inverse(wide), np.linalg.inv(np.asarray(wide.V)))


@PROPERTY
@given(samples(), st.integers(0, 3))
def test_crop_undoes_padding(data: Samples, extra: int) -> None:
    assert_equal_statistics(crop(learn(pad(data, extra)), data.dim), learn(data))


@PROPERTY
@given(samples(least=1))
def test_the_noise_estimate_is_the_smallest_ridge_objective_plus_d_second_moments(
    data: Samples,
) -> None:
    rows = np.vstack([data.X, math.sqrt(data.lam) * np.eye(data.dim)])
    targets = np.append(data.y, np.zeros(data.dim))
    theta = np.linalg.lstsq(rows, targets, rcond=None)[0]
    objective, n = np.sum((rows @ theta - targets) ** 2), len(data.y)
    expected = (objective + data.dim * np.mean(data.y**2)) / n
    found = float(estimate_noise(learn(data), jnp.asarray(float(data.dim))))
    assert found**2 == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_noise_estimate_is_one_before_any_reward() -> None:
    assert float(estimate_noise(empty_ridge(4, 1.0), jnp.asarray(4.0))) == 1.0


def test_the_noise_estimate_approaches_the_standard_deviation_from_above() -> None:
    """With 100,000 samples four standard errors are 0.9 %, and the term d v adds 0.2 %."""
    rng = np.random.default_rng(0)
    X, theta = rng.standard_normal((100_000, 5)), np.array([1.0, -1.0, 0.5, 0.0, 2.0])
    y = X @ theta + 0.3 * rng.standard_normal(100_000)
    estimates = []
    for n in (20, 100_000):
        gram = X[:n].T @ X[:n]
        spectrum = Spectrum(*np.linalg.eigh(gram))
        sums = (gram, X[:n].T @ y[:n], jnp.asarray(float(n)), jnp.asarray(np.sum(y[:n] ** 2)))
        ridge = ridge_from_spectrum(spectrum, *sums, lam=1.0)
        estimates.append(float(estimate_noise(ridge, jnp.asarray(5.0))))
    assert estimates[0] > 0.3
    assert estimates[1] == pytest.approx(0.3, rel=0.011)


def test_a_million_updates_with_few_recomputations_keep_the_inverse_exact() -> None:
    """Features of very different scales make the rounding errors of rank-one updates large."""
    rng = np.random.default_rng(1)
    pool = jnp.asarray(rng.standard_normal((4099, 6)) * np.geomspace(1.0, 1e-2, 6))
    rewards = jnp.asarray(rng.standard_normal(4099))

    @jax.jit
    def advance(ridge: Ridge, first: int, last: int) -> Ridge:
        def step(i: Any, ridge: Ridge) -> Ridge:
            at = i % pool.shape[0]
            after: Ridge = add_sample(ridge, pool[at], rewards[at])
            return after

        return jax.lax.fori_loop(first, last, step, ridge)

    ridge, horizon = empty_ridge(6, 1.0), 1_000_000
    ends = [int(REFRESH_GROWTH**k) for k in range(7)]
    for first, last in zip([0, *ends], [*ends, horizon], strict=True):
        ridge = advance(ridge, first, last)
        if last in ends:
            ridge = recompute(ridge, lam=1.0)

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
    each = [learn(Samples(X[at][:3], y[at][:3], 0.5, np.zeros(dim))) for at in np.ndindex(*shape)]
    stacked = jax.tree.map(lambda *rows: np.stack(rows).reshape(*shape, *rows[0].shape), *each)
    return stacked, X[..., 3, :], y[..., 3]


def entry(ridges: Ridge, at: tuple[Any, ...]) -> Ridge:
    one: Ridge = jax.tree.map(lambda leaf: leaf[at], ridges)
    return one


def test_mapping_over_seeds_gives_the_same_numbers_as_one_by_one() -> None:
    ridges, phi, y = several((5,))
    together = jax.jit(jax.vmap(add_sample))(ridges, phi, y)
    for i in range(5):
        assert_equal_statistics(entry(together, (i,)), add_one(entry(ridges, (i,)), phi[i], y[i]))


def test_mapping_with_a_shared_argument_gives_the_same_numbers_as_one_by_one() -> None:
    ridges, phi, y = several((5,))
    together = jax.jit(jax.vmap(add_sample, in_axes=(0, None, 0)))(ridges, phi[0], y)
    for i in range(5):
        assert_equal_statistics(entry(together, (i,)), add_one(entry(ridges, (i,)), phi[0], y[i]))


def test_mapping_along_the_last_axis_gives_the_same_numbers_as_one_by_one() -> None:
    ridges, phi, y = several((5,))
    last = jax.tree.map(lambda leaf: np.moveaxis(leaf, 0, -1), ridges)
    together = jax.jit(jax.vmap(add_sample, in_axes=-1, out_axes=-1))(last, phi.T, y)
    for i in range(5):
        assert_equal_statistics(
            entry(together, (..., i)), add_one(entry(ridges, (i,)), phi[i], y[i])
        )


@pytest.mark.parametrize("compiled", [False, True])
def test_nested_mapping_gives_the_same_numbers_as_one_by_one(compiled: bool) -> None:
    ridges, phi, y = several((2, 3))
    nested = jax.vmap(jax.vmap(add_sample))
    together = (jax.jit(nested) if compiled else nested)(ridges, phi, y)
    for at in np.ndindex(2, 3):
        assert_equal_statistics(entry(together, at), add_one(entry(ridges, at), phi[at], y[at]))


def test_nested_mapping_over_different_arguments_gives_the_same_numbers_as_one_by_one() -> None:
    """The outer map runs over statistics, the inner one over samples."""
    ridges, phi, y = several((3,))
    inner = jax.vmap(add_sample, in_axes=(None, 0, 0))
    together = jax.jit(jax.vmap(inner, in_axes=(0, None, None)))(ridges, phi, y)
    for i, j in np.ndindex(3, 3):
        assert_equal_statistics(entry(together, (i, j)), add_one(entry(ridges, (i,)), phi[j], y[j]))


@pytest.mark.parametrize("size", [2, 4, 12])
@pytest.mark.parametrize("keeps_design", [False, True])
def test_a_sample_is_added_to_cropped_statistics_as_to_whole_ones(
    size: int, keeps_design: bool
) -> None:
    """Seeds with dimensions up to `size`, padded to 12."""
    dims = np.array([size, 1, max(size - 1, 1)])
    _, phi, y = several((3,), 12)
    phi = np.where(np.arange(12) < dims[:, None], phi, 0.0)
    each = [
        learn(pad(Samples(phi[i : i + 1, :d], y[i : i + 1], 0.5, np.zeros(d)), 12 - d))
        for i, d in enumerate(dims)
    ]
    ridges: Ridge = jax.tree.map(lambda *rows: np.stack(rows), *each)
    ridges = ridges if keeps_design else ridges.without_design()
    small = jax.vmap(lambda ridge: crop(ridge, size))(ridges)
    together = jax.jit(jax.vmap(add_sample))(small, phi[:, :size], y)
    assert together.b.shape == (3, size)
    for i in range(3):
        expected = crop(add_one(entry(ridges, (i,)), phi[i], y[i]), size)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14),
            entry(together, (i,)),
            expected,
        )
