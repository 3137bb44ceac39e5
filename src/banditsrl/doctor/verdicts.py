"""How good is each candidate embedding? One verdict for each, with words about how it fits.

A `CandidateVerdict` has the same form for a finite problem, where everything is known, and for a
log, where it is estimated.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.display.intervals import student_factor
from banditsrl.display.numerals import format_number, format_plus_minus
from banditsrl.problems.finite import FiniteProblem
from banditsrl.theory.diagnosis import Diagnosis, diagnose
from banditsrl.theory.log_diagnosis import LoggedDiagnosis, Noise

Floats = NDArray[np.float64]

ABOUT_EQUAL = 1.005
"""Ratio to the smallest error below which an error is not called worse."""


@dataclass(frozen=True)
class CandidateVerdict:
    """What is known about one candidate embedding.

    Attributes:
        index: Its position, from 0.
        name: Its name.
        dim: Its dimension d.
        rank: Dimension of the span of all features.
        error: On a problem the largest error of the best linear fit; on a log the mean squared
            error.
        error_stderr: Standard error of `error`; zero on a problem.
        error_margin: Half the width of the 95% interval of `error`; zero on a problem.
        realizable: Whether it explains the rewards; None if the data cannot tell.
        fit: The same in words.
        played: Eigenvalues of the second moment of the played features (on a problem, of every
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
    error_margin: float
    realizable: bool | None
    fit: str
    played: tuple[float, ...]
    greedy: tuple[float, ...]
    played_rank: int
    greedy_rank: int
    L: float

    @property
    def hls(self) -> bool:
        """Whether the best actions span all d directions."""
        return self.greedy_rank == self.dim

    @property
    def weak_hls(self) -> bool:
        """Whether the best actions span what all actions span."""
        return self.greedy_rank == self.rank

    @property
    def redundant(self) -> bool:
        """Whether all features together span fewer than d directions."""
        return self.rank < self.dim

    @property
    def played_lambda_min(self) -> float:
        """Smallest eigenvalue of the played features; zero below full rank."""
        return float(self.played[0]) if self.played_rank == self.dim else 0.0

    @property
    def greedy_lambda_min(self) -> float:
        """Smallest eigenvalue of the best actions' features; zero below full rank."""
        return float(self.greedy[0]) if self.greedy_rank == self.dim else 0.0

    @property
    def strength(self) -> float:
        """Smallest non-zero eigenvalue of the best actions' features, over L squared."""
        return self.greedy[self.dim - self.greedy_rank] / self.L**2 if self.greedy_rank else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON; nan becomes null."""
        plain = asdict(self) | {"played": list(self.played), "greedy": list(self.greedy)}
        plain |= {"hls": self.hls, "weak_hls": self.weak_hls, "redundant": self.redundant}
        plain["played_lambda_min"] = self.played_lambda_min
        plain["greedy_lambda_min"] = self.greedy_lambda_min
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in plain.items()}


def judge_problem(problem: FiniteProblem) -> list[CandidateVerdict]:
    """Judge every candidate of a problem whose tables are known."""
    return [_judge_candidate(problem, k) for k in range(len(problem.representations))]


def judge_log(noise: Noise, diagnoses: dict[str, LoggedDiagnosis]) -> list[CandidateVerdict]:
    """Judge every candidate of a log."""
    smallest = min((d.error for d in diagnoses.values()), default=0.0)
    return [
        judge_logged(k, name, d, _describe_logged_fit(d, noise, smallest))
        for k, (name, d) in enumerate(diagnoses.items())
    ]


def judge_logged(index: int, name: str, found: LoggedDiagnosis, fit: str) -> CandidateVerdict:
    """Return the verdict on a candidate of a log, with words about how it fits."""
    return CandidateVerdict(
        index=index,
        name=name,
        dim=found.dim,
        rank=found.rank,
        error=found.error,
        error_stderr=found.error_stderr,
        error_margin=student_factor(found.n_rounds) * found.error_stderr,
        realizable=found.realizable,
        fit=fit,
        played=tuple(found.played.tolist()),
        greedy=tuple(found.greedy.tolist()),
        played_rank=found.played_rank,
        greedy_rank=found.greedy_rank,
        L=found.L,
    )


def _judge_candidate(problem: FiniteProblem, k: int) -> CandidateVerdict:
    d, features = diagnose(problem, k), problem.representations[k].features
    shares = problem.available / problem.available.sum(axis=1, keepdims=True)
    return CandidateVerdict(
        index=k,
        name=name_candidate(problem, k),
        dim=d.dim,
        rank=d.rank,
        error=d.error,
        error_stderr=0.0,
        error_margin=0.0,
        realizable=d.realizable,
        fit=_describe_exact_fit(d),
        played=_compute_spectrum(features, problem.rho[:, None] * shares),
        greedy=_compute_spectrum(features, problem.rho[:, None] * problem.optimal_play),
        played_rank=d.rank,
        greedy_rank=d.optimal_rank,
        L=d.L,
    )


def _describe_exact_fit(d: Diagnosis) -> str:
    """Return how well the best linear fit predicts the mean rewards of a known problem."""
    if d.realizable:
        return f"predicts every mean reward (largest error {d.error:.1e})."
    return (
        f"misses some mean reward by {format_number(d.error)}; its misspecification lies between "
        f"{format_number(d.misspecification_lower)} and {format_number(d.misspecification_upper)}."
    )


def name_candidate(problem: FiniteProblem, k: int) -> str:
    """Return the name of a candidate, with its position where two share one."""
    names = [claim.name for claim in problem.claims]
    if not names[k]:
        return f"candidate {k}"
    return names[k] if names.count(names[k]) == 1 else f"{names[k]} [{k}]"


def _compute_spectrum(features: Floats, weights: Floats) -> tuple[float, ...]:
    moment = np.einsum("xa,xai,xaj->ij", weights, features, features)
    return tuple(np.maximum(np.linalg.eigvalsh(moment), 0.0).tolist())


def describe_noise(noise: Noise) -> str:
    """Return the variance of the noise in words, and what it was estimated from."""
    if math.isnan(noise.variance):
        return "unknown, there are too few rounds"
    size = format_number(noise.variance)
    if noise.source == "repeats":
        return f"{size}, estimated from {noise.freedom:,} repeated rounds"
    if noise.source == "together":
        return f"{size}, estimated from a fit of all candidates together"
    return f"about {size} or less, the squared error of the best candidate"


def compare_error(error: float, smallest: float) -> str:
    """Return how much worse an error is than the smallest one; empty if about the same."""
    if error < ABOUT_EQUAL * smallest or not smallest > 0:
        return ""
    ratio = error / smallest
    size = f"{ratio:.1f} times" if ratio >= 2 else f"{ratio - 1:.0%} above"
    return f", {size} that of the best candidate"


def _describe_logged_fit(d: LoggedDiagnosis, noise: Noise, smallest: float) -> str:
    """Return the mean squared error in words, next to the noise and to the best candidate."""
    if math.isnan(d.error):
        return f"there are fewer rounds than directions, so {d.dim} parameters cannot be fitted."
    error = f"mean squared error {format_plus_minus(d.error, d.error_stderr)}"
    error += compare_error(d.error, smallest)
    if d.realizable is None:
        return f"{error}; there is nothing to compare it with, so it was not tested."
    variance = format_number(noise.variance)
    if d.realizable:
        return f"{error}; not distinguishable from the noise ({variance})."
    return (
        f"{error}; worse than the noise alone ({variance}) by "
        f"{format_number(d.excess, d.excess_stderr)}, which is "
        f"{d.excess / max(d.excess_stderr, 1e-300):.0f} standard errors."
    )
