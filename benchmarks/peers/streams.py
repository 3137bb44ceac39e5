"""What does every library see? The same stored stream, one per problem and seed.

A stream holds, for each step, the context, the mean reward of every action, and the reward that
every action would pay. `dealing.py` writes the files. Reading them needs NumPy only, so that other
libraries are measured in a process without banditsrl.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PROBLEMS = ("wheel", "shuttle", "magic", "mushroom", "covertype")
CHECKPOINTS = (1_000, 2_500, 5_000, 10_000)
N_CURVE = 100
"""Number of points of a stored regret curve."""


class Stream(NamedTuple):
    """The rounds of one problem and seed."""

    contexts: NDArray[np.float32]  # (n, n_columns)
    means: NDArray[np.float64]  # (n, A)
    rewards: NDArray[np.float64]  # (n, A)

    @property
    def n_columns(self) -> int:
        """Length of a context vector."""
        return int(self.contexts.shape[1])

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return int(self.means.shape[1])


def stream_path(folder: Path, problem: str, seed: int, steps: int) -> Path:
    """Return the file of the stream of a problem and seed."""
    return folder / "streams" / f"{problem}-{seed}-{steps}.npz"


def save(path: Path, stream: Stream) -> None:
    """Write a stream in one piece: the file appears only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, contexts=stream.contexts, means=stream.means, rewards=stream.rewards)
    partial.replace(path)


def load(path: Path) -> Stream:
    """Read a stream."""
    with np.load(path) as arrays:
        return Stream(arrays["contexts"], arrays["means"], arrays["rewards"])


def regret_curve(stream: Stream, actions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cumulative pseudo-regret of the actions played, (n,)."""
    rows = np.arange(len(actions))
    means = stream.means[: len(actions)]
    return np.asarray(np.cumsum(means.max(axis=1) - means[rows, actions]))


def recorded_steps(steps: int) -> list[int]:
    """Return the steps at which regret is stored, including the checkpoints."""
    spaced = np.linspace(steps / N_CURVE, steps, N_CURVE).round().astype(int)
    marks = {int(step) for step in spaced if step > 0}
    return sorted(marks | {step for step in CHECKPOINTS if step <= steps} | {steps})
