"""Does a finite problem keep what it promises? One best action per context, and true claims."""

import numpy as np

from banditsrl.errors import InvalidProblem
from banditsrl.problems.claims import best_fit
from banditsrl.problems.finite import FiniteProblem


def verify_optimum(problem: FiniteProblem) -> None:
    """Refuse a problem in which some context has two best actions, so that the gap is zero."""
    if not problem.gap > 0.0:
        second = np.where(problem.rho > 0, np.sort(problem.gaps, axis=1)[:, 1], np.inf)
        tied = int(np.argmin(second))
        raise InvalidProblem(
            f"{problem.name} must have one optimal action per context and a positive gap, "
            f"got two best actions in context {tied}."
        )


def verify_realizable(problem: FiniteProblem, tolerance: float) -> None:
    """Refuse a problem if a claim to be realizable, or to be misspecified, does not hold."""
    for k, (table, claim) in enumerate(zip(problem.representations, problem.claims, strict=True)):
        if claim.realizable:
            errors = np.abs(table.features @ claim.theta - problem.mean_rewards)
            error = errors[problem.possible].max()
            if error > tolerance:
                raise InvalidProblem(
                    f"{problem.name}: representation {k} claims to be realizable to {tolerance:g}, "
                    f"got an error of {error:.3g}."
                )
        elif best_fit(table.features, problem.mean_rewards, problem.possible)[1] <= tolerance:
            raise InvalidProblem(
                f"{problem.name}: representation {k} claims to be misspecified, "
                f"got a linear fit exact to {tolerance:g}."
            )
