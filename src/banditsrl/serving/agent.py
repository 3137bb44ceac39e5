"""How does an application use a policy? Through an `Agent`, which keeps state and history.

A policy is frozen and its state is a value, which suits simulation. An application has one stream
of rounds, and calls `act` and `learn`. The agent holds the state, the history of the rounds
that learning may need again, and the randomness; it ends phases when they are due (this is when a
network is trained, inside `learn`), and it saves and loads all of that as one file.

Several threads may share an agent. Calls of `learn` wait for one another, and none is lost. `act`
never waits: while another thread trains, it uses the state from before the training. An application
that must not lose what it has learned when its process ends needs a `Loop` instead.
"""

import dataclasses
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import Array

from banditsrl.arguments import count
from banditsrl.core.adapters import as_policy
from banditsrl.core.history import History, resize
from banditsrl.core.phases import is_phase_end
from banditsrl.core.policy import AnyPolicy, Choice, State
from banditsrl.core.representation import Context
from banditsrl.core.state_files import load_state, save_state
from banditsrl.display.charts import LineChart
from banditsrl.display.displayed import Displayed
from banditsrl.display.numerals import format_count
from banditsrl.display.summaries import Summary
from banditsrl.errors import InvalidArgument
from banditsrl.policies.watched import Watched
from banditsrl.selection.trust import Trust
from banditsrl.serving.agent_memory import (
    Memory,
    Round,
    check_shape,
    empty_memory,
    is_full,
    room_for,
    write_recent,
)
from banditsrl.serving.agent_rounds import draw_rounds, summarise_agent, tabulate_rounds
from banditsrl.serving.bound_watch import BoundWatch
from banditsrl.serving.compiled import compiled
from banditsrl.serving.log_weights import LARGEST_WEIGHT
from banditsrl.serving.logged_rows import LoggedRows, choose_rounds
from banditsrl.serving.warm_start import learn_log

if TYPE_CHECKING:
    import polars as pl


