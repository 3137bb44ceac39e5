"""How do a context vector and an action become one vector? By blocks, or by a one-hot code.

"blocks" copies the context into the block of the action and leaves the other blocks zero (dimension
n_columns * n_actions). "one-hot" appends the one-hot code of the action to the context (dimension
n_columns + n_actions). The vectors are never stored for a whole data set: a context is embedded
when it is dealt.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import (
    count,
    finite_array,
    finite_value,
    one_index,
    one_of,
    positive_or_none,
)
from banditsrl.core.representation import Context, Representation
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64

CODES = ("blocks", "one-hot")


class Coded(Representation):
    """A vector of columns and an action, coded as one vector.

    The columns are kept in float32, since they usually are the inputs of a network.

    Args:
        n_actions: Number of actions A.
        code: "blocks" or "one-hot".
        table: Context vectors (n_contexts, n_columns); a context is then an index into it.
        n_columns: Length of a context vector if there is no table; a context is then the vector.
        L: Bound on the norm of the vectors; estimated by the policy when None.
        B: Bound on the norm of the parameter; estimated by the policy when None.

    Example:
        >>> Coded(n_actions=2, code="one-hot", n_columns=1).embed([0.5]).tolist()
        [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]
        >>> Coded(n_actions=2, code="blocks", table=[[1.0, 2.0]]).embed(0).tolist()
        [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """

    table: Array | None
    n_columns: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)
    code: str = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(
        self,
        *,
        n_actions: int,
        code: str,
        table: Any = None,
        n_columns: int | None = None,
        L: float | None = None,
        B: float | None = None,
    ) -> None:
        self.n_actions = count("n_actions", n_actions)
        self.code = one_of("code", code, CODES)
        self.table = None if table is None else _as_float32(table)
        width = n_columns if self.table is None else self.table.shape[1]
        self.n_columns = count("n_columns", width)
        if n_columns not in (None, self.n_columns):
            raise InvalidArgument(
                f"n_columns must be that of the table, {self.n_columns}, got {n_columns}."
            )
        blocks, one_hot = self.n_columns * self.n_actions, self.n_columns + self.n_actions
        self.dim = blocks if self.code == "blocks" else one_hot
        self.L, self.B = positive_or_none("L", L), positive_or_none("B", B)

    @property
    def n_contexts(self) -> int | None:
        """Number of rows of the table, or None if there is no table."""
        return None if self.table is None else int(self.table.shape[0])

    def columns(self, context: Context) -> Array:
        """Return the columns of a context, (n_columns,) in the precision in which they are given.

        A table is in float32.
        """
        if self.table is not None:
            one_index("context", context, self.table.shape[0])
            return self.table[jnp.asarray(context)]
        finite_value("context", context)
        columns = jnp.asarray(context)
        if columns.shape != (self.n_columns,):
            raise InvalidArgument(
                f"context must have shape ({self.n_columns},), got shape {columns.shape}."
            )
        return columns

    def vector(self, context: Context) -> Array:
        """Return the columns of a context, (n_columns,) in float32."""
        return self.columns(context).astype(jnp.float32)

    @in_float64
    def embed(self, context: Context) -> Array:
        """Return the coded vectors of all actions, (A, d)."""
        vector = self.vector(context).astype(jnp.float64)
        one_hot = jnp.eye(self.n_actions, dtype=jnp.float64)
        if self.code == "blocks":
            return (one_hot[:, :, None] * vector).reshape(self.n_actions, self.dim)
        copies = jnp.broadcast_to(vector, (self.n_actions, self.n_columns))
        return jnp.concatenate([copies, one_hot], axis=1)

    def embed_action(self, context: Context, action: Array) -> Array:
        """Return the coded vector of one action, (d,) in float32."""
        vector = self.vector(context)
        one_hot = jax.nn.one_hot(action, self.n_actions, dtype=vector.dtype)
        if self.code == "blocks":
            return (one_hot[:, None] * vector[None]).ravel()
        return jnp.concatenate([vector, one_hot])

    def embed_times(self, context: Context, matrix: Array) -> Array:
        """Return `embed(context) @ matrix`, (A, k), without multiplying by the zeros."""
        vector = self.vector(context).astype(matrix.dtype)
        if self.code == "blocks":
            blocks = matrix.reshape(self.n_actions, self.n_columns, -1)
            return jnp.einsum("c,ack->ak", vector, blocks)
        return vector @ matrix[: self.n_columns] + matrix[self.n_columns :]


def one_hot_features(contexts: NDArray[np.float64], n_actions: int) -> NDArray[np.float64]:
    """Return the "one-hot" code of every context (X, n_columns), (X, A, n_columns + A)."""
    copies = np.repeat(contexts[:, None], n_actions, axis=1)  # (X, A, n_columns)
    codes = np.broadcast_to(np.eye(n_actions), (len(contexts), n_actions, n_actions))
    return np.concatenate([copies, codes], axis=2)


def _as_float32(table: Any) -> Array:
    """Return the table in float32; one that already is in float32 is shared, not copied."""
    if isinstance(table, Array) and table.dtype == jnp.float32 and table.ndim == 2 and table.size:
        finite_value("table", table)
        return table
    wide = finite_array("table", table, "(n_contexts, n_columns)")
    largest = float(np.abs(wide).max())
    if largest > float(np.finfo(np.float32).max):
        raise InvalidArgument(f"table must fit into float32, got a value of size {largest:g}.")
    return jnp.asarray(wide.astype(np.float32))
