"""How wrong is a representation at its best? Bounds on its misspecification epsilon_phi.

The paper's epsilon_phi minimises over parameters *and* policies: a wrong representation may hide
behind the action that it happens to predict well in each context. With A^X policies the minimum
is found for small problems and bracketed for larger ones.
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import finite_array
from banditsrl.errors import InvalidArgument
from banditsrl.problems.finite import FiniteProblem

NODE_BUDGET = 100_000
"""Partial policies the search may keep: about half a second."""

CHUNK = 256
"""Nodes expanded in one batched call: many for speed, few against the budget."""

N_RANDOM_STARTS = 24
"""Random policies, always the same ones, from which the upper bound is also sought."""

MAX_ROUNDS = 50
"""Most rounds of the alternation, which stops by itself after some five."""

RANK_TOLERANCE = 1e-8
"""Directions with less than this share of the features' largest singular value do not exist."""

RIDGE = 1e-14
"""Keeps dependent features solvable: above rounding (1e-16), and lifts a bound by this times the
mean square of the predictions, so by less than `ROUNDING_TOLERANCE` unless these exceed the
rewards a hundredfold, which no theta in the paper's ball does."""

ROUNDING_TOLERANCE = 1e-10
"""A bound below this share of the mean squared reward may be rounding and counts as zero."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Choices:
    """What each possible context offers: whitened features, and rewards of mean square one."""

    weights: Floats  # (X,)
    phi: Floats  # (X, A, rank)
    means: Floats  # (X, A)
    available: NDArray[np.bool_]  # (X, A)

    def errors(self, theta: Floats) -> Floats:
        """Squared error of every action, infinite where unavailable, (X, A)."""
        return np.where(self.available, (self.phi @ theta - self.means) ** 2, np.inf)

    def fit(self, policy: Ints) -> Floats:
        """Weighted least squares over the policy's actions, (rank,)."""
        rows = np.arange(len(policy))
        phi, weighted = self.phi[rows, policy], self.weights * self.means[rows, policy]
        gram = (phi.T * self.weights) @ phi + RIDGE * np.eye(phi.shape[1])
        return np.asarray(np.linalg.solve(gram, weighted @ phi), dtype=np.float64)

    def take(self, order: Ints) -> "_Choices":
        """The same contexts in another order."""
        return _Choices(
            self.weights[order], self.phi[order], self.means[order], self.available[order]
        )


def misspecification(problem: FiniteProblem, features: Any) -> tuple[float, float]:
    """A certified lower bound and an upper bound on epsilon_phi (paper, Section 2).

    epsilon_phi is the minimum, over theta and over policies pi, of
    E_x[(phi(x, pi(x)).theta - mu(x, pi(x)))^2]. The lower bound comes from a best-first search
    over partial policies: the least squares over the contexts assigned so far can not exceed the
    whole. Nothing rises above zero before more contexts than dimensions are assigned, so in high
    dimension the lower bound is 0.0, which means unknown. The upper bound is the value of an
    explicit policy. Both agree, to rounding, if the search ends within `NODE_BUDGET`.

    The paper keeps theta in the ball of radius B_phi. Here theta is free, which can only lower
    the minimum: the lower bound holds for every radius, the upper one for radii that reach the
    least-squares fit of its policy.

    Args:
        problem: The problem; contexts of probability zero and unavailable actions do not count.
        features: phi, (n_contexts, n_actions, dim).

    Returns:
        The lower bound (0.0 when none was found) and the upper bound.

    Example:
        >>> constant = [[[1.0], [1.0]], [[1.0], [1.0]]]  # two contexts, two actions, d = 1
        >>> bounds = misspecification(FiniteProblem([[1.0, 9.0], [3.0, 9.5]]), constant)
        >>> [round(bound, 6) for bound in bounds]  # best: predict 9.25
        [0.0625, 0.0625]
    """
    table = finite_array("features", features, "(n_contexts, n_actions, dim)")
    if table.shape[:2] != problem.mean_rewards.shape:
        raise InvalidArgument(
            f"features must have shape {(*problem.mean_rewards.shape, 'dim')} for this problem, "
            f"got shape {table.shape}."
        )
    choices, scale = _prepare(problem, table)
    theta, upper = _alternate(choices)
    lower, upper = _search(choices.take(_order(choices, theta)), upper)
    return scale * (lower if lower >= ROUNDING_TOLERANCE else 0.0), scale * upper


def _prepare(problem: FiniteProblem, table: Floats) -> tuple[_Choices, float]:
    """The choices, and the mean square of the rewards by which they were scaled.

    Whitening changes nothing, since theta is free, and makes one ridge right for all features.
    """
    possible = problem.rho > 0
    weights, available = problem.rho[possible], problem.available[possible]
    means = np.where(available, problem.mean_rewards[possible], 0.0)
    scale = float(weights @ (means**2).max(axis=1)) or 1.0
    rows = (np.sqrt(weights)[:, None, None] * table[possible])[available]  # (samples, d)
    _, singular, directions = np.linalg.svd(rows, full_matrices=False)
    kept = singular > RANK_TOLERANCE * singular[0]
    whitened = table[possible] @ (directions[kept].T / singular[kept])  # (X, A, rank)
    return _Choices(weights, whitened, means / math.sqrt(scale), available), scale


