"""What do logged rounds show about an embedding? How well it fits, and which directions were seen.

`diagnosis.py` computes such properties from known tables; this file estimates them from data: the
noise that no embedding can explain, how much worse than the noise a candidate fits, and the spans
of the played actions and of the candidate's own greedy actions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditsrl.arguments import finite_array, known_index
from banditsrl.errors import InvalidArgument
from banditsrl.theory.column_scales import column_scales, fit_least_squares, rank_of

RIDGE = 1.0
"""Regulariser of the fit that decides the greedy actions, for columns whose mean square is one; the
default of the policies."""

MIN_FREEDOM = 30
"""Degrees of freedom that a noise estimate needs; its error is then about 25%."""

MAX_ERRORS = 3.0
"""An excess error of more standard errors than this is taken as real."""

EXACT_SHARE = 1e-9
"""An excess error below this share of the mean squared reward is taken as rounding."""

SMALLEST = 1e-100
"""Replaces the size of a column that is zero, which may not be divided by."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Noise:
    """The mean squared error that no embedding can remove.

    Attributes:
        variance: Estimate of the noise variance; nan if there are too few rounds for one.
        freedom: Degrees of freedom of the estimate.
        source: "repeats" if it comes from repeated rounds, "together" if it comes from one fit to
            the features of all candidates.
    """

    variance: float
    freedom: int
    source: str


