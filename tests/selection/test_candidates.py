"""Are candidates of different dimension padded with zeros, and what is known of each of them?"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ridge_statistics import statistics_of

from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.mapped import Mapped
from banditsrl.representations.table import Table
from banditsrl.selection.candidates import CandidateSet

X, A, N, LAM = 4, 3, 30, 0.7
RNG = np.random.default_rng(0)
FEATURES = [RNG.normal(size=(X, A, dim)) for dim in (2, 4, 3)]


def mapped(features: Any, **bounds: float) -> Mapped:
    return Mapped(lambda x: jnp.asarray(features)[x], n_actions=A, dim=features.shape[2], **bounds)


SETS = {
    "tables": CandidateSet(tuple(Table(features) for features in FEATURES)),
    "functions": CandidateSet(tuple(mapped(features) for features in FEATURES)),
    "both": CandidateSet((Table(FEATURES[0]), mapped(FEATURES[1]), Table(FEATURES[2]))),
}
sets = pytest.mark.parametrize("kind", SETS)


def pad(phi: Any) -> Any:
    return np.concatenate([phi, np.zeros((A, 4 - phi.shape[1]))], axis=1)


@sets
@in_float64
def test_embeddings_are_those_of_the_candidate_with_zeros_behind_them(kind: str) -> None:
    candidates = SETS[kind]
    embed = eqx.filter_jit(candidates.embed)
    assert (len(candidates), candidates.padded_dim, candidates.dims.tolist()) == (3, 4, [2, 4, 3])
    for m, features in enumerate(FEATURES):
        for x in range(X):
            np.testing.assert_array_equal(embed(jnp.asarray(x), jnp.asarray(m)), pad(features[x]))


@sets
@in_float64
def test_every_seed_may_have_a_candidate_of_its_own(kind: str) -> None:
    contexts, current = np.array([3, 0, 1, 2, 2]), np.array([0, 2, 1, 1, 0])
    found = jax.vmap(SETS[kind].embed)(jnp.asarray(contexts), jnp.asarray(current))
    expected = [pad(FEATURES[m][x]) for x, m in zip(contexts, current, strict=True)]
    np.testing.assert_array_equal(found, expected)


@sets
@in_float64
def test_the_embedding_of_one_action_is_its_row(kind: str) -> None:
    contexts, current, actions = np.array([[3, 0, 1, 2, 2], [0, 2, 1, 1, 0], [2, 0, 1, 2, 0]])
    rounds = [jnp.asarray(each) for each in (contexts, current, actions)]
    found = jax.jit(jax.vmap(SETS[kind].embed_action))(*rounds)
    expected = [pad(FEATURES[m][x])[a] for x, m, a in zip(contexts, current, actions, strict=True)]
    np.testing.assert_array_equal(found, expected)


@sets
@in_float64
def test_embeddings_may_be_padded_to_fewer_entries(kind: str) -> None:
    """Three entries are enough for the first and the last candidate."""
    x, a = jnp.asarray(2), jnp.asarray(1)
    for m in (0, 2):
        found = SETS[kind].embed(x, jnp.asarray(m), 3)
        np.testing.assert_array_equal(found, pad(FEATURES[m][2])[:, :3])
        row = SETS[kind].embed_action(x, jnp.asarray(m), a, 3)
        np.testing.assert_array_equal(row, pad(FEATURES[m][2])[1, :3])


@in_float64
def test_a_context_beyond_the_tables_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="context must be an index below 4, got 4"):
        SETS["tables"].embed(4, jnp.asarray(0))


@in_float64
def test_norms_are_tracked_for_the_current_candidate_unless_all_are_known() -> None:
    so_far, phi = jnp.asarray([1.0, 2.0, 3.0]), jnp.asarray([[0.0, 5.0], [3.0, 4.5]])
    largest = np.linalg.norm([3.0, 4.5])
    found = SETS["both"].update_norms(so_far, jnp.asarray(1), phi)
    np.testing.assert_allclose(found, [1.0, largest, 3.0])
    same = SETS["both"].update_norms(so_far, jnp.asarray(2), 0.1 * phi)
    np.testing.assert_array_equal(same, so_far)
    assert SETS["tables"].update_norms(so_far, jnp.asarray(1), phi) is so_far


@in_float64
def test_bounds_are_given_or_else_estimated_for_the_candidate_in_use() -> None:
    candidates = CandidateSet((Table(FEATURES[0], B=0.5), mapped(FEATURES[1]),
                               mapped(FEATURES[2], L=9.0, B=8.0)))  # fmt: skip
    norms = jnp.asarray([0.0, 1.25, 2.5])
    phi, rewards = np.zeros((N, 4)), RNG.normal(size=N)
    for m, dim in enumerate((2, 4, 3)):
        phi[:, :dim] = RNG.normal(size=(N, dim))
        ridge = statistics_of(phi, rewards, LAM)
        theta = np.linalg.solve(np.asarray(ridge.V), np.asarray(ridge.b))
        L = [np.linalg.norm(FEATURES[0], axis=-1).max(), 1.25, 9.0][m]
        B = [0.5, np.linalg.norm(theta), 8.0][m]
        residual = rewards @ rewards - np.asarray(ridge.b) @ theta
        sigma = np.sqrt((residual + dim * (rewards @ rewards) / N) / N)
        found = candidates.facts(jnp.asarray(m), ridge, norms, None)
        np.testing.assert_allclose(found, [dim, L, B, sigma], rtol=1e-9)
        known = candidates.facts(jnp.asarray(m), ridge, norms, 0.2)
        np.testing.assert_allclose(known, [dim, L, B, 0.2], rtol=1e-9)
        phi[:] = 0.0
