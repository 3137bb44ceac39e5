"""How does a command become results? It plans, announces, runs what is missing, and reports.

commands.run, .sweep, .reproduce
-> execute_cells    here: everything below, in order
-> plan_sweep       experiments/planning.py: which runs there are, and which are missing
-> record_plan      experiments/sweep_file.py: what was asked for
-> run_plan         engines/progress.py: the missing runs, with progress
-> read_result      experiments/cell_results.py: the stored tables
-> write_report     reports/page.py: the page
"""

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from banditsrl.cli import STOPPED
from banditsrl.cli.console import (
    build_summary_table,
    format_duration,
    make_display,
    print_message,
)
from banditsrl.core.scratch import scratch_folder
from banditsrl.display.numerals import format_count
from banditsrl.engines.engine import make_engine
from banditsrl.engines.jobs import Outcome
from banditsrl.engines.progress import run_plan
from banditsrl.experiments.cell_results import read_result, result_to_json
from banditsrl.experiments.environment import count_cores
from banditsrl.experiments.planning import CellRequest, PlannedCell, SweepPlan, plan_sweep
from banditsrl.experiments.store import Store
from banditsrl.experiments.sweep_file import record_plan
from banditsrl.reports.page import write_report
from banditsrl.simulation.result import Result

SUCCEEDED, FAILED = 0, 1
"""Exit statuses of a command that runs something; `program.py` has the others."""

MAX_NAMED = 10
"""Failed runs that are named one by one; the others are only counted."""


@dataclass(frozen=True)
class ExecutionOptions:
    """Where and how runs are executed, as given on the command line.

    Attributes:
        out: Folder in which runs and the report are kept; None keeps nothing.
        workers: Number of worker processes; None means one per core.
        engine: Name of the engine, "local" or "ray".
        address: Address of the Ray cluster.
        quiet: Whether progress is hidden.
    """

    out: Path | None
    workers: int | None = None
    engine: str = "local"
    address: str | None = None
    quiet: bool = False

    @property
    def n_workers(self) -> int:
        """Number of workers on which the expected time is based."""
        return self.workers or count_cores()


@dataclass(frozen=True)
class ExecutedSweep:
    """A plan after its runs were executed.

    Attributes:
        plan: The plan.
        status: Exit status of the command.
        page: The report page, if one was written.
        results: The cells that have finished seeds, with their results.
    """

    plan: SweepPlan
    status: int
    page: Path | None
    results: list[tuple[PlannedCell, Result]]


@contextmanager
def execute_cells(
    cells: Sequence[CellRequest], options: ExecutionOptions, title: str
) -> Iterator[ExecutedSweep]:
    """Execute the missing runs of some cells, then read the results and write the report.

    Without `options.out`, runs live in a temporary folder that is removed at the end of the block.
    """
    with scratch_folder() as temporary:
        with _explain_interruption(options):
            executed = _execute(plan_sweep(cells, Store(options.out or temporary)), options, title)
        yield executed


def _execute(planned: SweepPlan, options: ExecutionOptions, title: str) -> ExecutedSweep:
    """Execute the missing runs of a plan, and write the report if the runs are kept."""
    engine = make_engine(
        options.engine, workers=options.workers, address=options.address, n_jobs=len(planned.jobs)
    )
    command = shlex.join(["banditsrl", *sys.argv[1:]])
    record_plan(planned, title=title, command=command)
    _announce_plan(planned, options, title)
    display = make_display(quiet=options.quiet)
    outcomes = run_plan(planned, engine, command=command, display=display)
    n_failed = _print_failures(planned, outcomes)
    status = FAILED if n_failed or planned.refused else SUCCEEDED
    with ThreadPoolExecutor(1) as reader:  # results are read while the page is written
        results = reader.submit(_read_results, planned)
        page = _write_page(planned) if options.out else None
    return ExecutedSweep(planned, status, page, results.result())


def announce_figures(figures: Sequence[Sequence[CellRequest]], options: ExecutionOptions) -> None:
    """Print how much work several figures are together, before the first one starts."""
    if not options.quiet and options.out is not None:
        cells = [cell for figure in figures for cell in figure]
        _announce_plan(plan_sweep(cells, Store(options.out)), options, f"{len(figures)} figures")


