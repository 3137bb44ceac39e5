"""The command line: verbs only. `banditsrl --help` lists them."""

import gc
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from banditsrl.cli.console import say
from banditsrl.cli.execution import (
    Finished,
    Where,
    announce_all,
    as_panels,
    done,
    numbers,
    print_summary,
    write_json,
)
from banditsrl.datasets.uci import DATASETS, fetch
from banditsrl.errors import BanditSRLError
from banditsrl.experiments.building import build_problem, default_policy
from banditsrl.experiments.figure import Figure
from banditsrl.experiments.figure_catalogue import FIGURES, read_figure
from banditsrl.experiments.planning import CellRequest, list_cells
from banditsrl.experiments.run_spec import is_file, parse_settings
from banditsrl.policies.policy_catalogue import POLICIES
from banditsrl.problems.problem_catalogue import PROBLEMS
from banditsrl.registry import Registry
from banditsrl.reports.doctor import examine
from banditsrl.reports.page import write_report
from banditsrl.reports.plots import draw, save
from banditsrl.simulation.step_timing import bench as measured

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
console = Console()

Horizon = Annotated[int | None, typer.Option(help="number of steps", min=1)]
Seeds = Annotated[int | None, typer.Option(help="how many seeds", min=1)]
FirstSeed = Annotated[int, typer.Option(help="the first of them", min=0)]
Preset = Annotated[str | None, typer.Option(help="paper or default")]
Set = Annotated[list[str] | None, typer.Option("--set", help="a setting, NAME=VALUE; repeatable")]
Workers = Annotated[int | None, typer.Option(help="processes; all cores by default", min=1)]
EngineName = Annotated[str, typer.Option("--engine", help="local or ray")]
Address = Annotated[str | None, typer.Option(help="of the Ray cluster")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON and nothing else")]
Quiet = Annotated[bool, typer.Option("--quiet", help="no progress")]
Out = Annotated[Path, typer.Option(help="folder of runs, figures and report")]
MaybeOut = Annotated[Path | None, typer.Option(help="keep runs and a report in this folder")]


@app.callback()
def root() -> None:
    """Contextual bandits that learn their representation and know when to stop exploring."""


@app.command("list")
def list_names(
    kind: Annotated[str | None, typer.Argument(help="problems, policies or figures")] = None,
    as_json: AsJson = False,
) -> None:
    """List the names that other commands take."""
    kinds: Registry[list[str]] = Registry("list")
    kinds.add("problems", list(PROBLEMS))
    kinds.add("policies", list(POLICIES))
    kinds.add("figures", list(FIGURES))
    if as_json:
        write_json(kinds[kind] if kind else {name: kinds[name] for name in kinds})
        return
    for name in [kind] if kind else list(kinds):
        indent = "" if kind else "  "
        lines = [f"{indent}{entry}" for entry in kinds[name]]
        console.print("\n".join(lines if kind else [name, *lines]), highlight=False)


@app.command("run")
def run_one(
    problem: Annotated[str, typer.Argument(help="a name, or a .json, .csv or .parquet file")],
    policy: Annotated[str | None, typer.Argument(help="a name; by default one that fits")] = None,
    *,
    horizon: Horizon = 10_000,
    seeds: Seeds = 10,
    first_seed: FirstSeed = 0,
    preset: Preset = None,
    settings: Set = None,
    out: MaybeOut = None,
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run one policy on one problem."""
    given = parse_settings(settings or [])
    words = ", ".join(pair.strip() for pair in settings or [])
    cell = CellRequest(
        panel=Path(problem).stem if is_file(problem) else problem,
        label=policy or "",
        problem=problem,
        policy=policy or "",
        horizon=horizon or 10_000,
        seeds=tuple(range(first_seed, first_seed + (seeds or 10))),
        settings=given,
        preset=preset,
    )
    name = policy or _fitting(cell)
    cell = replace(cell, policy=name, label=f"{name} ({words})" if words else name)
    where = Where(out, workers, engine, address, quiet)
    with done([cell], where, f"{name} on {cell.panel}") as finished:
        if as_json and (found := numbers(finished)):
            write_json(found[0])
        elif not as_json:
            print_summary(finished, f"{name} on {cell.panel}", console)
    raise typer.Exit(finished.status)


@app.command("sweep")
def sweep_file(
    file: Annotated[Path, typer.Argument(help="what to run, in YAML")],
    *,
    horizon: Horizon = None,
    seeds: Seeds = None,
    first_seed: FirstSeed = 0,
    preset: Preset = None,
    settings: Set = None,
    out: Out = Path("results"),
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run every combination described in a file."""
    figure = read_figure(file)
    given = _overrides(horizon, seeds, first_seed, preset, settings)
    cells = list_cells(figure, next(iter(figure.scales)), **given)
    where = Where(out, workers, engine, address, quiet)
    with done(cells, where, figure.title) as finished:
        _shown(finished, figure.title, as_json=as_json)
    raise typer.Exit(finished.status)


@app.command("reproduce")
def reproduce_figure(
    figure: Annotated[str, typer.Argument(help="a figure of the paper, see `list`, or all")],
    *,
    scale: Annotated[str, typer.Option(help="quick, standard or full")] = "quick",
    panel: Annotated[str | None, typer.Option(help="only this panel, by its title")] = None,
    problem_seed: Annotated[int | None, typer.Option(help="of the generated problems")] = None,
    horizon: Horizon = None,
    seeds: Seeds = None,
    first_seed: FirstSeed = 0,
    preset: Preset = None,
    settings: Set = None,
    out: Out = Path("results"),
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a figure of the paper; print a table, draw the figure and write a report."""
    more = [*(settings or []), *([] if problem_seed is None else [f"seed={problem_seed}"])]
    given = _overrides(horizon, seeds, first_seed, preset, more)
    chosen = [FIGURES[name] for name in (FIGURES if figure == "all" else [figure])]
    if panel is not None:
        chosen = [each.select_panel(panel) for each in chosen]
    where = Where(out, workers, engine, address, quiet)
    cells = [list_cells(each, scale, **given) for each in chosen]
    if len(chosen) > 1:
        announce_all(cells, where)
    status = 0
    for each, asked in zip(chosen, cells, strict=True):
        with done(asked, where, each.title) as finished:
            _shown(finished, each.title, as_json=as_json)
            if drawn := as_panels(finished):
                for path in save(draw(drawn, each.title), out / _stem(each, panel)):
                    say(str(path))
        status = max(status, finished.status)
    raise typer.Exit(status)


@app.command("report")
def report(directory: Annotated[Path, typer.Argument(help="folder of a sweep")]) -> None:
    """Write the report page of a folder again."""
    console.print(str(write_report(directory)), highlight=False, soft_wrap=True)


@app.command("doctor")
def doctor(
    file: Annotated[Path, typer.Argument(help="a problem (.json) or logged rounds (.parquet)")],
    plot: Annotated[Path | None, typer.Option(help="where to draw; FILE-doctor.png here")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which candidate representation is good enough, and why."""
    found = examine(file)
    if as_json:
        write_json(found.as_dict())
    else:
        console.print(found.text(), highlight=False, markup=False)
    if plot or not as_json:
        path = plot or Path(f"{file.stem}-doctor.png")
        found.save_plot(path)
        say(str(path))


@app.command("data")
def data(
    name: Annotated[str | None, typer.Argument(help="a data set; all names without one")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="where you keep files")] = None,
) -> None:
    """Make sure that a data set is on this machine."""
    if name is None:
        console.print("\n".join(DATASETS), highlight=False)
        return
    console.print(str(fetch(name, data_dir=data_dir)), highlight=False, soft_wrap=True)


@app.command("bench")
def bench(as_json: AsJson = False) -> None:
    """Measure the speed of a step here, next to plain NumPy."""
    found = measured()
    if as_json:
        write_json(found)
        return
    for name, row in found.items():
        console.print(f"{name:<20} {row['us_per_step']:9.2f} us/step {row['ratio']:8.1f} x NumPy")


def main() -> None:
    """Run the command line; our own errors become one sentence and exit status 2."""
    try:
        app()
    except BanditSRLError as error:
        say(str(error), error=True)
        raise SystemExit(2) from None
    finally:
        gc.freeze()  # else the interpreter goes through half a million objects on its way out


def _fitting(cell: CellRequest) -> str:
    """The policy for a problem when none is named."""
    spec = replace(cell, policy=next(iter(POLICIES))).spec
    return default_policy(build_problem(spec))


def _overrides(
    horizon: int | None,
    seeds: int | None,
    first_seed: int,
    preset: str | None,
    settings: list[str] | None,
) -> dict[str, Any]:
    return {
        "horizon": horizon,
        "n_seeds": seeds,
        "first_seed": first_seed,
        "preset": preset,
        "settings": parse_settings(settings or []),
    }


def _shown(finished: Finished, title: str, *, as_json: bool) -> None:
    if not as_json:
        print_summary(finished, title, console)
        return
    page = None if finished.page is None else str(finished.page)
    write_json({"title": title, "cells": numbers(finished), "report": page})


def _stem(figure: Figure, panel: str | None) -> str:
    return figure.name if panel is None else f"{figure.name}-{panel.replace(' ', '-')}"
