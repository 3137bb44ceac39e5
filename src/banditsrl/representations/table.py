"""How is a context embedded when it is an index? By looking its features up in a table."""

import warnings
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import booleans, finite_array, one_index, positive_or_none
from banditsrl.core.representation import Context, Representation
from banditsrl.errors import BoundExceeded
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import look_up

SMALLEST_BOUND = 1e-100
"""L of features that are all zero: small, but its square can still be divided by."""


class Table(Representation):
    """Features given for every (context index, action): phi(x, a) = features[x, a].

    Args:
        features: (n_contexts, n_actions, dim).
        L: Bound on the norm of the features; their largest norm by default.
        B: Bound on the norm of the parameter; estimated by the policy when None.
        possible: Which (context, action) pairs can occur, (n_contexts, n_actions); all by default.
            L bounds the features of these pairs only.

    Example:
        >>> Table([[[1.0, 0.0], [0.0, 2.0]]]).L
        2.0
    """

    features: NDArray[np.float64]
    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(
        self,
        features: Any,
        *,
        L: float | None = None,
        B: float | None = None,
        possible: Any = None,
    ) -> None:
        self.features = finite_array("features", features, "(n_contexts, n_actions, dim)")
        self.n_actions, self.dim = (int(n) for n in self.features.shape[1:])
        largest = _largest_norm(self.features, possible)
        self.L = positive_or_none("L", L) or max(largest, SMALLEST_BOUND)
        self.B = positive_or_none("B", B)
        if largest > self.L:
            warnings.warn(
                f"L = {self.L:g} was given but the features have norm {largest:g}: "
                "confidence widths built on L do not hold.",
                BoundExceeded,
                stacklevel=4,
            )

    @property
    def has_known_norms(self) -> bool:
        """All features are known, and L bounds them."""
        return True

    @property
    def n_contexts(self) -> int:
        """Number of contexts X."""
        return int(self.features.shape[0])

    @in_float64
    def embed(self, context: Context) -> Array:
        """Return the features of a context, (A, d)."""
        one_index("context", context, len(self.features))
        return look_up(jnp.asarray(self.features), context)


def _largest_norm(features: NDArray[np.float64], possible: Any) -> float:
    norms = np.linalg.norm(features, axis=-1)  # (X, A)
    if possible is None:
        return float(norms.max())
    return float(norms[booleans("possible", possible, norms.shape)].max(initial=0.0))