def print_plan(cells: Sequence[CellRequest], options: ExecutionOptions, title: str) -> None:
    """Print what would run and how long it would take, curve by curve, on standard output."""
    with scratch_folder() as temporary:
        planned = plan_sweep(cells, Store(options.out or temporary))
    jobs = {job.spec.hash: job for job in planned.jobs}
    for each in planned.cells:
        missing = [jobs[run] for run in each.runs if run in jobs]
        work = "done"
        if missing:
            seconds = sum(job.seconds for job in missing) + missing[0].start_seconds
            runs = f"{len(missing)} of {format_count(len(each.runs), 'run')}"
            work = f"{runs}, {each.cell.horizon:,} steps, {format_duration(seconds)} of one core"
        typer.echo(f"{each.cell.panel}: {each.cell.label}: {work}")
    typer.echo(_describe_plan(planned, options, title))


def print_json(document: Any) -> None:
    """Print a JSON document, the only output of a command with --json on standard output."""
    sys.stdout.write(json.dumps(document, allow_nan=False, ensure_ascii=False) + "\n")


def print_summary(executed: ExecutedSweep, title: str, console: Console) -> None:
    """Print a table of final numbers on standard output."""
    rows = [(planned.cell.panel, result) for planned, result in executed.results]
    if rows:
        console.print(build_summary_table(title, rows))


def group_by_panel(executed: ExecutedSweep) -> list[tuple[str, list[Result]]]:
    """Return results by panel, in order; of a tuned group only the best, under its name."""
    panels: dict[str, dict[str, Result]] = {}
    for planned, result in executed.results:
        name = planned.cell.tuned or result.policy
        here = panels.setdefault(planned.cell.panel, {})
        if name not in here or result.mean[-1] < here[name].mean[-1]:
            here[name] = replace(result, policy=name)
    return [(panel, list(results.values())) for panel, results in panels.items()]


def results_to_json(executed: ExecutedSweep) -> list[dict[str, Any]]:
    """Return the results of all cells as plain JSON."""
    return [result_to_json(planned, result) for planned, result in executed.results]


def _announce_plan(planned: SweepPlan, options: ExecutionOptions, title: str) -> None:
    for sentence in planned.refused.values():
        print_message(sentence, error=True)
    if options.quiet:
        return
    print_message(_describe_plan(planned, options, title))


def _describe_plan(planned: SweepPlan, options: ExecutionOptions, title: str) -> str:
    work = "nothing to do"
    if planned.jobs:
        seconds = format_duration(planned.seconds(options.n_workers))
        work = f"about {seconds} on {format_count(options.n_workers, 'worker')}"
    return (
        f"{title}: {format_count(len(planned.cells), 'curve')}, "
        f"{format_count(planned.n_runs, 'run')}, {planned.n_done} already done, "
        f"{work}."
    )


@contextmanager
def _explain_interruption(options: ExecutionOptions) -> Iterator[None]:
    """End the program on Ctrl-C with a message that says how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        kept = (
            f" Finished runs and checkpoints are kept in {options.out}; run the same command again "
            "to continue."
        )
        print_message(f"Stopped.{kept if options.out else ''}")
        raise SystemExit(STOPPED) from None


def _print_failures(planned: SweepPlan, outcomes: Sequence[Outcome]) -> int:
    """Print why runs failed, and return how many did."""
    labels = {job.spec.hash: job.label for job in planned.jobs}
    failed = [(o.run, o.error) for o in outcomes if o.error is not None]
    for run, error in failed[:MAX_NAMED]:
        print_message(f"{labels[run]} ({planned.store.folder(run)}) failed: {error}", error=True)
    if len(failed) > MAX_NAMED:
        more = len(failed) - MAX_NAMED
        print_message(f"{format_count(more, 'more run')} failed; the error.txt of each says why.")
    return len(failed)


def _read_results(planned: SweepPlan) -> list[tuple[PlannedCell, Result]]:
    found = ((each, read_result(each, planned.store)) for each in planned.cells)
    return [(each, result) for each, result in found if result is not None]


def _write_page(planned: SweepPlan) -> Path | None:
    runs = {run for each in planned.cells for run in each.runs}
    if not any(planned.store.is_finished(run) for run in runs):
        return None
    page = write_report(planned.store.directory)
    print_message(f"Report: {page}")
    return page
