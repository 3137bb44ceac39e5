"""Which commands are there? One function per command; `banditsrl --help` lists them.

A command parses its options and prints; the work is done elsewhere. `run`, `sweep` and `reproduce`
call `execute_cells` in `execution.py`. Options are defined in `options.py`.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from banditsrl.cli import options
from banditsrl.cli.catalogue_commands import add_catalogue_commands
from banditsrl.cli.console import print_message
from banditsrl.cli.doctor_command import add_doctor_command
from banditsrl.cli.evaluation_commands import add_evaluation_commands
from banditsrl.cli.execution import (
    ExecutedSweep,
    ExecutionOptions,
    announce_figures,
    execute_cells,
    group_by_panel,
    print_json,
    print_plan,
    print_summary,
    results_to_json,
)
from banditsrl.cli.loop_commands import loop_app
from banditsrl.cli.program import Program, run_program
from banditsrl.cli.service_commands import add_service_commands
from banditsrl.core.yaml_files import naming_lines
from banditsrl.experiments.building import (
    build_problem,
    default_policy,
    problem_setting_names,
)
from banditsrl.experiments.figure import Figure
from banditsrl.experiments.figure_catalogue import FIGURES, read_figure
from banditsrl.experiments.planning import CellRequest, list_cells
from banditsrl.experiments.run_spec import is_file, parse_settings
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.policies.policy_catalogue import POLICIES
from banditsrl.reports.cell_styles import assign_cell_styles
from banditsrl.reports.matplotlib_plots import draw, save
from banditsrl.reports.page import write_report
from banditsrl.simulation.step_timing import bench as measure_steps

app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(loop_app, name="loop")
console = Console()

RUN_HORIZON, RUN_SEEDS = 10_000, 10
"""Number of steps and of seeds of `banditsrl run` where none is given."""


@app.callback()
def root(version: options.Version = False) -> None:
    """Contextual bandits that learn their representation and know when to stop exploring."""
    del version  # its callback has printed it


add_catalogue_commands(app)


@app.command("run")
def run(
    problem: options.ProblemName,
    policy: options.PolicyName = None,
    *,
    horizon: options.Horizon = RUN_HORIZON,
    seeds: options.Seeds = RUN_SEEDS,
    first_seed: options.FirstSeed = 0,
    preset: options.PresetName = None,
    settings: options.Settings = None,
    out: options.OptionalOut = None,
    workers: options.Workers = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Run one policy on one problem and print a table of the results."""
    words = _say_policy_settings(problem, settings or [])
    cell = CellRequest(
        panel=Path(problem).stem if is_file(problem) else problem,
        label=policy or "",
        problem=problem,
        policy=policy or "",
        horizon=horizon or RUN_HORIZON,
        seeds=tuple(range(first_seed, first_seed + (seeds or RUN_SEEDS))),
        settings=parse_settings(settings or []),
        preset=preset,
    )
    name = policy or _choose_policy(cell)
    cell = replace(cell, policy=name, label=f"{name} ({words})" if words else name)
    title = f"{name} on {cell.panel}"
    execution = ExecutionOptions(out, workers, engine, address, quiet)
    if dry_run:
        print_plan([cell], execution, title)
        return
    with execute_cells([cell], execution, title) as executed:
        if not as_json:
            print_summary(executed, title, console)
        elif documents := results_to_json(executed):
            print_json(documents[0])
    raise typer.Exit(executed.status)


def _say_policy_settings(problem: str, settings: list[str]) -> str:
    """Return the settings that name a curve; those of the problem belong to its panel."""
    taken = problem_setting_names(problem) if settings else set()
    pairs = (pair.strip() for pair in settings)
    return ", ".join(pair for pair in pairs if pair.partition("=")[0].strip() not in taken)


