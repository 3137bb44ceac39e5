"""What happened in a run on a situation? The rounds as arrays, and one row of numbers per run.

This file needs NumPy only, so that it also serves environments without this version of the package.
"""

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Act = Callable[[NDArray[np.float32]], tuple[int, bool, Any]]
"""A function of a context that returns an action, whether it is certified, and its own choice."""

Learn = Callable[[NDArray[np.float32], Any, float], None]
"""A function of a context, the choice that `Act` returned for it, and its reward."""


class Rounds(NamedTuple):
    """The rounds of one situation, and what is known about it."""

    contexts: NDArray[np.float32]  # (T, m)
    means: NDArray[np.float64]  # (T, A)
    rewards: NDArray[np.float64]  # (T, A) what every action would pay
    seen: NDArray[np.bool_]  # (T,) whether the reward is ever seen
    delay: int  # rounds after which it is seen
    family: str
    seed: int

    @property
    def random_loss(self) -> float:
        """What uniformly random play loses per round."""
        return float((self.means.max(axis=1) - self.means.mean(axis=1)).mean())


class Counts(NamedTuple):
    """Totals at half, at four fifths and at the end of the rounds, (3,) each."""

    regret: NDArray[np.float64]
    certified: NDArray[np.float64]
    wrong: NDArray[np.float64]  # certified rounds whose action was not the best
    wrong_regret: NDArray[np.float64]  # their regret


def recorded_steps(n: int) -> list[int]:
    """Return half, four fifths and all of n rounds."""
    return [n // 2, n * 4 // 5, n]


def play(rounds: Rounds, act: Act, learn: Learn) -> Counts:
    """Play all rounds one by one; rewards arrive late, or never, as the situation says."""
    n = len(rounds.means)
    actions, certified = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    waiting: deque[tuple[int, Any]] = deque()
    for t in range(n):
        while waiting and waiting[0][0] + rounds.delay < t:
            past, choice = waiting.popleft()
            learn(rounds.contexts[past], choice, float(rounds.rewards[past, actions[past]]))
        actions[t], certified[t], chosen = act(rounds.contexts[t])
        if rounds.seen[t]:
            waiting.append((t, chosen))
    return count_rounds(rounds, actions, certified)


def count_rounds(
    rounds: Rounds, actions: NDArray[np.int64], certified: NDArray[np.bool_]
) -> Counts:
    """Return the totals of the actions that were played."""
    n = len(actions)
    regret = rounds.means.max(axis=1) - rounds.means[np.arange(n), actions]
    wrong = certified & (regret > 0)
    at = np.array(recorded_steps(n)) - 1
    totals = (regret, certified, wrong, np.where(wrong, regret, 0.0))
    return Counts(*(np.cumsum(total.astype(np.float64))[at] for total in totals))


def make_row(
    family: str, seed: int, rounds: int, random_loss: float, counts: Counts
) -> dict[str, Any]:
    """Return what is written down about a run.

    The certificate loss is the regret in certified rounds, per certified round, over what random
    play loses per round. It is None where nothing was certified or nothing can be lost.
    """
    half, fifth, end = (Counts(*values) for values in zip(*counts, strict=True))
    n_half, n_fifth, _ = recorded_steps(rounds)
    loss = None
    if end.certified and random_loss:
        loss = float(end.wrong_regret / end.certified / random_loss)
    return {
        "family": family,
        "seed": seed,
        "rounds": rounds,
        "random_loss": random_loss,
        "regret": float(end.regret),
        "second_half_regret": float(end.regret - half.regret),
        "certified": float(end.certified / rounds),
        "certified_last_fifth": float((end.certified - fifth.certified) / (rounds - n_fifth)),
        "wrong": float(end.wrong / end.certified) if end.certified else 0.0,
        "wrong_second_half": float((end.wrong - half.wrong) / (rounds - n_half)),
        "certificate_loss": loss,
    }


def rounds_path(folder: Path, family: str, seed: int) -> Path:
    """Return the file of exported rounds."""
    return folder / f"{family}--{seed}.npz"


def save_rounds(folder: Path, rounds: Rounds) -> None:
    """Write rounds for an environment that cannot draw them."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(rounds_path(folder, rounds.family, rounds.seed), **rounds._asdict())


def load_rounds(path: Path) -> Rounds:
    """Read what `save_rounds` wrote."""
    with np.load(path) as file:
        found = {name: file[name] for name in Rounds._fields}
    numbers = {"delay": int(found["delay"]), "seed": int(found["seed"])}
    return Rounds(**{**found, **numbers, "family": str(found["family"])})


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file; a line that was cut off by an interruption is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Add a row to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
