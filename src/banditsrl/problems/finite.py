"""What is a finite problem? Tables of mean rewards and of candidate features, and a context law.

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
from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType
from banditsrl.numerics.draws import categories, normals, uniforms
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import look_up

EXACT_FIT = 1e-6
"""A candidate given as an array counts as realizable when its best fit is exact to this: arrays
come from files, whose numbers were rounded."""

SUM_TOLERANCE = 1e-6
"""By how much probabilities may miss one: they may have been float32."""

MOST_COMPARED = 64
"""Up to so many contexts, comparing with every one of them is faster than bisection."""

NOISES = ("gaussian", "bernoulli", "none")


class Candidate(eqx.Module):
    """One candidate representation of a finite problem: phi(x, a) = features[x, a].

    Attributes:
        features: (n_contexts, n_actions, dim).
        theta: The parameter whose norm is the bound B, (dim,): the true one if realizable.
        realizable: Whether features @ theta is the table of mean rewards.
        name: What to call it in tables and figures.
    """

    features: NDArray[np.float64]
    theta: NDArray[np.float64]
    realizable: bool = eqx.field(static=True)
    name: str = eqx.field(static=True, default="")

    @property
    def dim(self) -> int:
        """Dimension of the embedding."""
        return int(self.features.shape[-1])


class FiniteProblem(eqx.Module):
    """A contextual bandit with finitely many contexts and actions.

    Args:
        mean_rewards: Expected reward of every context and action, (n_contexts, n_actions).
        representations: The candidates, in the order in which policies refer to them: each a
            `Candidate`, or an array of features (n_contexts, n_actions, dim).
        name: What to call it in tables and figures.
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
    representations: tuple[Candidate, ...]
    name: str = eqx.field(static=True)
    noise: str = eqx.field(static=True)
    noise_std: float = eqx.field(static=True)
    all_available: bool = eqx.field(static=True)

    def __init__(
        self,
        mean_rewards: Any,
        representations: Sequence[Any] = (),
        *,
        name: str = "finite",
        rho: Any = None,
        noise: str = "gaussian",
        noise_std: float = 0.3,
        available: Any = None,
    ) -> None:
        self.mean_rewards = finite_array("mean_rewards", mean_rewards, "(n_contexts, n_actions)")
        self.cumulative = np.cumsum(_distribution(rho, len(self.mean_rewards)))
        self.available = _availability(available, self.mean_rewards.shape)
        self.all_available = bool(self.available.all())
        self.representations = _candidates(representations, self.mean_rewards, self.possible)
        self.name = name
        self.noise = one_of("noise", noise, NOISES)
        deviation = at_least("noise_std", noise_std, 0.0)
        self.noise_std = deviation if noise == "gaussian" else 0.0
        low, high = self.mean_rewards[self.available].min(), self.mean_rewards[self.available].max()
        if noise == "bernoulli" and (low < 0 or high > 1):
            raise InvalidArgument(
                "mean_rewards must lie in [0, 1] when noise is bernoulli, "
                f"got values from {low:g} to {high:g}."
            )

    @property
    def bare(self) -> "FiniteProblem":
        """This problem without name and candidates, which no round looks at.

        Programs are compiled for what a problem is made of: so all of the same size share one.
        """
        bare = copy.copy(self)
        object.__setattr__(bare, "name", "")
        object.__setattr__(bare, "representations", ())
        return bare

    @property
    def n_contexts(self) -> int:
        """Number of contexts X."""
        return int(self.mean_rewards.shape[0])

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return int(self.mean_rewards.shape[1])

    @property
    def rho(self) -> NDArray[np.float64]:
        """Probability of every context, (X,)."""
        return np.diff(self.cumulative, prepend=0.0)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which (context, action) can occur: positive probability, and available, (X, A)."""
        return self.available & (self.rho > 0)[:, None]

    @property
    def sigma(self) -> float:
        """A sub-Gaussian constant of the noise: its deviation, or 1/2 for Bernoulli rewards."""
        return 0.5 if self.noise == "bernoulli" else self.noise_std

    @property
    def optimal_actions(self) -> NDArray[np.int64]:
        """The best available action of every context, (X,)."""
        return np.asarray(np.where(self.available, self.mean_rewards, -np.inf).argmax(axis=1))

    @property
    def gaps(self) -> NDArray[np.float64]:
        """mu*(x) - mu(x, a), infinite where unavailable, (X, A)."""
        best = np.where(self.available, self.mean_rewards, -np.inf).max(axis=1, keepdims=True)
        return np.where(self.available, best - self.mean_rewards, np.inf)

    @property
    def gap(self) -> float:
        """Delta: the smallest gap to a second action over contexts of positive probability."""
        if self.n_actions == 1:
            return float("inf")
        return float(np.sort(self.gaps[self.rho > 0], axis=1)[:, 1].min())

    @in_float64
    def contexts(self, key: Array, n: int) -> Array:
        """Deal n contexts, (n,) indices."""
        cumulative = jnp.asarray(self.cumulative)
        if self.n_contexts <= MOST_COMPARED:
            few: Array = categories(key, n, cumulative)
            return few
        drawn = jnp.searchsorted(cumulative, uniforms(key, n), side="right")
        return jnp.minimum(drawn, self.n_contexts - 1).astype(jnp.int32)

    @in_float64
    def noises(self, key: Array, n: int) -> Array:
        """Deal the randomness of n rewards, (n,), whatever actions will be played."""
        draw = {"gaussian": normals, "bernoulli": uniforms}.get(self.noise)
        return jnp.zeros(n, dtype=jnp.float64) if draw is None else jnp.asarray(draw(key, n))

    def means(self, context: Array) -> Array:
        """The hidden mean rewards of a context, (A,)."""
        return look_up(jnp.asarray(self.mean_rewards), context)

    def mask(self, context: Array) -> Array:
        """Which actions a context offers, (A,)."""
        if self.all_available:
            return jnp.ones(self.n_actions, dtype=bool)
        return look_up(jnp.asarray(self.available), context)

    def reward(self, mean: Array, noise: Array) -> Array:
        """The reward of an action with this mean, given the dealt randomness."""
        if self.noise == "gaussian":
            return mean + self.noise_std * noise
        if self.noise == "bernoulli":
            return (noise < mean).astype(mean.dtype)
        return mean


def checked_problem(problem: Any) -> FiniteProblem:
    """A finite problem, for what needs its tables."""
    if not isinstance(problem, FiniteProblem):
        raise InvalidType(f"problem must be a FiniteProblem, got {type(problem).__name__}.")
    return problem


def verify_optimum(problem: FiniteProblem) -> None:
    """Refuse a problem without a unique optimal action, or without a positive gap."""
    if not problem.gap > 0.0:
        second = np.where(problem.rho > 0, np.sort(problem.gaps, axis=1)[:, 1], np.inf)
        tied = int(np.argmin(second))
        raise InvalidProblem(
            f"{problem.name} must have one optimal action per context and a positive gap, "
            f"got two best actions in context {tied}."
        )


def verify_realizable(problem: FiniteProblem, tolerance: float) -> None:
    """Refuse a problem whose candidates are not (or are) realizable against their claim."""
    for k, candidate in enumerate(problem.representations):
        if candidate.realizable:
            errors = np.abs(candidate.features @ candidate.theta - problem.mean_rewards)
            error = errors[problem.possible].max()
            if error > tolerance:
                raise InvalidProblem(
                    f"{problem.name}: representation {k} claims to be realizable to {tolerance:g}, "
                    f"got an error of {error:.3g}."
                )
        elif best_fit(candidate.features, problem.mean_rewards, problem.possible)[1] <= tolerance:
            raise InvalidProblem(
                f"{problem.name}: representation {k} claims to be misspecified, "
                f"got a linear fit exact to {tolerance:g}."
            )


def best_fit(
    features: NDArray[np.float64], means: NDArray[np.float64], possible: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """The best linear fit of the means where a context and action can occur, and its error."""
    rows = features[possible]
    theta = np.asarray(np.linalg.lstsq(rows, means[possible], rcond=None)[0], dtype=np.float64)
    return theta, float(np.abs(rows @ theta - means[possible]).max())


def _distribution(rho: Any, n_contexts: int) -> NDArray[np.float64]:
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


def _availability(available: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if available is None:
        return np.ones(shape, dtype=bool)
    table = booleans("available", available, shape)
    if not table.any(axis=1).all():
        empty = int(np.argmin(table.any(axis=1)))
        raise InvalidArgument(
            f"available must leave an action in every context, got none in context {empty}."
        )
    return table


def _candidates(
    given: Any, means: NDArray[np.float64], possible: NDArray[np.bool_]
) -> tuple[Candidate, ...]:
    if not isinstance(given, Sequence | np.ndarray):
        raise InvalidType(
            f"representations must be a sequence of candidates, got {type(given).__name__}."
        )
    return tuple(
        _of_shape(c if isinstance(c, Candidate) else _fitted(c, means, possible), means.shape)
        for c in given
    )


def _fitted(source: Any, means: NDArray[np.float64], possible: NDArray[np.bool_]) -> Candidate:
    """A candidate given as an array: its best linear fit says whether it is realizable."""
    features = finite_array("features", source, "(n_contexts, n_actions, dim)")
    if features.shape[:2] != means.shape:
        return Candidate(features, np.zeros(features.shape[2]), False)  # refused by `_of_shape`
    theta, error = best_fit(features, means, possible)
    return Candidate(features, theta, error <= EXACT_FIT)


def _of_shape(candidate: Candidate, shape: tuple[int, ...]) -> Candidate:
    features = finite_array("features", candidate.features, "(n_contexts, n_actions, dim)")
    theta = finite_array("theta", candidate.theta, "(dim,)")
    if features.shape[:2] != shape or theta.shape != features.shape[2:]:
        raise InvalidArgument(
            f"features must have shape ({shape[0]}, {shape[1]}, dim) and theta (dim,), "
            f"got shapes {features.shape} and {theta.shape}."
        )
    return Candidate(features, theta, bool(candidate.realizable), candidate.name)
