"""How do a context vector and an action become one input vector? By blocks, or by a one-hot code.

"blocks" copies the context into the action's block and leaves the other blocks zero (dimension
n_columns * n_actions); "one-hot" puts the code of the action behind the context (dimension
n_columns + n_actions). Neither is ever stored for a whole data set: a context is embedded when it
is dealt.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count, finite_array, finite_value, one_index, one_of
from banditsrl.errors import InvalidArgument

CODES = ("blocks", "one-hot")


class Inputs(eqx.Module):
    """Input vectors of (context, action) pairs, in float32: embed(x)[a] is that of action a.

    Args:
        n_actions: Number of actions A.
        code: "blocks" or "one-hot".
        table: Context vectors (n_contexts, n_columns); a context is then an index into it.
        n_columns: Length of a context vector, where there is no table; a context is the vector.

    Example:
        >>> Inputs(n_actions=2, code="one-hot", n_columns=1).embed([0.5]).tolist()
        [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]
        >>> Inputs(n_actions=2, code="blocks", table=[[1.0, 2.0]]).embed(0).tolist()
        [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """

    table: Array | None
    n_columns: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    code: str = eqx.field(static=True)

    def __init__(
        self, *, n_actions: int, code: str, table: Any = None, n_columns: int | None = None
    ) -> None:
        self.n_actions = count("n_actions", n_actions)
        self.code = one_of("code", code, CODES)
        self.table = None if table is None else _single(table)
        width = n_columns if self.table is None else self.table.shape[1]
        self.n_columns = count("n_columns", width)
        if n_columns not in (None, self.n_columns):
            raise InvalidArgument(
                f"n_columns must be that of the table, {self.n_columns}, got {n_columns}."
            )

    @property
    def dim(self) -> int:
        """Dimension of an input vector."""
        if self.code == "blocks":
            return self.n_columns * self.n_actions
        return self.n_columns + self.n_actions

    def vector(self, context: Any) -> Array:
        """The vector of a context, (n_columns,)."""
        if self.table is not None:
            one_index("context", context, self.table.shape[0])
            return self.table[jnp.asarray(context)]
        finite_value("context", context)
        vector = jnp.asarray(context, dtype=jnp.float32)
        if vector.shape != (self.n_columns,):
            raise InvalidArgument(
                f"context must have shape ({self.n_columns},), got shape {vector.shape}."
            )
        return vector

    def embed(self, context: Any) -> Array:
        """One input vector per action, (A, dim)."""
        vector, one_hot = self.vector(context), jnp.eye(self.n_actions, dtype=jnp.float32)
        if self.code == "blocks":
            return (one_hot[:, :, None] * vector).reshape(self.n_actions, self.dim)
        copies = jnp.broadcast_to(vector, (self.n_actions, self.n_columns))
        return jnp.concatenate([copies, one_hot], axis=1)


def one_hot_features(contexts: NDArray[np.float64], n_actions: int) -> NDArray[np.float64]:
    """The "one-hot" inputs of all contexts (X, n_columns) in a table, (X, A, n_columns + A)."""
    copies = np.repeat(contexts[:, None], n_actions, axis=1)  # (X, A, n_columns)
    codes = np.broadcast_to(np.eye(n_actions), (len(contexts), n_actions, n_actions))
    return np.concatenate([copies, codes], axis=2)


def _single(table: Any) -> Array:
    """The table as one float32 array; one that already is one is shared, not copied."""
    if isinstance(table, Array) and table.dtype == jnp.float32 and table.ndim == 2 and table.size:
        finite_value("table", table)
        return table
    wide = finite_array("table", table, "(n_contexts, n_columns)")
    largest = float(np.abs(wide).max())
    if largest > float(np.finfo(np.float32).max):
        raise InvalidArgument(f"table must fit into float32, got a value of size {largest:g}.")
    return jnp.asarray(wide.astype(np.float32))
