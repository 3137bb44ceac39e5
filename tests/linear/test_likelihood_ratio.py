"""Is the likelihood ratio the distance to the nearest alternative? Compared with a minimiser."""

import math
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import banditsrl
from banditsrl.arguments import check_mask
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.linear.likelihood_ratio import (
    Scores,
    likelihood_ratio,
    score_actions,
)
from banditsrl.numerics.precision import in_float64

Floats = NDArray[np.float64]

PROPERTY = settings(max_examples=100, deadline=None, derandomize=True)

GRID = st.integers(-16, 16).map(lambda k: k / 8.0)
"""Numbers whose sums are exact, so that two embeddings are equal or clearly different."""


class Instance(NamedTuple):
    """One context."""

    phi: Floats  # (A, d)
    theta: Floats  # (d,)
    V: Floats  # (d, d)
    mask: NDArray[np.bool_]  # (A,)

    @property
    def greedy(self) -> int:
        return int(np.where(self.mask, self.phi @ self.theta, -np.inf).argmax())

    @property
    def rivals(self) -> list[int]:
        """Available actions whose embedding is not the greedy one's."""
        different = (self.phi != self.phi[self.greedy]).any(axis=1)
        return [int(a) for a in np.flatnonzero(self.mask & different)]


def nearest_alternative(data: Instance, rival: int) -> Floats:
    """argmin ||theta - theta_hat||_V over the theta for which `rival` is as good as the greedy.

    An equality-constrained quadratic program in the move theta - theta_hat, by its KKT system.
    """
    normal, dim = data.phi[rival] - data.phi[data.greedy], len(data.theta)
    system = np.zeros((dim + 1, dim + 1))
    system[:dim, :dim] = data.V
    system[:dim, dim] = system[dim, :dim] = normal
    move = np.linalg.solve(system, np.append(np.zeros(dim), -normal @ data.theta))[:dim]
    return np.asarray(data.theta + move, dtype=np.float64)


def distance(data: Instance, theta: Floats) -> float:
    move = theta - data.theta
    return math.sqrt(max(float(move @ data.V @ move), 0.0))


def direct_glr(data: Instance) -> float:
    """The infimum over all alternatives, rival by rival."""
    distances = [distance(data, nearest_alternative(data, rival)) for rival in data.rivals]
    return min(distances, default=math.inf)


def glr(data: Instance) -> float:
    return banditsrl.glr(data.phi, data.theta, V=data.V, mask=data.mask)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    n_actions, dim = draw(st.sampled_from([(2, 1), (3, 2), (5, 4)]))
    past = draw(arrays(np.float64, (6, dim), elements=GRID))
    lam = draw(st.sampled_from([0.1, 1.0, 5.0]))
    mask = draw(arrays(np.bool_, (n_actions,)))
    mask[draw(st.integers(0, n_actions - 1))] = True
    return Instance(
        draw(arrays(np.float64, (n_actions, dim), elements=GRID)),
        draw(arrays(np.float64, (dim,), elements=GRID)),
        lam * np.eye(dim) + past.T @ past,
        mask,
    )


def example(seed: int = 0, n_actions: int = 4, dim: int = 3) -> Instance:
    rng = np.random.default_rng(seed)
    past = rng.standard_normal((10, dim))
    return Instance(
        rng.standard_normal((n_actions, dim)),
        rng.standard_normal(dim),
        np.eye(dim) + past.T @ past,
        np.ones(n_actions, dtype=bool),
    )


