"""What is a situation? A problem whose truth is known, made to resemble real data.

A `Family` draws the rounds of a situation in advance, by NumPy and from a seed: what the columns
are in each round, and what each action pays on average. Rounds are dealt in that order, so that
rewards and contexts may change over time. `make_situation` looks a family up by its name; the
families are in `context_families`, `reward_families` and `change_families`.

A dealt context is the vector of columns followed by the number of the round, which `VisibleColumns`
hides from the policy. All numbers are leaves of the pytree, so situations of one size share
compiled programs.
"""

import dataclasses
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics import draws
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.reward_laws import RewardLaw
from banditsrl.registry import Registry
from banditsrl.representations.coded import Coded

Floats: TypeAlias = NDArray[np.float64]

MOST_ROUNDS = 2**24
"""A context is in float32, which holds whole numbers up to here exactly."""

CHANGES = ("none", "contexts", "swap", "rising", "drift")
"""What changes over time; "contexts" means that only the law of the contexts does."""


class Draft(NamedTuple):
    """The rounds that a family draws."""

    columns: Floats | NDArray[np.float32]  # (T, m)
    means: Floats  # (T, A)
    law: RewardLaw


@dataclass(frozen=True)
class SituationFacts:
    """What is known about a situation besides its numbers.

    Attributes:
        family: Name of the family.
        seed: Seed that it was drawn with.
        easy: Whether a certificate is expected for most rounds within ten thousand of them.
        change: What changes over time, one of `CHANGES`.
        missing: Probability that the reward of a round is never seen.
        delay: Number of rounds after which a reward is seen.
    """

    family: str = ""
    seed: int = 0
    easy: bool = False
    change: str = "none"
    missing: float = 0.0
    delay: int = 0


@dataclass(frozen=True)
class Family:
    """A generator of situations: `draw(rng, n)` returns n rounds."""

    draw: Callable[[np.random.Generator, int], Draft]
    facts: SituationFacts


FAMILIES: Registry[Family] = Registry("situation")


def add_family(
    name: str, *, easy: bool = False, change: str = "none", missing: float = 0.0, delay: int = 0
) -> Callable[[Callable[[np.random.Generator, int], Draft]], Family]:
    """Return a decorator that registers a function of a generator and n as a family."""
    facts = SituationFacts(name, easy=easy, change=change, missing=missing, delay=delay)
    return lambda draw: FAMILIES.add(name, Family(draw, facts))


class VisibleColumns(Coded):
    """The columns of a context without its last one, coded in one block per action."""

    def __init__(self, *, n_actions: int, n_columns: int) -> None:
        super().__init__(n_actions=n_actions, code="blocks", n_columns=n_columns)

    def columns(self, context: Context) -> Array:
        """Return the columns that a policy may see, (n_columns,)."""
        return super().columns(jnp.asarray(context)[..., : self.n_columns])


