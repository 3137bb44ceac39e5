"""What is measured of one run? Regret, the time of `act` and `learn` alone, and peak memory.

Time is taken twice: that of the processor, which other work on the machine hardly changes, and
that of the clock. With one thread on an idle machine they agree.
"""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from streams import CHECKPOINTS, Stream, recorded, regret_curve

Record = dict[str, Any]


class Moment(NamedTuple):
    """Seconds of the processor and of the clock."""

    processor: float
    clock: float

    def since(self, before: "Moment") -> "Moment":
        """What has passed."""
        return Moment(self.processor - before.processor, self.clock - before.clock)

    def per_step(self, steps: int) -> Record:
        """The two costs of a step, in microseconds."""
        return {
            "microseconds": 1e6 * self.processor / steps,
            "clock_microseconds": 1e6 * self.clock / steps,
        }


def now() -> Moment:
    """The time."""
    return Moment(time.process_time(), time.perf_counter())


class Player(Protocol):
    """Anything that acts on a context and learns from a reward."""

    def act(self, context: NDArray[np.float32]) -> int:
        """Choose an action."""

    def learn(self, context: NDArray[np.float32], action: int, reward: float) -> None:
        """Learn from the reward of the action that was chosen."""


def measured(make: Callable[[], Player], stream: Stream, steps: int) -> Record:
    """Play a stream to the end."""
    before = peak_memory()
    player = make()
    actions = np.zeros(steps, dtype=np.int64)
    spent = Moment(0.0, 0.0)
    for step in range(steps):
        context, rewards = stream.contexts[step], stream.rewards[step]
        started = now()
        action = player.act(context)
        player.learn(context, action, float(rewards[action]))
        passed = now().since(started)
        spent = Moment(spent.processor + passed.processor, spent.clock + passed.clock)
        actions[step] = action
    curve = regret_curve(stream, actions)
    return {
        "status": "done",
        "regret": {str(step): curve[step - 1] for step in CHECKPOINTS if step <= steps},
        "curve": [[step, curve[step - 1]] for step in recorded(steps)],
        **spent.per_step(steps),
        "memory_mb": peak_memory() - before,
    }


def peak_memory() -> float:
    """The most memory this process ever had resident, in megabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
