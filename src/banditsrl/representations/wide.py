"""What is a safe first guess at an embedding? The context itself beside random features of it.

    psi(x) = [1, z / sqrt(m), sqrt(2 / K) cos(W z / sqrt(m) + b)],   z = (x - mean) / deviation

with W standard normal and b uniform on [0, 2 pi). Every action has a parameter of its own, so the
design matrix is block-diagonal (`linear.blocks`). Columns are standardised by what was seen of
them early on; where there are many, the plain part is a random projection of them.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.linear.lanes import double
from banditsrl.representations.fixed import Coded, Representation, Table, as_representation

MOST_PLAIN = 100
"""Columns beyond this many enter the plain part through a random projection."""


class Scaling(NamedTuple):
    """Mean and deviation of every column; constant columns have deviation infinity."""

    mean: Array  # (m,)
    deviation: Array  # (m,)


class Wide(eqx.Module):
    """Standardised columns beside random Fourier features of them.

    Args:
        inputs: Where the columns come from: of coded inputs the context's vector; of a table the
            columns that do not depend on the action, if the others are only a code of the action;
            of any other representation its embedding of each action.
        n_features: Number K of random features; none leaves the columns alone.
        seed: Which random features.
    """

    inputs: Representation
    columns: Array | None  # (X, R, m) of a table
    projection: Array | None  # (m, MOST_PLAIN)
    matrix: Array  # (m, K)
    phase: Array  # (K,)
    n_actions: int = eqx.field(static=True)
    n_columns: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    @double
    def __init__(self, inputs: Any, *, n_features: int = 128, seed: int = 0) -> None:
        self.inputs = as_representation(inputs)
        self.n_actions = self.inputs.n_actions
        self.columns, self.n_columns = _columns(self.inputs)
        m, K = self.n_columns, count("n_features", n_features, 0)
        plain, matrix, phase = jax.random.split(jax.random.key(count("seed", seed, 0)), 3)
        is_long = m > MOST_PLAIN
        self.projection = jax.random.normal(plain, (m, MOST_PLAIN)) if is_long else None
        self.matrix = jax.random.normal(matrix, (m, K)) / math.sqrt(m)
        self.phase = jax.random.uniform(phase, (K,), maxval=2.0 * math.pi)
        self.dim = 1 + min(m, MOST_PLAIN) + K

    def rows(self, context: Any) -> Array:
        """The columns of a context, (R, m): one row for all actions, or one for each."""
        if self.columns is not None:
            return self.columns[context]
        if isinstance(self.inputs, Coded):
            return self.inputs.inputs.vector(context)[None].astype(jnp.float64)
        return self.inputs.embed(context)

    def embed(self, scaling: Scaling, context: Any) -> Array:
        """The embedding psi of every action, (A, k)."""
        z = (self.rows(context) - scaling.mean) / scaling.deviation  # (R, m)
        plain = z / math.sqrt(self.n_columns)
        if self.projection is not None:
            plain = plain @ self.projection / math.sqrt(MOST_PLAIN)
        size = math.sqrt(2.0 / max(len(self.phase), 1))
        waves = size * jnp.cos(z @ self.matrix + self.phase)
        psi = jnp.concatenate([jnp.ones((len(z), 1)), plain, waves], axis=1)
        return jnp.broadcast_to(psi, (self.n_actions, self.dim))

    def unscaled(self) -> Scaling:
        """The scaling before anything was seen."""
        zeros = jnp.zeros(self.n_columns, dtype=jnp.float64)
        return Scaling(zeros, zeros + 1.0)


def _columns(inputs: Representation) -> tuple[Array | None, int]:
    """The columns of a table (X, R, m), or None for other inputs; and m."""
    if isinstance(inputs, Coded):
        return None, inputs.inputs.n_columns
    if not isinstance(inputs, Table):
        return None, inputs.dim
    features: NDArray[np.float64] = np.asarray(inputs.features)
    of_context = (features == features[:, :1]).all(axis=(0, 1))  # (m,) the same for all actions
    of_action = (features == features[:1]).all(axis=(0, 1))
    if of_context.any() and (of_context | of_action).all():
        features = features[:, :1, of_context]
    return jnp.asarray(features), int(features.shape[2])
