"""What is a policy? A frozen object of settings that chooses actions and learns from rewards.

A policy keeps nothing: its state is a pytree that `learn` and `refresh` take and return, so that
the same code is compiled, mapped over seeds, saved, loaded, replayed and tested.

    state  = policy.init(key)
    choice = policy.act(state, context, mask, key)
    state  = policy.watch(state, context, choice, reward)
    state  = policy.learn(state, context, choice.action, reward, choice.certified)
    state  = policy.refresh(state, history, key)        # at the end of a phase

An outside object with `init`, `act` and `learn` need not inherit from anything: `as_policy` in
`core.adapters` turns it into a `Policy` where it enters the package.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.core.history import History
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import DescribedMeta, list_changed_settings
from banditsrl.numerics.padding import Padding

StateT = TypeVar("StateT")

State: TypeAlias = Any
"""The state of some policy: a pytree of arrays, whose structure the policy decides."""

RegretBound: TypeAlias = Callable[..., Array]
"""R-bar(T, dim=, delta=, sigma=, lam=, L=, B=, n_actions=): regret in T steps, elementwise."""


class Choice(NamedTuple):
    """What a policy decided in one round, and on what grounds.

    An audited round is not certified: it counts as explored.

    Attributes:
        action: Index of the action.
        pmf: The distribution that the action was drawn from, (A,).
        certified: Whether the policy's test passed; docs/certificates.md says what that proves.
        glr: Ratio of the test, of likelihoods or of losses; nan without a test.
        threshold: What glr must exceed; infinite when the policy has no test.
        representation: Index of the representation used.
        audited: Whether the test passed and another action was played to check it.
    """

    action: Array
    pmf: Array
    certified: Array
    glr: Array
    threshold: Array
    representation: Array
    audited: ArrayLike = False

    @classmethod
    def without_test(cls, action: Array, pmf: Array, representation: ArrayLike = 0) -> "Choice":
        """Return the choice of a policy that has no test: it is never certified."""
        return cls(
            action=action,
            pmf=pmf,
            certified=jnp.zeros((), dtype=bool),
            glr=jnp.full((), jnp.nan),
            threshold=jnp.full((), jnp.inf),
            representation=jnp.asarray(representation, dtype=jnp.int32),
        )


class RidgeSettings(NamedTuple):
    """The settings of a ridge-based policy that a policy around it takes over by default."""

    sigma: float | None
    lam: float
    delta: float
    conventions: str


class Policy(eqx.Module, Generic[StateT], metaclass=DescribedMeta):
    """A bandit algorithm, with every member that one may have.

    A subclass owes `init`, `act` and `learn`. The other members have defaults, which suit an
    algorithm without phases, without a history and without a test.
    """

    # Every policy owes these.

    @abstractmethod
    def init(self, key: Array) -> StateT:
        """Return the state before the first round."""

    @abstractmethod
    def act(self, state: StateT, context: Context, mask: ArrayLike | None, key: Array) -> Choice:
        """Choose an action; `mask` (A,) says which are available, None means all of them."""

    @abstractmethod
    def learn(
        self,
        state: StateT,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> StateT:
        """Return the state after a reward; `certified` is `Choice.certified` of that round."""

    # What a policy may see and say besides.

    @property
    def watches(self) -> bool:
        """Whether `watch` does anything; if not, an application need not call it."""
        return False

    def watch(self, state: StateT, context: Context, choice: Choice, reward: ArrayLike) -> StateT:
        """Return the state after seeing a whole choice and its reward, right before `learn`."""
        del context, choice, reward
        return state

    def predict(self, state: StateT, context: Context) -> Array | None:
        """Return the predicted mean reward of every action, (A,), or None without a model."""
        del state, context
        return None

    @property
    def n_challengers(self) -> int:
        """Number C of actions that `challengers` returns."""
        return 0

    def challengers(self, state: StateT, context: Context) -> Array:
        """Return actions that rival a certified one, (C,) int32; some may agree with it."""
        del state, context
        return jnp.zeros((0,), dtype=jnp.int32)

    # The end of a phase.

    def refresh(self, state: StateT, history: History, key: Array) -> StateT:
        """Return the state at the start of the next phase, given all rounds so far."""
        del history, key
        return state

    @property
    def phase_growth(self) -> float | None:
        r"""The $\gamma$ of the phases, $t_{j+1}=\lceil\gamma t_j\rceil$, or None without phases."""
        return None

    @property
    def longest_phase(self) -> int | None:
        """Largest number of rounds between two phase ends, or None without a limit."""
        return None

    @property
    def uses_history(self) -> bool:
        """Whether `refresh` reads the history; if not, none is kept."""
        return False

    def report(self, state: StateT) -> dict[str, Array]:
        """Return what is recorded at the start of a run and at every phase end, by name."""
        del state
        return {}

    # What is known beforehand.

    def foresee(self, problem: Problem, horizon: int) -> tuple[str, ...]:
        """Return one sentence for each thing that cannot work on this problem in so many steps."""
        del problem, horizon
        return ()

    @property
    def n_actions(self) -> int | None:
        """Number of actions A, or None if the policy takes as many as the mask has."""
        found = self.embeddings
        return found[0].n_actions if found else None

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The representations of contexts; sizes, indices and bounds are checked against them."""
        return ()

    def largest_norms(self, state: StateT) -> Array | None:
        """Return the largest norm seen of each of `embeddings`, (M,), or None if not tracked."""
        del state
        return None

    @property
    def padding(self) -> Padding | None:
        """What part of the state is padding, if it changes at phase ends only; otherwise None."""
        return None

    @property
    def seeds_at_once(self) -> int | None:
        """How many seeds run side by side in a simulation, or None to leave that open."""
        return None

    @property
    def display_name(self) -> str:
        """Name in tables and messages; the name of the class by default."""
        return type(self).__name__

    @property
    def pmf_draws(self) -> int:
        """Number of Monte-Carlo draws behind `Choice.pmf`; zero means that it is exact."""
        return 0

    def __repr__(self) -> str:
        """Return one line: the name, the embedding and the settings that are not the default."""
        parts = [*_describe_embeddings(self), *list_changed_settings(self)]
        return f"{self.display_name}({', '.join(parts)})"

    # What a policy around this one may ask of its base.

    @property
    def ridge_settings(self) -> RidgeSettings | None:
        """The settings that a policy around this one takes over, or None if there are none."""
        return None

    @property
    def worst_case_regret(self) -> RegretBound | None:
        """A regret bound from known quantities, which the loss `bic` needs, or None."""
        return None

    @property
    def replays(self) -> bool:
        """Whether BanditSRL feeds all past rounds to this base when a new phase begins."""
        return False


def _describe_embeddings(policy: Policy[Any]) -> list[str]:
    """Return the kinds of embedding of a policy and their dimensions, in a few words."""
    embeddings = policy.embeddings
    if len(embeddings) > 1:
        dims = ", ".join(str(embedding.dim) for embedding in embeddings)
        return [f"{len(embeddings)} candidates of dimension {dims}"]
    return [f"{type(each).__name__} of dimension {each.dim}" for each in embeddings]


class PolicyLike(Protocol):
    """What an outside object must have to be taken as a policy; see `core.adapters`."""

    def init(self, key: Array) -> State:
        """Return the state before the first round."""

    def act(self, state: State, context: Context, mask: Any, key: Array) -> Choice:
        """Choose an action."""

    @property
    def learn(self) -> Callable[..., State]:
        """A function of state, context, action and reward, and `certified` if it takes that."""


AnyPolicy: TypeAlias = Policy[Any] | PolicyLike
"""What people may hand over as a policy."""
