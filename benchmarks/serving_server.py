"""Which server does the load benchmark measure? `banditsrl serve`, which also knows `constant`.

    python benchmarks/serving_server.py serve CONFIG.yaml --store URL --port PORT

`constant` always plays the first available action and learns nothing, so what remains is the cost
of HTTP, of the log and of its syncing.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike
from serving_trace import trace

from banditsrl.cli import main
from banditsrl.core.policy import Choice, Policy
from banditsrl.core.problem import Task
from banditsrl.policies import POLICIES


class Nothing(NamedTuple):
    """The state of a policy that learns nothing."""

    n: Array


class Constant(Policy[Nothing]):
    """Plays the first available action."""

    count: int = eqx.field(static=True)

    @property
    def n_actions(self) -> int | None:
        """Number of actions."""
        return self.count

    def init(self, key: Array) -> Nothing:
        """Return the state."""
        del key
        return Nothing(jnp.zeros(()))

    def act(self, state: Nothing, context: Any, mask: ArrayLike | None, key: Array) -> Choice:
        """Return the first available action."""
        del state, context, key
        available = jnp.ones(self.count, dtype=bool) if mask is None else jnp.asarray(mask)
        action = jnp.argmax(available).astype(jnp.int32)
        return Choice.without_test(action, (jnp.arange(self.count) == action).astype(jnp.float64))

    def learn(
        self,
        state: Nothing,
        context: Any,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> Nothing:
        """Learn nothing."""
        del context, action, reward, certified
        return state


def _make_constant(task: Task, preset: dict[str, Any], **settings: Any) -> Constant:
    del preset, settings
    return Constant(task.n_actions)


if __name__ == "__main__":
    if "SERVING_TRACE" in os.environ:
        trace(Path(os.environ["SERVING_TRACE"]))
    POLICIES.add("constant", _make_constant)
    main()
