"""What is measured in one run? Regret, the time of `act` and `learn` alone, and peak memory.

Two times are measured: processor time, which other work on the machine hardly affects, and
wall-clock time. On an idle machine with one thread they agree.
"""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from streams import CHECKPOINTS, Stream, recorded_steps, regret_curve

Record = dict[str, Any]


class Moment(NamedTuple):
    """Processor time and wall-clock time in seconds."""

    processor: float
    clock: float

    def since(self, before: "Moment") -> "Moment":
        """Return the time since an earlier moment."""
        return Moment(self.processor - before.processor, self.clock - before.clock)

    def per_step(self, steps: int) -> Record:
        """Return both times per step, in microseconds."""
        return {
            "microseconds": 1e6 * self.processor / steps,
            "clock_microseconds": 1e6 * self.clock / steps,
        }


def now() -> Moment:
    """Return the present moment."""
    return Moment(time.process_time(), time.perf_counter())


class Player(Protocol):
    """Anything that acts on a context and learns from a reward."""

    def act(self, context: NDArray[np.float32]) -> int:
        """Choose an action."""

    def learn(self, context: NDArray[np.float32], action: int, reward: float) -> None:
        """Learn from the reward of the action that was chosen."""


def measure(make: Callable[[], Player], stream: Stream, steps: int) -> Record:
    """Let a player play a stream, and return its record."""
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
        "curve": [[step, curve[step - 1]] for step in recorded_steps(steps)],
        **spent.per_step(steps),
        "memory_mb": peak_memory() - before,
    }


def peak_memory() -> float:
    """Return the peak resident memory of this process, in megabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