def _starts(choices: _Choices) -> Iterator[Floats]:
    """Parameters to start from: zero, the fit to all actions, and fits to random policies."""
    yield np.zeros(choices.phi.shape[-1])
    yield np.einsum("x,xa,xad->d", choices.weights, choices.means, choices.phi)  # whitened
    rng = np.random.default_rng(0)
    for _ in range(N_RANDOM_STARTS):
        drawn = np.where(choices.available, rng.random(choices.available.shape), -1.0)
        yield choices.fit(drawn.argmax(axis=1))


def _alternate(choices: _Choices) -> tuple[Floats, float]:
    """The best of all starts after each context takes its nearest action and theta is refitted."""
    best, value = np.zeros(choices.phi.shape[-1]), math.inf
    for start in _starts(choices):
        theta, policy = start, choices.errors(start).argmin(axis=1)
        for _ in range(MAX_ROUNDS):
            theta = choices.fit(policy)
            nearest = choices.errors(theta).argmin(axis=1)
            if (nearest == policy).all():
                break
            policy = nearest
        reached = float(choices.weights @ choices.errors(theta).min(axis=1))
        if reached < value:
            best, value = theta, reached
    return best, value


def _order(choices: _Choices, theta: Floats) -> Ints:
    """Contexts by how much they raise the bound for the branching they cost, most first."""
    errors, n_choices = choices.errors(theta), choices.available.sum(axis=1)
    rise = choices.weights * errors.mean(axis=1, where=choices.available)
    with np.errstate(divide="ignore", invalid="ignore"):
        merit = np.where(n_choices == 1, np.inf, rise / np.log(n_choices))
    return np.argsort(-merit, kind="stable")


@dataclass
class _Tree:
    """The nodes kept so far: moment sums of the assigned contexts, and how many these are."""

    gram: Floats  # (nodes, rank, rank)
    moment: Floats  # (nodes, rank)
    square: Floats  # (nodes,)
    depth: Ints  # (nodes,)
    heap: list[tuple[float, int, int]]  # (bound, -depth, node), smallest first
    n_nodes: int = 1

    def add(
        self, bounds: Floats, gram: Floats, moment: Floats, square: Floats, depth: Ints
    ) -> None:
        """Keep nodes (arrays with one row for each) and put them on the frontier."""
        new = slice(self.n_nodes, self.n_nodes + len(bounds))
        self.gram[new], self.moment[new] = gram, moment
        self.square[new], self.depth[new] = square, depth
        for offset, (bound, level) in enumerate(zip(bounds.tolist(), depth.tolist(), strict=True)):
            heapq.heappush(self.heap, (bound, -level, self.n_nodes + offset))
        self.n_nodes = new.stop


def _search(choices: _Choices, upper: float) -> tuple[float, float]:
    """Smallest bound on the frontier when the budget or the frontier ends, and the best value."""
    n_contexts, n_actions, rank = choices.phi.shape
    branches = np.log(choices.available.sum(axis=1)[:rank])
    if n_contexts <= rank or branches.sum() > math.log(NODE_BUDGET):
        return 0.0, upper
    size = NODE_BUDGET + CHUNK * n_actions
    tree = _Tree(
        gram=np.zeros((size, rank, rank)),
        moment=np.zeros((size, rank)),
        square=np.zeros(size),
        depth=np.zeros(size, dtype=np.int64),
        heap=[(0.0, 0, 0)],
    )
    while tree.heap and tree.heap[0][0] < upper and tree.n_nodes < NODE_BUDGET:
        upper = _expand(tree, choices, upper)
    return min(tree.heap[0][0], upper) if tree.heap else upper, upper


def _expand(tree: _Tree, choices: _Choices, upper: float) -> float:
    """Assign one more context in the best nodes, in one batch; the best value found so far."""
    n_popped = min(CHUNK, len(tree.heap))
    nodes = np.array([heapq.heappop(tree.heap)[2] for _ in range(n_popped)])  # (n,)
    context = tree.depth[nodes]
    phi, means = choices.phi[context], choices.means[context]  # (n, A, rank), (n, A)
    weighted = choices.weights[context][:, None, None] * phi
    gram = tree.gram[nodes][:, None] + weighted[..., None] * phi[..., None, :]
    moment = tree.moment[nodes][:, None] + weighted * means[..., None]
    square = tree.square[nodes][:, None] + choices.weights[context][:, None] * means**2
    theta = np.linalg.solve(gram + RIDGE * np.eye(phi.shape[-1]), moment[..., None])[..., 0]
    bounds = np.maximum(square - (moment * theta).sum(axis=-1), 0.0)  # (n, A)
    bounds[~choices.available[context]] = np.inf
    leaf = context + 1 == len(choices.weights)
    upper = min(upper, float(bounds[leaf].min(initial=np.inf)))
    kept = (bounds < upper) & ~leaf[:, None]
    depth = np.broadcast_to(context[:, None] + 1, kept.shape)
    tree.add(bounds[kept], gram[kept], moment[kept], square[kept], depth[kept])
    return upper
