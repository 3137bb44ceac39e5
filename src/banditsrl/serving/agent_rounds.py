"""What do the rounds of an agent look like? As a summary, as lines and as a table."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.history import History
from banditsrl.display.charts import LineChart, make_line
from banditsrl.display.intervals import BAND, margin_of_mean
from banditsrl.display.numerals import format_number, format_share
from banditsrl.display.summaries import Summary

if TYPE_CHECKING:
    import polars as pl

N_BINS = 50
"""Rounds are averaged in at most so many bins."""


def summarise_agent(
    name: str, n_rounds: int, n_choices: int, rounds: History | None, notes: tuple[str, ...]
) -> Summary:
    """Return how many rounds there were, and what they brought as far as they are kept."""
    rows = [("rounds learned", f"{n_rounds:,}"), ("choices made", f"{n_choices:,}")]
    if rounds is not None:
        rewards, certified = _read(rounds)
        rows.append(("mean reward", format_number(float(rewards.mean()))))
        rows.append(("certified rounds", format_share(float(certified.mean()))))
    return Summary(f"Agent with {name}", tuple(rows), (), notes)


def draw_rounds(name: str, rounds: History) -> LineChart:
    """Return mean reward with its 95% band, and the share of certified rounds, in bins."""
    rewards, certified = _read(rounds)
    bins = np.array_split(np.arange(len(rewards)), min(N_BINS, len(rewards)))
    ends = np.asarray([each[-1] + 1 for each in bins])
    means = np.asarray([rewards[each].mean() for each in bins])
    margins = np.asarray([float(margin_of_mean(rewards[each])) for each in bins])
    shares = np.asarray([certified[each].mean() for each in bins])
    lines = (
        make_line("mean reward", ends, means, margins),
        make_line("certified share", ends, shares),
    )
    return LineChart(name, "round", "mean reward, certified share", lines, BAND)


def tabulate_rounds(rounds: History | None) -> "pl.DataFrame":
    """Return one row per round that is kept."""
    import polars as pl

    n = 0 if rounds is None else int(rounds.n)
    actions = np.zeros(0, np.int32) if rounds is None else np.asarray(rounds.actions)[:n]
    rewards, certified = (np.zeros(0), np.zeros(0, bool)) if rounds is None else _read(rounds)
    return pl.DataFrame(
        {
            "round": np.arange(1, n + 1),
            "action": actions,
            "reward": rewards,
            "certified": certified,
        }
    )


def _read(rounds: History) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return rewards and certificates of the rounds that happened."""
    n = int(rounds.n)
    return np.asarray(rounds.rewards)[:n], np.asarray(rounds.certified)[:n]
