"""Which runs does a sweep need, which of them are finished, and how long will the others take?

A sweep is a list of cells (policy, settings, problem, horizon, seeds). Each cell becomes one or
more runs. A run that the store already has is taken from there, whichever command made it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from banditsrl.experiments.building import build_policy, split_settings
from banditsrl.experiments.figure import Figure
from banditsrl.experiments.run_spec import (
    RunSpec,
    check_distinct_seeds,
    digest_file,
    settings_from_dict,
    split_seeds,
)
from banditsrl.experiments.run_times import START_SECONDS, RunTimes, guess_start_seconds
from banditsrl.experiments.store import Run, Store
from banditsrl.simulation.run_checks import check_steps
from banditsrl.simulation.run_plan import seeds_side_by_side


@dataclass(frozen=True)
class CellRequest:
    """One curve that is asked for: a policy with settings on a problem, over some seeds.

    Attributes:
        panel: Title of the panel that the curve belongs to.
        label: Name of the curve.
        problem: Name of the problem, or a path.
        policy: Name of the policy.
        horizon: Number of steps.
        seeds: The seeds, each of them once.
        settings: Settings by name. The problem gets those that it takes, the policy the others.
        preset: Where other settings come from ("paper", "default" or None).
        base: Label of the curve that this one is compared with, if any.
        tuned: Name of the group of curves of which only the best is shown, if any.
        figure: Name of the figure that the curve belongs to, if any.
    """

    panel: str
    label: str
    problem: str
    policy: str
    horizon: int
    seeds: tuple[int, ...]
    settings: Mapping[str, Any]
    preset: str | None = None
    base: str | None = None
    tuned: str | None = None
    figure: str | None = None

    def __post_init__(self) -> None:
        check_distinct_seeds(self.seeds)

    @property
    def spec(self) -> RunSpec:
        """What the runs of this cell have in common: their specification without seeds."""
        of_problem, of_policy = split_settings(self.problem, self.settings)
        return RunSpec(
            problem=self.problem,
            policy=self.policy,
            horizon=self.horizon,
            seeds=(),
            steps=tuple(int(step) for step in check_steps(None, self.horizon)),
            preset=self.preset,
            settings=settings_from_dict(of_policy),
            problem_settings=settings_from_dict(of_problem),
            content=digest_file(self.problem),
        )


class PlannedCell(NamedTuple):
    """A cell together with the runs that hold its seeds."""

    cell: CellRequest
    spec: RunSpec  # what its runs have in common
    runs: dict[str, tuple[int, ...]]  # the seeds of each run, by the hash of the run


class Job(NamedTuple):
    """A run that has to be made."""

    spec: RunSpec
    label: str
    seconds: float  # expected, without compilation
    start_seconds: float = START_SECONDS  # expected, to compile

    @property
    def n_steps(self) -> int:
        """Number of steps over all seeds."""
        return self.spec.horizon * len(self.spec.seeds)


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep has to do.

    Attributes:
        store: Where runs are kept.
        cells: The cells that were asked for.
        jobs: The runs that are missing, each once.
        n_runs: Number of runs, finished ones included.
        refused: What is wrong with the folder of a run that is needed, by the hash of the run.
    """

    store: Store
    cells: tuple[PlannedCell, ...]
    jobs: tuple[Job, ...]
    n_runs: int
    refused: dict[str, str]

    @property
    def n_done(self) -> int:
        """Number of runs that are finished already."""
        return self.n_runs - len(self.jobs) - len(self.refused)

    def seconds(self, n_workers: int) -> float:
        """Return the expected time of the missing runs on this many workers."""
        if not self.jobs:
            return 0.0
        programs = {job.spec.cell_hash: job.start_seconds for job in self.jobs}
        work = sum(job.seconds for job in self.jobs) + sum(programs.values())
        longest = max(job.seconds + job.start_seconds for job in self.jobs)
        return max(work / n_workers, longest)


def list_cells(
    figure: Figure,
    scale: str,
    *,
    horizon: int | None = None,
    n_seeds: int | None = None,
    first_seed: int = 0,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[CellRequest, ...]:
    """Return the cells of a figure at one of its scales; arguments override the figure."""
    common = figure.find_scale(scale)
    cells = []
    for panel in figure.panels:
        size = panel.scales.get(scale, common)
        seeds = range(first_seed, first_seed + (n_seeds or size.n_seeds))
        for curve in panel.curves:
            cell = CellRequest(
                panel=panel.title,
                label=curve.label,
                problem=panel.problem,
                policy=curve.policy,
                horizon=horizon or size.horizon,
                seeds=tuple(seeds),
                settings={**panel.settings, **curve.settings, **(settings or {})},
                preset=preset or curve.preset,
                base=curve.base,
                tuned=curve.tuned,
                figure=figure.name,
            )
            cells.append(cell)
    return tuple(cells)


def plan_sweep(cells: Sequence[CellRequest], store: Store) -> SweepPlan:
    """Decide which runs the cells need and which of those are missing.

    Every policy is built here, so that a wrong setting is reported before anything runs.
    """
    known = {run.hash: run for run in store.runs()}
    finished = _group_finished(known.values())
    times = RunTimes(store, known.values())
    planned: list[PlannedCell] = []
    jobs: dict[str, Job] = {}
    refused: dict[str, str] = {}
    for cell in cells:
        spec = cell.spec
        policy = build_policy(spec)
        run_size = seeds_side_by_side(policy)
        runs = _cover_seeds(spec, cell.seeds, run_size, finished[spec.cell_hash])
        planned.append(PlannedCell(cell, spec, runs))
        for name, seeds in runs.items():
            if name in jobs or name in refused:
                continue
            if reason := store.find_damage(name, deep=True):
                refused[name] = reason
            elif not (name in known and known[name].finished):
                missing = replace(spec, seeds=seeds)
                label, seconds = (
                    f"{cell.panel}: {cell.label}",
                    times.estimate(missing, policy, run_size),
                )
                jobs[name] = Job(missing, label, seconds, guess_start_seconds(policy))
    n_runs = len({run for each in planned for run in each.runs})
    return SweepPlan(store, tuple(planned), tuple(jobs.values()), n_runs, refused)


def _group_finished(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the finished runs by the hash of their cell."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if run.finished:
            groups[run.spec.cell_hash].append(run)
    return groups


def _cover_seeds(
    spec: RunSpec, seeds: Sequence[int], run_size: int, finished: Sequence[Run]
) -> dict[str, tuple[int, ...]]:
    """Return runs that hold the seeds, each seed once: finished ones first, then new ones."""
    missing = set(seeds)
    runs: dict[str, tuple[int, ...]] = {}
    for run in sorted(finished, key=lambda run: (-len(run.spec.seeds), run.hash)):
        taken = {seed for others in runs.values() for seed in others}
        if missing & set(run.spec.seeds) and not taken & set(run.spec.seeds):
            runs[run.hash] = run.spec.seeds
            missing -= set(run.spec.seeds)
    for chunk in split_seeds(missing, run_size):
        runs[replace(spec, seeds=chunk).hash] = chunk
    return runs
