"""Are the sums over the history those of a loop over its rounds, for tables and for functions?"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import history_of

from banditsrl.core.representation import Representation
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.mapped import Mapped
from banditsrl.representations.table import Table
from banditsrl.selection.moments import are_all_tables, largest_uncertainty, sum_history

X, A, N, LAM = 7, 3, 1100, 0.8
RNG = np.random.default_rng(0)
FEATURES = [RNG.normal(size=(X, A, 2)), RNG.normal(size=(X, A, 3))]
FEATURES[1][2] = 0.0  # embeddings of one context say nothing
ROUNDS = (RNG.integers(X, size=N), RNG.integers(A, size=N), RNG.normal(size=N))
"""More rounds than fit into one block of a pass, of which the last block is partly empty."""


def mapped(features: Any) -> Mapped:
    return Mapped(lambda x: jnp.asarray(features)[x], n_actions=A, dim=features.shape[2])


KINDS: dict[str, list[Representation]] = {
    "tables": [Table(features) for features in FEATURES],
    "functions": [mapped(features) for features in FEATURES],
    "both": [Table(FEATURES[0]), mapped(FEATURES[1])],
}
kinds = pytest.mark.parametrize("kind", KINDS)


@in_float64
def summed(kind: str, needs_forms: bool = True) -> Any:
    @eqx.filter_jit
    def run(history: Any) -> Any:
        return sum_history(KINDS[kind], history, needs_forms=needs_forms)

    return run(history_of(ROUNDS, capacity=3000))


@kinds
def test_sums_and_forms_are_those_of_a_loop_over_rounds(kind: str) -> None:
    found = summed(kind)
    contexts, actions, rewards = ROUNDS
    assert float(found.yy) == pytest.approx(sum(y * y for y in rewards))
    for features, moments in zip(FEATURES, found.moments, strict=True):
        played = [features[x, a] for x, a in zip(contexts, actions, strict=True)]
        gram = sum(np.outer(phi, phi) for phi in played)
        b = sum(y * phi for y, phi in zip(rewards, played, strict=True))
        forms = [phi @ gram @ phi for phi in played]
        units = [
            form / (phi @ phi) if phi.any() else 0.0
            for form, phi in zip(forms, played, strict=True)
        ]
        np.testing.assert_allclose(moments.gram, gram, rtol=1e-10)
        np.testing.assert_allclose(moments.b, b, rtol=1e-9, atol=1e-10)
        assert float(moments.weak) == pytest.approx(min(forms), rel=1e-9)
        assert float(moments.weak_normalised) == pytest.approx(min(units), rel=1e-9)
        largest = np.linalg.norm(features, axis=-1).max()
        assert float(moments.largest_norm) == pytest.approx(largest)


@kinds
def test_forms_that_no_loss_needs_stay_zero(kind: str) -> None:
    for moments in summed(kind, needs_forms=False).moments:
        assert (float(moments.weak), float(moments.weak_normalised)) == (0.0, 0.0)


def test_norms_of_functions_are_those_of_contexts_that_were_seen() -> None:
    """Of every action there, whether it was played or not."""
    few = (np.array([3, 5]), np.array([0, 0]), np.zeros(2))
    with jax.enable_x64(True):
        found = sum_history(KINDS["functions"], history_of(few, capacity=2), needs_forms=False)
    for features, moments in zip(FEATURES, found.moments, strict=True):
        expected = np.linalg.norm(features[[3, 5]], axis=-1).max()
        assert float(moments.largest_norm) == pytest.approx(expected)


@kinds
def test_the_largest_uncertainty_is_that_of_a_loop_over_played_features(kind: str) -> None:
    contexts, actions, _ = ROUNDS
    with jax.enable_x64(True):
        history = history_of(ROUNDS, capacity=3000)
        cells = summed(kind).cells
        for candidate, features in zip(KINDS[kind], FEATURES, strict=True):
            played = [features[x, a] for x, a in zip(contexts, actions, strict=True)]
            V = LAM * np.eye(features.shape[2]) + sum(np.outer(phi, phi) for phi in played)
            expected = max(float(phi @ np.linalg.solve(V, phi)) for phi in played)
            root = jnp.asarray(np.linalg.cholesky(np.linalg.inv(V)))
            found = largest_uncertainty(candidate, history, cells, root)
            assert float(found) == pytest.approx(expected, rel=1e-10)


def test_only_tables_over_the_same_contexts_are_counted_by_cells() -> None:
    assert are_all_tables(KINDS["tables"])
    assert not are_all_tables(KINDS["functions"])
    assert not are_all_tables(KINDS["both"])
    assert not are_all_tables([Table(FEATURES[0]), Table(FEATURES[1][:5])])
    assert summed("tables").cells is not None
    assert summed("both").cells is None


def test_cells_count_rounds_and_sum_rewards_of_every_context_and_action() -> None:
    cells = summed("tables").cells
    counts, rewards = np.zeros(X * A), np.zeros(X * A)
    for x, a, y in zip(*ROUNDS, strict=True):
        counts[A * x + a] += 1
        rewards[A * x + a] += y
    np.testing.assert_array_equal(cells.n, counts)
    np.testing.assert_allclose(cells.y, rewards, rtol=1e-9, atol=1e-11)
