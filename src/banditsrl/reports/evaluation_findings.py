"""What does a log say about targets? The findings, as text, as plain JSON, and as a picture."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from banditsrl.core.record_help import RecordMeta
from banditsrl.display.pictures import Picture, write_canvas
from banditsrl.estimation.estimators import Estimate
from banditsrl.evaluation.gate_verdict import GateVerdict
from banditsrl.evaluation.judgement import TargetJudgement
from banditsrl.evaluation.log_quality import LogQuality
from banditsrl.reports.evaluation_plots import draw_evaluation
from banditsrl.reports.evaluation_words import write_evaluation

NESTED = ("logged", "targets", "quality", "gate")


@dataclass(frozen=True)
class Evaluation(metaclass=RecordMeta):
    """What a log says about some targets.

    Attributes:
        log: Name of the log.
        n: Number of rounds.
        n_skipped: Rows that could not be used and were skipped.
        level: Probability that an interval does not hold its value.
        reward_range: Least and largest reward.
        range_is_given: Whether the range was known before; if not, it is the one in the log.
        logged: What the policy that wrote the log earned.
        reference: Name of the target that differences refer to.
        estimators: Names of the estimators, the leading one first.
        targets: One judgement for each target.
        quality: What the log can be used for.
        gate: Whether the target may replace the reference, if a gate was given.
    """

    log: str
    n: int
    n_skipped: int
    level: float
    reward_range: tuple[float, float]
    range_is_given: bool
    logged: Estimate
    reference: str
    estimators: tuple[str, ...]
    targets: tuple[TargetJudgement, ...]
    quality: LogQuality
    gate: GateVerdict | None = None

    def text(self) -> str:
        """Return everything for a person to read."""
        return write_evaluation(self)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; a number that does not exist is null."""
        plain = {
            **{name: value for name, value in self.__dict__.items() if name not in NESTED},
            "logged": _describe_value(self.logged),
            "targets": [_describe_target(target) for target in self.targets],
            "quality": self.quality.as_dict(),
            "gate": None if self.gate is None else self.gate.as_dict(),
        }
        return {name: _to_plain(value) for name, value in plain.items()}

    def __str__(self) -> str:
        return self.text()

    def plot(self) -> Picture:
        """Return values and weights as a picture, which shows itself in a notebook."""
        return Picture(draw_evaluation(self), self.log)

    def save_plot(self, path: str | Path) -> None:
        """Draw values and weights into a file whose ending (.png, .pdf, .svg) sets its format."""
        write_canvas(draw_evaluation(self), Path(path))


def _describe_target(target: TargetJudgement) -> dict[str, Any]:
    difference = target.difference
    return {
        "name": target.name,
        "estimates": {name: _describe_value(found) for name, found in target.estimates.items()},
        "difference": None if difference is None else _describe_value(difference),
        "overlap": None if target.overlap is None else target.overlap.as_dict(),
        "refusal": target.refusal,
        "warnings": list(target.warnings),
        "notes": list(target.notes),
    }


def _describe_value(found: Estimate) -> dict[str, Any]:
    """Return an estimate; an interval that is empty has no ends."""
    plain = {**asdict(found), "always_empty": found.always_empty}
    return {**plain, "always_low": None, "always_high": None} if found.always_empty else plain


def _to_plain(value: Any) -> Any:
    """Return a value that JSON can hold: a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {name: _to_plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
