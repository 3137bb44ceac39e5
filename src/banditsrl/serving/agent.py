"""How does a policy live in an application? An `Agent` keeps what a loop would have to keep.

A policy is frozen and its state is a value, which suits simulation. An application has one stream
of rounds and wants to say `act` and `learn`. The agent holds the state, the history of the rounds
that learning may need again, and the randomness; it ends phases when they are due (this is when a
network is trained, inside `learn`), and it saves and loads all of that as one file.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.core.history import BLOCK, History
from banditsrl.core.phases import phase_ends
from banditsrl.core.policy import Choice, keeps_history
from banditsrl.core.state_files import load_state, save_state
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.serving.compiled import compiled
from banditsrl.serving.warm_start import warm_start


class Memory(NamedTuple):
    """What an agent keeps, and saves."""

    state: Any
    contexts: NDArray[Any]  # (capacity, ...) of which the first `n` happened
    actions: NDArray[np.int32]
    rewards: NDArray[np.float64]
    certified: NDArray[np.bool_]
    n: NDArray[np.int64]  # rounds learned
    n_choices: NDArray[np.int64]  # choices made
    key: Array


class Agent:
    """A policy in an application: it acts, learns, and ends its phases itself.

    Args:
        policy: Any policy; `make_policy("banditsrl-auto", Stream(...))` where in doubt.
        seed: Of its own randomness.

    Example:
        >>> import banditsrl
        >>> stream = banditsrl.Stream(n_columns=3, n_actions=2)
        >>> agent = Agent(banditsrl.make_policy("linucb-disjoint", stream))
        >>> choice = agent.act([0.1, -1.0, 0.5])
        >>> agent.learn([0.1, -1.0, 0.5], choice, reward=1.0)
        >>> agent.n_rounds
        1
    """

    def __init__(self, policy: Any, *, seed: int = 0) -> None:
        self.policy = policy
        self._verbs = compiled(policy)
        key, init_key = jax.random.split(jax.random.key(count("seed", seed, 0)))
        self._memory = _empty(policy.init(init_key), key)
        self._ends = _ends(policy)
        self._remembers = keeps_history(policy)

    @classmethod
    def from_log(
        cls, policy: Any, *, contexts: Any, actions: Any, rewards: Any, seed: int = 0
    ) -> "Agent":
        """An agent that has already learned from logged rounds (see `warm_start`)."""
        agent = cls(policy, seed=seed)
        log = {"contexts": contexts, "actions": actions, "rewards": rewards}
        state, history = warm_start(policy, agent._memory.key, **log)
        n = int(history.n)
        kept: dict[str, Any] = {name: np.array(getattr(history, name))[:n] for name in _BUFFERS}
        memory = agent._memory._replace(state=state, n=np.asarray(n, dtype=np.int64))
        agent._memory = _grown(memory._replace(**kept), n) if agent._remembers else memory
        return agent

    @property
    def n_rounds(self) -> int:
        """Rounds learned so far."""
        return int(self._memory.n)

    @property
    def state(self) -> Any:
        """The policy's state, for instance for `policy.report`."""
        return self._memory.state

    def act(self, context: Any, mask: Any = None) -> Choice:
        """Choose an action of a context; `choice.certified` says that it is proved best."""
        memory = self._memory
        key = _folded(memory.key, 2 * int(memory.n_choices))
        choice = self._verbs.act(memory.state, np.asarray(context), mask, key)
        self._memory = memory._replace(n_choices=memory.n_choices + 1)
        return choice

    def learn(
        self, context: Any, choice: Choice | int, reward: float, *, certified: bool = False
    ) -> None:
        """Learn the reward of a choice, or of an action that something else chose.

        Rewards may come late and in any order. At the end of a phase this trains.
        """
        action = choice
        if isinstance(choice, Choice):
            action, certified = int(choice.action), bool(choice.certified)
        context, memory = np.asarray(context), self._memory
        state = self._verbs.learn(memory.state, context, action, reward, certified)
        memory = memory._replace(state=state, n=memory.n + 1)
        if self._remembers:
            memory = _kept(memory, context, action, reward, certified)
        if self._ends(int(memory.n)):
            key = jax.random.fold_in(memory.key, 2 * int(memory.n) + 1)
            history = _history(memory) if self._remembers else None
            memory = memory._replace(state=self._verbs.refresh(memory.state, history, key))
        self._memory = memory

    def save(self, path: str | Path) -> None:
        """Write everything to a file, in one piece or not at all."""
        n = int(self._memory.n) if self._remembers else 0
        cut = {name: getattr(self._memory, name)[:n] for name in _BUFFERS}
        save_state(path, _Whole(self.policy), self._memory._replace(**cut))

    @classmethod
    def load(cls, path: str | Path, policy: Any) -> "Agent":
        """The agent that was saved with the same policy; it goes on as if it had not stopped."""
        memory: Memory = load_state(path, _Whole(policy))
        agent = cls(policy)
        arrays: dict[str, Any] = {
            n: np.array(getattr(memory, n)) for n in (*_BUFFERS, "n", "n_choices")
        }
        memory = memory._replace(**arrays)
        agent._memory = _grown(memory, len(memory.actions)) if agent._remembers else memory
        return agent


