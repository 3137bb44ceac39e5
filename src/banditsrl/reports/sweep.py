"""What was planned, and what is done? The plan of a sweep and its finished runs, from its folder.

This file reads `sweep.json` and looks which runs have a table; a run is finished exactly when
`runs/<hash>/table.parquet` exists. What the tables say is read in `measurements.py`.
"""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from banditsrl.errors import InvalidArgument

SCHEMA = 1
"""Version of `sweep.json` that this file understands."""


@dataclass(frozen=True)
class Cell:
    """One algorithm on one problem, over some seeds: a curve of a panel.

    Attributes:
        panel: The panel it belongs to.
        label: What to call it.
        base: Label of the algorithm in the same panel to compare it with, if any.
        tuned: Name of a group of cells of which only the best of each panel is shown, if any.
        problem: Name of the problem, or a path.
        policy: Name of the policy.
        preset: Where settings come from that are not given.
        settings: The settings of the policy that are given.
        problem_settings: The same of the problem.
        horizon: Number of steps.
        seeds: The seeds.
        runs: Hashes of the runs that hold them.
    """

    panel: str
    label: str
    base: str | None
    tuned: str | None
    problem: str
    policy: str
    preset: str | None
    settings: dict[str, Any]
    problem_settings: dict[str, Any]
    horizon: int
    seeds: tuple[int, ...]
    runs: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name under which it is shown: its group's if it was tuned."""
        return self.tuned or self.label


@dataclass(frozen=True)
class Sweep:
    """A plan and its finished runs.

    Attributes:
        directory: Its folder.
        title: What to call it.
        command: The command that made it.
        figure: Name of the paper's figure, if it is one.
        cells: The curves, in order.
        finished: Hashes of the runs that have a table.
    """

    directory: Path
    title: str
    command: str
    figure: str | None
    cells: tuple[Cell, ...]
    finished: frozenset[str]

    @property
    def planned(self) -> tuple[str, ...]:
        """Hashes of all runs, each once, in order."""
        return tuple(dict.fromkeys(run for cell in self.cells for run in cell.runs))

    @property
    def panels(self) -> tuple[str, ...]:
        """Titles of the panels, in order."""
        return tuple(dict.fromkeys(cell.panel for cell in self.cells))

    def n_finished(self, cell: Cell) -> int:
        """How many runs of a cell are finished."""
        return sum(run in self.finished for run in cell.runs)

    def table(self, run: str) -> Path:
        """Where the table of a run is, or will be."""
        return self.directory / "runs" / run / "table.parquet"

    def failure(self, run: str) -> str:
        """The last line of what a failed run wrote down; empty if it has not failed."""
        path = self.directory / "runs" / run / "error.txt"
        if run in self.finished or not path.is_file():
            return ""
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "no reason written down"

    def described(self, run: str, name: str) -> dict[str, Any]:
        """What `name` (`spec.json`, `environment.json`) says about a run; empty if unreadable."""
        try:
            found = json.loads((self.directory / "runs" / run / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def read_sweep(directory: Path) -> Sweep:
    """Read the plan in a folder and see which of its runs are finished."""
    path = Path(directory) / "sweep.json"
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(
            f"directory must hold a sweep.json that can be read, got {directory} "
            f"({error.strerror})."
        ) from error
    except ValueError as error:
        raise InvalidArgument(f"{path} must hold valid JSON, got {error}.") from error
    found = plan.get("schema") if isinstance(plan, dict) else None
    if found != SCHEMA:
        raise InvalidArgument(f"{path} must be of schema {SCHEMA}, got schema {found}.")
    entries = plan.get("cells")
    if not isinstance(entries, list) or not entries:
        raise InvalidArgument(f"{path} must list at least one cell, got {entries!r}.")
    sweep = Sweep(
        directory=Path(directory),
        title=str(plan.get("title") or plan.get("figure") or "Sweep"),
        command=str(plan.get("command") or ""),
        figure=plan.get("figure"),
        cells=tuple(_cell(entry, k, path) for k, entry in enumerate(entries)),
        finished=frozenset(),
    )
    done = frozenset(run for run in sweep.planned if sweep.table(run).is_file())
    return replace(sweep, finished=done)


def _cell(entry: Any, k: int, path: Path) -> Cell:
    names = [field.name for field in fields(Cell)]
    given: dict[str, Any] = {"base": None, "tuned": None, "preset": None}
    given |= {"settings": {}, "problem_settings": {}}
    given |= entry if isinstance(entry, dict) else {}
    if missing := [name for name in names if name not in given]:
        raise InvalidArgument(f"{path}: cells[{k}] must have {', '.join(missing)}, got {entry!r}.")
    given |= {"seeds": tuple(given["seeds"]), "runs": tuple(given["runs"])}
    return Cell(**{name: given[name] for name in names})
