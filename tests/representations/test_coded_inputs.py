"""Is the input vector of a context and an action the one that its code describes?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.representations.coded import Inputs, one_hot_features

ROWS = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


def by_hand(vector: Any, n_actions: int, code: str) -> Any:
    """Built entry by entry."""
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
    indexed = Inputs(n_actions=4, code=code, table=ROWS)
    direct = Inputs(n_actions=4, code=code, n_columns=3)
    assert indexed.dim == direct.dim == dim
    assert indexed.n_columns == direct.n_columns == 3
    for x, row in enumerate(ROWS):
        expected = by_hand(row, 4, code)
        for phi in (indexed.embed(x), direct.embed(row)):
            assert phi.dtype == jnp.float32
            np.testing.assert_array_equal(phi, expected)
        np.testing.assert_array_equal(indexed.vector(x), row)


@pytest.mark.parametrize("code", ["blocks", "one-hot"])
@pytest.mark.parametrize("wide", [False, True])
def test_embeddings_compile_and_map_and_stay_in_float32(code: str, wide: bool) -> None:
    inputs = Inputs(n_actions=2, code=code, table=ROWS)
    with jax.enable_x64(wide):
        mapped = jax.jit(jax.vmap(inputs.embed, in_axes=-1, out_axes=-1))(jnp.arange(6))
    assert mapped.dtype == jnp.float32
    np.testing.assert_array_equal(
        np.moveaxis(np.asarray(mapped), -1, 0), [by_hand(row, 2, code) for row in ROWS]
    )


def test_a_float32_table_is_shared_and_not_copied() -> None:
    table = jnp.asarray(ROWS)
    assert Inputs(n_actions=2, code="blocks", table=table).table is table


def test_a_table_passed_to_a_compiled_function_is_an_argument_and_no_constant() -> None:
    inputs = Inputs(n_actions=2, code="blocks", table=ROWS)
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
        Inputs(**{"n_actions": 2, "code": "blocks", **changes})


def test_without_a_table_the_number_of_columns_is_needed() -> None:
    with pytest.raises(InvalidType, match="n_columns must be an integer, got None"):
        Inputs(n_actions=2, code="blocks")


@pytest.mark.parametrize("context", [6, -1])
def test_an_index_outside_the_table_is_refused(context: int) -> None:
    with pytest.raises(InvalidArgument, match=f"context must be an index below 6, got {context}"):
        Inputs(n_actions=2, code="blocks", table=ROWS).embed(context)


def test_a_context_that_is_no_vector_of_the_right_length_is_refused() -> None:
    inputs = Inputs(n_actions=2, code="one-hot", n_columns=2)
    with pytest.raises(InvalidArgument, match=r"context must have shape \(2,\), got shape \(3,\)"):
        inputs.embed(np.zeros(3))
    with pytest.raises(InvalidArgument, match="context must be finite"):
        inputs.embed([0.0, np.nan])