class Agent(Displayed):
    """A policy in an application: it acts, learns, and ends its phases itself.

    Args:
        policy: Any policy; if in doubt, `make_policy("banditsrl-auto", Stream(...))`.
        seed: Seed of the agent's own randomness.
        reward_bound: Warn once when a reward exceeds this in absolute value. A bound L that was
            given to an embedding is watched in the same way.
        capacity: Rounds for which room is made at once, in whole blocks. Training is compiled again
            whenever the room is used up; then it doubles.

    Example:
        >>> import banditsrl
        >>> stream = banditsrl.Stream(n_columns=3, n_actions=2)
        >>> agent = Agent(banditsrl.make_policy("linucb-disjoint", stream))
        >>> choice = agent.act([0.1, -1.0, 0.5])
        >>> agent.learn([0.1, -1.0, 0.5], choice, reward=1.0)
        >>> agent.n_rounds
        1
    """

    def __init__(
        self,
        policy: AnyPolicy,
        *,
        seed: int = 0,
        reward_bound: float | None = None,
        capacity: int = 1,
    ) -> None:
        self.policy = policy
        self._policy = as_policy(policy)
        self._watch = BoundWatch(self._policy, reward_bound)
        self._compiled = compiled(self._policy)
        key, init_key = jax.random.split(jax.random.key(count("seed", seed, 0)))
        self._memory = empty_memory(self._policy.init(init_key), key)
        self._recent: tuple[Round, ...] = ()  # learned, and not yet written into the history
        self._n_choices = 0  # choices made, those that were refused included
        self._log_note = ""
        self._keeps_history = self._policy.phase_growth is not None and self._policy.uses_history
        self._capacity = count("capacity", capacity)
        self._learning, self._counting = threading.RLock(), threading.Lock()

    @classmethod
    def from_log(
        cls,
        policy: AnyPolicy,
        log: LoggedRows | None = None,
        *,
        contexts: Any = None,
        actions: Any = None,
        rewards: Any = None,
        propensities: Any = None,
        weighting: str = "none",
        largest_weight: float = LARGEST_WEIGHT,
        seed: int = 0,
    ) -> "Agent":
        """Return an agent that has already learned from logged rounds.

        The rounds are those of a `banditsrl.Log`, or arrays. `warm_start` describes the other
        arguments; `agent.log_note` says what bias remains.
        """
        agent = cls(policy, seed=seed)
        arrays = {"contexts": contexts, "actions": actions, "rewards": rewards}
        rounds = choose_rounds(log, {**arrays, "propensities": propensities}, weighting)
        options: Any = {"weighting": weighting, "largest_weight": largest_weight}
        state, history, note = learn_log(agent._policy, agent._memory.key, **rounds, **options)
        n = int(history.n)
        memory = agent._memory._replace(state=state, n=np.asarray(n, dtype=np.int64))
        if agent._keeps_history:
            memory = memory._replace(history=resize(history, room_for(n, agent._capacity)))
        agent._memory, agent._log_note = memory, note
        return agent

    @property
    def log_note(self) -> str:
        """What bias a log may have left in an agent from `from_log`; empty for other agents."""
        return self._log_note

    @property
    def n_rounds(self) -> int:
        """Number of rounds learned so far."""
        return int(self._memory.n)

    @property
    def state(self) -> State:
        """The policy's state, for instance for `policy.report`."""
        return self._memory.state

    def trust(self) -> Trust:
        """Return what audits have shown about certified rounds so far; `print` it for a sentence.

        This needs a policy with audits: ``make_policy(..., audit=0.01)``, or `Watched`.
        """
        if not isinstance(self._policy, Watched):
            raise InvalidArgument(
                "policy must be watched for trust(), such as make_policy(..., audit=0.01), "
                f"got {self._policy.display_name}."
            )
        return self._policy.trust(self._memory.state)

    # What people see.

    def __repr__(self) -> str:
        return f"Agent({self._policy.display_name}, {format_count(self.n_rounds, 'round')} learned)"

    def summary(self) -> Summary:
        """Return the policy, the rounds, and what audits have shown if there are any."""
        return summarise_agent(
            self._policy.display_name,
            self.n_rounds,
            self._n_choices,
            self._rounds(),
            self._say_trust(),
        )

    def _say_trust(self) -> tuple[str, ...]:
        """Return what audits have shown; nothing without audits, unless a change was noticed."""
        if not isinstance(self._policy, Watched):
            return ()
        trust = self.trust()
        if not (self._policy.audit or trust.n_alarms):
            return ()
        if not (trust.n_certified or trust.n_alarms):
            return ("No round has been certified so far.",)
        return (str(trust),)

    def chart(self) -> LineChart | None:
        """Return mean reward and certified share over rounds; None if no rounds are kept."""
        rounds = self._rounds()
        return None if rounds is None else draw_rounds(self._policy.display_name, rounds)

    def to_polars(self) -> "pl.DataFrame":
        """Return one row per round: action, reward and whether it was certified.

        Only a policy that reads its history again, such as one that trains, has its rounds kept.
        """
        rounds = self._rounds()
        if rounds is None and not self._keeps_history:
            raise InvalidArgument(
                "policy must keep its rounds for a table of them, got "
                f"{self._policy.display_name}, which learns from each round once."
            )
        return tabulate_rounds(rounds)

    def _rounds(self) -> History | None:
        """Return the rounds that are kept, or None if there are none."""
        with self._learning:
            memory = self._write(self._memory, self._recent)
        return memory.history if int(memory.history.n) else None

    # Rounds.

    def act(self, context: Context, mask: Any = None) -> Choice:
        """Choose an action for a context; `choice.certified` says whether the test passed."""
        with self._counting:
            n_choices, self._n_choices = self._n_choices, self._n_choices + 1
        memory = self._memory
        key = _fold_in(memory.key, 2 * n_choices)
        return self._compiled.act(memory.state, np.asarray(context), mask, key)

    def learn(
        self, context: Context, choice: Choice | int, reward: float, *, certified: bool = False
    ) -> None:
        """Learn the reward of a choice, or of an action that something else chose.

        Rewards may come late and in any order. At the end of a phase this trains.
        """
        action = choice
        if isinstance(choice, Choice):
            action, certified = int(choice.action), bool(choice.certified)
        one: Round = (np.array(context), action, reward, certified)  # a copy: callers reuse theirs
        with self._learning:
            self._learn(one, choice if isinstance(choice, Choice) else None)
            self._watch.see(float(reward), self._memory.state)

    def _learn(self, one: Round, choice: Choice | None) -> None:
        """Learn one round; if anything fails, the agent stays as it was before."""
        memory, recent, reward = self._memory, self._recent, one[2]
        if choice is not None:
            watched = self._compiled.watch(memory.state, one[0], choice, reward)
            memory = memory._replace(state=watched)
        memory = memory._replace(state=self._compiled.learn(memory.state, *one), n=memory.n + 1)
        if self._keeps_history:
            check_shape(one[0], recent, memory.history)
            recent = (*recent, one)
        ends = self._ends_phase(int(memory.n))
        if ends or is_full(recent):
            memory, recent = self._write(memory, recent), ()
        if ends:
            memory = memory._replace(state=self._refresh(memory))
        self._memory, self._recent = memory, recent

    def _write(self, memory: Memory, recent: tuple[Round, ...]) -> Memory:
        """Return the memory with recent rounds in its history."""
        room = room_for(int(memory.history.n) + len(recent), self._capacity)
        return write_recent(memory, recent, room)

    def _refresh(self, memory: Memory) -> State:
        """Return the state at the start of the next phase."""
        key = jax.random.fold_in(memory.key, 2 * int(memory.n) + 1)
        history = memory.history if self._keeps_history else None
        return self._compiled.refresh(memory.state, history, key)

    def save(self, path: str | Path) -> None:
        """Write everything to a file, in one piece or not at all."""
        with self._learning:
            memory = self._write(self._memory, self._recent)
        cut = resize(memory.history, int(memory.history.n))
        n_choices = np.asarray(self._n_choices, dtype=np.int64)
        kept = memory._replace(history=cut, n_choices=n_choices)
        save_state(path, _AgentState(self.policy), kept)

    @classmethod
    def load(
        cls,
        path: str | Path,
        policy: AnyPolicy,
        *,
        reward_bound: float | None = None,
        capacity: int = 1,
    ) -> "Agent":
        """Return the agent that was saved with the same policy; it continues where it stopped."""
        agent = cls(policy, reward_bound=reward_bound, capacity=capacity)
        memory: Memory = load_state(path, _AgentState(agent.policy))
        memory = memory._replace(n=np.array(memory.n))
        if agent._keeps_history:
            room = room_for(int(memory.n), agent._capacity)
            memory = memory._replace(history=resize(memory.history, room))
        agent._memory, agent._n_choices = memory, int(memory.n_choices)
        return agent

    def _ends_phase(self, n: int) -> bool:
        """Return whether a phase ends after n rounds."""
        growth = self._policy.phase_growth
        return growth is not None and is_phase_end(growth, n, self._policy.longest_phase)


_fold_in = jax.jit(jax.random.fold_in)


@dataclasses.dataclass(frozen=True)
class _AgentState:
    """A policy whose state is the memory of an agent; state files hold the name of this class."""

    policy: AnyPolicy

    def init(self, key: Array) -> Memory:
        return empty_memory(as_policy(self.policy).init(key), key)
