"""What happens between a command and its results? Plan, announce, run, report, exit status."""

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

from banditsrl.cli.console import counted, duration, make_display, say, summary_table
from banditsrl.core.scratch import scratch_folder
from banditsrl.engines.engine import Engine, make_engine
from banditsrl.engines.progress import carry_out
from banditsrl.experiments import sweep_file as ledger
from banditsrl.experiments.cell_results import as_numbers, stored_result
from banditsrl.experiments.environment import count_cores
from banditsrl.experiments.planning import CellRequest, PlannedCell, SweepPlan, plan_sweep
from banditsrl.experiments.store import Store
from banditsrl.reports.page import write_report
from banditsrl.reports.summary import summary_rows
from banditsrl.simulation.result import Result

DONE, FAILED, STOPPED = 0, 1, 130
"""Exit statuses; 2, a wrong command, is given by `cli.main`."""

MAX_NAMED = 10
"""Failures that are named one by one."""


@dataclass(frozen=True)
class Where:
    """Where and how runs are done, as given on the command line."""

    out: Path | None
    workers: int | None = None
    engine: str = "local"
    address: str | None = None
    quiet: bool = False

    @property
    def n_workers(self) -> int:
        """Workers that the expected time is for."""
        return self.workers or count_cores()


@dataclass(frozen=True)
class Finished:
    """A plan that was carried out."""

    plan: SweepPlan
    status: int
    page: Path | None
    results: list[tuple[PlannedCell, Result]]  # the cells that have finished seeds


@contextmanager
def done(cells: Sequence[CellRequest], where: Where, title: str) -> Iterator[Finished]:
    """Do what is missing of some cells; without a folder, results live as long as the block."""
    with scratch_folder() as temporary:
        planned = plan_sweep(cells, Store(where.out or temporary))
        engine = make_engine(
            where.engine, workers=where.workers, address=where.address, n_jobs=len(planned.jobs)
        )
        command = shlex.join(["banditsrl", *sys.argv[1:]])
        ledger.record(planned, title=title, command=command)
        _announce(planned, where, title)
        failures = _carried_out(planned, engine, command, where)
        status = FAILED if failures or planned.refused else DONE
        with ThreadPoolExecutor(1) as reader:  # while the page is written
            results = reader.submit(_results, planned)
            page = _page(planned) if where.out else None
        yield Finished(planned, status, page, results.result())


def announce_all(figures: Sequence[Sequence[CellRequest]], where: Where) -> None:
    """Say how much several figures are together, before the first one starts."""
    if not where.quiet and where.out is not None:
        cells = [cell for figure in figures for cell in figure]
        _announce(plan_sweep(cells, Store(where.out)), where, f"{len(figures)} figures")


def write_json(document: Any) -> None:
    """The one thing that a command with --json prints on standard output."""
    sys.stdout.write(json.dumps(document, allow_nan=False, ensure_ascii=False) + "\n")


def print_summary(finished: Finished, title: str, console: Console) -> None:
    """A table of final figures on standard output."""
    rows = summary_rows([(planned.cell.panel, [r]) for planned, r in finished.results])
    if rows:
        console.print(summary_table(title, rows))


def as_panels(finished: Finished) -> list[tuple[str, list[Result]]]:
    """Results by panel, in order; of a tuned group only the best, under the group's name."""
    panels: dict[str, dict[str, Result]] = {}
    for planned, result in finished.results:
        name = planned.cell.tuned or result.policy
        here = panels.setdefault(planned.cell.panel, {})
        if name not in here or result.mean[-1] < here[name].mean[-1]:
            here[name] = replace(result, policy=name)
    return [(panel, list(results.values())) for panel, results in panels.items()]


def numbers(finished: Finished) -> list[dict[str, Any]]:
    """The cells as plain JSON."""
    return [as_numbers(planned, result) for planned, result in finished.results]


def _announce(planned: SweepPlan, where: Where, title: str) -> None:
    for sentence in planned.refused.values():
        say(sentence, error=True)
    if where.quiet:
        return
    work = (
        f"about {duration(planned.seconds(where.n_workers))}" if planned.jobs else "nothing to do"
    )
    say(
        f"{title}: {counted(len(planned.cells), 'curve')}, {counted(planned.n_runs, 'run')}, "
        f"{planned.n_done} already done, {work} on {counted(where.n_workers, 'worker')}."
    )


def _carried_out(planned: SweepPlan, engine: Engine, command: str, where: Where) -> list[str]:
    """What failed, in words; Ctrl-C ends the program with a word on how to go on."""
    display = make_display(quiet=where.quiet)
    try:
        outcomes = carry_out(planned, engine, command=command, display=display)
    except KeyboardInterrupt:
        kept = f"What is finished, and checkpoints, are kept in {where.out}; " if where.out else ""
        say(f"Stopped. {kept}the same command again goes on from there." if kept else "Stopped.")
        raise typer.Exit(STOPPED) from None
    labels = {job.spec.hash: job.label for job in planned.jobs}
    failed = [(o.run, o.error) for o in outcomes if o.error is not None]
    for run, error in failed[:MAX_NAMED]:
        say(f"{labels[run]} ({planned.store.folder(run)}) failed: {error}", error=True)
    if len(failed) > MAX_NAMED:
        say(f"{len(failed) - MAX_NAMED} more runs failed; see error.txt in their folders.")
    return [run for run, _ in failed]


def _results(planned: SweepPlan) -> list[tuple[PlannedCell, Result]]:
    found = ((each, stored_result(each, planned.store)) for each in planned.cells)
    return [(each, result) for each, result in found if result is not None]


def _page(planned: SweepPlan) -> Path | None:
    runs = {run for each in planned.cells for run in each.runs}
    if not any(planned.store.is_finished(run) for run in runs):
        return None
    page = write_report(planned.store.directory)
    say(f"Report: {page}")
    return page
