"""Columns and an action as one vector: every way to ask for it gives the dense answer."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.problems import TableProblem
from banditsrl.representations import Coded
from banditsrl.representations.coded import Inputs
from banditsrl.representations.table import as_representation

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((6, 3)).astype(np.float32)
A, C, K = 4, 3, 5

cases = pytest.mark.parametrize("kind", ["index", "vector"])
codes = pytest.mark.parametrize("code", ["blocks", "one-hot"])


def coded(code: str, kind: str) -> Coded:
    where = {"table": ROWS} if kind == "index" else {"n_columns": C}
    return Coded(Inputs(n_actions=A, code=code, **where))  # type: ignore[arg-type]


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
def test_embed_row_and_times_agree_with_the_dense_matrix(code: str, kind: str) -> None:
    inputs = coded(code, kind)
    matrix = RNG.standard_normal((inputs.dim, K)).astype(np.float32)
    for x in range(len(ROWS)):
        expected = dense(code, x)
        phi = inputs.embed(context(kind, x))
        assert (phi.shape, phi.dtype) == (expected.shape, np.float64)
        np.testing.assert_array_equal(phi, expected)
        for a in range(A):
            row = inputs.row(context(kind, x), jnp.asarray(a))
            assert row.dtype == np.float32
            np.testing.assert_array_equal(row, expected[a])
        product = inputs.times(context(kind, x), jnp.asarray(matrix))
        assert product.dtype == np.float32
        np.testing.assert_allclose(product, expected @ matrix, rtol=1e-5, atol=1e-6)


@cases
@codes
def test_rows_compile_and_map_over_many_pairs(code: str, kind: str) -> None:
    inputs, n = coded(code, kind), 9
    xs, actions = RNG.integers(len(ROWS), size=n), RNG.integers(A, size=n)
    contexts = jnp.asarray(xs if kind == "index" else ROWS[xs])
    rows = jax.jit(jax.vmap(inputs.row))(contexts, jnp.asarray(actions))
    expected = [dense(code, x)[a] for x, a in zip(xs, actions, strict=True)]
    np.testing.assert_array_equal(rows, expected)


@codes
def test_products_keep_the_precision_of_the_matrix(code: str) -> None:
    inputs = coded(code, "index")
    matrix = RNG.standard_normal((inputs.dim, K))
    with jax.enable_x64(True):
        product = inputs.times(2, jnp.asarray(matrix))
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, dense(code, 2) @ matrix, rtol=1e-14)


def test_what_a_table_problem_or_a_fresh_wheel_offers_becomes_coded() -> None:
    table = TableProblem(ROWS, [0, 1, 2, 0, 1, 2]).representations[0]
    wheel = banditsrl.make_problem("wheel", n_contexts=None).representations[0]
    found = [as_representation(source) for source in (table, wheel)]
    assert all(isinstance(representation, Coded) for representation in found)
    assert [(r.n_actions, r.dim, r.L, r.B) for r in found] == [
        (3, 9, None, None),
        (5, 7, None, None),
    ]


def test_bounds_are_kept_and_bad_contexts_refused() -> None:
    inputs = Inputs(n_actions=A, code="blocks", table=ROWS)
    bounded = Coded(inputs, L=2.0, B=3.0)
    assert (bounded.L, bounded.B) == (2.0, 3.0)
    with pytest.raises(InvalidArgument, match=r"L must be greater than 0, got -1\.0"):
        Coded(inputs, L=-1.0)
    for ask in (bounded.embed, lambda x: bounded.row(x, jnp.asarray(0))):
        with pytest.raises(InvalidArgument, match="context must be an index below 6, got 6"):
            ask(6)
    with pytest.raises(InvalidArgument, match=r"context must have shape \(3,\), got shape \(2,\)"):
        coded("one-hot", "vector").times(np.ones(2), jnp.ones((7, 2)))
