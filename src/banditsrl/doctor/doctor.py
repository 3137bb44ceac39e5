"""Is one of my embeddings good enough, and which? An examination of a file, in words and a plot.

The file is one of these:

- a finite problem (JSON, see `read_problem`), where everything is known;
- candidate embeddings with logged rounds (Parquet, see `logged_rounds.py`), where it is estimated;
- logged rounds with plain columns (see `logs.log_formats`), from which the doctor makes the
  embeddings and recommends a policy.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from banditsrl.display.numerals import format_count
from banditsrl.doctor.column_verdicts import examine_columns
from banditsrl.doctor.examination import Examination
from banditsrl.doctor.logged_rounds import LoggedRounds, has_embeddings, read_logged_rounds
from banditsrl.doctor.verdicts import CandidateVerdict, describe_noise, judge_log, judge_problem
from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import Log
from banditsrl.logs.log_formats import ENDINGS
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.instance_files import read_problem
from banditsrl.theory.certificate_forecast import Forecast, forecast_certificates
from banditsrl.theory.log_designs import TableDesign
from banditsrl.theory.log_diagnosis import Noise, diagnose_log

__all__ = ["Examination", "examine"]


def examine(source: str | Path | Log, *, progress: bool = False, **columns: Any) -> Examination:
    """Examine the candidate embeddings in a file, or those that can be made from its columns.

    Args:
        source: A finite problem (.json), logged rounds (.parquet, .csv, ...), or a `Log`.
        progress: Whether to show how far a log has been read.
        **columns: Which columns hold what in logged rounds with plain columns, as `Log.read`
            takes them: `action`, `reward`, `propensity`, `columns`, `format`. One that is None has
            its default there.

    Raises:
        InvalidArgument: If the file cannot be read or does not hold what it should.
    """
    if isinstance(source, Log):
        return examine_columns(source, progress=progress)
    path = Path(source)
    ending = path.suffix.lower()
    if ending == ".json":
        return _examine_problem(path)
    is_plain = any(value is not None for value in columns.values())
    if ending == ".parquet" and not is_plain and has_embeddings(path):
        return _examine_embeddings(path)
    if ending not in ENDINGS and columns.get("format") is None:
        known = ", ".join(name for name in ENDINGS if name != ".parquet")
        raise InvalidArgument(
            f"path must end in .json or .parquet, or in that of another log ({known}), got {path}."
        )
    named = {name: value for name, value in columns.items() if value is not None}
    words = _write_words(path, named)
    return examine_columns(Log.read(path, **named), words=words, progress=progress)


def _write_words(path: Path, columns: Mapping[str, Any]) -> str:
    """Return the arguments with which other commands read the same log."""
    words = [str(path)]
    for name, value in columns.items():
        listed = [value] if isinstance(value, str) else [str(one) for one in value]
        words += [f"--{name.replace('_', '-')}", ",".join(listed)]
    return shlex.join(words)


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


def _examine_embeddings(path: Path) -> Examination:
    log = read_logged_rounds(path)
    noise, diagnoses = diagnose_log(log.candidates, log.actions, log.rewards)
    verdicts = tuple(judge_log(noise, diagnoses))
    summary = (
        f"{format_count(len(log.rewards), 'logged round')}, "
        f"{format_count(log.n_actions, 'action')}, {format_count(len(verdicts), 'candidate')}. "
        f"Variance of the noise (no embedding can have a smaller mean squared error): "
        f"{describe_noise(noise)}."
    )
    forecasts = _forecast(log, noise, verdicts)
    return Examination(str(path), "log", summary, noise.variance, verdicts, forecasts)


def _forecast(
    log: LoggedRounds, noise: Noise, verdicts: tuple[CandidateVerdict, ...]
) -> Mapping[str, Forecast]:
    """Return when certificates would come, for candidates that the data do not contradict."""
    if not noise.variance > 0.0:
        return {}
    n, sigma = len(log.rewards), float(np.sqrt(noise.variance))
    return {
        verdict.name: forecast_certificates(
            TableDesign(log.candidates[verdict.name], log.actions, log.rewards), n=n, sigma=sigma
        )
        for verdict in verdicts
        if verdict.realizable is not False
    }
