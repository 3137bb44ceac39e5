"""Which runs does a sweep need, which are done, and how long will the others take?

A sweep is a list of cells (policy, settings, problem, horizon, seeds). Each becomes runs; runs
that the store already has are taken from there, whoever asked for them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from banditsrl.engines.jobs import Job
from banditsrl.experiments.building import build, shared_out
from banditsrl.experiments.figure_catalogue import Figure
from banditsrl.experiments.run_spec import RunSpec, chunks, content_digest, frozen
from banditsrl.experiments.store import Run, Store
from banditsrl.simulation.run_checks import check_steps
from banditsrl.simulation.simulate import seeds_side_by_side

STEP_SECONDS_IN_LANES = 6e-5
"""Expected time of one step of all seeds side by side, as long as nothing was measured."""

STEP_SECONDS_OF_NETWORK = 7e-4
"""The same for one seed of a network, training included."""

START_SECONDS = 6.0
"""Expected time to compile what a cell needs."""


@dataclass(frozen=True)
class Cell:
    """One curve: a policy with settings on a problem, over some seeds.

    `settings` are handed to the problem where it takes them, and else to the policy.
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

    @property
    def spec(self) -> RunSpec:
        """The specification of its runs, without seeds."""
        of_problem, of_policy = shared_out(self.problem, self.settings)
        return RunSpec(
            problem=self.problem,
            policy=self.policy,
            horizon=self.horizon,
            seeds=(),
            steps=tuple(int(step) for step in check_steps(None, self.horizon)),
            preset=self.preset,
            settings=frozen(of_policy),
            problem_settings=frozen(of_problem),
            content=content_digest(self.problem),
        )


class Planned(NamedTuple):
    """A cell, what its runs share, and its runs: hash and seeds of each."""

    cell: Cell
    spec: RunSpec
    runs: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        store: Where runs live.
        cells: What was asked for.
        jobs: The runs that are missing, each once.
        n_runs: How many runs there are, done ones included.
        refused: By hash, what is wrong with the folder of a run that is needed.
    """

    store: Store
    cells: tuple[Planned, ...]
    jobs: tuple[Job, ...]
    n_runs: int
    refused: dict[str, str]

    @property
    def n_done(self) -> int:
        """How many runs are finished already."""
        return self.n_runs - len(self.jobs) - len(self.refused)

    def seconds(self, n_workers: int) -> float:
        """Expected time on so many workers."""
        if not self.jobs:
            return 0.0
        n_programs = len({job.spec.cell for job in self.jobs})
        work = sum(job.seconds for job in self.jobs) + START_SECONDS * n_programs
        longest = max(job.seconds for job in self.jobs) + START_SECONDS
        return max(work / n_workers, longest)


def cells_of(
    figure: Figure,
    scale: str,
    *,
    horizon: int | None = None,
    n_seeds: int | None = None,
    first_seed: int = 0,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Cell, ...]:
    """The cells of a figure at one of its scales; what is given overrides what it says."""
    whole = figure.scale(scale)
    cells = []
    for panel in figure.panels:
        size = panel.scales.get(scale, whole)
        seeds = range(first_seed, first_seed + (n_seeds or size.n_seeds))
        for curve in panel.curves:
            cell = Cell(
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


def plan(cells: Sequence[Cell], store: Store) -> Plan:
    """Build every cell once, so that what is wrong is said now, and see what is missing."""
    known = {run.hash: run for run in store.runs()}
    finished: dict[str, list[Run]] = defaultdict(list)  # by cell
    for run in known.values():
        if run.finished:
            finished[run.spec.cell].append(run)
    speeds = _Speeds(store, known.values())
    planned: list[Planned] = []
    jobs: dict[str, Job] = {}
    refused: dict[str, str] = {}
    for cell in cells:
        spec = cell.spec
        _, policy = build(spec)
        runs = _covering(spec, cell.seeds, seeds_side_by_side(policy), finished[spec.cell])
        planned.append(Planned(cell, spec, runs))
        for name, seeds in runs.items():
            if name in jobs or name in refused:
                continue
            if reason := store.problem_with(name, deep=True):
                refused[name] = reason
            elif not (name in known and known[name].finished):
                wanted = replace(spec, seeds=seeds)
                label = f"{cell.panel}: {cell.label}"
                jobs[name] = Job(wanted, label, speeds.expected(wanted, seeds_side_by_side(policy)))
    n_runs = len({run for each in planned for run in each.runs})
    return Plan(store, tuple(planned), tuple(jobs.values()), n_runs, refused)


def _covering(
    spec: RunSpec, seeds: Sequence[int], lanes: int, finished: Sequence[Run]
) -> dict[str, tuple[int, ...]]:
    """Runs that hold the seeds: finished ones first, each seed once; new ones for the rest."""
    missing = set(seeds)
    runs: dict[str, tuple[int, ...]] = {}
    for run in sorted(finished, key=lambda run: (-len(run.spec.seeds), run.hash)):
        taken = {seed for others in runs.values() for seed in others}
        if missing & set(run.spec.seeds) and not taken & set(run.spec.seeds):
            runs[run.hash] = run.spec.seeds
            missing -= set(run.spec.seeds)
    for chunk in chunks(missing, lanes):
        runs[replace(spec, seeds=chunk).hash] = chunk
    return runs


class _Speeds:
    """How long a run will take, from runs of the same policy on the same problem if there are."""

    def __init__(self, store: Store, runs: Iterable[Run]) -> None:
        self.store = store
        self.examples = {_kind(run.spec): run for run in runs if run.finished}
        self.measured: dict[tuple[str, str], float] = {}

    def expected(self, spec: RunSpec, lanes: int) -> float:
        """Seconds, without compilation."""
        kind = _kind(spec)
        if kind not in self.measured:
            self.measured[kind] = self._measure(kind, lanes)
        return self.measured[kind] * spec.horizon

    def _measure(self, kind: tuple[str, str], lanes: int) -> float:
        usual = STEP_SECONDS_OF_NETWORK if lanes == 1 else STEP_SECONDS_IN_LANES
        if kind not in self.examples:
            return usual
        run = self.examples[kind]
        try:
            seconds = float(self.store.table(run.hash)["seconds"][0])
        except ValueError:
            return usual
        return max(seconds - START_SECONDS / 2.0, 0.2 * seconds) / run.spec.horizon


def _kind(spec: RunSpec) -> tuple[str, str]:
    return spec.problem, spec.policy
