"""What do logged rounds show about an embedding? How it fits, and which directions it saw.

Where `spectrum.py` decides from known tables, this file estimates from data: the noise that no
embedding can explain, how much worse than that a candidate fits, and what the played actions and
its own greedy actions span.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import finite_array, known_index
from banditsrl.errors import InvalidArgument
from banditsrl.theory.diagnosis import RANK_TOLERANCE

RIDGE = 1.0
"""Regulariser of the fit whose greedy actions are examined: the policies' default."""

MIN_FREEDOM = 30
"""Degrees of freedom from which an estimate of the noise (then good to about 25%) is used."""

MAX_ERRORS = 3.0
"""A misfit of more standard errors than this is taken as real."""

EXACT_SHARE = 1e-9
"""A misfit below this share of the mean squared reward is rounding."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Noise:
    """The mean squared error that remains whatever the embedding.

    Attributes:
        variance: Its estimate; nan if the rounds are too few for one.
        freedom: Degrees of freedom behind it.
        source: "repeats" of the same round, or all candidates "together" in one fit.
    """

    variance: float
    freedom: int
    source: str


@dataclass(frozen=True)
class LoggedDiagnosis:
    """What the log shows about one candidate.

    Attributes:
        dim: d.
        rank: Dimension of the span of all logged features, of whatever action.
        error: Mean squared error of its least-squares fit, corrected for the rank.
        error_stderr: Standard error of that.
        excess: How much of it is above the noise, judged round by round.
        excess_stderr: Standard error of that.
        realizable: Whether the excess may be chance; None if the data cannot tell.
        played: Eigenvalues of the second moment of the played features, ascending, (d,).
        greedy: The same for the actions that its own ridge fit prefers, (d,).
        played_rank: Dimension of the span of the played features.
        greedy_rank: Dimension of the span of the greedy features.
        L: Largest norm of a feature.
        B: Norm of the ridge fit.
    """

    dim: int
    rank: int
    error: float
    error_stderr: float
    excess: float
    excess_stderr: float
    realizable: bool | None
    played: Floats
    greedy: Floats
    played_rank: int
    greedy_rank: int
    L: float
    B: float


def diagnose_log(
    candidates: Mapping[str, Any], actions: Any, rewards: Any
) -> tuple[Noise, dict[str, LoggedDiagnosis]]:
    """Examine candidate embeddings on logged rounds.

    The noise comes from rounds that repeat (same embeddings in every candidate, same action) if
    there are enough; otherwise from a fit to all candidates' features together, which no single
    candidate can beat. A candidate counts as realizable while its squared residuals, round by
    round, exceed those of that reference by at most `MAX_ERRORS` standard errors.

    Args:
        candidates: By name, the embedding of every action in every round, (n_rounds, n_actions, d).
        actions: The actions played, (n_rounds,).
        rewards: Their rewards, (n_rounds,).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> phi = rng.normal(size=(500, 3, 2))
        >>> actions = rng.integers(0, 3, 500)
        >>> rewards = phi[np.arange(500), actions] @ [1.0, -1.0] + 0.1 * rng.normal(size=500)
        >>> noise, found = diagnose_log({"all": phi, "half": phi[..., :1]}, actions, rewards)
        >>> found["all"].realizable, found["half"].realizable
        (True, False)
    """
    y = finite_array("rewards", rewards, "(n_rounds,)")
    known_index("actions", actions, np.iinfo(np.int64).max)
    a = np.asarray(actions, dtype=np.int64)
    tables = {name: _table(name, value, a, y) for name, value in candidates.items()}
    if not tables:
        raise InvalidArgument("candidates must hold at least one embedding, got none.")
    rounds = np.arange(len(y))
    played = {name: table[rounds, a] for name, table in tables.items()}
    noise, squares = _noise(list(tables.values()), np.hstack(list(played.values())), a, y)
    if len(tables) == 1 and noise.source == "together":
        squares = None  # a candidate cannot be judged by its own residuals
    return noise, {name: _diagnosis(tables[name], played[name], y, squares) for name in tables}


def _table(name: str, value: Any, actions: Ints, rewards: Floats) -> Floats:
    table = finite_array(name, value, "(n_rounds, n_actions, dim)")
    if len(table) != len(rewards) or len(actions) != len(rewards):
        raise InvalidArgument(
            f"{name}, actions and rewards must have one entry per round, got {len(table)}, "
            f"{len(actions)} and {len(rewards)}."
        )
    known_index("actions", actions, table.shape[1])
    return table


def _noise(
    tables: list[Floats], together: Floats, actions: Ints, rewards: Floats
) -> tuple[Noise, Floats | None]:
    """The noise, and every round's share of it (they average to the variance), (n,)."""
    residuals, freedom = _within_repeats(tables, actions, rewards)
    source = "repeats"
    if freedom < MIN_FREEDOM:
        residuals, freedom = _least_squares(together, rewards)
        source = "together"
    if freedom < MIN_FREEDOM:
        return Noise(float("nan"), max(freedom, 0), source), None
    squares = residuals**2 * (len(rewards) / freedom)
    return Noise(float(squares.mean()), freedom, source), squares


