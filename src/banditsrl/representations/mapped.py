"""How is a context embedded when it is not an index? As it is, or by a function of it."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import count, finite_value, positive_or_none
from banditsrl.core.representation import Context, Representation
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64


class Given(Representation):
    """The context already is one vector per action, (n_actions, dim).

    Args:
        n_actions: Number of actions A.
        dim: Dimension d of the vectors.
        L: Bound on the norm of the vectors; estimated by the policy when None.
        B: Bound on the norm of the parameter; estimated by the policy when None.
    """

    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(
        self, *, n_actions: int, dim: int, L: float | None = None, B: float | None = None
    ) -> None:
        self.n_actions, self.dim = count("n_actions", n_actions), count("dim", dim)
        self.L, self.B = positive_or_none("L", L), positive_or_none("B", B)

    @in_float64
    def embed(self, context: Context) -> Array:
        """Return the context itself in float64, (A, d)."""
        finite_value("context", context)
        phi = jnp.asarray(context, dtype=jnp.float64)
        if phi.shape != (self.n_actions, self.dim):
            raise InvalidArgument(
                f"context must have shape ({self.n_actions}, {self.dim}), got shape {phi.shape}."
            )
        return phi


class Mapped(Representation):
    """Any function of the context that returns one vector per action, (n_actions, dim).

    Args:
        function: The function, written with `jax.numpy`, since it runs inside compiled code.
        n_actions: Number of actions A.
        dim: Dimension d of the vectors.
        L: Bound on the norm of the vectors; estimated by the policy when None.
        B: Bound on the norm of the parameter; estimated by the policy when None.
    """

    function: Callable[[Context], Array] = eqx.field(static=True)
    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(
        self,
        function: Callable[[Context], Array],
        *,
        n_actions: int,
        dim: int,
        L: float | None = None,
        B: float | None = None,
    ) -> None:
        self.function = function
        self.n_actions, self.dim = count("n_actions", n_actions), count("dim", dim)
        self.L, self.B = positive_or_none("L", L), positive_or_none("B", B)

    @in_float64
    def embed(self, context: Context) -> Array:
        """Return the value of the function in float64, (A, d)."""
        phi = jnp.asarray(self.function(context), dtype=jnp.float64)
        finite_value("function(context)", phi)
        if phi.shape != (self.n_actions, self.dim):
            raise InvalidArgument(
                f"function must return an array of shape ({self.n_actions}, {self.dim}), "
                f"got shape {phi.shape}."
            )
        return phi