class Situation(Problem):
    """A problem with T rounds that were drawn in advance, and are dealt again after the last one.

    Policies are not told the noise level: `sigma` is None.

    Args:
        draft: The rounds.
        facts: What else is known.
    """

    representations: tuple[VisibleColumns, ...]
    dealt: Array  # (T, m + 1) in float32: the columns, then the number of the round
    mean_rewards: Array  # (T, A)
    law: RewardLaw
    facts: SituationFacts = eqx.field(static=True)
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    sigma: float | None = eqx.field(static=True)

    @in_float64
    def __init__(self, draft: Draft, facts: SituationFacts) -> None:
        rounds, n_columns = draft.columns.shape
        if not 0 < rounds <= MOST_ROUNDS or len(draft.means) != rounds:
            raise InvalidArgument(
                f"draft must have between 1 and {MOST_ROUNDS} rounds of columns and means, "
                f"got {rounds} and {len(draft.means)}."
            )
        numbered = np.column_stack([draft.columns, np.arange(rounds)]).astype(np.float32)
        self.dealt, self.mean_rewards = jnp.asarray(numbered), jnp.asarray(draft.means)
        self.law, self.facts, self.name = draft.law, facts, facts.family
        self.n_actions, self.sigma = draft.means.shape[1], None
        code = VisibleColumns(n_actions=self.n_actions, n_columns=n_columns)
        self.representations = (code,)

    @property
    def n_rounds(self) -> int:
        """Number of rounds T."""
        return int(self.mean_rewards.shape[0])

    @property
    def columns(self) -> NDArray[np.float32]:
        """The visible columns of every round, (T, m)."""
        return np.asarray(self.dealt)[:, :-1]

    @property
    def stationary(self) -> bool:
        """Whether the mean rewards of a context never change; the law of contexts may."""
        return self.facts.change in ("none", "contexts")

    @property
    def easy(self) -> bool:
        """Whether a certificate is expected for most rounds within ten thousand of them."""
        return self.facts.easy

    @property
    def random_loss(self) -> float:
        """What uniformly random play loses per round, on average over all rounds."""
        means = np.asarray(self.mean_rewards)
        return float((means.max(axis=1) - means.mean(axis=1)).mean())

    @in_float64
    def contexts_from(self, key: Array, n: int, first: ArrayLike) -> Array:
        """Deal rounds first .. first + n - 1, (n, m + 1), which were drawn in advance."""
        del key
        rows = (jnp.asarray(first) + jnp.arange(n)) % self.n_rounds
        return jnp.asarray(self.dealt[rows])

    def contexts(self, key: Array, n: int) -> Array:
        """Deal the first n rounds."""
        return self.contexts_from(key, n, 0)

    @in_float64
    def noises(self, key: Array, n: int) -> Array:
        """Draw n uniform numbers, (n,)."""
        drawn: Array = draws.uniforms(key, n)
        return drawn

    @in_float64
    def means(self, context: Context) -> Array:
        """Return the mean rewards of a round, (A,)."""
        return self.mean_rewards[jnp.asarray(context)[-1].astype(jnp.int32)]

    def mask(self, context: Context) -> Array:  # noqa: ARG002 - every round offers every action
        """Return which actions are available, (A,): all of them."""
        return jnp.ones(self.n_actions, dtype=bool)

    @in_float64
    def reward(self, mean: Array, noise: Array) -> Array:
        """Return the reward at the quantile `noise` of the law with this mean."""
        return self.law.draw(mean, noise)

    @in_float64
    def rewards(self, seed: int) -> Floats:
        """Return what every action would pay in every round, (T, A), for policies outside JAX."""
        u = np.random.default_rng([seed, 1]).random(self.n_rounds)
        pay = jax.jit(jax.vmap(jax.vmap(self.law.draw, in_axes=(0, None))))
        paid: Floats = np.asarray(pay(self.mean_rewards, u))
        return paid

    def since(self, first: int) -> "Situation":
        """Return the situation of the rounds from `first` on, where the first round is round 0."""
        means = np.asarray(self.mean_rewards)[first:]
        return Situation(Draft(self.columns[first:], means, self.law), self.facts)

    def anonymous(self) -> "Situation":
        """Return this situation without name and facts, which no round reads."""
        other: Situation = object.__new__(Situation)
        for field in dataclasses.fields(self):
            object.__setattr__(other, field.name, self.__dict__[field.name])
        for name, value in (("name", ""), ("facts", SituationFacts()), ("representations", ())):
            object.__setattr__(other, name, value)
        return other


def make_situation(name: str, *, rounds: int = 10_000, seed: int = 0) -> Situation:
    """Draw a situation of a family; see `FAMILIES` for the names.

    Args:
        name: For example "xor" or "swap".
        rounds: Number of rounds T. Changes are placed relative to it, most at half of it.
        seed: Seed of the rounds.

    Example:
        >>> import banditsrl
        >>> situation = banditsrl.make_situation("linear-boundary", rounds=500, seed=3)
        >>> situation.n_actions, situation.columns.shape, round(situation.random_loss, 3)
        (2, (500, 6), 0.3)
    """
    family = FAMILIES[name]
    facts = dataclasses.replace(family.facts, seed=count("seed", seed, 0))
    # Families draw differently from the same seed, so that no two of them share their contexts.
    rng = np.random.default_rng([facts.seed, zlib.crc32(name.encode())])
    return Situation(family.draw(rng, count("rounds", rounds)), facts)
