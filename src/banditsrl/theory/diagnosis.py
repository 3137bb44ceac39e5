"""Is a representation good enough for a known problem? Its spectral properties, from definitions.

Everything is computed with NumPy from the problem's tables, not estimated from data: the span of
the optimal actions' features, the span of all features, and the error of the best linear fit.
`log_diagnosis.py` estimates the same properties from logged rounds.
"""

from dataclasses import asdict, dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditsrl.core.representation import Representation
from banditsrl.display.charts import BarChart
from banditsrl.display.displayed import Displayed
from banditsrl.display.summaries import Summary
from banditsrl.errors import InvalidArgument
from banditsrl.problems.claims import reward_spread
from banditsrl.problems.finite import FiniteProblem, check_finite_problem
from banditsrl.problems.problem_catalogue import look_up_problem
from banditsrl.representations.conversion import as_representation
from banditsrl.representations.table import Table
from banditsrl.theory.column_scales import fit_least_squares, rank_of
from banditsrl.theory.diagnosis_words import draw_ranks, list_properties, state_verdict
from banditsrl.theory.misspecification import bound_misspecification

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

REALIZABLE_TOLERANCE = 1e-6
"""A linear fit whose largest error is at most this share of the spread of rewards is exact."""


@dataclass(frozen=True, repr=False)
class Diagnosis(Displayed):
    r"""Properties of one representation $\phi$ on one problem (paper, Section 2).

    The paper assumes one optimal action $a^\star$ in each context. Where several are tied, each
    counts with an equal share, as if ties were broken at random: "optimal features" are those of
    all tied actions, and the order of actions does not matter.

    Attributes:
        dim: Its dimension $d$.
        rank: Dimension of the span of all features.
        realizable: Whether some $\theta$ predicts every mean reward.
        error: Largest error of the best linear fit over contexts and actions.
        misspecification_lower: Certified lower bound on $\varepsilon_\phi$; zero when none was
            found.
        misspecification_upper: Upper bound on $\varepsilon_\phi$. It is attained by an explicit
            policy and its least-squares fit, so it holds if the ball of radius $B_\phi$ contains
            that fit.
        optimal_rank: Dimension of the span of the optimal actions' features.
        lambda_star: Smallest eigenvalue of $E[\phi(x,a^\star)\phi(x,a^\star)^\top]$.
        lambda_plus: Its smallest non-zero eigenvalue, which replaces lambda_star under weak HLS.
        hls: Whether the optimal features span $\mathbb{R}^d$.
        weak_hls: Whether the optimal features have the same span as all features.
        gamma: $\Gamma(\phi)$, the smallest eigenvalue of $E[\sum_a\phi(x,a)\phi(x,a)^\top]$.
        redundant: Whether all features together fail to span $\mathbb{R}^d$.
        L: Largest norm of a feature.
        B: Norm of theta-star, the best linear fit under rho.
        n_tied: Number of possible contexts in which several actions are optimal. The test never
            passes there for long, so the paper's constant regret needs it to be zero.
    """

    dim: int
    rank: int
    realizable: bool
    error: float
    misspecification_lower: float
    misspecification_upper: float
    optimal_rank: int
    lambda_star: float
    lambda_plus: float
    hls: bool
    weak_hls: bool
    gamma: float
    redundant: bool
    L: float
    B: float
    n_tied: int

    def as_dict(self) -> dict[str, Any]:
        """Return the properties by name."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"Diagnosis(dim={self.dim}: {state_verdict(self)})"

    def summary(self) -> Summary:
        """Return the properties in words, with the verdict in the title."""
        return Summary(state_verdict(self), list_properties(self))

    def chart(self) -> BarChart:
        """Return the dimension and the two ranks, whose agreement HLS is about."""
        return draw_ranks(self)

    def to_polars(self) -> "pl.DataFrame":
        """Return one row with all properties."""
        import polars as pl

        return pl.DataFrame([self.as_dict()])


class _Samples(NamedTuple):
    """Every context of positive probability, and every action that is available in it."""

    features: Floats  # (n, d)
    means: Floats  # (n,)
    weights: Floats  # (n,)  probability of the context


def diagnose(
    problem: FiniteProblem | str | Path, representation: int | Representation | ArrayLike
) -> Diagnosis:
    """Return the properties of one representation on a finite problem.

    Args:
        problem: The problem, whose mean rewards and context distribution are known, or its name.
        representation: Index of one of its candidates, a `Table`, or an array (X, A, d).

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> banditsrl.diagnose(problem, 0).hls, banditsrl.diagnose(problem, 1).hls
        (True, False)
    """
    problem = check_finite_problem(look_up_problem(problem))
    table = _read_features(problem, representation)  # (X, A, d)
    dim = table.shape[-1]
    samples = _possible_samples(problem, table)
    theta = _fit_rewards(samples)
    error = float(np.abs(samples.features @ theta - samples.means).max())
    unit = reward_spread(problem.mean_rewards, problem.possible)
    realizable = error <= REALIZABLE_TOLERANCE * unit
    lower, upper = (0.0, 0.0) if realizable else bound_misspecification(problem, table)
    optimal = _optimal_samples(problem, table)
    rank, optimal_rank = rank_of(samples.features), rank_of(optimal.features)
    eigenvalues = np.linalg.eigvalsh(_second_moment(optimal))
    return Diagnosis(
        dim=dim,
        rank=rank,
        realizable=realizable,
        error=error,
        misspecification_lower=lower,
        misspecification_upper=upper,
        optimal_rank=optimal_rank,
        lambda_star=max(float(eigenvalues[0]), 0.0) if optimal_rank == dim else 0.0,
        lambda_plus=float(eigenvalues[dim - optimal_rank]) if optimal_rank else 0.0,
        hls=optimal_rank == dim,
        weak_hls=optimal_rank == rank,
        gamma=_smallest_total_eigenvalue(problem, table) if rank == dim else 0.0,
        redundant=rank < dim,
        L=float(np.linalg.norm(samples.features, axis=-1).max()),
        B=float(np.linalg.norm(theta)),
        n_tied=int((_count_optimal(problem) > 1).sum()),
    )


def _read_features(
    problem: FiniteProblem, representation: int | Representation | ArrayLike
) -> Floats:
    if isinstance(representation, Integral) and not isinstance(representation, bool):
        k, n = int(representation), len(problem.representations)
        if not 0 <= k < n:
            raise InvalidArgument(
                f"representation must be an index below {n}, got {representation}."
            )
        return problem.representations[k].features
    table: Representation = as_representation(representation)
    if not isinstance(table, Table) or table.features.shape[:2] != problem.mean_rewards.shape:
        raise InvalidArgument(
            "representation must be a table of shape "
            f"({problem.n_contexts}, {problem.n_actions}, dim) for this problem, got "
            f"{type(table).__name__} of shape ({table.n_contexts}, {table.n_actions}, {table.dim})."
        )
    return table.features


def _possible_samples(problem: FiniteProblem, table: Floats) -> _Samples:
    possible = problem.possible
    weights = np.broadcast_to(problem.rho[:, None], possible.shape)
    return _Samples(table[possible], problem.mean_rewards[possible], weights[possible])


def _optimal_samples(problem: FiniteProblem, table: Floats) -> _Samples:
    """Return the optimal actions of every possible context, which share its probability."""
    weights = problem.rho[:, None] * problem.optimal_play  # (X, A)
    optimal = weights > 0
    return _Samples(table[optimal], problem.mean_rewards[optimal], weights[optimal])


def _count_optimal(problem: FiniteProblem) -> NDArray[np.int64]:
    """Return the number of optimal actions of every possible context."""
    return np.asarray((problem.optimal_play[problem.rho > 0] > 0).sum(axis=1))


def _fit_rewards(samples: _Samples) -> Floats:
    """Return theta-star, the weighted least-squares fit to the mean rewards, (d,)."""
    root = np.sqrt(samples.weights)
    return fit_least_squares(samples.features * root[:, None], samples.means * root)[0]


def _second_moment(samples: _Samples) -> Floats:
    """Return E[phi phi^T] over samples, (d, d)."""
    features = samples.features
    return np.asarray(np.einsum("x,xi,xj->ij", samples.weights, features, features))


def _smallest_total_eigenvalue(problem: FiniteProblem, table: Floats) -> float:
    """Return Gamma(phi), the smallest eigenvalue of E[sum_a phi(x, a) phi(x, a)^T]."""
    possible = problem.rho > 0
    weights, phi = problem.rho[possible], table[possible]
    available = problem.available[possible]
    total = np.einsum("x,xai,xaj->ij", weights, phi * available[..., None], phi)
    return max(float(np.linalg.eigvalsh(total)[0]), 0.0)
