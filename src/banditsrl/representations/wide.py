"""What is a safe first guess at an embedding? The context itself beside random features of it.

    psi(x) = [1, z / sqrt(m), f(x)],   z = (x - centre) / deviation, cut off at -5 and 5

with K random features f of one of two kinds:

    waves:  f_k(x) = sqrt(2 / K) cos(w_k . z / sqrt(m) + b_k),  w_k standard normal, b_k uniform
    steps:  f_k(x) = 1[x_{j_k} >= c_k] / sqrt(K),               c_k a quantile of the column j_k

Waves see columns together and suit smooth rewards; steps see each column alone, whatever its scale,
and suit thresholds, counts and categories. Every action has a parameter of its own, so the design
matrix is block-diagonal (`linear.blocks`). Where there are many columns, the plain part is a random
projection of them. Medians, deviations and quantiles are of a sample of the contexts seen so far.
The deviation of a column is half the distance between its quantiles at 16 and 84 percent, which is
the standard deviation of a normal column and is not spoilt by a few huge values; where these
quantiles are equal, such as in a rare flag, it is the standard deviation.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count, one_of
from banditsrl.core.representation import Context, Representation, TrainableRepresentation
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.coded import Coded
from banditsrl.representations.conversion import as_representation
from banditsrl.representations.table import Table

MOST_PLAIN = 100
"""Columns beyond this many enter the plain part through a random projection."""

KINDS = ("waves", "steps")

TAIL = 0.03
"""No step is at a quantile beyond this, where too few rounds lie on one side."""


FARTHEST = 5.0
"""Standardised columns are cut off at this size, so that no single value can dominate a sum."""

LARGEST_SHARE = 30.0
"""A standard deviation counts for at least its value divided by this number."""

CONSTANT = 1e-10
"""A column whose standard deviation is a smaller share of its mean is constant up to rounding."""


class Scaling(NamedTuple):
    """What is known of the columns; constant ones have an infinite deviation and no step."""

    centre: Array  # (m,)
    deviation: Array  # (m,)
    cuts: Array  # (K,) of the steps; (0,) of waves


class Wide(TrainableRepresentation):
    """Standardised columns beside random features of them.

    Args:
        inputs: Where the columns come from: of coded inputs the context's vector; of a table the
            columns that do not depend on the action, if the others are only a code of the action;
            of any other representation its embedding of each action.
        kind: The random features: "waves" or "steps".
        n_features: Number K of random features; with 0 the embedding has the columns only.
        seed: Seed of the random features.
    """

    inputs: Representation
    scaling: Scaling | None
    columns: Array | None  # (X, R, m) of a table
    projection: Array | None  # (m, MOST_PLAIN)
    matrix: Array  # (m, K) of waves
    phase: Array  # (K,)
    which: Array  # (K,) columns of steps
    levels: Array  # (K,) quantiles at which they are
    n_actions: int = eqx.field(static=True)
    n_columns: int = eqx.field(static=True)
    n_features: int = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    dim: int = eqx.field(static=True)
    L: float | None
    B: float | None

    @in_float64
    def __init__(
        self, inputs: Any, *, kind: str = "waves", n_features: int = 128, seed: int = 0
    ) -> None:
        self.inputs = as_representation(inputs)
        self.n_actions = self.inputs.n_actions
        self.columns, self.n_columns = _columns_of(self.inputs)
        self.kind = one_of("kind", kind, KINDS)
        self.n_features = count("n_features", n_features, 0)
        m, K = self.n_columns, self.n_features
        plain, first, second = jax.random.split(jax.random.key(count("seed", seed, 0)), 3)
        is_long = m > MOST_PLAIN
        self.projection = jax.random.normal(plain, (m, MOST_PLAIN)) if is_long else None
        n_waves, n_steps = (K, 0) if kind == "waves" else (0, K)
        self.matrix = jax.random.normal(first, (m, n_waves)) / math.sqrt(m)
        self.phase = jax.random.uniform(second, (n_waves,), maxval=2.0 * math.pi)
        rounds = [jax.random.permutation(k, m) for k in jax.random.split(first, -(-n_steps // m))]
        self.which = jnp.concatenate([jnp.zeros(0, int), *rounds])[:n_steps]  # evenly many each
        self.levels = jax.random.uniform(second, (n_steps,), minval=TAIL, maxval=1.0 - TAIL)
        self.dim = 1 + min(m, MOST_PLAIN) + K
        self.scaling = self.L = self.B = None

    def rows(self, context: Context) -> Array:
        """Return the columns of a context, (R, m): one row for all actions, or one for each."""
        if self.columns is not None:
            return self.columns[context]
        if isinstance(self.inputs, Coded):
            return self.inputs.columns(context)[None].astype(jnp.float64)
        return self.inputs.embed(context)

    @property
    def n_rows(self) -> int:
        """Number R of rows of columns: one for all actions, or one for each action."""
        if self.columns is not None:
            return int(self.columns.shape[1])
        return 1 if isinstance(self.inputs, Coded) else self.n_actions

    @property
    def n_contexts(self) -> int | None:
        """Number of contexts of the inputs, if they are a table."""
        return self.inputs.n_contexts

    @in_float64
    def init(self, key: Array) -> Scaling:
        """Return the scaling before anything was seen."""
        del key
        zeros = jnp.zeros(self.n_columns, dtype=jnp.float64)
        return Scaling(zeros, zeros + 1.0, jnp.zeros(len(self.levels), dtype=jnp.float64))

    def at(self, weights: Scaling) -> "Wide":
        """Return the embedding with the given scaling of its columns."""
        placed: Wide = eqx.tree_at(
            lambda wide: wide.scaling, self, weights, is_leaf=lambda leaf: leaf is None
        )
        return placed

    @in_float64
    def standardise(self, context: Context) -> Array:
        """Return the standardised columns z of a context, (R, m)."""
        scaling = self._known_scaling()
        return _scale(self.rows(context), scaling.centre, scaling.deviation)

    @in_float64
    def locate(self, context: Context) -> Array:
        """Return the standardised columns, (R, m), where a new value of a constant one is far away.

        A constant column has no unit, so `standardise` ignores what it says.
        """
        centre, deviation, _ = self._known_scaling()
        rows = self.rows(context)
        differs = jnp.abs(rows - centre) > CONSTANT * jnp.abs(centre)
        is_new = jnp.isinf(deviation) & differs
        return jnp.where(is_new, FARTHEST, _scale(rows, centre, deviation))

    def _known_scaling(self) -> Scaling:
        """Return the scaling, or say that it is missing."""
        if self.scaling is None:
            raise InvalidArgument(
                "scaling must be given before a wide embedding is used, got None; "
                "use wide.at(scaling)."
            )
        return self.scaling

    @in_float64
    def embed(self, context: Context) -> Array:
        """Return the embedding psi of every action, (A, k)."""
        return self.embed_standardised(self.standardise(context))

    def embed_standardised(self, z: Array) -> Array:
        """Return the embedding psi of every action, (A, k), given the standardised columns."""
        plain = z / math.sqrt(self.n_columns)
        if self.projection is not None:
            plain = plain @ self.projection / math.sqrt(MOST_PLAIN)
        size = 1.0 / math.sqrt(max(self.n_features, 1))
        if self.kind == "waves":
            features = math.sqrt(2.0) * size * jnp.cos(z @ self.matrix + self.phase)
        else:
            cuts = self.scaling.cuts if self.scaling is not None else jnp.zeros(len(self.which))
            features = jnp.where(z[:, self.which] >= cuts, size, 0.0)
        psi = jnp.concatenate([jnp.ones((len(z), 1)), plain, features], axis=1)
        return jnp.broadcast_to(psi, (self.n_actions, self.dim))

    @in_float64
    def fit_scaling(self, rows: Array, valid: Array) -> Scaling:
        """Return the scaling from the rows (n, m) that are valid (n,); at least one must be."""
        n = valid.sum()
        ordered = jnp.sort(jnp.where(valid[:, None], rows, jnp.inf), axis=0)  # (n, m)
        low, median, high = (ordered[(share * n).astype(int)] for share in (0.16, 0.5, 0.84))
        mean = jnp.where(valid[:, None], rows, 0.0).sum(0) / n
        squares = jnp.where(valid[:, None], (rows - mean) ** 2, 0.0).sum(0) / n
        standard = jnp.sqrt(squares)
        robust = jnp.maximum((high - low) / 2.0, standard / LARGEST_SHARE)
        deviation = jnp.where(high > low, robust, standard)
        varies = standard > CONSTANT * jnp.abs(mean)
        centre = jnp.where(high > low, median, mean)
        deviation = jnp.where(varies, deviation, jnp.inf)
        z = _scale(rows, centre, deviation)
        return Scaling(centre, deviation, self._cuts(z[:, self.which], valid))

    def _cuts(self, rows: Array, valid: Array) -> Array:
        """Return the value at each step's quantile, or the next above the least."""
        values = jnp.sort(jnp.where(valid[:, None], rows, jnp.inf), axis=0)  # (n, K)
        at = (self.levels * valid.sum()).astype(int)
        found = jnp.take_along_axis(values, at[None], axis=0)[0]
        above = jnp.where(values > values[0], values, jnp.inf).min(0)
        return jnp.maximum(found, above)


def _scale(rows: Array, centre: Array, deviation: Array) -> Array:
    """Return standardised rows, cut off, and rounded to the 24 bits of float32.

    Compiled programs differ in the last bit of a division. A step or a tree that splits at the very
    value of a category would then see that category on either side. Rounding removes this bit, and
    also what is left of the unit and the zero of a column.
    """
    z = jnp.clip((rows - centre) / deviation, -FARTHEST, FARTHEST)
    return jax.lax.reduce_precision(z, exponent_bits=8, mantissa_bits=23)


def _columns_of(inputs: Representation) -> tuple[Array | None, int]:
    """Return the columns of a table (X, R, m), or None for other inputs; and m."""
    if isinstance(inputs, Coded):
        return None, inputs.n_columns
    if not isinstance(inputs, Table):
        return None, inputs.dim
    features: NDArray[np.float64] = np.asarray(inputs.features)
    of_context = (features == features[:, :1]).all(axis=(0, 1))  # (m,) the same for all actions
    of_action = (features == features[:1]).all(axis=(0, 1))
    if of_context.any() and (of_context | of_action).all():
        features = features[:, :1, of_context]
    return jnp.asarray(features), int(features.shape[2])
