"""What is a problem? Something that deals contexts and pays rewards.

`Task` is what a policy needs to know in order to be built: how many actions there are, how noisy
rewards are, and how contexts may be embedded. `Problem` is a task that can also be simulated. All
randomness is handed in as keys, so that changing the policy changes neither contexts nor noise.
"""

from abc import abstractmethod
from typing import Protocol, TypeAlias

import equinox as eqx
from jax import Array
from jax.typing import ArrayLike

from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import DescribedMeta


class Task(eqx.Module, metaclass=DescribedMeta):
    """What a policy needs to know about the rounds that it will decide.

    Attributes:
        name: Name in tables and figures.
        n_actions: Number of actions A.
        sigma: Sub-Gaussian constant of the noise, or None to have policies estimate it.
        representations: The candidate embeddings, in the order in which policies refer to them.
    """

    name: eqx.AbstractVar[str]
    n_actions: eqx.AbstractVar[int]
    sigma: eqx.AbstractVar[float | None]
    representations: eqx.AbstractVar[tuple[Representation, ...]]

    @property
    def n_contexts(self) -> int | None:
        """Number of contexts X if a context is an index into a table, otherwise None."""
        return None

    def __repr__(self) -> str:
        """Return one line: the name, the number of actions, and how contexts are described."""
        size = f"{self.n_actions} actions, {self.describe_contexts()}"
        return f"{type(self).__name__}({self.name!r}, {size})"

    def describe_contexts(self) -> str:
        """Return in a few words what contexts and candidates there are."""
        known = "" if self.n_contexts is None else f"{self.n_contexts:,} contexts, "
        dims = ", ".join(str(candidate.dim) for candidate in self.representations)
        if len(self.representations) == 1:
            return f"{known}embeddings of dimension {dims}"
        return f"{known}{len(self.representations)} candidates of dimension {dims or 'none'}"


class Problem(Task):
    """A task that can be simulated: it deals contexts and pays noisy rewards.

    A subclass owes the attributes of `Task` and the five methods below. They are compiled, so they
    are written with `jax.numpy`.
    """

    @abstractmethod
    def contexts(self, key: Array, n: int) -> Context:
        """Deal n contexts; the first axis of every array counts them."""

    @abstractmethod
    def noises(self, key: Array, n: int) -> Array:
        """Draw the randomness of n rewards, (n,), whichever actions will be played."""

    @abstractmethod
    def means(self, context: Context) -> Array:
        """Return the mean rewards of a context, (A,), which policies never see."""

    @abstractmethod
    def mask(self, context: Context) -> Array:
        """Return which actions are available in a context, (A,) booleans."""

    @abstractmethod
    def reward(self, mean: Array, noise: Array) -> Array:
        """Return the reward of an action with this mean, given the randomness drawn for it."""

    def contexts_from(self, key: Array, n: int, first: ArrayLike) -> Context:
        """Deal the contexts of rounds first .. first + n - 1, where the first round is round 0.

        Override it if rounds have an order, such as when something changes over time. By default
        every block of rounds is dealt alike, by `contexts`.
        """
        del first
        return self.contexts(key, n)

    def anonymous(self) -> "Problem":
        """Return this problem without the parts that no round uses, such as its name.

        Programs are compiled for the structure of a problem, so anonymous problems of one size
        share their programs. By default the problem itself is returned.
        """
        return self


class ProblemLike(Protocol):
    """What an outside object must have to be taken as a problem; see `core.adapters`."""

    @property
    def name(self) -> str:
        """Name in tables and figures."""

    @property
    def n_actions(self) -> int:
        """Number of actions A."""

    def contexts(self, key: Array, n: int) -> Context:
        """Deal n contexts."""

    def noises(self, key: Array, n: int) -> Array:
        """Draw the randomness of n rewards."""

    def means(self, context: Context) -> Array:
        """Return the mean rewards of a context."""

    def mask(self, context: Context) -> Array:
        """Return which actions are available in a context."""

    def reward(self, mean: Array, noise: Array) -> Array:
        """Return the reward of an action with this mean."""


AnyProblem: TypeAlias = Problem | ProblemLike
"""What people may hand over as a problem."""
