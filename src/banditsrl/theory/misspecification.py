"""How misspecified is a representation? A lower and an upper bound on epsilon_phi.

The paper's epsilon_phi is a minimum over parameters *and* policies: in each context it counts only
the error of the action that the representation predicts best. There are A^X policies, so that the
minimum is found exactly for small problems and bracketed for larger ones.
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditsrl.arguments import finite_array
from banditsrl.errors import InvalidArgument
from banditsrl.problems.finite import FiniteProblem
from banditsrl.theory.column_scales import column_scales

NODE_BUDGET = 100_000
"""Largest number of partial policies in the search, which then takes about half a second."""

CHUNK = 256
"""Nodes expanded in one batched call: many enough to be fast, few compared to the budget."""

N_RANDOM_STARTS = 24
"""Random policies, the same in every call, from which the upper bound is also searched."""

MAX_ROUNDS = 50
"""Limit on the rounds of the alternation, which usually converges after about five."""

RANK_TOLERANCE = 1e-8
"""Singular values of the features below this share of the largest count as zero."""

RIDGE = 1e-14
"""Regulariser that makes systems with linearly dependent features solvable.

It is larger than rounding errors (1e-16). It raises a bound by this times the mean square of the
predictions, which is less than `ROUNDING_TOLERANCE` unless predictions are a hundred times larger
than rewards; that is impossible for theta in the paper's ball.
"""

ROUNDING_TOLERANCE = 1e-10
"""A bound below this share of the mean squared reward may be a rounding error: it becomes zero."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Choices:
    """The actions of every possible context: whitened features, and scaled mean rewards."""

    weights: Floats  # (X,)
    phi: Floats  # (X, A, rank)
    means: Floats  # (X, A)
    available: NDArray[np.bool_]  # (X, A)

    def errors(self, theta: Floats) -> Floats:
        """Return the squared error of every action, infinite where it is unavailable, (X, A)."""
        return np.where(self.available, (self.phi @ theta - self.means) ** 2, np.inf)

    def fit(self, policy: Ints) -> Floats:
        """Return the weighted least-squares fit to the policy's actions, (rank,)."""
        rows = np.arange(len(policy))
        phi, weighted = self.phi[rows, policy], self.weights * self.means[rows, policy]
        gram = (phi.T * self.weights) @ phi + RIDGE * np.eye(phi.shape[1])
        return np.asarray(np.linalg.solve(gram, weighted @ phi), dtype=np.float64)

    def reorder(self, order: Ints) -> "_Choices":
        """Return the same contexts in another order."""
        return _Choices(
            self.weights[order], self.phi[order], self.means[order], self.available[order]
        )


def bound_misspecification(problem: FiniteProblem, features: ArrayLike) -> tuple[float, float]:
    """Return a certified lower bound and an upper bound on epsilon_phi (paper, Section 2).

    epsilon_phi is the minimum, over theta and over policies pi, of
    E_x[(phi(x, pi(x)).theta - mu(x, pi(x)))^2]. The lower bound comes from a best-first search
    over partial policies, since the least-squares error over some contexts cannot exceed that over
    all of them. That error is zero until more contexts than dimensions have an action, so in high
    dimension the search does not get beyond a lower bound of 0.0, which means unknown. The upper
    bound is the value of an explicit policy. Both agree, up to rounding, if the search ends within
    `NODE_BUDGET`.

    The paper restricts theta to the ball of radius B_phi. Here theta is unrestricted, which can
    only make the minimum smaller. The lower bound therefore holds for every radius, and the upper
    bound for every ball that contains the least-squares fit of its policy.

    Args:
        problem: The problem; contexts of probability zero and unavailable actions are ignored.
        features: phi, (n_contexts, n_actions, dim).

    Returns:
        The lower bound (0.0 when none was found) and the upper bound.

    Example:
        >>> constant = [[[1.0], [1.0]], [[1.0], [1.0]]]  # two contexts, two actions, d = 1
        >>> bounds = bound_misspecification(FiniteProblem([[1.0, 9.0], [3.0, 9.5]]), constant)
        >>> [round(bound, 6) for bound in bounds]  # the best prediction is 9.25
        [0.0625, 0.0625]
    """
    table = finite_array("features", features, "(n_contexts, n_actions, dim)")
    if table.shape[:2] != problem.mean_rewards.shape:
        raise InvalidArgument(
            f"features must have shape ({problem.n_contexts}, {problem.n_actions}, dim) "
            f"for this problem, got shape {table.shape}."
        )
    choices, scale = _prepare(problem, table)
    theta, upper = _alternate(choices)
    lower, upper = _search(choices.reorder(_sort_contexts(choices, theta)), upper)
    return scale * (lower if lower >= ROUNDING_TOLERANCE else 0.0), scale * upper


