"""What is to be said about each candidate embedding, and which one to use? In words.

This file puts what is known of a finite problem, or was seen in a log, into one form, says what
it means to someone who has to choose, and recommends a candidate.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.problems.finite import FiniteProblem
from banditsrl.reports.result_tables import number
from banditsrl.theory.diagnosis import diagnose
from banditsrl.theory.log_diagnosis import LoggedDiagnosis, Noise

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """One candidate, examined.

    Attributes:
        index: Its position, from 0.
        name: What to call it.
        dim: d.
        rank: Dimension of the span of all features.
        error: On a problem the largest error of the best linear fit, on a log the mean squared
            error.
        error_stderr: Standard error of that; zero on a problem.
        realizable: Whether it explains the rewards; None if the data cannot tell.
        fit: The same in words.
        played: Eigenvalues of the second moment of the played features (on a problem: every
            available action equally often), ascending.
        greedy: The same for the best actions.
        played_rank: Dimension of the span of the played features.
        greedy_rank: Dimension of the span of the best actions' features.
        L: Largest norm of a feature.
    """

    index: int
    name: str
    dim: int
    rank: int
    error: float
    error_stderr: float
    realizable: bool | None
    fit: str
    played: tuple[float, ...]
    greedy: tuple[float, ...]
    played_rank: int
    greedy_rank: int
    L: float

    @property
    def hls(self) -> bool:
        """The best actions span all d directions."""
        return self.greedy_rank == self.dim

    @property
    def weak_hls(self) -> bool:
        """The best actions span what all actions span."""
        return self.greedy_rank == self.rank

    @property
    def redundant(self) -> bool:
        """All features together do not span the d directions."""
        return self.rank < self.dim

    def lambda_min(self, which: str) -> float:
        """Smallest eigenvalue of the "played" or "greedy" features; zero below full rank."""
        full = getattr(self, f"{which}_rank") == self.dim
        return float(getattr(self, which)[0]) if full else 0.0

    @property
    def strength(self) -> float:
        """Smallest non-zero eigenvalue of the best actions' features, over L squared."""
        return self.greedy[self.dim - self.greedy_rank] / self.L**2 if self.greedy_rank else 0.0

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain JSON; what is not a number becomes null."""
        plain = asdict(self) | {"played": list(self.played), "greedy": list(self.greedy)}
        plain |= {name: getattr(self, name) for name in ("hls", "weak_hls", "redundant")}
        plain |= {f"{w}_lambda_min": self.lambda_min(w) for w in ("played", "greedy")}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in plain.items()}


def of_problem(problem: FiniteProblem) -> list[Finding]:
    """Every candidate of a problem whose tables are known."""
    return [_of_candidate(problem, k) for k in range(len(problem.representations))]


def of_log(noise: Noise, diagnoses: dict[str, LoggedDiagnosis]) -> list[Finding]:
    """Every candidate of a log."""
    best = min((d.error for d in diagnoses.values()), default=0.0)
    return [
        Finding(
            index=k,
            name=name,
            dim=d.dim,
            rank=d.rank,
            error=d.error,
            error_stderr=d.error_stderr,
            realizable=d.realizable,
            fit=_fit(d, noise, best),
            played=tuple(d.played.tolist()),
            greedy=tuple(d.greedy.tolist()),
            played_rank=d.played_rank,
            greedy_rank=d.greedy_rank,
            L=d.L,
        )
        for k, (name, d) in enumerate(diagnoses.items())
    ]


def recommend(findings: Sequence[Finding]) -> Finding:
    """The candidate to use: fits, then HLS, then weak HLS, then strongest or smallest.

    Among candidates that do not fit, the one with the smallest error.
    """
    fitting = [finding for finding in findings if finding.realizable is not False]
    if not fitting:
        return min(findings, key=lambda finding: finding.error)
    return max(fitting, key=_merit)


def advice(findings: Sequence[Finding], *, data: bool) -> str:
    """The recommendation in words; `data` says that it rests on a log."""
    best = recommend(findings)
    if best.realizable is False:
        return (
            f"No candidate explains the rewards. {best.name} comes nearest, but do not trust its "
            "certificates: its errors look like knowledge. Look for better features first."
        )
    shown = ", as far as the data show" if data else ""
    fits = {True: "explains the rewards", None: "may explain the rewards (not tested)"}
    start = f"Use {best.name}: it {fits[best.realizable]}{shown}"
    if best.hls:
        return (
            f"{start}, and its best actions reach all {best.dim} directions. Playing well keeps "
            "teaching it everything it needs, so exploration can end."
        )
    if best.weak_hls:
        return (
            f"{start}, and its best actions reach all {best.rank} directions that any action "
            f"reaches ({best.dim - best.rank} of {best.dim} are never used). Exploration can end; "
            "select with the loss weak or span."
        )
    return (
        f"{start}, but its best actions leave {best.rank - best.greedy_rank} of {best.rank} "
        "directions unseen, and no candidate does better: some exploration has to go on. LEADER "
        "can combine candidates that complete each other."
    )


def spanned(finding: Finding, *, data: bool) -> str:
    """What the best actions reach, in words."""
    shown = " as far as the data show" if data else ""
    redundant = f" Redundant: {finding.dim - finding.rank} of {finding.dim} directions are unused."
    if finding.hls:
        return f"HLS{shown}: the best actions reach every direction."
    if finding.weak_hls:
        return f"weak HLS{shown}: the best actions reach whatever any action reaches.{redundant}"
    missed = finding.rank - finding.greedy_rank
    return (
        f"not HLS{shown}: the best actions miss {missed} of the {finding.rank} directions that "
        f"all actions reach.{redundant if finding.redundant else ''}"
    )


def _merit(finding: Finding) -> tuple[bool, bool, bool, float, int]:
    strength = finding.strength if finding.weak_hls else 0.0
    return (finding.realizable is True, finding.hls, finding.weak_hls, strength, -finding.dim)


def _of_candidate(problem: FiniteProblem, k: int) -> Finding:
    d, features = diagnose(problem, k), problem.representations[k].features
    shares = problem.available / problem.available.sum(axis=1, keepdims=True)
    best = np.eye(problem.n_actions)[problem.optimal_actions]
    fit = f"predicts every mean reward (largest error {d.error:.1e})"
    if not d.realizable:
        fit = (
            f"misses a mean reward by up to {number(d.error)}; its misspecification lies between "
            f"{number(d.misspecification_lower)} and {number(d.misspecification_upper)}"
        )
    return Finding(
        index=k,
        name=_name(problem, k),
        dim=d.dim,
        rank=d.rank,
        error=d.error,
        error_stderr=0.0,
        realizable=d.realizable,
        fit=f"{fit}.",
        played=_spectrum(features, problem.rho[:, None] * shares),
        greedy=_spectrum(features, problem.rho[:, None] * best),
        played_rank=d.rank,
        greedy_rank=d.optimal_rank,
        L=d.L,
    )


def _name(problem: FiniteProblem, k: int) -> str:
    """Its name, with its position where two share one."""
    names = [claim.name for claim in problem.claims]
    if not names[k]:
        return f"candidate {k}"
    return names[k] if names.count(names[k]) == 1 else f"{names[k]} [{k}]"


def _spectrum(features: Floats, weights: Floats) -> tuple[float, ...]:
    moment = np.einsum("xa,xai,xaj->ij", weights, features, features)
    return tuple(np.maximum(np.linalg.eigvalsh(moment), 0.0).tolist())


def _worse(error: float, best: float) -> str:
    """An error next to the best candidate's; nothing if they are about the same."""
    if error < 1.005 * best or not best > 0:
        return ""
    ratio = error / best
    size = f"{ratio:.1f} times" if ratio >= 2 else f"{ratio - 1:.0%} above"
    return f", {size} the best candidate's"


def _fit(d: LoggedDiagnosis, noise: Noise, best: float) -> str:
    """Mean squared error, next to the noise and to the best candidate, in words."""
    error = f"mean squared error {number(d.error, d.error_stderr)} ± "
    error += number(d.error_stderr, d.error_stderr)
    worse = _worse(d.error, best)
    if math.isnan(d.error):
        return f"fewer rounds than directions: {d.dim} numbers cannot be fitted."
    if d.realizable is None:
        return f"{error}{worse}; nothing to compare it with, so it is not tested."
    if d.realizable:
        return f"{error}{worse}; as good as the noise allows ({number(noise.variance)})."
    size = number(d.excess, d.excess_stderr)
    return (
        f"{error}{worse}; worse than the noise alone ({number(noise.variance)}) by {size}, "
        f"{d.excess / max(d.excess_stderr, 1e-300):.0f} standard errors."
    )