def _within_repeats(tables: list[Floats], actions: Ints, rewards: Floats) -> tuple[Floats, int]:
    """Residuals from the mean of each repeated round, and their degrees of freedom."""
    n = len(rewards)
    columns = [table.reshape(n, -1) for table in tables] + [actions[:, None].astype(float)]
    rows = np.ascontiguousarray(np.hstack(columns) + 0.0)  # + 0.0 makes -0.0 equal to 0.0
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, group = np.unique(keys, return_inverse=True)
    sizes = np.bincount(group)
    means = np.bincount(group, weights=rewards) / sizes
    return rewards - means[group], n - len(sizes)


def _least_squares(features: Floats, rewards: Floats) -> tuple[Floats, int]:
    """Residuals of the least-squares fit, and their degrees of freedom."""
    theta, _, rank, _ = np.linalg.lstsq(features, rewards, rcond=RANK_TOLERANCE)
    return np.asarray(rewards - features @ theta), len(rewards) - int(rank)


def _diagnosis(
    table: Floats, played: Floats, rewards: Floats, noise: Floats | None
) -> LoggedDiagnosis:
    n, dim = played.shape
    theta = np.linalg.solve(played.T @ played + RIDGE * np.eye(dim), played.T @ rewards)
    greedy = table[np.arange(n), (table @ theta).argmax(axis=1)]
    residuals, freedom = _least_squares(played, rewards)
    squares = residuals**2 * (n / freedom) if freedom > 0 else np.full(n, np.nan)
    above = np.full(n, np.nan) if noise is None else squares - noise
    excess, excess_stderr = _mean(above)
    allowed = MAX_ERRORS * excess_stderr + EXACT_SHARE * float((rewards**2).mean())
    return LoggedDiagnosis(
        dim=dim,
        rank=_rank(table.reshape(-1, dim)),
        error=_mean(squares)[0],
        error_stderr=_mean(squares)[1],
        excess=excess,
        excess_stderr=excess_stderr,
        realizable=None if np.isnan(excess) else bool(excess <= allowed),
        played=_spectrum(played),
        greedy=_spectrum(greedy),
        played_rank=_rank(played),
        greedy_rank=_rank(greedy),
        L=float(np.linalg.norm(table, axis=-1).max()),
        B=float(np.linalg.norm(theta)),
    )


def _mean(values: Floats) -> tuple[float, float]:
    """Mean and standard error; the latter is zero for a single value."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), spread / float(np.sqrt(len(values)))


def _spectrum(rows: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(rows.T @ rows / len(rows))).clip(0.0)


def _rank(rows: Floats) -> int:
    return int(np.linalg.matrix_rank(rows, rtol=RANK_TOLERANCE))
