"""What is a sweep? Cells of a folder, each one policy on one problem over some seeds.

`sweep_file.py` writes and reads them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from banditsrl.experiments.store import Store


@dataclass(frozen=True, kw_only=True)
class SweepCell:
    """One entry of `sweep.json`: a policy on a problem over some seeds.

    Attributes:
        figure: Name of the figure it belongs to, if any.
        part: Title of its panel within that figure.
        panel: Title of its panel within the folder, which may hold several figures.
        label: Name of its curve.
        base: Label of the curve in the same panel that it is compared with, if any.
        tuned: Name of the group of cells of which a report shows only the best one, if any.
        problem: Name of the problem, or a path.
        problem_settings: Settings that were given to the problem.
        policy: Name of the policy.
        preset: Source of the policy's settings that were not given.
        settings: Settings that were given to the policy.
        horizon: Number of steps.
        seeds: The seeds.
        runs: Hashes of the runs that hold these seeds.
    """

    figure: str | None = None
    part: str = ""
    panel: str
    label: str
    base: str | None = None
    tuned: str | None = None
    problem: str
    problem_settings: dict[str, Any] = field(default_factory=dict)
    policy: str
    preset: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    horizon: int
    seeds: tuple[int, ...]
    runs: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name under which a report shows it: the name of its group if it was tuned."""
        return self.tuned or self.label

    @property
    def key(self) -> tuple[str | None, str, str]:
        """What tells cells of one file apart: figure, panel and label."""
        return self.figure, self.part or self.panel, self.label


@dataclass(frozen=True)
class Sweep:
    """The content of `sweep.json`, with the runs that were finished when it was read.

    Attributes:
        store: The folder.
        title: Title of the sweep.
        command: The commands that made it, one per line.
        figure: Name of the figure, if the folder holds exactly one.
        titles: Title of every figure, by name.
        commands: The commands, in order.
        cells: The cells, in order.
        finished: Hashes of the finished runs.
    """

    store: Store
    title: str
    command: str
    figure: str | None
    titles: dict[str, str]
    commands: tuple[str, ...]
    cells: tuple[SweepCell, ...]
    finished: frozenset[str]

    @property
    def runs(self) -> tuple[str, ...]:
        """Hashes of all runs, finished or not, each once and in order."""
        return list_runs(self.cells)

    @property
    def panels(self) -> tuple[str, ...]:
        """Titles of the panels, in order."""
        return tuple(dict.fromkeys(cell.panel for cell in self.cells))

    def count_finished(self, cell: SweepCell) -> int:
        """Return how many runs of a cell are finished."""
        return sum(run in self.finished for run in cell.runs)


def list_runs(cells: Iterable[SweepCell]) -> tuple[str, ...]:
    """Return the hashes of the runs of cells, each once and in order."""
    return tuple(dict.fromkeys(run for cell in cells for run in cell.runs))
