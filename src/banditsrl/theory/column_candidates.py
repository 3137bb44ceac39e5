"""Which embeddings can be made from plain columns? A few, from simple to rich, in one order.

In all of them every action has a parameter of its own for a vector psi(x) that actions share
(`block_features.py`), and z are the standardised columns of `representations.wide`:

    constant    psi = [1]: the mean reward of each action
    columns     psi = [1, z / sqrt(m)]
    waves       the columns beside random Fourier features of them
    steps       the columns beside random thresholds of them
    products    psi = [1, z / sqrt(m), z_i z_j / m for all i <= j], where there are few columns
    leaves      the leaves of boosted trees, beside what the trees predict

All but the last are fixed before any reward is seen. The trees are fitted to rewards, so they must
be fitted again for every set of rounds on which they are judged.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.numerics.precision import in_float64
from banditsrl.representations.coded import Coded
from banditsrl.representations.trees import Trees, TreeWeights
from banditsrl.representations.wide import KINDS, Wide

N_RANDOM = 128
"""Number of random waves or steps; that of `banditsrl-auto`."""

MOST_FEATURES = 256
"""Products are left out if they would have more features than this."""

N_SCALING = 4096
"""Most contexts by which the columns are scaled."""

N_LEAF_TREES, LEAF_DEPTH = 8, 4
"""Trees whose leaves are the embedding, and questions that make a leaf; those of `tree-linucb`."""

ROWS_AT_ONCE = 1024
"""Rows of which the trees predict all actions together, which bounds the memory."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class ColumnRounds(NamedTuple):
    """Logged rounds with plain columns."""

    contexts: Floats  # (n, m)
    actions: Ints  # (n,)
    rewards: Floats  # (n,)
    n_actions: int
    available: Bools | None = None  # (n, A); None if every action was available in each round


class ColumnFeatures(NamedTuple):
    """The embedding of all rounds."""

    psi: Floats  # (n, k)
    base: Floats | None  # (n, A) what is predicted already, before ridge regression on psi


class ColumnCandidate(Protocol):
    """An embedding made from columns."""

    name: str
    is_fixed: bool  # whether rewards had no part in it

    def embed(self, seen: Bools) -> ColumnFeatures:
        """Return the embedding of all rounds, fitted to the rewards of the seen ones, (n,)."""


class FixedCandidate:
    """An embedding that needs no rewards.

    Args:
        name: Its name.
        psi: The embedding of all rounds, (n, k).
    """

    is_fixed = True

    def __init__(self, name: str, psi: Floats) -> None:
        self.name = name
        self._psi = psi

    def embed(self, seen: Bools) -> ColumnFeatures:
        """Return the embedding of all rounds."""
        del seen
        return ColumnFeatures(self._psi, None)


class LeafCandidate:
    """The leaves of boosted trees, as `tree-linucb` plays on them.

    Args:
        rounds: The rounds to whose rewards the trees are fitted.
    """

    name, is_fixed = "leaves", False

    def __init__(self, rounds: ColumnRounds) -> None:
        self._rounds = rounds
        self._trees = Trees(rounds.n_actions, rounds.contexts.shape[1])

    @in_float64
    def embed(self, seen: Bools) -> ColumnFeatures:
        """Return the leaves and predictions of trees that are fitted to the seen rounds."""
        _, actions, rewards, _, _ = self._rounds
        rows, weight = jnp.asarray(self._rounds.contexts), seen.astype(np.float64)
        played = jnp.asarray(actions)
        key, targets = jax.random.key(0), jnp.asarray(rewards)
        weights = _fit_trees(self._trees, key, rows, played, targets, jnp.asarray(weight))
        leaves, base = _read_trees(self._trees, weights, rows)
        return ColumnFeatures(_code_leaves(np.asarray(leaves)), np.asarray(base))


@eqx.filter_jit
def _fit_trees(trees: Trees, *rows: Array) -> TreeWeights:
    return trees.fit(*rows)


@eqx.filter_jit
def _read_trees(trees: Trees, weights: TreeWeights, rows: Array) -> tuple[Array, Array]:
    """Return the coarse leaves (n, G) and the predictions (n, A) of rows (n, m)."""

    def read_row(row: Array) -> tuple[Array, Array]:
        fine = trees.leaves(weights, row)[:N_LEAF_TREES]
        return fine >> (trees.depth - LEAF_DEPTH), trees.predict(weights, row)

    found: tuple[Array, Array] = jax.lax.map(read_row, rows, batch_size=ROWS_AT_ONCE)
    return found


def list_candidates(rounds: ColumnRounds) -> Iterator[ColumnCandidate]:
    """Yield the candidates from simple to rich; each is computed when its turn comes."""
    n, m = rounds.contexts.shape
    yield FixedCandidate("constant", np.ones((n, 1)))
    yield FixedCandidate("columns", _embed_wide(rounds.contexts, KINDS[0], 0))
    for kind in KINDS:
        yield FixedCandidate(kind, _embed_wide(rounds.contexts, kind, N_RANDOM))
    if 1 + m + m * (m + 1) // 2 <= MOST_FEATURES:
        yield FixedCandidate("products", _embed_products(rounds.contexts))
    yield LeafCandidate(rounds)


@in_float64
def _embed_wide(contexts: Floats, kind: str, n_features: int) -> Floats:
    """Return the wide embedding of all contexts, (n, k), scaled by some of them."""
    inputs = Coded(n_actions=1, code="blocks", n_columns=contexts.shape[1])
    wide = Wide(inputs, kind=kind, n_features=n_features)
    places = np.linspace(0, len(contexts) - 1, min(len(contexts), N_SCALING)).astype(np.int64)
    rows = jnp.asarray(contexts)
    return np.asarray(_scale_and_embed(wide, rows[places], rows))


@eqx.filter_jit
def _scale_and_embed(wide: Wide, sample: Array, rows: Array) -> Array:
    scaled = wide.at(wide.fit_scaling(sample, jnp.ones(len(sample), dtype=bool)))
    return jax.vmap(lambda context: scaled.embed(context)[0])(rows)


def _embed_products(contexts: Floats) -> Floats:
    """Return the columns beside all products of two of them, (n, k)."""
    psi = _embed_wide(contexts, KINDS[0], 0)
    plain = psi[:, 1:]  # z / sqrt(m); there are too few columns for a projection of them
    first, second = np.triu_indices(plain.shape[1])
    return np.hstack([psi, plain[:, first] * plain[:, second]])


def _code_leaves(leaves: Ints) -> Floats:
    """Return [1, one-hot codes of the leaf of each tree] / sqrt(1 + G), from leaves (n, G)."""
    n, n_trees = leaves.shape
    codes = (leaves[:, :, None] == np.arange(2**LEAF_DEPTH)).reshape(n, -1)
    return np.asarray(np.hstack([np.ones((n, 1)), codes]) / np.sqrt(1.0 + n_trees))
