"""When will a misspecified candidate be eliminated? A forecast on a known problem.

A candidate leaves Phi_t when its mean squared error exceeds that of another candidate by more than
the offset alpha_t of the other one. The noise is the same for all candidates, so the excess is lack
of fit alone. While a misspecified candidate is in use, mostly its own greedy actions are played, so
the forecast takes its lack of fit on those. The paper's tau_elim, which `banditsrl.theory`
computes, is a guarantee for the worst play instead, and can be a thousand times later.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from banditsrl.core.problem import Problem
from banditsrl.core.representation import Representation
from banditsrl.linear.bounds import OFFSETS
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.finite import FiniteProblem
from banditsrl.representations.table import Table

EXACT = 1e-12
"""A lack of fit below this share of the mean squared reward is rounding: the candidate fits."""

N_FITS = 10
"""Times that a candidate is fitted to its own greedy actions; these then hardly change any more."""

MAX_LOG2 = 60
"""Times beyond 2^60 count as never."""

Floats = NDArray[np.float64]


def forecast_elimination(
    problem: Problem, candidates: Sequence[Representation], *, delta: float, offset: str
) -> dict[int, float]:
    """Return the step at which each misspecified candidate is expected to leave Phi_t.

    Steps are powers of two, at which the phases of the paper end; infinity means never. The result
    is empty if the problem is not finite, if candidates are not tables of its size, or if none of
    them is realizable, since nothing is known then.

    Args:
        problem: Where the candidates will be used.
        candidates: The candidates Phi.
        delta: Confidence level.
        offset: Name of the elimination offset.
    """
    tables = [candidate for candidate in candidates if isinstance(candidate, Table)]
    if not isinstance(problem, FiniteProblem) or len(tables) < max(len(candidates), 2):
        return {}
    if {table.features.shape[:2] for table in tables} != {problem.mean_rewards.shape}:
        return {}
    truth = _Truth(problem.mean_rewards, problem.possible, problem.rho)
    fits = [_fit_uniform_play(truth, table) for table in tables]
    square = float(np.square(truth.means[truth.possible]).mean())
    fitting = [m for m, (_, error) in enumerate(fits) if error <= EXACT * square]
    if not fitting:
        return {}
    level = delta / len(tables) ** 2
    alphas = np.min([_offsets(offset, tables[m], fits[m][0], level) for m in fitting], axis=0)
    return {
        m: _first_power(alphas < _lack_of_fit(truth, table, fits[m][0]))
        for m, table in enumerate(tables)
        if m not in fitting
    }


def describe_late_elimination(
    expected: dict[int, float], horizon: int, offset: str
) -> tuple[str, ...]:
    """Return one sentence if some candidate will not be eliminated within the horizon."""
    late = {m: step for m, step in expected.items() if step > horizon}
    if not late:
        return ()
    m, step = max(late.items(), key=lambda item: item[1])
    when = "never" if math.isinf(step) else f"at about step {step:.0f}"
    advice = "; offset='tight' eliminates sooner" if offset == "paper" else ""
    sentence = (
        f"With offset={offset!r}, {len(late)} of {len(expected)} misspecified candidates will not "
        f"be eliminated within {horizon} steps (candidate {m}: {when}). Certificates may be wrong "
        f"while one of them is used{advice}."
    )
    return (sentence,)


class _Truth(NamedTuple):
    """What is true about a finite problem."""

    means: Floats  # (X, A) mean rewards
    possible: NDArray[np.bool_]  # (X, A) pairs that can occur
    rho: Floats  # (X,) probabilities of the contexts


def _fit_uniform_play(truth: _Truth, table: Table) -> tuple[Floats, float]:
    """Return the least-squares fit to all actions, (d,), and its mean squared error."""
    play = truth.possible / truth.possible.sum(axis=1, keepdims=True).clip(1)  # (X, A)
    theta = _fit_means(truth, table, play)
    return theta, _mean_squared_error(truth, table, play, theta)


def _lack_of_fit(truth: _Truth, table: Table, theta: Floats) -> float:
    """Return the mean squared error of a candidate that is fitted to its own greedy actions."""
    play = np.zeros_like(truth.means)  # (X, A)
    for _ in range(N_FITS):
        values = np.where(truth.possible, table.features @ theta, -np.inf)
        greedy = np.eye(truth.means.shape[1])[values.argmax(axis=1)]
        if (greedy == play).all():
            break
        play = greedy
        theta = _fit_means(truth, table, play)
    return _mean_squared_error(truth, table, play, theta)


def _fit_means(truth: _Truth, table: Table, play: Floats) -> Floats:
    """Return the least-squares fit to the mean rewards when actions have these shares, (d,)."""
    root = np.sqrt(truth.rho[:, None] * play)[truth.possible]
    rows = table.features[truth.possible] * root[:, None]
    return np.asarray(np.linalg.lstsq(rows, truth.means[truth.possible] * root)[0])


def _mean_squared_error(truth: _Truth, table: Table, play: Floats, theta: Floats) -> float:
    errors = np.square(table.features @ theta - truth.means)  # (X, A)
    return float(truth.rho @ (play * errors).sum(axis=1))


@in_float64
def _offsets(offset: str, table: Table, theta: Floats, level: float) -> Floats:
    """Return alpha_t of one candidate at every power of two, (MAX_LOG2,).

    The number of candidates enters both offsets as delta / |Phi|^2, which is `level`.
    """
    times = jnp.asarray(2.0 ** np.arange(1, MAX_LOG2 + 1))
    B = float(np.linalg.norm(theta)) if table.B is None else table.B
    known = {"dim": table.dim, "n_candidates": 1, "delta": level, "L": table.L, "B": B}
    return np.asarray(OFFSETS[offset](times, **known))


def _first_power(holds: NDArray[np.bool_]) -> float:
    """Return the first power of two from which on `holds` is true, or infinity."""
    failing = np.flatnonzero(~holds)
    first = int(failing[-1]) + 1 if failing.size else 0
    return math.inf if first == len(holds) else 2.0 ** (first + 1)
