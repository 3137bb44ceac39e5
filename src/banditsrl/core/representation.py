"""What is a representation? A map from a context to one vector per action.

The paper's phi(x, a) is `representation.embed(x)[a]`. There is one `embed` for all of them: a
table, random features, a network at given weights. What training changes never lives in the object;
it is a pytree in the state of a policy, and `TrainableRepresentation.at` puts the two together.
"""

from abc import abstractmethod
from typing import Any, TypeAlias

import equinox as eqx
from jax import Array

from banditsrl.core.settings import DescribedMeta

Context: TypeAlias = Any
"""What a problem deals and a representation embeds: a pytree of arrays, often a single one.

An index into a table, a vector of columns, or one vector per action: the problem decides.
"""

Weights: TypeAlias = Any
"""What a trainable representation has learned: a pytree of arrays."""


class Representation(eqx.Module, metaclass=DescribedMeta):
    """A map from a context to one vector per action.

    A subclass owes the four attributes and `embed`. A bound that is None is estimated by the policy
    that uses the representation.

    Attributes:
        dim: Dimension d of the vectors.
        n_actions: Number of actions A.
        L: Bound on the norm of every vector, or None if it is unknown.
        B: Bound on the norm of the reward parameter, or None if it is unknown.
    """

    dim: eqx.AbstractVar[int]
    n_actions: eqx.AbstractVar[int]
    L: eqx.AbstractVar[float | None]
    B: eqx.AbstractVar[float | None]

    @property
    def n_contexts(self) -> int | None:
        """Number of contexts X if a context is an index into a table, otherwise None."""
        return None

    @property
    def has_known_norms(self) -> bool:
        """Whether L is the largest norm of all embeddings, so that none need be observed."""
        return False

    @abstractmethod
    def embed(self, context: Context) -> Array:
        """Return one vector per action, (A, d) in float64."""

    def embed_action(self, context: Context, action: Array) -> Array:
        """Return the vector of one action, (d,). Override it where `embed` would waste work."""
        return self.embed(context)[action]

    def embed_times(self, context: Context, matrix: Array) -> Array:
        """Return `embed(context) @ matrix` in the precision of the matrix, (A, k).

        Override it where writing the whole embedding down would waste work.
        """
        return self.embed(context).astype(matrix.dtype) @ matrix


class TrainableRepresentation(Representation):
    """A representation whose embedding depends on weights that a policy trains.

    `init` gives the weights before any training, and `at` the representation at given weights. The
    object itself is the recipe: it holds settings, never weights that training changes.
    """

    @abstractmethod
    def init(self, key: Array) -> Weights:
        """Return the weights before any training."""

    @abstractmethod
    def at(self, weights: Weights) -> Representation:
        """Return this representation at the given weights."""
