"""How is a context embedded by random features? By Fourier features of the coded vectors.

phi(x, a) = sqrt(2 / d) cos(W [x, a] + b), W ~ N(0, 1/m), b uniform on [0, 2 pi): an embedding in
which linear functions approximate those of a Gaussian kernel (Rahimi and Recht, 2007).
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import count
from banditsrl.core.representation import Context, Representation
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.conversion import as_representation


class Fourier(Representation):
    """Random Fourier features, fixed by a seed.

    Args:
        inputs: The representation whose vectors (dimension m) are mapped to random features.
        dim: Number of features d.
        seed: Seed of the random matrix and phases.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> Fourier(problem.representations[0], dim=100).dim
        100
    """

    inputs: Representation
    matrix: Array  # (m, d) float32
    phase: Array  # (d,) float32
    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    @in_float64
    def __init__(self, inputs: Any, *, dim: int = 100, seed: int = 0) -> None:
        self.inputs = as_representation(inputs)
        self.dim, self.n_actions = count("dim", dim), self.inputs.n_actions
        self.L, self.B = math.sqrt(2.0), None
        m = self.inputs.dim
        matrix, phase = jax.random.split(jax.random.key(count("seed", seed, 0)))
        self.matrix = jax.random.normal(matrix, (m, dim), dtype=jnp.float32) / jnp.float32(m**0.5)
        self.phase = jax.random.uniform(phase, (dim,), dtype=jnp.float32, maxval=2.0 * math.pi)

    @property
    def n_contexts(self) -> int | None:
        """Number of contexts X of the inputs, or None if contexts are not indices."""
        return self.inputs.n_contexts

    @in_float64
    def embed(self, context: Context) -> Array:
        """Return the random features of every action, (A, d)."""
        angles = self.inputs.embed_times(context, self.matrix) + self.phase
        return jnp.asarray(math.sqrt(2.0 / self.dim) * jnp.cos(angles).astype(jnp.float64))
