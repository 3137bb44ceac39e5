"""How is a context embedded, one vector per action? Representations that do not learn.

A representation has a dimension and `embed(context) -> phi (A, d)`; the paper's phi(x, a) is
`embed(x)[a]`. L bounds the norm of every embedding and B the norm of the parameter; a bound that
is None is estimated by the policy that uses it (the largest norm seen, the norm of the estimate).
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count, finite_array, finite_value, one_index, positive
from banditsrl.core.representation import Representation
from banditsrl.errors import BoundExceeded, InvalidArgument, InvalidType
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import look_up
from banditsrl.problems.finite import Candidate
from banditsrl.representations.coded import Inputs

SMALLEST_BOUND = 1e-100
"""L of features that vanish: its square can still be divided by."""


class Table(Representation):
    """Features given for every (context index, action): phi(x, a) = features[x, a].

    Args:
        features: (n_contexts, n_actions, dim).
        L: Bound on the norm of the features; their largest norm by default.
        B: Bound on the norm of the parameter; estimated by the policy when None.

    Example:
        >>> Table([[[1.0, 0.0], [0.0, 2.0]]]).L
        2.0
    """

    features: NDArray[np.float64]
    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(self, features: Any, *, L: float | None = None, B: float | None = None) -> None:
        self.features = finite_array("features", features, "(n_contexts, n_actions, dim)")
        self.n_actions, self.dim = (int(n) for n in self.features.shape[1:])
        largest = float(np.linalg.norm(self.features, axis=-1).max())
        self.L = _bound("L", L) or max(largest, SMALLEST_BOUND)
        self.B = _bound("B", B)
        if largest > self.L:
            warnings.warn(
                f"L = {self.L:g} was given but the features have norm {largest:g}: "
                "confidence widths built on L do not hold.",
                BoundExceeded,
                stacklevel=4,
            )

    @property
    def has_known_norms(self) -> bool:
        """Whether L is the largest norm of all embeddings: it is."""
        return True

    @property
    def n_contexts(self) -> int | None:
        """Number of contexts X."""
        return int(self.features.shape[0])

    @in_float64
    def embed(self, context: Any) -> Array:
        """Look the features up, (A, d)."""
        one_index("context", context, len(self.features))
        return look_up(jnp.asarray(self.features), context)


class Given(Representation):
    """The context already is one vector per action, (n_actions, dim)."""

    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(
        self, *, n_actions: int, dim: int, L: float | None = None, B: float | None = None
    ) -> None:
        self.n_actions, self.dim = count("n_actions", n_actions), count("dim", dim)
        self.L, self.B = _bound("L", L), _bound("B", B)

    @in_float64
    def embed(self, context: Any) -> Array:
        """The context itself, (A, d)."""
        finite_value("context", context)
        phi = jnp.asarray(context, dtype=jnp.float64)
        if phi.shape != (self.n_actions, self.dim):
            raise InvalidArgument(
                f"context must have shape ({self.n_actions}, {self.dim}), got shape {phi.shape}."
            )
        return phi


class Mapped(Representation):
    """Any function of the context that returns one vector per action, (n_actions, dim).

    The function must be written with `jax.numpy`, since it runs inside compiled code.
    """

    function: Callable[[Any], Array] = eqx.field(static=True)
    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(
        self,
        function: Callable[[Any], Array],
        *,
        n_actions: int,
        dim: int,
        L: float | None = None,
        B: float | None = None,
    ) -> None:
        self.function = function
        self.n_actions, self.dim = count("n_actions", n_actions), count("dim", dim)
        self.L, self.B = _bound("L", L), _bound("B", B)

    @in_float64
    def embed(self, context: Any) -> Array:
        """The function's value, (A, d)."""
        phi = jnp.asarray(self.function(context), dtype=jnp.float64)
        finite_value("function(context)", phi)
        if phi.shape != (self.n_actions, self.dim):
            raise InvalidArgument(
                f"function must return an array of shape ({self.n_actions}, {self.dim}), "
                f"got shape {phi.shape}."
            )
        return phi


class Coded(Representation):
    """A vector of columns and an action, coded as one vector (see `problems.Inputs`)."""

    inputs: Inputs
    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(self, inputs: Inputs, *, L: float | None = None, B: float | None = None) -> None:
        self.inputs = inputs
        self.n_actions, self.dim = inputs.n_actions, inputs.dim
        self.L, self.B = _bound("L", L), _bound("B", B)

    @property
    def n_contexts(self) -> int | None:
        """Rows of the table, if there is one."""
        return None if self.inputs.table is None else int(self.inputs.table.shape[0])

    @in_float64
    def embed(self, context: Any) -> Array:
        """The coded vectors of all actions, (A, d)."""
        return self.inputs.embed(context).astype(jnp.float64)

    def embed_action(self, context: Any, action: Array) -> Array:
        """The coded vector of one action, (d,) float32."""
        x = self.inputs.vector(context)
        code = jax.nn.one_hot(action, self.n_actions, dtype=x.dtype)
        if self.inputs.code == "blocks":
            return (code[:, None] * x[None]).ravel()
        return jnp.concatenate([x, code])

    def embed_times(self, context: Any, matrix: Array) -> Array:
        """`embed(context) @ matrix` without writing the zeros down, (A, k)."""
        x = self.inputs.vector(context).astype(matrix.dtype)
        if self.inputs.code == "blocks":
            return jnp.einsum("c,ack->ak", x, matrix.reshape(self.n_actions, len(x), -1))
        return x @ matrix[: len(x)] + matrix[len(x) :]


def as_representation(source: Any) -> Representation:
    """A representation from what people have: one of ours, a problem's candidate, an array."""
    if isinstance(source, Representation):
        return source
    if isinstance(source, Inputs):
        return Coded(source)
    if isinstance(source, Candidate):
        return Table(source.features, B=max(float(np.linalg.norm(source.theta)), SMALLEST_BOUND))
    if isinstance(source, np.ndarray | Array | list | tuple):
        return Table(source)
    raise InvalidType(
        "representation must be a Representation, a candidate of a problem or an array of shape "
        f"(n_contexts, n_actions, dim), got {type(source).__name__}."
    )


def as_representations(sources: Sequence[Any]) -> tuple[Representation, ...]:
    """A non-empty set of representations over the same actions."""
    if not isinstance(sources, Sequence):
        raise InvalidType(
            f"representations must be a sequence of candidates, got {type(sources).__name__}."
        )
    candidates = tuple(as_representation(source) for source in sources)
    if not candidates:
        raise InvalidArgument("representations must hold at least one candidate, got an empty set.")
    sizes = {candidate.n_actions for candidate in candidates}
    if len(sizes) > 1:
        raise InvalidArgument(
            f"representations must share the number of actions, got {sorted(sizes)}."
        )
    lengths = {c.n_contexts for c in candidates if c.n_contexts is not None}
    if len(lengths) > 1:
        raise InvalidArgument(
            f"representations must share the number of contexts, got {sorted(lengths)}."
        )
    return candidates


def _bound(name: str, value: float | None) -> float | None:
    return None if value is None else positive(name, value)
