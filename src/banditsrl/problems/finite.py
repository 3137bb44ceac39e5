"""What is a finite problem? Tables of mean rewards and of features, and a law of contexts.

A finite problem has X contexts drawn from rho, A actions, a table of mean rewards (X, A), and any
number of candidate representations, each an (X, A, d) table. A context is its index.
"""

import copy
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import at_least, booleans, finite_array, one_of
from banditsrl.core.actions import ROUNDING
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.numerics.draws import categories, normals, uniforms
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import look_up
from banditsrl.problems.claims import Claim, attach_claims
from banditsrl.representations.table import Table

SUM_TOLERANCE = 1e-6
"""By how much the sum of probabilities may miss one: they may have been stored in float32."""

MOST_COMPARED = 64
"""Up to this many contexts, comparing a draw with every one of them is faster than bisection."""

NOISES = ("gaussian", "bernoulli", "none")


class FiniteProblem(Problem):
    """A contextual bandit with finitely many contexts and actions.

    `sigma` is the deviation of the noise, or 1/2 for Bernoulli rewards.

    Args:
        mean_rewards: Expected reward of every context and action, (n_contexts, n_actions).
        representations: The candidates, in the order in which policies refer to them: each a
            `Table`, or an array of features (n_contexts, n_actions, dim). A table keeps its bounds;
            the bound L of an array is the largest norm among the pairs that can occur, and a bound
            B that is missing is the norm of the candidate's parameter.
        claims: What is claimed about each candidate, in the same order. Without claims, the best
            linear fit decides the parameter and whether a candidate is realizable.
        name: Name in tables and figures.
        rho: Probability of every context, (n_contexts,); uniform by default.
        noise: "gaussian" (with `noise_std`), "bernoulli" (means are probabilities) or "none".
        noise_std: Standard deviation of Gaussian noise.
        available: Which actions each context offers, (n_contexts, n_actions); all by default.

    Example:
        >>> problem = FiniteProblem([[1.0, 0.0], [0.0, 1.0]], noise="none")
        >>> problem.n_contexts, problem.n_actions, problem.gap
        (2, 2, 1.0)
    """

    mean_rewards: NDArray[np.float64]
    cumulative: NDArray[np.float64]
    available: NDArray[np.bool_]
    representations: tuple[Table, ...]
    claims: tuple[Claim, ...]
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    sigma: float = eqx.field(static=True)
    noise: str = eqx.field(static=True)
    noise_std: float = eqx.field(static=True)
    all_available: bool = eqx.field(static=True)

    def __init__(
        self,
        mean_rewards: Any,
        representations: Sequence[Any] = (),
        *,
        claims: Sequence[Claim] | None = None,
        name: str = "finite",
        rho: Any = None,
        noise: str = "gaussian",
        noise_std: float = 0.3,
        available: Any = None,
    ) -> None:
        self.mean_rewards = finite_array("mean_rewards", mean_rewards, "(n_contexts, n_actions)")
        self.n_actions = int(self.mean_rewards.shape[1])
        self.cumulative = np.cumsum(_check_rho(rho, len(self.mean_rewards)))
        self.available = _check_available(available, self.mean_rewards.shape)
        self.all_available = bool(self.available.all())
        self.representations, self.claims = attach_claims(
            representations, claims, self.mean_rewards, self.possible
        )
        self.name = name
        self.noise = one_of("noise", noise, NOISES)
        deviation = at_least("noise_std", noise_std, 0.0)
        self.noise_std = deviation if noise == "gaussian" else 0.0
        self.sigma = 0.5 if noise == "bernoulli" else self.noise_std
        low, high = self.mean_rewards[self.available].min(), self.mean_rewards[self.available].max()
        if noise == "bernoulli" and (low < 0 or high > 1):
            raise InvalidArgument(
                "mean_rewards must lie in [0, 1] when noise is bernoulli, "
                f"got values from {low:g} to {high:g}."
            )

    def anonymous(self) -> "FiniteProblem":
        """Return this problem without name, representations and claims, which no round reads.

        Programs are compiled for the structure of a problem, so anonymous problems of one size
        share their programs.
        """
        # A copy, since computing rho from its sums and back could change the last bits.
        other = copy.copy(self)
        for name, value in (("name", ""), ("representations", ()), ("claims", ())):
            object.__setattr__(other, name, value)
        return other

    @property
    def n_contexts(self) -> int:
        """Number of contexts X."""
        return int(self.mean_rewards.shape[0])

    @property
    def rho(self) -> NDArray[np.float64]:
        """Probability of every context, (X,)."""
        return np.diff(self.cumulative, prepend=0.0)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which (context, action) pairs can occur, (X, A): rho > 0, and the action is available."""
        return self.available & (self.rho > 0)[:, None]

    @property
    def optimal_actions(self) -> NDArray[np.int64]:
        """The best available action of every context, (X,); the first one where several are."""
        return np.asarray(np.where(self.available, self.mean_rewards, -np.inf).argmax(axis=1))

    @property
    def optimal_play(self) -> NDArray[np.float64]:
        """Equal shares of the optimal actions of every context, (X, A).

        Actions are tied if their means are equal up to rounding.
        """
        limit = ROUNDING * np.abs(self.mean_rewards[self.available]).max()
        optimal = self.gaps <= limit
        return np.asarray(optimal / optimal.sum(axis=1, keepdims=True))

    @property
    def gaps(self) -> NDArray[np.float64]:
        """mu*(x) - mu(x, a), infinite where the action is unavailable, (X, A)."""
        best = np.where(self.available, self.mean_rewards, -np.inf).max(axis=1, keepdims=True)
        return np.where(self.available, best - self.mean_rewards, np.inf)

    @property
    def gap(self) -> float:
        """Delta: the smallest gap between the two best actions, over contexts that can occur."""
        if self.n_actions == 1:
            return float("inf")
        return float(np.sort(self.gaps[self.rho > 0], axis=1)[:, 1].min())

    @in_float64
    def contexts(self, key: Array, n: int) -> Array:
        """Deal n contexts, (n,) indices."""
        cumulative = jnp.asarray(self.cumulative)
        if self.n_contexts <= MOST_COMPARED:
            return jnp.asarray(categories(key, n, cumulative))
        drawn = jnp.searchsorted(cumulative, uniforms(key, n), side="right")
        return jnp.minimum(drawn, self.n_contexts - 1).astype(jnp.int32)

    @in_float64
    def noises(self, key: Array, n: int) -> Array:
        """Draw the randomness of n rewards, (n,), whichever actions will be played."""
        draw = {"gaussian": normals, "bernoulli": uniforms}.get(self.noise)
        return jnp.zeros(n, dtype=jnp.float64) if draw is None else jnp.asarray(draw(key, n))

    def means(self, context: Context) -> Array:
        """Return the mean rewards of a context, (A,)."""
        return look_up(jnp.asarray(self.mean_rewards), context)

    def mask(self, context: Context) -> Array:
        """Return which actions are available in a context, (A,)."""
        if self.all_available:
            return jnp.ones(self.n_actions, dtype=bool)
        return look_up(jnp.asarray(self.available), context)

    def reward(self, mean: Array, noise: Array) -> Array:
        """Return the reward of an action with this mean, given the randomness drawn for it."""
        if self.noise == "gaussian":
            return mean + self.noise_std * noise
        if self.noise == "bernoulli":
            return (noise < mean).astype(mean.dtype)
        return mean


def check_finite_problem(problem: Any) -> FiniteProblem:
    """Return a finite problem as it is, and refuse anything else."""
    if not isinstance(problem, FiniteProblem):
        raise InvalidType(f"problem must be a FiniteProblem, got {type(problem).__name__}.")
    return problem


def _check_rho(rho: Any, n_contexts: int) -> NDArray[np.float64]:
    if rho is None:
        return np.full(n_contexts, 1.0 / n_contexts)
    law = finite_array("rho", rho, "(n_contexts,)")
    if law.shape != (n_contexts,):
        raise InvalidArgument(f"rho must have shape ({n_contexts},), got shape {law.shape}.")
    if (law < 0).any():
        raise InvalidArgument(f"rho must be non-negative, got {law.min():g}.")
    if abs(law.sum() - 1.0) > SUM_TOLERANCE:
        raise InvalidArgument(f"rho must sum to 1, got a sum of {law.sum():.9g}.")
    return np.asarray(law / law.sum())


def _check_available(available: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if available is None:
        return np.ones(shape, dtype=bool)
    table = booleans("available", available, shape)
    if not table.any(axis=1).all():
        empty = int(np.argmin(table.any(axis=1)))
        raise InvalidArgument(
            f"available must leave an action in every context, got none in context {empty}."
        )
    return table