@app.command("sweep")
def sweep(
    file: options.SweepFile,
    *,
    horizon: options.Horizon = None,
    seeds: options.Seeds = None,
    first_seed: options.FirstSeed = 0,
    preset: options.PresetName = None,
    settings: options.Settings = None,
    out: options.Out = Path("results"),
    workers: options.Workers = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Run every combination that a YAML file describes, and write a report."""
    figure = read_figure(file)
    given = _collect_overrides(horizon, seeds, first_seed, preset, settings)
    cells = list_cells(figure, next(iter(figure.scales)), **given)
    execution = ExecutionOptions(out, workers, engine, address, quiet)
    with naming_lines(file):
        if dry_run:
            print_plan(cells, execution, figure.title)
            return
        with execute_cells(cells, execution, figure.title) as executed:
            _print_results(executed, figure.title, as_json=as_json)
    raise typer.Exit(executed.status)


@app.command("reproduce")
def reproduce(
    figure: options.FigureName,
    *,
    scale: options.ScaleName = "quick",
    panel: options.PanelTitle = None,
    problem_seed: options.ProblemSeed = None,
    horizon: options.Horizon = None,
    seeds: options.Seeds = None,
    first_seed: options.FirstSeed = 0,
    preset: options.PresetName = None,
    settings: options.Settings = None,
    out: options.Out = Path("results"),
    workers: options.Workers = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a figure of the paper: print a table, draw the figure and write a report."""
    more = [*(settings or []), *([] if problem_seed is None else [f"seed={problem_seed}"])]
    given = _collect_overrides(horizon, seeds, first_seed, preset, more)
    figures = [FIGURES[name] for name in (FIGURES if figure == "all" else [figure])]
    if panel is not None:
        figures = [each.select_panel(panel) for each in figures]
    execution = ExecutionOptions(out, workers, engine, address, quiet)
    cells = [list_cells(each, scale, **given) for each in figures]
    if dry_run:
        for each, own_cells in zip(figures, cells, strict=True):
            print_plan(own_cells, execution, each.title)
        return
    if len(figures) > 1:
        announce_figures(cells, execution)
    status = 0
    for each, own_cells in zip(figures, cells, strict=True):
        with execute_cells(own_cells, execution, each.title) as executed:
            _print_results(executed, each.title, as_json=as_json)
            if panels := group_by_panel(executed):
                styles = assign_cell_styles(read_sweep(out).cells)  # as on the page
                canvas = draw(panels, each.title, styles)
                for path in save(canvas, out / _name_file(each, panel)):
                    print_message(str(path))
        status = max(status, executed.status)
    raise typer.Exit(status)


@app.command("report")
def report(directory: options.SweepFolder) -> None:
    """Write the report page of a sweep again, from its stored runs."""
    console.print(str(write_report(directory)), highlight=False, soft_wrap=True)


add_doctor_command(app)


@app.command("bench")
def bench(as_json: options.AsJson = False) -> None:
    """Measure the time of a step on this machine, and compare it with plain NumPy."""
    found = measure_steps()
    if as_json:
        print_json(found)
        return
    for name, row in found.items():
        console.print(f"{name:<20} {row['us_per_step']:9.2f} us/step {row['ratio']:8.1f} x NumPy")


add_evaluation_commands(app)
add_service_commands(app)


def main() -> None:
    """Run the command line."""
    run_program(app)


def _choose_policy(cell: CellRequest) -> str:
    """Return the policy for a problem when none is named."""
    spec = replace(cell, policy=next(iter(POLICIES))).spec
    return default_policy(build_problem(spec))


def _collect_overrides(
    horizon: int | None,
    seeds: int | None,
    first_seed: int,
    preset: str | None,
    settings: list[str] | None,
) -> dict[str, Any]:
    """Return the options that override what a figure says, as arguments of `list_cells`."""
    return {
        "horizon": horizon,
        "n_seeds": seeds,
        "first_seed": first_seed,
        "preset": preset,
        "settings": parse_settings(settings or []),
    }


def _print_results(executed: ExecutedSweep, title: str, *, as_json: bool) -> None:
    if not as_json:
        print_summary(executed, title, console)
        return
    page = None if executed.page is None else str(executed.page)
    print_json({"title": title, "cells": results_to_json(executed), "report": page})


def _name_file(figure: Figure, panel: str | None) -> str:
    """Return the name of the files of a figure, in letters, digits and hyphens.

    Example:
        >>> _name_file(FIGURES["wheel-networks"], "wheel, [50, 50, 10]")
        'wheel-networks-wheel-50-50-10'
    """
    return re.sub(r"\W+", "-", f"{figure.name} {panel or ''}").strip("-")