@dataclass(frozen=True)
class LoggedDiagnosis:
    """Properties of one candidate, estimated from the log.

    Attributes:
        dim: d.
        rank: Dimension of the span of the logged features of all actions.
        error: Mean squared error of its least-squares fit, corrected for the rank.
        error_stderr: Standard error of `error`.
        n_rounds: Number of rounds of which `error` is the mean.
        excess: Mean difference between the squared error and the noise, over the rounds.
        excess_stderr: Standard error of `excess`.
        realizable: Whether chance can explain the excess; None if the data cannot tell.
        played: Eigenvalues of the second moment of the played features, ascending, (d,).
        greedy: The same for the greedy actions of its own ridge fit, (d,).
        played_rank: Dimension of the span of the played features.
        greedy_rank: Dimension of the span of the greedy features.
        L: Largest norm of a feature.
        B: Norm of the ridge fit.
    """

    dim: int
    rank: int
    error: float
    error_stderr: float
    n_rounds: int
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
    candidates: Mapping[str, ArrayLike], actions: ArrayLike, rewards: ArrayLike
) -> tuple[Noise, dict[str, LoggedDiagnosis]]:
    """Return the noise and the properties of every candidate embedding, from logged rounds.

    The noise is estimated from repeated rounds (the same embeddings in every candidate, and the
    same action) if there are enough of them. Otherwise it is estimated from one fit to the features
    of all candidates together, whose error no single candidate can undercut. A candidate counts as
    realizable if its squared residuals exceed those of that reference, on average over the rounds,
    by at most `MAX_ERRORS` standard errors.

    Args:
        candidates: The embedding of every action in every round, (n_rounds, n_actions, d), by name.
        actions: The actions played, (n_rounds,).
        rewards: The rewards of these actions, (n_rounds,).

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
    tables = {name: _read_table(name, value, a, y) for name, value in candidates.items()}
    if not tables:
        raise InvalidArgument("candidates must hold at least one embedding, got none.")
    rounds = np.arange(len(y))
    played = {name: table[rounds, a] for name, table in tables.items()}
    noise, squares = _estimate_noise(list(tables.values()), np.hstack(list(played.values())), a, y)
    if len(tables) == 1 and noise.source == "together":
        squares = None  # a candidate cannot be judged by its own residuals
    return noise, {name: _diagnose(tables[name], played[name], y, squares) for name in tables}


def _read_table(name: str, value: ArrayLike, actions: Ints, rewards: Floats) -> Floats:
    table = finite_array(name, value, "(n_rounds, n_actions, dim)")
    if len(table) != len(rewards) or len(actions) != len(rewards):
        raise InvalidArgument(
            f"{name}, actions and rewards must have one entry per round, got {len(table)}, "
            f"{len(actions)} and {len(rewards)}."
        )
    known_index("actions", actions, table.shape[1])
    return table


def _estimate_noise(
    tables: list[Floats], together: Floats, actions: Ints, rewards: Floats
) -> tuple[Noise, Floats | None]:
    """Return the noise, and one term per round, (n,), whose mean is the variance."""
    whole = np.hstack([table.reshape(len(rewards), -1) for table in tables])
    residuals, freedom = compare_repeats(whole, actions, rewards)
    source = "repeats"
    if freedom < MIN_FREEDOM:
        residuals, freedom = _compute_residuals(together, rewards)
        source = "together"
    if freedom < MIN_FREEDOM:
        return Noise(float("nan"), max(freedom, 0), source), None
    squares = residuals**2 * (len(rewards) / freedom)
    return Noise(float(squares.mean()), freedom, source), squares


def compare_repeats(rows: Floats, actions: Ints, rewards: Floats) -> tuple[Floats, int]:
    """Return deviations from the mean over equal rounds, and their degrees of freedom.

    Args:
        rows: What describes a round, (n, w).
        actions: The actions played, (n,).
        rewards: Their rewards, (n,).
    """
    n = len(rewards)
    columns = [rows, actions[:, None].astype(np.float64)]
    whole = np.ascontiguousarray(np.hstack(columns) + 0.0)  # + 0.0 makes -0.0 equal to 0.0
    keys = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, group = np.unique(keys, return_inverse=True)
    sizes = np.bincount(group)
    means = np.bincount(group, weights=rewards) / sizes
    return rewards - means[group], n - len(sizes)


def _compute_residuals(features: Floats, rewards: Floats) -> tuple[Floats, int]:
    """Return the residuals of the least-squares fit, and their degrees of freedom."""
    theta, rank = fit_least_squares(features, rewards)
    return np.asarray(rewards - features @ theta), len(rewards) - rank


def _fit_ridge(features: Floats, rewards: Floats) -> Floats:
    """Return the ridge fit to columns of mean square one, as a parameter of the features, (d,)."""
    scales = column_scales(features)
    scales = scales * np.sqrt(np.square(features / scales).mean(axis=0)).clip(SMALLEST)
    scaled = features / scales
    gram = scaled.T @ scaled + RIDGE * np.eye(features.shape[1])
    return np.asarray(np.linalg.solve(gram, scaled.T @ rewards) / scales)


def _diagnose(
    table: Floats, played: Floats, rewards: Floats, noise: Floats | None
) -> LoggedDiagnosis:
    n, dim = played.shape
    theta = _fit_ridge(played, rewards)
    greedy = table[np.arange(n), (table @ theta).argmax(axis=1)]
    residuals, freedom = _compute_residuals(played, rewards)
    squares = residuals**2 * (n / freedom) if freedom > 0 else np.full(n, np.nan)
    excess, excess_stderr, realizable = compare_with_noise(squares, noise, rewards)
    error, error_stderr = mean_and_stderr(squares)
    return LoggedDiagnosis(
        dim=dim,
        rank=rank_of(table.reshape(-1, dim)),
        error=error,
        error_stderr=error_stderr,
        n_rounds=n,
        excess=excess,
        excess_stderr=excess_stderr,
        realizable=realizable,
        played=_eigenvalues(played),
        greedy=_eigenvalues(greedy),
        played_rank=rank_of(played),
        greedy_rank=rank_of(greedy),
        L=float(np.linalg.norm(table, axis=-1).max()),
        B=float(np.linalg.norm(theta)),
    )


def compare_with_noise(
    squares: Floats, noise: Floats | None, rewards: Floats
) -> tuple[float, float, bool | None]:
    """Return the mean excess over the noise, its standard error, and whether it may be chance.

    Args:
        squares: Squared errors of a candidate, (n,).
        noise: Terms whose mean is the variance of the noise, (n,); None if it is unknown.
        rewards: The rewards, (n,), whose size says what counts as rounding.
    """
    if noise is None or np.isnan(squares).any():
        return float("nan"), float("nan"), None
    excess, stderr = mean_and_stderr(squares - noise)
    allowed = MAX_ERRORS * stderr + EXACT_SHARE * float((rewards**2).mean())
    return excess, stderr, bool(excess <= allowed)


def mean_and_stderr(values: Floats) -> tuple[float, float]:
    """Return the mean and its standard error, which is zero for a single value."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), spread / float(np.sqrt(len(values)))


def _eigenvalues(rows: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(rows.T @ rows / len(rows))).clip(0.0)
