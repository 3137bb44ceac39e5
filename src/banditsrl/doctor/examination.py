"""What did the doctor find? Verdicts, a recommendation, and forecasts: as text, JSON and a plot."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from banditsrl.core.record_help import RecordMeta
from banditsrl.display.numerals import format_count, format_number, format_share, format_time
from banditsrl.display.pictures import write_canvas
from banditsrl.doctor.candidate_advice import describe_span, recommend, write_advice
from banditsrl.doctor.policy_advice import PolicyAdvice
from banditsrl.doctor.spectra_plots import draw_spectra
from banditsrl.doctor.verdicts import CandidateVerdict
from banditsrl.theory.certificate_forecast import Forecast
from banditsrl.theory.column_scales import RANK_TOLERANCE

HALF, MOST = 0.5, 0.9
"""Shares of the contexts whose certificates are forecast."""


@dataclass(frozen=True)
class Examination(metaclass=RecordMeta):
    """The verdicts of the doctor on the candidates in a file.

    Attributes:
        source: The file.
        kind: "problem", "log" (logged rounds with embeddings) or "columns" (with plain columns).
        summary: What was examined, in one or two sentences.
        noise: On a log, the estimated variance of the noise (nan if unknown); else None.
        verdicts: One for each candidate.
        forecasts: When certificates would come, by candidate, where that can be said.
        policy: The policy to use; None if candidates were given and not made from columns.
    """

    source: str
    kind: str
    summary: str
    noise: float | None
    verdicts: tuple[CandidateVerdict, ...]
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)
    policy: PolicyAdvice | None = None

    @property
    def recommended(self) -> str:
        """Name of the candidate to use."""
        return recommend(self.verdicts).name if self.policy is None else self.policy.candidate

    @property
    def advice(self) -> str:
        """The recommendation in words."""
        if self.policy is not None:
            return f"Use {self.policy.policy}: {self.policy.reason}"
        return write_advice(self.verdicts, estimated=self._is_estimated)

    def text(self) -> str:
        """Return the whole examination for a person to read."""
        parts = [f"{self.source}: {self.summary}"]
        parts += [self._describe_candidate(verdict) for verdict in self.verdicts]
        note = (
            "(A direction counts if its singular value, in units of each column's largest entry, "
            f"is above {RANK_TOLERANCE:g} times the largest one.)"
        )
        advice = self.advice if self.policy is None else self.policy.text()
        return "\n\n".join([*parts, advice, note])

    def as_dict(self) -> dict[str, Any]:
        """Return the whole examination as plain JSON."""
        unknown = self.noise is None or np.isnan(self.noise)
        return {
            "file": self.source,
            "kind": self.kind,
            "summary": self.summary,
            "noise": None if unknown else self.noise,
            "candidates": [self._write_candidate(verdict) for verdict in self.verdicts],
            "recommended": self.recommended,
            "advice": self.advice,
            "policy": None if self.policy is None else self.policy.as_dict(),
        }

    def save_plot(self, path: Path) -> None:
        """Draw spectra and errors into a file whose ending (.png, .pdf, .svg) sets its format."""
        canvas = draw_spectra(
            self.verdicts, noise=self.noise, names=self._action_names, title=self.advice
        )
        write_canvas(canvas, path)

    @property
    def _is_estimated(self) -> bool:
        return self.kind != "problem"

    @property
    def _action_names(self) -> tuple[str, str]:
        """Names of the two sets of actions whose features are examined."""
        return ("played", "greedy") if self._is_estimated else ("all", "best")

    def _write_candidate(self, verdict: CandidateVerdict) -> dict[str, Any]:
        forecast = self.forecasts.get(verdict.name)
        return verdict.as_dict() | {
            "certificate": None if forecast is None else write_forecast(forecast)
        }

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
        if verdict.name in self.forecasts:
            lines["certificate"] = describe_forecast(self.forecasts[verdict.name])
        if (unseen := verdict.rank - verdict.played_rank) > 0:
            lines["caution"] = f"the log shows nothing about {format_count(unseen, 'direction')}."
        heading = f"[{verdict.index}] {verdict.name} {size}{mark}"
        return "\n".join([heading, *(f"  {name:<16}{text}" for name, text in lines.items())])


def describe_forecast(forecast: Forecast) -> str:
    """Return when certificates would come, in words."""
    half, most = (_describe_rounds(forecast.more_rounds(share)) for share in (HALF, MOST))
    text = f"half of the contexts {half}, 90% of them {most}"
    if forecast.too_close > 0.0 and math.isinf(forecast.more_rounds(MOST)):
        share = format_share(forecast.too_close)
        text += f" (in {share} the best two actions are tied, or closer than this log can tell)"
    return f"{text}."


def write_forecast(forecast: Forecast) -> dict[str, float | None]:
    """Return a forecast as plain JSON; null stands for never."""
    needed = {"half": forecast.more_rounds(HALF), "most": forecast.more_rounds(MOST)}
    finite = {name: None if math.isinf(value) else value for name, value in needed.items()}
    return {**finite, "certified": forecast.certified, "too_close": forecast.too_close}


def _describe_rounds(rounds: float) -> str:
    if math.isinf(rounds):
        return "never"
    return f"after {format_time(rounds)} more rounds like these" if rounds else "now"


def _describe_rank(verdict: CandidateVerdict, rank: int, lambda_min: float) -> str:
    least = format_number(lambda_min)
    return f"rank {rank} of {verdict.dim}, smallest eigenvalue {least}"
