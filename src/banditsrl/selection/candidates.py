"""How are candidates of different dimension used together? Embeddings are padded with zeros.

The current candidate differs from seed to seed, so its index m is an array, and all embeddings must
have the same shape.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import one_index
from banditsrl.core.representation import Context, Representation
from banditsrl.linear.ridge import Ridge, estimate_noise
from banditsrl.numerics.seed_axis import look_up, select_row
from banditsrl.representations.table import Table
from banditsrl.selection.certificate import Facts, known_or
from banditsrl.selection.moments import are_all_tables
from banditsrl.selection.norms import largest_norm


class CandidateSet(eqx.Module):
    """The candidates Phi of BanditSRL."""

    representations: tuple[Representation, ...]

    def __len__(self) -> int:
        return len(self.representations)

    @property
    def padded_dim(self) -> int:
        """The dimension to which embeddings are padded."""
        return max(r.dim for r in self.representations)

    @property
    def dims(self) -> NDArray[np.float64]:
        """Dimension of every candidate, (M,)."""
        return np.array([float(r.dim) for r in self.representations])

    def embed(self, context: Context, m: Array, dim: int | None = None) -> Array:
        """Return candidate m's embedding of a context, padded with zeros, (A, d).

        It is padded to `dim` entries, which must be enough for candidate m; by default to those of
        the largest candidate.
        """
        if are_all_tables(self.representations):
            tables = self._stack_tables()  # (M, X, A, d)
            n_contexts = tables.shape[1]
            one_index("context", context, n_contexts)
            return look_up(tables.reshape(-1, *tables.shape[2:]), m * n_contexts + context, dim)
        stacked = jnp.stack([self.pad(r.embed(context)) for r in self.representations])
        return look_up(stacked, m, dim)

    def embed_action(
        self, context: Context, m: Array, action: Array, dim: int | None = None
    ) -> Array:
        """Return candidate m's embedding of one action, padded likewise, (d,)."""
        if are_all_tables(self.representations):
            tables = self._stack_tables()  # (M, X, A, d)
            n_contexts, n_actions, padded = tables.shape[1:]
            row = (m * n_contexts + context) * n_actions + action
            return look_up(tables.reshape(-1, padded), row, dim)
        return jnp.asarray(select_row(self.embed(context, m, dim), action))

    def pad(self, phi: Array) -> Array:
        """Return embeddings (..., d) with zeros after them, up to the padded dimension."""
        missing = self.padded_dim - phi.shape[-1]
        return jnp.pad(phi, [(0, 0)] * (phi.ndim - 1) + [(0, missing)])

    def update_norms(self, so_far: Array, m: Array, phi: Array) -> Array:
        """Return the largest norms seen, (M,), after an embedding of candidate m.

        Norms that are known beforehand are not tracked; those of the other candidates are filled in
        at phase ends.
        """
        if all(r.has_known_norms for r in self.representations):
            return so_far
        return so_far.at[m].max(largest_norm(phi))

    def facts(self, m: Array, ridge: Ridge, norms: Array, sigma: float | None) -> Facts:
        """Return dimension, bounds and noise level of candidate m; what is unknown is estimated."""
        theta_norm = jnp.sqrt((ridge.theta**2).sum())
        L = [known_or(r.L, norms[k]) for k, r in enumerate(self.representations)]
        B = [known_or(r.B, theta_norm) for r in self.representations]
        dim = jnp.asarray(self.dims)[m]
        noise = known_or(sigma, estimate_noise(ridge, dim))
        return Facts(dim, jnp.stack(L)[m], jnp.stack(B)[m], noise)

    def _stack_tables(self) -> Array:
        tables = [r.features for r in self.representations if isinstance(r, Table)]
        return jnp.stack([self.pad(jnp.asarray(features)) for features in tables])
