"""How does a policy take part in an experiment of coba? As a learner with `predict` and `learn`.

    from coba import Environments, Experiment
    environments = Environments.from_linear_synthetic(1000, n_actions=5, n_action_features=0)
    Experiment(environments, [CobaLearner("linucb-disjoint")]).run().plot_learners()

The learner holds an `Agent`, so phases end and networks are trained inside `learn`. It starts when
the first round shows how many columns and actions there are. `predict` returns the action that the
policy chose, the probability with which it was chosen, and the choice itself, which coba passes on
to `learn`: certificates and audits work as they do everywhere else.

The set of actions is fixed (see `action_table`), and contexts become vectors (see `column_table`).
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.core.policy import Choice, Policy
from banditsrl.errors import InvalidType
from banditsrl.integrations.action_table import ActionTable
from banditsrl.integrations.coba_values import is_batch, read_levels
from banditsrl.integrations.column_table import ColumnTable
from banditsrl.policies.policy_catalogue import POLICIES, make_policy
from banditsrl.problems.stream import Stream
from banditsrl.serving.agent import Agent
from banditsrl.serving.compiled import Act, compiled


class CobaLearner:
    """A policy as a learner for coba 8.

    Args:
        policy: Name of the policy, as in `make_policy`.
        actions: The actions, if they are known beforehand.
        n_actions: Most actions that there will ever be. None means those of `actions`, or of the
            first round.
        n_columns: Most columns that contexts will need; it must be given where contexts hold words
            without levels, or are dictionaries.
        capacity: Number of rounds for which room is made at once; that of the experiment, if known,
            saves time in training.
        seed: Seed of the learner's own randomness.
        preset: Preset of a policy with a network.
        **settings: Settings of the policy.

    Example:
        >>> learner = CobaLearner("linucb-disjoint")
        >>> action, probability, extra = learner.predict((0.2, 1.0), ["left", "right"])
        >>> learner.learn((0.2, 1.0), action, 1.0, probability, **extra)
        >>> probability, learner.n_rounds
        (0.5, 1)
    """

    def __init__(
        self,
        policy: str = "banditsrl-auto",
        *,
        actions: Iterable[Any] | None = None,
        n_actions: int | None = None,
        n_columns: int | None = None,
        capacity: int = 1,
        seed: int = 1,
        preset: str | None = None,
        **settings: Any,
    ) -> None:
        POLICIES[policy]  # raises for an unknown name, and suggests the nearest one
        self._name, self._settings = policy, {"preset": preset, **settings}
        self._seed, self._capacity = count("seed", seed, 0), count("capacity", capacity)
        self._actions = ActionTable(actions, n_actions=n_actions)
        self._columns = ColumnTable(n_columns, levels=read_levels)
        self._agent: Agent | None = None
        self._act: Act | None = None  # for `score`, which must not count as a choice of the agent

    @property
    def params(self) -> dict[str, Any]:
        """Name and settings, for the tables of coba."""
        given = {name: value for name, value in self._settings.items() if value is not None}
        return {"family": self._name, "seed": self._seed, **given}

    @property
    def n_rounds(self) -> int:
        """Number of rounds learned so far."""
        return 0 if self._agent is None else self._agent.n_rounds

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float, dict[str, Choice]]:
        """Choose an action; return it with its probability, and with the choice for `learn`."""
        indices, vector = self._read(context, actions)
        choice = self._start(vector).act(vector, self._actions.mask(indices))
        played = int(choice.action)
        return actions[indices.index(played)], float(choice.pmf[played]), {"choice": choice}

    def score(self, context: Any, actions: Sequence[Any], action: Any) -> float:
        """Return the probability with which `predict` would choose this action now."""
        indices, vector = self._read(context, actions)
        wanted = self._actions.find_one(action)
        agent = self._start(vector)
        if self._act is None:
            self._act = compiled(agent.policy).act
        mask, key = self._actions.mask(indices), jax.random.key(self._seed)
        choice = self._act(agent.state, vector, mask, key)
        return float(choice.pmf[wanted])

    def learn(
        self,
        context: Any,
        action: Any,
        reward: float,
        probability: float | None,
        choice: Choice | None = None,
    ) -> None:
        """Learn the reward of an action, chosen by `predict` or by something else."""
        del probability  # the policies here learn a model of rewards, which needs no weights
        _refuse_batch(context)
        index = self._actions.find_one(action)
        vector = self._columns.encode(context)
        chosen = choice if choice is not None and int(choice.action) == index else index
        self._start(vector).learn(vector, chosen, float(reward))

    def _read(self, context: Any, actions: Sequence[Any]) -> tuple[list[int], NDArray[np.float64]]:
        """Return the indices of the actions of a round, and the vector of its context."""
        _refuse_batch(context)
        _refuse_batch(actions)
        indices = self._actions.find(actions)  # first, so that a bad round does not fix the columns
        return indices, self._columns.encode(context)

    def _start(self, vector: NDArray[np.float64]) -> Agent:
        """Return the agent, which is made when the first round shows how large it must be."""
        if self._agent is None:
            policy = self._make_policy(len(vector))
            self._agent = Agent(policy, seed=self._seed, capacity=self._capacity)
        return self._agent

    def _make_policy(self, n_columns: int | None) -> Policy[Any]:
        stream = Stream(n_columns=n_columns, n_actions=self._actions.n_actions)
        return make_policy(self._name, stream, **self._settings)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything as plain values; coba sends learners to other processes."""
        kept = dict(self.__dict__)
        agent, kept["_act"] = kept.pop("_agent"), None
        if agent is None:
            return {**kept, "saved": None}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent"
            agent.save(path)
            return {**kept, "saved": path.read_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue where the other one was; compiled programs are made again when needed."""
        kept = dict(state)
        saved = kept.pop("saved")
        self.__dict__.update(kept)
        self._agent = None
        if saved is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent"
            path.write_bytes(saved)
            policy = self._make_policy(self._columns.n_columns)
            self._agent = Agent.load(path, policy, capacity=self._capacity)


def _refuse_batch(value: Any) -> None:
    """Refuse several rounds at once; coba then passes them one by one."""
    if is_batch(value):
        raise InvalidType("a learner of this package takes one round at a time, got a batch.")