@PROPERTY
@given(instances())
def test_the_ratio_is_the_direct_minimum_over_alternative_parameters(data: Instance) -> None:
    assert glr(data) == pytest.approx(direct_glr(data), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_alternative_parameter_is_nearer_than_the_ratio(seed: int) -> None:
    """Random parameters that prefer another action, some just beyond the nearest boundary."""
    data = example(seed)
    found, rng = glr(data), np.random.default_rng(seed)
    boundary = min(
        (nearest_alternative(data, a) for a in data.rivals), key=lambda t: distance(data, t)
    )
    tries = [data.theta + rng.standard_normal(3) for _ in range(500)]
    tries += [boundary + 1e-3 * rng.standard_normal(3) for _ in range(500)]
    alternatives = [t for t in tries if int((data.phi @ t).argmax()) != data.greedy]
    assert len(alternatives) > 100
    assert min(distance(data, t) for t in alternatives) >= found * (1.0 - 1e-12)
    beyond = data.theta + 1.000001 * (boundary - data.theta)
    assert int((data.phi @ beyond).argmax()) != data.greedy


def test_actions_that_are_not_available_do_not_count() -> None:
    data = example()
    order = np.argsort(data.phi @ data.theta)
    mask = np.ones(4, dtype=bool)
    mask[order[-1]] = False
    masked = data._replace(mask=mask)
    assert masked.greedy == order[-2]
    shorter = data._replace(phi=data.phi[mask], mask=np.ones(3, dtype=bool))
    assert glr(masked) == pytest.approx(glr(shorter), rel=1e-12)


def test_an_action_with_the_greedy_embedding_is_left_out() -> None:
    data = example()
    twin = data._replace(
        phi=np.vstack([data.phi, data.phi[data.greedy]]), mask=np.ones(5, dtype=bool)
    )
    assert glr(twin) == pytest.approx(glr(data), rel=1e-12)


@pytest.mark.parametrize(("difference", "same"), [(1e-14, True), (1e-8, False)])
def test_embeddings_are_the_same_up_to_rounding_only(difference: float, same: bool) -> None:
    phi = np.array([[1.0, 0.0], [1.0 - difference, 0.0]])
    found = banditsrl.glr(phi, [1.0, 0.0], V=np.eye(2))
    assert math.isinf(found) == same


def test_one_available_action_leaves_nothing_to_decide() -> None:
    data = example()._replace(mask=np.array([False, False, True, False]))
    assert glr(data) == math.inf
    assert banditsrl.glr([[1.0, 2.0]], [1.0, 1.0], V=np.eye(2)) == math.inf


def test_equal_embeddings_leave_nothing_to_decide() -> None:
    assert banditsrl.glr(np.ones((3, 2)), [1.0, -1.0], V=np.eye(2)) == math.inf
    assert banditsrl.glr(np.zeros((3, 2)), [1.0, -1.0], V=np.eye(2)) == math.inf


def test_two_best_actions_with_different_embeddings_have_ratio_zero() -> None:
    assert banditsrl.glr([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], V=np.eye(2)) == 0.0


def test_the_ratio_is_computed_in_float64_for_a_caller_in_float32() -> None:
    data = example(1)
    assert glr(data) == pytest.approx(direct_glr(data), rel=1e-12)
    assert jnp.asarray(1.0).dtype == jnp.float32


NAN = [[1.0, 0.0], [math.nan, 1.0]]

BAD = [
    ({"phi": NAN}, r"phi must be finite, got nan at index \(1, 0\)"),
    ({"theta": [1.0, math.inf]}, r"theta must be finite, got inf at index \(1,\)"),
    ({"V": [[1.0, math.nan], [0.0, 1.0]]}, r"V must be finite, got nan at index \(0, 1\)"),
    ({"phi": [1.0, 2.0]}, r"phi must have shape \(n_actions, dim\), got shape \(2,\)"),
    (
        {"theta": [1.0, 2.0, 3.0]},
        r"phi, theta and V must agree on dim, got shapes \(2, 2\), \(3,\), \(2, 2\)",
    ),
    (
        {"V": np.eye(3)},
        r"phi, theta and V must agree on dim, got shapes \(2, 2\), \(2,\), \(3, 3\)",
    ),
    ({"V": np.diag([1.0, -1.0])}, "V must be positive definite, got a smallest eigenvalue of -1"),
    ({"V": np.zeros((2, 2))}, "V must be positive definite, got a smallest eigenvalue of 0"),
    ({"mask": [False, False]}, "mask must leave at least one available action, got none"),
    ({"mask": [True, True, True]}, r"mask must have shape \(2,\), got shape \(3,\)"),
    ({"mask": [[True, True]]}, r"mask must have shape \(2,\), got shape \(1, 2\)"),
]


@pytest.mark.parametrize(("changed", "message"), BAD)
def test_bad_input_is_refused_by_name(changed: dict[str, Any], message: str) -> None:
    good = {"phi": np.eye(2), "theta": [1.0, 0.5], "V": np.eye(2), "mask": None}
    arguments = {**good, **changed}
    with pytest.raises(InvalidArgument, match=message):
        banditsrl.glr(
            arguments["phi"], arguments["theta"], V=arguments["V"], mask=arguments["mask"]
        )


def test_words_instead_of_numbers_are_refused_by_name() -> None:
    with pytest.raises(InvalidType, match=r"phi must be an array of numbers .* got str"):
        banditsrl.glr("features", [1.0], V=np.eye(1))


def test_a_mask_that_is_not_known_yet_is_not_verified() -> None:
    mask = jax.jit(lambda m: check_mask(m, 3))(jnp.asarray([0, 1, 0]))
    np.testing.assert_array_equal(mask, [False, True, False])
    np.testing.assert_array_equal(check_mask(None, 3), [True, True, True])


def score(data: Instance) -> Scores:
    root = np.linalg.inv(np.linalg.cholesky(data.V)).T
    found: Scores = score_actions(jnp.asarray(root), jnp.asarray(data.theta), jnp.asarray(data.phi))
    return found


def test_scores_are_values_norms_and_distances_under_v() -> None:
    data = example(2)
    inverse = np.linalg.inv(data.V)
    with jax.enable_x64(True):
        found = score(data)
    np.testing.assert_allclose(found.values, data.phi @ data.theta, rtol=1e-12)
    norms = [math.sqrt(phi @ inverse @ phi) for phi in data.phi]
    np.testing.assert_allclose(found.norms, norms, rtol=1e-12)
    for a, b in np.ndindex(4, 4):
        difference = data.phi[a] - data.phi[b]
        apart = float(np.linalg.norm(found.whitened[a] - found.whitened[b]))
        assert apart == pytest.approx(math.sqrt(difference @ inverse @ difference), abs=1e-12)


def test_the_greedy_action_is_the_first_of_equals_and_near_ties_are_marked() -> None:
    with jax.enable_x64(True):
        phi = np.array([[0.0, 1.0], [1.0, 0.0], [0.995, 0.0], [1.0, 0.0]])
        scores = score(Instance(phi, np.array([1.0, 0.0]), np.eye(2), np.ones(4, dtype=bool)))
        found = likelihood_ratio(scores, jnp.ones(4, dtype=bool), jnp.asarray(0.01))
        strict = likelihood_ratio(scores, jnp.ones(4, dtype=bool), jnp.asarray(0.001))
        masked = likelihood_ratio(scores, jnp.asarray([True, True, False, True]), jnp.asarray(0.01))
    assert int(found.greedy) == 1
    assert bool(found.tied)
    assert not bool(strict.tied)
    assert not bool(masked.tied)  # the twin of the greedy action is no tie


def test_mapping_over_contexts_gives_the_same_numbers_as_one_by_one() -> None:
    data = [example(seed) for seed in range(6)]
    with jax.enable_x64(True):
        roots = np.stack([np.linalg.inv(np.linalg.cholesky(d.V)).T for d in data])
        theta, phi = np.stack([d.theta for d in data]), np.stack([d.phi for d in data])
        mask = np.random.default_rng(0).random((6, 4)) < 0.7
        mask[:, 0] = True

        def run_test(root: Any, theta: Any, phi: Any, mask: Any) -> Any:
            return likelihood_ratio(score_actions(root, theta, phi), mask, jnp.zeros(()))

        flat = (roots, theta, phi, mask)
        together = jax.jit(jax.vmap(run_test))(*flat)
        cells = [x.reshape(2, 3, *x.shape[1:]) for x in flat]
        nested = jax.jit(jax.vmap(jax.vmap(run_test)))(*cells)
    for i, d in enumerate(data):
        alone = d._replace(mask=mask[i])
        assert int(together.greedy[i]) == alone.greedy
        assert float(together.glr[i]) == pytest.approx(direct_glr(alone), rel=1e-9)
    np.testing.assert_allclose(np.ravel(nested.glr), together.glr, rtol=1e-13)
    np.testing.assert_array_equal(np.ravel(nested.greedy), together.greedy)


def test_a_matrix_that_is_symmetric_up_to_rounding_is_accepted() -> None:
    V = np.array([[1.0, 1e-18], [0.0, 1.0]])
    assert banditsrl.glr(np.eye(2), [1.0, 0.5], V=V) == pytest.approx(0.5 / np.sqrt(2.0))


@pytest.mark.parametrize("largest", [2, 4, 7, 12])
@pytest.mark.parametrize("padding", [0, 5])
@in_float64
def test_scores_of_padded_embeddings_are_those_without_padding(largest: int, padding: int) -> None:
    """Seeds with dimensions up to `largest`, padded further, one by one and mapped."""
    rng, size, n_actions = np.random.default_rng(0), largest + padding, 4
    dims = np.array([largest, 1, max(largest - 1, 1)])
    roots, thetas, embeddings = [], [], []
    for dim in dims:
        root, theta, phi = np.eye(size) / 0.7, np.zeros(size), np.zeros((n_actions, size))
        root[:dim, :dim] = rng.normal(size=(dim, dim))
        theta[:dim], phi[:, :dim] = rng.normal(size=dim), rng.normal(size=(n_actions, dim))
        roots, thetas, embeddings = [*roots, root], [*thetas, theta], [*embeddings, phi]
    stacked = [jnp.asarray(np.stack(each)) for each in (roots, thetas, embeddings)]

    def compare(root: Any, theta: Any, phi: Any) -> Any:
        scores = score_actions(root, theta, phi)
        mask = jnp.ones(n_actions, dtype=bool)
        return scores, likelihood_ratio(scores, mask, jnp.asarray(0.0))

    mapped = jax.jit(jax.vmap(compare))(*stacked)
    for seed in range(len(dims)):
        alone = compare(*(each[seed] for each in stacked))
        whitened = embeddings[seed] @ roots[seed]
        values, norms = embeddings[seed] @ thetas[seed], np.linalg.norm(whitened, axis=1)
        distances = np.linalg.norm(whitened - whitened[values.argmax()], axis=1)
        rivals = np.arange(n_actions) != values.argmax()
        glr = ((values.max() - values)[rivals] / distances[rivals]).min()
        for found, ratio in (alone, jax.tree.map(operator.itemgetter(seed), mapped)):
            assert (int(ratio.greedy), float(ratio.glr)) == (values.argmax(), pytest.approx(glr))
            np.testing.assert_allclose(found.values, values, rtol=1e-12)
            np.testing.assert_allclose(found.norms, norms, rtol=1e-12)
            np.testing.assert_allclose(found.whitened, whitened, rtol=1e-12, atol=1e-14)