_folded = jax.jit(jax.random.fold_in)

_BUFFERS = ("contexts", "actions", "rewards", "certified")


@dataclasses.dataclass(frozen=True)
class _Whole:
    """A policy whose state is an agent's memory, for the state file."""

    policy: Any

    def init(self, key: Array) -> Memory:
        return _empty(self.policy.init(key), key)


def _empty(state: Any, key: Array) -> Memory:
    zero = np.zeros((), dtype=np.int64)
    return Memory(
        state,
        contexts=np.zeros(0),
        actions=np.zeros(0, dtype=np.int32),
        rewards=np.zeros(0),
        certified=np.zeros(0, dtype=bool),
        n=zero,
        n_choices=zero,
        key=key,
    )


def _ends(policy: Any) -> Callable[[int], bool]:
    """Whether a phase ends after so many rounds."""
    growth = getattr(policy, "phase_growth", None)
    if growth is None:
        return lambda n: False  # noqa: ARG005 - without phases none ends
    return lambda n: n in phase_ends(growth, n)[-1:]


def _kept(memory: Memory, context: NDArray[Any], *rest: Any) -> Memory:
    """The memory with one more round in its buffers."""
    at = int(memory.n) - 1
    if at == 0:
        room = np.zeros((len(memory.actions), *context.shape), dtype=context.dtype)
        memory = memory._replace(contexts=room)
    if context.shape != memory.contexts.shape[1:]:
        raise InvalidArgument(
            f"context must have shape {memory.contexts.shape[1:]} as before, got {context.shape}."
        )
    wide = np.result_type(memory.contexts, context)  # whole numbers first, fractions later
    memory = _grown(memory._replace(contexts=memory.contexts.astype(wide, copy=False)), at + 1)
    for name, value in zip(_BUFFERS, (context, *rest), strict=True):
        getattr(memory, name)[at] = value
    return memory


def _grown(memory: Memory, n: int) -> Memory:
    """The memory with room for n rounds: a power of two of blocks, so few sizes are compiled."""
    size = BLOCK
    while size < n:
        size *= 2

    def room(old: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([old, np.zeros((size - len(old), *old.shape[1:]), dtype=old.dtype)])

    if len(memory.actions) >= size:
        return memory
    buffers: dict[str, Any] = {name: room(getattr(memory, name)) for name in _BUFFERS}
    return memory._replace(**buffers)


@in_float64
def _history(memory: Memory) -> History:
    """The rounds as `refresh` wants them; copied, since the buffers go on changing."""
    buffers = {name: jnp.array(getattr(memory, name)) for name in _BUFFERS}
    return History(**buffers, n=jnp.asarray(memory.n, dtype=jnp.int32))
