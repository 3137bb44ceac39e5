"""The command line: verbs only. `banditsrl --help` lists them."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from banditsrl.errors import BanditSRLError
from banditsrl.experiments.paper import FIGURES
from banditsrl.experiments.reproduce import PanelResult, n_steps, reproduce
from banditsrl.experiments.result import Result
from banditsrl.policies.catalogue import POLICIES
from banditsrl.problems.catalogue import PROBLEMS
from banditsrl.registry import Registry
from banditsrl.reports.figures import draw, save
from banditsrl.reports.summary import Row, summary_rows

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
console = Console()
messages = Console(stderr=True)


@app.callback()
def root() -> None:
    """Contextual bandits that learn their representation and know when to stop exploring."""


@app.command("list")
def list_names(kind: Annotated[str, typer.Argument(help="problems, policies or figures")]) -> None:
    """List the names that other commands take."""
    kinds: Registry[list[str]] = Registry("list")
    kinds.add("problems", list(PROBLEMS))
    kinds.add("policies", list(POLICIES))
    kinds.add("figures", list(FIGURES))
    for name in kinds[kind]:
        console.print(name)


@app.command("reproduce")
def reproduce_figure(
    figure: Annotated[str, typer.Argument(help="a figure of the paper, see `list figures`")],
    panel: Annotated[str | None, typer.Option(help="only this panel, by its title")] = None,
    scale: Annotated[str, typer.Option(help="quick, standard or full")] = "quick",
    out: Annotated[Path, typer.Option(help="where figures are written")] = Path("results"),
    problem_seed: Annotated[int, typer.Option(help="seed of the generated problems")] = 0,
) -> None:
    """Run a figure of the paper; print a table and write the figure as PNG and PDF."""
    chosen = FIGURES[figure] if panel is None else FIGURES[figure].only(panel)
    size = chosen.scale(scale)
    runs = sum(len(panel.curves) for panel in chosen.panels)
    messages.print(
        f"{chosen.title}: {runs} runs, {size.horizon:,} steps, {size.n_seeds} seeds each"
    )
    with _progress() as progress:
        task = progress.add_task(chosen.title, total=n_steps(chosen, size))
        finished = 0

        def watch(label: str, done: int, total: int) -> None:
            nonlocal finished
            progress.update(task, description=label, completed=finished + done)
            finished += total if done == total else 0

        panels = reproduce(chosen, size, problem_seed=problem_seed, watch=watch)
    console.print(_table(chosen.title, summary_rows(_pairs(panels))))
    stem = figure if panel is None else f"{figure}-{panel.replace(' ', '-')}"
    paths = save(draw(_pairs(panels), chosen.title), out / stem)
    console.print("\n".join(str(path) for path in paths))


def main() -> None:
    """Run the command line; our own errors become one sentence and exit status 2."""
    try:
        app()
    except BanditSRLError as error:
        messages.print(f"[red]error:[/red] {error}", highlight=False)
        raise SystemExit(2) from None


def _pairs(panels: list[PanelResult]) -> list[tuple[str, list[Result]]]:
    return [(panel.title, panel.results) for panel in panels]


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<44}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=messages,
    )


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(
        title=f"{title}: {rows[0].n_seeds} seeds, {rows[0].horizon:,} steps",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    table.add_column("policy", no_wrap=True)
    for name in ("regret ± s.e.", "2nd half", "flat", "cert.", "wrong", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for panel, group in groupby(rows, key=lambda row: row.panel):
        table.add_row(f"[bold]{panel}[/bold]")
        for row in group:
            table.add_row(
                f"  {row.policy}",
                f"{row.regret:.1f} ± {row.stderr:.1f}",
                f"{row.second_half:.2f}",
                f"{row.flat_seeds}/{row.n_seeds}",
                f"{row.certified:.1%}",
                f"{row.wrong:.2%}",
                f"{row.wrong_regret:.1f}",
            )
    table.caption = (
        "2nd half: regret added after half of the steps; flat: seeds that added none;\n"
        "cert.: share certified in the last tenth; wrong, cost: share of wrong\n"
        "certificates and their regret"
    )
    return table
