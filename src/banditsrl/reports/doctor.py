"""Is one of my embeddings good enough, and which? An examination of a file, in words and a plot.

The file is a finite problem (JSON, see `read_problem`), where everything is known, or candidate
embeddings with logged rounds (Parquet, see `logged_rounds.py`), where it is estimated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from banditsrl.errors import InvalidArgument
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.instance_files import read_problem
from banditsrl.reports.logged_rounds import read_logged_rounds
from banditsrl.reports.matplotlib_plots import DPI, apply_look, draw_spectra
from banditsrl.reports.number_format import format_count, format_number
from banditsrl.reports.verdicts import (
    CandidateVerdict,
    describe_span,
    judge_log,
    judge_problem,
    recommend,
    write_advice,
)
from banditsrl.theory.column_scales import RANK_TOLERANCE
from banditsrl.theory.log_diagnosis import Noise, diagnose_log


@dataclass(frozen=True)
class Examination:
    """The verdicts of the doctor on the candidates in a file.

    Attributes:
        source: The file.
        kind: "problem" or "log".
        summary: What was examined, in one or two sentences.
        noise: On a log, the estimated variance of the noise (nan if unknown); else None.
        verdicts: One for each candidate.
    """

    source: str
    kind: str
    summary: str
    noise: float | None
    verdicts: tuple[CandidateVerdict, ...]

    @property
    def recommended(self) -> str:
        """Name of the candidate to use."""
        return recommend(self.verdicts).name

    @property
    def advice(self) -> str:
        """The recommendation in words."""
        return write_advice(self.verdicts, estimated=self._is_estimated)

    def text(self) -> str:
        """Return the whole examination for a person to read."""
        parts = [f"{self.source}: {self.summary}"]
        parts += [self._describe_candidate(verdict) for verdict in self.verdicts]
        note = (
            "(A direction counts if its singular value, in units of each column's largest entry, "
            f"is above {RANK_TOLERANCE:g} times the largest one.)"
        )
        return "\n\n".join([*parts, self.advice, note])

    def as_dict(self) -> dict[str, Any]:
        """Return the whole examination as plain JSON."""
        unknown = self.noise is None or np.isnan(self.noise)
        return {
            "file": self.source,
            "kind": self.kind,
            "summary": self.summary,
            "noise": None if unknown else self.noise,
            "candidates": [verdict.as_dict() for verdict in self.verdicts],
            "recommended": self.recommended,
            "advice": self.advice,
        }

    def save_plot(self, path: Path) -> None:
        """Draw spectra and errors into a file whose ending (.png, .pdf, .svg) sets its format."""
        canvas = draw_spectra(
            self.verdicts, noise=self.noise, names=self._action_names, title=self.advice
        )
        with apply_look():
            canvas.savefig(path, dpi=DPI)

    @property
    def _is_estimated(self) -> bool:
        return self.kind == "log"

    @property
    def _action_names(self) -> tuple[str, str]:
        """Names of the two sets of actions whose features are examined."""
        return ("played", "greedy") if self._is_estimated else ("all", "best")

    def _describe_candidate(self, verdict: CandidateVerdict) -> str:
        mark = "  <- recommended" if verdict.name == self.recommended else ""
        size = f"(dimension {verdict.dim}, L = {format_number(verdict.L)})"
        all_name, best_name = (f"{name} actions" for name in self._action_names)
        lines = {
            "fit": verdict.fit,
            all_name: _describe_rank(verdict, verdict.played_rank, verdict.played_lambda_min),
            best_name: _describe_rank(verdict, verdict.greedy_rank, verdict.greedy_lambda_min),
            "span": describe_span(verdict, estimated=self._is_estimated),
        }
        if (unseen := verdict.rank - verdict.played_rank) > 0:
            lines["caution"] = f"the log shows nothing about {format_count(unseen, 'direction')}."
        heading = f"[{verdict.index}] {verdict.name} {size}{mark}"
        return "\n".join([heading, *(f"  {name:<16}{text}" for name, text in lines.items())])


def examine(path: str | Path) -> Examination:
    """Examine the candidate embeddings in a file.

    Args:
        path: A finite problem (.json) or logged rounds (.parquet), as described above.

    Raises:
        InvalidArgument: If the file cannot be read or does not hold what it should.
    """
    readers: dict[str, Callable[[Path], Examination]] = {
        ".json": _examine_problem,
        ".parquet": _examine_log,
    }
    path = Path(path)
    if path.suffix.lower() not in readers:
        raise InvalidArgument(f"path must end in {' or '.join(readers)}, got {path}.")
    return readers[path.suffix.lower()](path)


def _examine_problem(path: Path) -> Examination:
    problem = read_problem(path)
    verdicts = tuple(judge_problem(problem))
    summary = (
        f"a known problem with {format_count(problem.n_contexts, 'context')}, "
        f"{format_count(problem.n_actions, 'action')} and "
        f"{format_count(len(verdicts), 'candidate')}.{_describe_ties(problem)}"
    )
    return Examination(str(path), "problem", summary, None, verdicts)


def _describe_ties(problem: FiniteProblem) -> str:
    """Return a sentence if some context has several optimal actions; it is empty if none has."""
    n_tied = int(((problem.optimal_play > 0).sum(axis=1) > 1)[problem.rho > 0].sum())
    if not n_tied:
        return ""
    return (
        f" Several actions are optimal in {format_count(n_tied, 'context')}; they count with equal "
        "shares, and exploration cannot end there."
    )


def _examine_log(path: Path) -> Examination:
    log = read_logged_rounds(path)
    noise, diagnoses = diagnose_log(log.candidates, log.actions, log.rewards)
    verdicts = tuple(judge_log(noise, diagnoses))
    summary = (
        f"{format_count(len(log.rewards), 'logged round')}, "
        f"{format_count(log.n_actions, 'action')}, {format_count(len(verdicts), 'candidate')}. "
        f"Variance of the noise (no embedding can have a smaller mean squared error): "
        f"{_describe_noise(noise)}."
    )
    return Examination(str(path), "log", summary, noise.variance, verdicts)


def _describe_noise(noise: Noise) -> str:
    if np.isnan(noise.variance):
        return "unknown, there are too few rounds"
    sources = {
        "repeats": f"estimated from {noise.freedom:,} repeated rounds",
        "together": "estimated from a fit of all candidates together",
    }
    return f"{format_number(noise.variance)}, {sources[noise.source]}"


def _describe_rank(verdict: CandidateVerdict, rank: int, lambda_min: float) -> str:
    least = format_number(lambda_min)
    return f"rank {rank} of {verdict.dim}, smallest eigenvalue {least}"
