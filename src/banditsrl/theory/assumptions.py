"""Which of the paper's assumptions does a problem violate? One sentence for each.

The paper's bounds are proved under the assumptions of its Section 2, and its own experiments
violate some of these. Bounds are therefore always shown together with this list.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from banditsrl.core.actions import ROUNDING as EQUAL
from banditsrl.problems.finite import FiniteProblem
from banditsrl.theory.diagnosis import Diagnosis

ROUNDING = 1e-9
"""A quantity that must not exceed one may exceed it by this much, for rounding."""


def list_violations(problem: FiniteProblem, diagnoses: Sequence[Diagnosis]) -> tuple[str, ...]:
    """Return one sentence for each assumption that the problem violates.

    Args:
        problem: A finite problem.
        diagnoses: `diagnose(problem, k)` of each of its representations, in their order.

    Example:
        >>> list_violations(FiniteProblem([[0.5, 0.5]], noise="none"), [])[0]
        'The smallest gap must be positive, but some context has two optimal actions.'
    """
    return (*_check_rewards(problem), *_check_representations(diagnoses))


def _check_rewards(problem: FiniteProblem) -> Iterator[str]:
    possible = problem.available & (problem.rho > 0)[:, None]
    largest = float(np.abs(problem.mean_rewards[possible]).max())
    if problem.noise == "gaussian" and problem.noise_std > 0:
        yield "Rewards must satisfy |y| <= 1 almost surely, but Gaussian noise has no bound."
    if largest > 1.0 + ROUNDING:
        yield f"Rewards must satisfy |y| <= 1, but a mean reward has size {largest:.3g}."
    if not problem.gap > EQUAL * largest:
        yield "The smallest gap must be positive, but some context has two optimal actions."


def _check_representations(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    indices = range(len(diagnoses))
    largest = max((d.L * d.B for d in diagnoses), default=0.0)
    if largest > 1.0 + ROUNDING:
        yield (
            "Predictions must satisfy |phi.theta| <= 1 for every theta in the ball, "
            f"but L B reaches {largest:.3g}."
        )
    realizable = [k for k in indices if diagnoses[k].realizable]
    if not realizable:
        yield "Some representation must be realizable, but none is."
    if redundant := [k for k in realizable if diagnoses[k].redundant]:
        yield f"Realizable representations must not be redundant, but {_name_with_verb(redundant)}."
    hls = [k for k in realizable if diagnoses[k].hls]
    if len(hls) != 1:
        found = _name_with_verb(hls) if hls else "none is"
        yield f"Exactly one realizable representation must be HLS, but {found}."
    wrong = [k for k in indices if not diagnoses[k].realizable]
    if unknown := [k for k in wrong if not diagnoses[k].misspecification_lower > 0]:
        yield (
            "Each other representation must have a positive misspecification, "
            f"but that of {_name(unknown)} is unknown."
        )


def _name(indices: Sequence[int]) -> str:
    return f"representation{'s' * (len(indices) > 1)} {', '.join(map(str, indices))}"


def _name_with_verb(indices: Sequence[int]) -> str:
    return f"{_name(indices)} {'is' if len(indices) == 1 else 'are'}"