def _prepare(problem: FiniteProblem, table: Floats) -> tuple[_Choices, float]:
    """Return the choices, and the factor by which their squared rewards were divided.

    Whitening does not change the minimum, since theta is unrestricted. It makes one value of
    `RIDGE` suitable for features of any scale. Columns are brought to one scale first, so that a
    small one is not taken for rounding.
    """
    table = table / column_scales(table[problem.possible])
    possible = problem.rho > 0
    weights, available = problem.rho[possible], problem.available[possible]
    means = np.where(available, problem.mean_rewards[possible], 0.0)
    scale = float(weights @ (means**2).max(axis=1)) or 1.0
    rows = (np.sqrt(weights)[:, None, None] * table[possible])[available]  # (samples, d)
    _, singular, directions = np.linalg.svd(rows, full_matrices=False)
    kept = singular > RANK_TOLERANCE * singular[0]
    whitened = table[possible] @ (directions[kept].T / singular[kept])  # (X, A, rank)
    return _Choices(weights, whitened, means / math.sqrt(scale), available), scale


def _starting_points(choices: _Choices) -> Iterator[Floats]:
    """Yield parameters to start from: zero, the fit to all actions, fits to random policies."""
    yield np.zeros(choices.phi.shape[-1])
    yield np.einsum("x,xa,xad->d", choices.weights, choices.means, choices.phi)  # whitened
    rng = np.random.default_rng(0)
    for _ in range(N_RANDOM_STARTS):
        drawn = np.where(choices.available, rng.random(choices.available.shape), -1.0)
        yield choices.fit(drawn.argmax(axis=1))


def _alternate(choices: _Choices) -> tuple[Floats, float]:
    """Return the best parameter and its value, by alternating minimisation from several starts.

    Each context takes the action of smallest error, then theta is fitted to these actions, and so
    on until no action changes.
    """
    best, value = np.zeros(choices.phi.shape[-1]), math.inf
    for start in _starting_points(choices):
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


def _sort_contexts(choices: _Choices, theta: Floats) -> Ints:
    """Return the contexts, first those that raise the bound most relative to their branching."""
    errors, n_choices = choices.errors(theta), choices.available.sum(axis=1)
    rise = choices.weights * errors.mean(axis=1, where=choices.available)
    with np.errstate(divide="ignore", invalid="ignore"):
        merit = np.where(n_choices == 1, np.inf, rise / np.log(n_choices))
    return np.argsort(-merit, kind="stable")


@dataclass
class _Tree:
    """The nodes of the search: moments over the contexts that have an action, and their number."""

    gram: Floats  # (nodes, rank, rank)
    moment: Floats  # (nodes, rank)
    square: Floats  # (nodes,)
    depth: Ints  # (nodes,)
    heap: list[tuple[float, int, int]]  # (bound, -depth, node), smallest first
    n_nodes: int = 1

    def add(
        self, bounds: Floats, gram: Floats, moment: Floats, square: Floats, depth: Ints
    ) -> None:
        """Store nodes (arrays with one row per node) and add them to the frontier."""
        new = slice(self.n_nodes, self.n_nodes + len(bounds))
        self.gram[new], self.moment[new] = gram, moment
        self.square[new], self.depth[new] = square, depth
        for offset, (bound, level) in enumerate(zip(bounds.tolist(), depth.tolist(), strict=True)):
            heapq.heappush(self.heap, (bound, -level, self.n_nodes + offset))
        self.n_nodes = new.stop


def _search(choices: _Choices, upper: float) -> tuple[float, float]:
    """Return the smallest bound on the frontier at the end of the search, and the best value."""
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
    """Choose an action for one more context in the best nodes; return the best value so far."""
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
