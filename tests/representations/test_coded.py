"""Do all ways to code columns and an action as one vector give the vector built by hand?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.representations.coded import Coded, one_hot_features

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((6, 3)).astype(np.float32)
A, C, K = 4, 3, 5

cases = pytest.mark.parametrize("kind", ["index", "vector"])
codes = pytest.mark.parametrize("code", ["blocks", "one-hot"])


def coded(code: str, kind: str) -> Coded:
    where = {"table": ROWS} if kind == "index" else {"n_columns": C}
    return Coded(n_actions=A, code=code, **where)  # type: ignore[arg-type]


def context(kind: str, x: int) -> Any:
    return x if kind == "index" else ROWS[x]


def dense(code: str, x: int) -> Any:
    """The vectors of all actions, entry by entry, in float64."""
    rows = np.zeros((A, C * A if code == "blocks" else C + A))
    for a in range(A):
        for c in range(C):
            rows[a, c + (C * a if code == "blocks" else 0)] = ROWS[x, c]
        if code == "one-hot":
            rows[a, C + a] = 1.0
    return rows


@cases
@codes
def test_all_ways_to_embed_agree_with_the_dense_matrix(code: str, kind: str) -> None:
    inputs = coded(code, kind)
    matrix = RNG.standard_normal((inputs.dim, K)).astype(np.float32)
    for x in range(len(ROWS)):
        expected = dense(code, x)
        phi = inputs.embed(context(kind, x))
        assert (phi.shape, phi.dtype) == (expected.shape, np.float64)
        np.testing.assert_array_equal(phi, expected)
        for a in range(A):
            row = inputs.embed_action(context(kind, x), jnp.asarray(a))
            assert row.dtype == np.float32
            np.testing.assert_array_equal(row, expected[a])
        product = inputs.embed_times(context(kind, x), jnp.asarray(matrix))
        assert product.dtype == np.float32
        np.testing.assert_allclose(product, expected @ matrix, rtol=1e-5, atol=1e-6)


@cases
@codes
def test_rows_compile_and_map_over_many_pairs(code: str, kind: str) -> None:
    inputs, n = coded(code, kind), 9
    xs, actions = RNG.integers(len(ROWS), size=n), RNG.integers(A, size=n)
    contexts = jnp.asarray(xs if kind == "index" else ROWS[xs])
    rows = jax.jit(jax.vmap(inputs.embed_action))(contexts, jnp.asarray(actions))
    expected = [dense(code, x)[a] for x, a in zip(xs, actions, strict=True)]
    np.testing.assert_array_equal(rows, expected)


@codes
def test_products_keep_the_precision_of_the_matrix(code: str) -> None:
    inputs = coded(code, "index")
    matrix = RNG.standard_normal((inputs.dim, K))
    with jax.enable_x64(True):
        product = inputs.embed_times(2, jnp.asarray(matrix))
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, dense(code, 2) @ matrix, rtol=1e-14)


def test_bounds_are_kept_and_bad_contexts_refused() -> None:
    bounded = Coded(n_actions=A, code="blocks", table=ROWS, L=2.0, B=3.0)
    assert (bounded.L, bounded.B) == (2.0, 3.0)
    with pytest.raises(InvalidArgument, match=r"L must be greater than 0, got -1\.0"):
        Coded(n_actions=A, code="blocks", table=ROWS, L=-1.0)
    for ask in (bounded.embed, lambda x: bounded.embed_action(x, jnp.asarray(0))):
        with pytest.raises(InvalidArgument, match="context must be an index below 6, got 6"):
            ask(6)
    with pytest.raises(InvalidArgument, match=r"context must have shape \(3,\), got shape \(2,\)"):
        coded("one-hot", "vector").embed_times(np.ones(2), jnp.ones((7, 2)))


def by_hand(vector: Any, n_actions: int, code: str) -> Any:
    """The coded vectors of all actions, entry by entry."""
    rows = []
    for action in range(n_actions):
        if code == "blocks":
            row = [x if block == action else 0.0 for block in range(n_actions) for x in vector]
        else:
            row = [*vector, *[1.0 if other == action else 0.0 for other in range(n_actions)]]
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize(("code", "dim"), [("blocks", 12), ("one-hot", 7)])
def test_a_table_and_its_rows_give_the_vectors_built_by_hand(code: str, dim: int) -> None:
    indexed = Coded(n_actions=4, code=code, table=ROWS)
    direct = Coded(n_actions=4, code=code, n_columns=3)
    assert indexed.dim == direct.dim == dim
    assert indexed.n_columns == direct.n_columns == 3
    assert (indexed.n_contexts, direct.n_contexts) == (6, None)
    for x, row in enumerate(ROWS):
        expected = by_hand(row, 4, code)
        for phi in (indexed.embed(x), direct.embed(row)):
            assert phi.dtype == jnp.float64
            np.testing.assert_array_equal(phi, expected)
        for vector in (indexed.vector(x), direct.vector(row)):
            assert vector.dtype == jnp.float32
            np.testing.assert_array_equal(vector, row)


@pytest.mark.parametrize("code", ["blocks", "one-hot"])
@pytest.mark.parametrize("wide", [False, True])
def test_vectors_and_embeddings_compile_and_map_in_their_precision(code: str, wide: bool) -> None:
    inputs = Coded(n_actions=2, code=code, table=ROWS)
    with jax.enable_x64(wide):
        vectors = jax.jit(jax.vmap(inputs.vector, in_axes=-1, out_axes=-1))(jnp.arange(6))
        mapped = jax.jit(jax.vmap(inputs.embed, in_axes=-1, out_axes=-1))(jnp.arange(6))
    assert (vectors.dtype, mapped.dtype) == (jnp.float32, jnp.float64)
    np.testing.assert_array_equal(vectors, ROWS.T)
    np.testing.assert_array_equal(
        np.moveaxis(np.asarray(mapped), -1, 0), [by_hand(row, 2, code) for row in ROWS]
    )


def test_a_float32_table_is_shared_and_not_copied() -> None:
    table = jnp.asarray(ROWS)
    assert Coded(n_actions=2, code="blocks", table=table).table is table


def test_a_table_passed_to_a_compiled_function_is_an_argument_and_no_constant() -> None:
    inputs = Coded(n_actions=2, code="blocks", table=ROWS)
    assert [leaf.shape for leaf in jax.tree.leaves(inputs)] == [(6, 3)]


def test_one_hot_features_are_the_one_hot_inputs_of_every_context() -> None:
    features = one_hot_features(ROWS.astype(np.float64), 5)
    assert features.dtype == np.float64
    np.testing.assert_array_equal(features, [by_hand(row, 5, "one-hot") for row in ROWS])


BAD = [
    ({"code": "words"}, "code must be one of blocks, one-hot, got 'words'"),
    ({"n_actions": 0}, "n_actions must be at least 1, got 0"),
    ({"table": [[1.0, np.nan]]}, r"table must be finite, got nan at index \(0, 1\)"),
    ({"table": jnp.asarray([[np.inf]])}, "table must be finite, got"),
    ({"table": [1.0, 2.0]}, r"table must have shape \(n_contexts, n_columns\), got shape \(2,\)"),
    ({"table": np.zeros((0, 3))}, "table must not be empty"),
    ({"table": [[1e300]]}, r"table must fit into float32, got a value of size 1e\+300"),
    ({"table": ROWS, "n_columns": 4}, "n_columns must be that of the table, 3, got 4"),
    ({"n_columns": 0}, "n_columns must be at least 1, got 0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_a_bad_setting_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Coded(**{"n_actions": 2, "code": "blocks", **changes})


def test_without_a_table_the_number_of_columns_is_needed() -> None:
    with pytest.raises(InvalidType, match="n_columns must be an integer, got None"):
        Coded(n_actions=2, code="blocks")


@pytest.mark.parametrize("context", [6, -1])
def test_an_index_outside_the_table_is_refused(context: int) -> None:
    with pytest.raises(InvalidArgument, match=f"context must be an index below 6, got {context}"):
        Coded(n_actions=2, code="blocks", table=ROWS).embed(context)


def test_a_context_that_is_no_vector_of_the_right_length_is_refused() -> None:
    inputs = Coded(n_actions=2, code="one-hot", n_columns=2)
    with pytest.raises(InvalidArgument, match=r"context must have shape \(2,\), got shape \(3,\)"):
        inputs.embed(np.zeros(3))
    with pytest.raises(InvalidArgument, match="context must be finite"):
        inputs.embed([0.0, np.nan])
