"""What is the wheel? A disc on whose rim each quadrant has its own best action.

The first action always pays 1.0. Inside the radius the four other actions pay 0.8. Outside it, the
action of the context's quadrant pays 1.2 and the other three pay 0.8, so a policy that stops
exploring early misses the rim (paper, Section 5, after Riquelme et al., 2018). No linear function
of the context and a code of the action predicts these rewards.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import at_least, count, one_of, probability
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.problem_catalogue import PROBLEMS
from banditsrl.problems.verification import verify_optimum
from banditsrl.representations.coded import Coded, one_hot_features

SAFE, LOW, HIGH = 1.0, 0.8, 1.2
RADIUS, NOISE_STD, N_ACTIONS, N_COLUMNS = 0.5, 0.2, 5, 2

LAWS = ("disc", "radius")
"""Uniform on the disc, as the paper says, or uniform in the radius, as in the authors' instance."""


def wheel(
    *,
    n_contexts: int | None = 100,
    seed: int = 0,
    law: str = "disc",
    radius: float = RADIUS,
    noise_std: float = NOISE_STD,
) -> "FiniteProblem | Wheel":
    """Build the wheel on contexts that are drawn once, or on fresh contexts every round.

    With a number of contexts the result is a `FiniteProblem` whose only candidate is the context
    followed by the one-hot code of the action; it does not predict the rewards.

    Args:
        n_contexts: Number of contexts that are drawn once and dealt uniformly; None deals a fresh
            context every round and returns a `Wheel`.
        seed: Seed of the contexts that are drawn once; it is not used for fresh ones.
        law: "disc" (uniform on the unit disc) or "radius" (uniform angle and uniform radius).
        radius: Radius at which the rim begins, between 0 and 1.
        noise_std: Standard deviation of the Gaussian noise.

    Example:
        >>> wheel().representations[0].features.shape
        (100, 5, 7)
        >>> wheel(n_contexts=None).representations[0].dim
        7
    """
    one_of("law", law, LAWS)
    rng = np.random.default_rng(count("seed", seed, 0))
    if n_contexts is None:
        return Wheel(law=law, radius=radius, noise_std=noise_std)
    contexts = _draw_contexts(rng, count("n_contexts", n_contexts), law)
    features = one_hot_features(contexts, N_ACTIONS)
    means = wheel_means(contexts, probability("radius", radius))
    problem = FiniteProblem(means, (features,), name="wheel", noise_std=noise_std)
    verify_optimum(problem)
    return problem


def wheel_means(contexts: NDArray[np.float64], radius: float = RADIUS) -> NDArray[np.float64]:
    """Return the mean rewards of context vectors (X, 2), (X, A)."""
    means = np.full((len(contexts), N_ACTIONS), LOW)
    means[:, 0] = SAFE
    rim = np.flatnonzero(np.hypot(contexts[:, 0], contexts[:, 1]) > radius)
    right, up = contexts[rim, 0] > 0, contexts[rim, 1] > 0
    means[rim, 1 + 2 * ~right + ~up] = HIGH
    return means


def _draw_contexts(rng: np.random.Generator, n: int, law: str) -> NDArray[np.float64]:
    angles, levels = 2.0 * np.pi * rng.random(n), rng.random(n)
    distances = np.sqrt(levels) if law == "disc" else levels
    return np.stack([distances * np.cos(angles), distances * np.sin(angles)], axis=1)


class Wheel(Problem):
    """The wheel with a fresh context vector (2,) every round; its settings are those of `wheel`."""

    representations: tuple[Coded, ...]
    law: str = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    noise_std: float = eqx.field(static=True)
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    sigma: float = eqx.field(static=True)

    def __init__(
        self, *, law: str = "disc", radius: float = RADIUS, noise_std: float = NOISE_STD
    ) -> None:
        self.law = one_of("law", law, LAWS)
        self.radius = probability("radius", radius)
        self.noise_std = at_least("noise_std", noise_std, 0.0)
        self.name, self.n_actions = "wheel-fresh", N_ACTIONS
        self.sigma = self.noise_std
        self.representations = (Coded(n_actions=N_ACTIONS, code="one-hot", n_columns=N_COLUMNS),)

    @in_float64
    def contexts(self, key: Array, n: int) -> Array:
        """Deal n contexts, (n, 2) in float32."""
        angle, level = jax.random.uniform(key, (2, n), dtype=jnp.float64)
        angle = 2.0 * jnp.pi * angle
        distance = jnp.sqrt(level) if self.law == "disc" else level
        points = jnp.stack([distance * jnp.cos(angle), distance * jnp.sin(angle)], axis=1)
        return points.astype(jnp.float32)

    @in_float64
    def noises(self, key: Array, n: int) -> Array:
        """Draw the randomness of n rewards, (n,)."""
        return jax.random.normal(key, (n,), dtype=jnp.float64)

    @in_float64
    def means(self, context: Context) -> Array:
        """Return the mean rewards of a context, (A,)."""
        x, y = jnp.asarray(context, dtype=jnp.float64)
        best = 1 + 2 * (x <= 0).astype(jnp.int32) + (y <= 0).astype(jnp.int32)
        actions = jnp.arange(N_ACTIONS)
        paid = (actions == best) & (jnp.hypot(x, y) > self.radius)
        outer = jnp.where(paid, HIGH, LOW).astype(jnp.float64)
        return jnp.where(actions == 0, SAFE, outer)

    def mask(self, context: Context) -> Array:  # noqa: ARG002 - every context offers every action
        """Return which actions are available, (A,): all of them."""
        return jnp.ones(N_ACTIONS, dtype=bool)

    @in_float64
    def reward(self, mean: Array, noise: Array) -> Array:
        """Return the reward of an action with this mean, given the randomness drawn for it."""
        return mean + self.noise_std * noise


PROBLEMS.add("wheel", wheel)
