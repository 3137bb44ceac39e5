"""Is this embedding good enough? Spectral properties of a representation on a known problem.

Everything here is decided from the problem's tables with NumPy, by definition rather than by a
test on data: what the optimal actions span, what all actions span, and how well rewards fit.
"""

from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from banditsrl.core.representation import Representation
from banditsrl.errors import InvalidArgument
from banditsrl.problems.finite import FiniteProblem, check_finite_problem
from banditsrl.representations.conversion import as_representation
from banditsrl.representations.table import Table
from banditsrl.theory.misspecification import misspecification

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest are zero (instances in files are rounded)."""

REALIZABLE_TOLERANCE = 1e-6
"""A linear fit whose largest error is below this counts as exact."""


@dataclass(frozen=True)
class Diagnosis:
    """Properties of one representation phi on one problem (paper, Section 2).

    Attributes:
        dim: d.
        rank: Dimension of the span of all features.
        realizable: Whether some theta predicts every mean reward.
        error: Largest error of the best linear fit over contexts and actions.
        misspecification_lower: Certified lower bound on epsilon_phi (zero when none was found).
        misspecification_upper: Upper bound on epsilon_phi, reached by an explicit policy and its
            least-squares fit (which the ball must reach for the bound to hold).
        optimal_rank: Dimension of the span of the optimal actions' features.
        lambda_star: Smallest eigenvalue of E[phi(x, a*) phi(x, a*)^T].
        lambda_plus: Its smallest non-zero eigenvalue, which plays the same part under weak HLS.
        hls: The optimal features span R^d.
        weak_hls: The optimal features span what all features span.
        gamma: Gamma(phi), the smallest eigenvalue of E[sum_a phi(x, a) phi(x, a)^T].
        redundant: All features together do not span R^d.
        L: Largest norm of a feature.
        B: Norm of theta-star, the best linear fit under rho.
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

    def as_dict(self) -> dict[str, Any]:
        """The properties by name."""
        return asdict(self)


def diagnose(problem: FiniteProblem, representation: int | Any) -> Diagnosis:
    """The properties of one representation on a finite problem.

    Args:
        problem: The problem, whose mean rewards and context law are known.
        representation: Index of one of its candidates, a `Table`, or an array (X, A, d).

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> banditsrl.diagnose(problem, 0).hls, banditsrl.diagnose(problem, 1).hls
        (True, False)
    """
    features = _features(check_finite_problem(problem), representation)
    possible = problem.rho > 0
    weights = problem.rho[possible]
    table = features[possible]  # (X, A, d)
    means, available = problem.mean_rewards[possible], problem.available[possible]
    optimal = table[np.arange(len(table)), problem.optimal_actions[possible]]  # (X, d)
    everything = table[available]  # (samples, d)
    dim = features.shape[-1]
    root = np.sqrt(np.broadcast_to(weights[:, None], available.shape)[available])
    weighted = (everything * root[:, None], means[available] * root)
    theta = np.linalg.lstsq(*weighted, rcond=RANK_TOLERANCE)[0]
    error = float(np.abs(everything @ theta - means[available]).max())
    realizable = error <= REALIZABLE_TOLERANCE
    lower, upper = (0.0, 0.0) if realizable else misspecification(problem, features)
    rank, optimal_rank = _rank(everything), _rank(optimal)
    spectrum = np.linalg.eigvalsh(np.einsum("x,xi,xj->ij", weights, optimal, optimal))
    total = np.einsum("x,xai,xaj->ij", weights, table * available[..., None], table)
    return Diagnosis(
        dim=dim,
        rank=rank,
        realizable=realizable,
        error=error,
        misspecification_lower=lower,
        misspecification_upper=upper,
        optimal_rank=optimal_rank,
        lambda_star=max(float(spectrum[0]), 0.0) if optimal_rank == dim else 0.0,
        lambda_plus=float(spectrum[dim - optimal_rank]) if optimal_rank else 0.0,
        hls=optimal_rank == dim,
        weak_hls=optimal_rank == rank,
        gamma=max(float(np.linalg.eigvalsh(total)[0]), 0.0) if rank == dim else 0.0,
        redundant=rank < dim,
        L=float(np.linalg.norm(everything, axis=-1).max()),
        B=float(np.linalg.norm(theta)),
    )


def _features(problem: FiniteProblem, representation: int | Any) -> np.ndarray[Any, Any]:
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
            f"representation must be a table of shape {(*problem.mean_rewards.shape, 'dim')} "
            "for a finite problem, got another one."
        )
    return table.features


def _rank(rows: np.ndarray[Any, Any]) -> int:
    return int(np.linalg.matrix_rank(rows, rtol=RANK_TOLERANCE))
