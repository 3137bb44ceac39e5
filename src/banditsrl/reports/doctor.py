"""Is one of my embeddings good enough, and which? An examination of a file, in words and a plot.

This file reads what is examined: a finite problem (JSON, see `read_problem`), or candidate
embeddings with logged rounds (Parquet, one row per round):

    action            the action played, an integer from 0
    reward            its reward
    phi_<candidate>   the embedding of every action: a list of A lists of d numbers

There is one `phi_` column for each candidate; all have the same number of actions A, each its own
dimension d. Other columns are ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.problems.instance_files import read_problem
from banditsrl.reports.plots import DPI, draw_spectra, look
from banditsrl.reports.result_tables import number
from banditsrl.reports.verdicts import Finding, advice, of_log, of_problem, recommend, spanned
from banditsrl.theory.diagnosis import RANK_TOLERANCE
from banditsrl.theory.log_diagnosis import diagnose_log

if TYPE_CHECKING:
    import polars as pl

PREFIX = "phi_"
"""How the columns of candidates begin."""


@dataclass(frozen=True)
class Examination:
    """What the doctor found.

    Attributes:
        source: The file.
        kind: "problem" or "log".
        summary: What was examined, in one sentence.
        noise: On a log, the estimated variance of the noise (nan if unknown); else None.
        findings: One for each candidate.
    """

    source: str
    kind: str
    summary: str
    noise: float | None
    findings: tuple[Finding, ...]

    @property
    def recommended(self) -> str:
        """Name of the candidate to use."""
        return recommend(self.findings).name

    @property
    def advice(self) -> str:
        """The recommendation in words."""
        return advice(self.findings, data=self.kind == "log")

    def text(self) -> str:
        """The whole examination for a person to read."""
        parts = [f"{self.source}: {self.summary}"]
        parts += [self._paragraph(finding) for finding in self.findings]
        rule = f"a singular value above {RANK_TOLERANCE:g} of the largest"
        note = f"(A direction counts if it has {rule}.)"
        return "\n\n".join([*parts, self.advice, note])

    def as_dict(self) -> dict[str, Any]:
        """The whole examination as plain JSON."""
        unknown = self.noise is None or np.isnan(self.noise)
        return {
            "file": self.source,
            "kind": self.kind,
            "summary": self.summary,
            "noise": None if unknown else self.noise,
            "candidates": [finding.as_dict() for finding in self.findings],
            "recommended": self.recommended,
            "advice": self.advice,
        }

    def save_plot(self, path: Path) -> None:
        """Draw spectra and errors into a file; its ending (.png, .pdf, .svg) says which kind."""
        canvas = draw_spectra(
            self.findings, noise=self.noise, names=self._names(), title=self.advice
        )
        with look():
            canvas.savefig(path, dpi=DPI)

    def _names(self) -> tuple[str, str]:
        """What the two kinds of actions are called: estimated on a log, known on a problem."""
        return ("played", "greedy") if self.kind == "log" else ("all", "best")

    def _paragraph(self, finding: Finding) -> str:
        names = [f"{name} actions" for name in self._names()]
        mark = "  <- recommended" if finding.name == self.recommended else ""
        size = f"(dimension {finding.dim}, L = {number(finding.L)})"
        lines = [f"[{finding.index}] {finding.name} {size}{mark}"]
        lines += [f"  {'fit':<16}{finding.fit}"]
        for name, which in zip(names, ("played", "greedy"), strict=True):
            rank, least = getattr(finding, f"{which}_rank"), finding.lambda_min(which)
            text = f"rank {rank} of {finding.dim}, smallest eigenvalue {number(least)}"
            lines.append(f"  {name:<16}{text}")
        lines.append(f"  {'span':<16}{spanned(finding, data=self.kind == 'log')}")
        if finding.played_rank < finding.rank:
            unseen = finding.rank - finding.played_rank
            lines.append(f"  {'caution':<16}the log shows nothing about {unseen} directions.")
        return "\n".join(lines)


def examine(path: Path) -> Examination:
    """Examine the candidate embeddings in a file.

    Args:
        path: A finite problem (.json) or logged rounds (.parquet), as described above.

    Raises:
        InvalidArgument: If the file cannot be read or does not hold what it should.
    """
    readers: dict[str, Callable[[Path], Examination]] = {
        ".json": _of_problem,
        ".parquet": _of_log,
    }
    path = Path(path)
    if path.suffix.lower() not in readers:
        raise InvalidArgument(f"path must end in {' or '.join(readers)}, got {path}.")
    return readers[path.suffix.lower()](path)


def _of_problem(path: Path) -> Examination:
    problem = read_problem(path)
    size = f"{problem.n_contexts} contexts, {problem.n_actions} actions"
    findings = tuple(of_problem(problem))
    summary = f"a known problem with {size} and {len(findings)} candidates."
    return Examination(str(path), "problem", summary, None, findings)


def _of_log(path: Path) -> Examination:
    frame = _frame(path)
    candidates = {
        name.removeprefix(PREFIX): _embedding(frame[name], path)
        for name in frame.columns
        if name.startswith(PREFIX)
    }
    actions, rewards = _actions(frame["action"], candidates, path), _rewards(frame, path)
    noise, found = diagnose_log(candidates, actions, rewards)
    findings = tuple(of_log(noise, found))
    n_actions = next(iter(candidates.values())).shape[1]
    floor = {
        "repeats": f"{number(noise.variance)}, from {noise.freedom:,} repeated rounds",
        "together": f"{number(noise.variance)}, from all candidates fitted together",
    }[noise.source]
    summary = (
        f"{len(rewards):,} logged rounds, {n_actions} actions, {len(findings)} candidates. "
        f"Noise (mean squared error that stays whatever the embedding): "
        f"{'unknown, too few rounds' if np.isnan(noise.variance) else floor}."
    )
    return Examination(str(path), "log", summary, noise.variance, findings)


def _frame(path: Path) -> "pl.DataFrame":
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidArgument(f"{path}: must be a readable Parquet file, got {reason}.") from error
    missing = [name for name in ("action", "reward") if name not in frame.columns]
    if not any(name.startswith(PREFIX) for name in frame.columns):
        missing.append(f"{PREFIX}<candidate>")
    if missing:
        raise InvalidArgument(
            f"{path}: must have the columns {', '.join(missing)}, "
            f"got {', '.join(frame.columns) or 'none'}."
        )
    if not len(frame):
        raise InvalidArgument(f"{path}: must hold at least one round, got none.")
    return frame


def _embedding(column: "pl.Series", path: Path) -> NDArray[np.float64]:
    """One candidate's column as an array, (n_rounds, n_actions, d)."""
    import polars as pl

    where = f"{path}: {column.name}"
    try:
        lists = column.cast(pl.List(pl.List(pl.Float64)))
    except pl.exceptions.PolarsError as error:
        raise InvalidArgument(
            f"{where} must hold a list of lists of numbers, got {column.dtype}."
        ) from error
    inner = lists.explode()
    for lengths, what in ((lists.list.len(), "actions"), (inner.list.len(), "dimensions")):
        found = sorted({0 if n is None else n for n in lengths.unique().to_list()})
        if len(found) > 1 or found[0] == 0:
            raise InvalidArgument(
                f"{where} must have the same number of {what} in every round, above zero, "
                f"got {', '.join(map(str, found))}."
            )
    flat = inner.explode().fill_null(float("nan")).to_numpy()
    table = flat.reshape(len(lists), int(lists.list.len()[0]), -1)
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise InvalidArgument(f"{where} must be finite, got another value in row {row}.")
    return np.asarray(table, dtype=np.float64)


def _rewards(frame: "pl.DataFrame", path: Path) -> NDArray[np.float64]:
    column = frame["reward"]
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise InvalidArgument(f"{path}: reward must hold numbers, got {column.dtype}.")
    values = column.cast(float).fill_null(float("nan")).to_numpy()
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InvalidArgument(f"{path}: reward must be finite, got {values[row]} in row {row}.")
    return np.asarray(values, dtype=np.float64)


def _actions(
    column: "pl.Series", candidates: dict[str, NDArray[np.float64]], path: Path
) -> NDArray[np.int64]:
    sizes = {name: table.shape[1] for name, table in candidates.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InvalidArgument(f"{path}: candidates must share the number of actions, got {listed}.")
    n_actions = next(iter(sizes.values()))
    if not column.dtype.is_integer() or column.null_count():
        raise InvalidArgument(f"{path}: action must hold an integer per row, got {column.dtype}.")
    values = np.asarray(column.to_numpy(), dtype=np.int64)
    outside = (values < 0) | (values >= n_actions)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidArgument(
            f"{path}: action must lie from 0 to {n_actions - 1}, got {values[row]} in row {row}."
        )
    return values
