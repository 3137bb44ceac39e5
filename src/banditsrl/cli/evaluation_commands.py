"""Which command judges policies by a log? `evaluate`: values, quality of the log, and a gate."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from banditsrl.cli.console import print_message
from banditsrl.cli.execution import print_json
from banditsrl.cli.options import (
    ActionColumn,
    ActionNames,
    AsJson,
    ColumnNames,
    LogFormat,
    PropensityColumn,
    Quiet,
    RewardColumn,
    check_plot,
    name_options,
    split_names,
)
from banditsrl.cli.program import FLAG

console = Console()

SHUT = 3
"""Exit status if the gate does not let a target through."""

LogPath = Annotated[
    str,
    typer.Argument(
        metavar="LOG",
        help="Log to judge by: Parquet, CSV, JSON lines, dsjson, VW text, .npz (Open Bandit), or a "
        "loop's store.",
    ),
]
TargetWords = Annotated[
    list[str],
    typer.Option(
        "--target",
        metavar="TARGET",
        help="What is judged: uniform, always:ACTION, logged, learned:POLICY, state:POLICY:FILE, "
        "version:N or replay:POLICY. May be repeated.",
    ),
]
Against = Annotated[
    str, typer.Option(help="What targets are compared with: another target, or logged.")
]
EstimatorNames = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        metavar="NAME",
        help="Estimator: dr, sndr, snips, ips, dm, clipped-ips or switch-dr. May be repeated; the "
        "first one is used for differences.",
    ),
]
Level = Annotated[float, typer.Option(help="Probability that an interval misses its value.")]
RewardRange = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LOW HIGH", help="Least and largest reward that is possible."),
]
LeastPropensity = Annotated[
    float | None, typer.Option(help="Least probability of any action that was played, if known.")
]
ModelKind = Annotated[
    str, typer.Option("--reward-model", help="Reward model: ridge or portfolio (ridge and trees).")
]
GateWords = Annotated[
    str | None,
    typer.Option(
        "--gate",
        metavar="GATE",
        help="Exit with status 3 unless the target passes better:MARGIN or not-worse:MARGIN.",
    ),
]
Picture = Annotated[Path | None, typer.Option("--plot", help="File for a picture (.png or .pdf).")]
SkipBad = Annotated[
    bool,
    typer.Option("--skip-bad", metavar=FLAG, help="Skip and count rows that cannot be used."),
]
LoopName = Annotated[str | None, typer.Option("--loop", help="Name of the loop in a store.")]
Seed = Annotated[int, typer.Option(help="Seed of the random draws of targets that learn.", min=0)]


TYPED = {
    "targets": "--target",
    "estimators": "--estimator",
    "reward_model": "--reward-model",
    "reward_range": "--reward-range",
    "least_propensity": "--least-propensity",
    "level": "--level",
    "gate": "--gate",
    "actions": "--actions",
    "columns": "--columns",
    "format": "--format",
}
"""Options by the names of the arguments that they become."""


def add_evaluation_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("evaluate")(evaluate)


def evaluate(
    path: LogPath,
    *,
    target: TargetWords,
    against: Against = "logged",
    estimator: EstimatorNames = None,
    level: Level = 0.05,
    reward_range: RewardRange = None,
    least_propensity: LeastPropensity = None,
    reward_model: ModelKind = "ridge",
    gate: GateWords = None,
    plot: Picture = None,
    as_json: AsJson = False,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
    log_format: LogFormat = None,
    action: ActionColumn = None,
    reward: RewardColumn = None,
    propensity: PropensityColumn = None,
    columns: ColumnNames = None,
    actions: ActionNames = None,
    loop: LoopName = None,
    seed: Seed = 0,
) -> None:
    """Say what other policies would have earned on a log, and whether one may go live."""
    # Most commands need no log, and these take their time to import.
    from banditsrl.logs.log import Log  # noqa: PLC0415
    from banditsrl.reports import evaluation_report  # noqa: PLC0415

    check_plot(plot)
    given = {"action": action, "reward": reward, "propensity": propensity}
    names: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    names |= {"columns": split_names(columns), "actions": split_names(actions)}
    with name_options(**TYPED):
        log = Log.read(path, format=log_format, loop=loop, skip_bad=skip_bad, **names)
        found = evaluation_report.evaluate(
            log,
            target,
            against=against,
            estimators=estimator or evaluation_report.DEFAULT_ESTIMATORS,
            level=level,
            reward_range=reward_range,
            least_propensity=least_propensity,
            reward_model=reward_model,
            gate=gate,
            seed=seed,
            progress=not quiet and not as_json,
        )
    if as_json:
        print_json(found.as_dict())
    else:
        console.print(found.text(), highlight=False, markup=False, soft_wrap=True)
    if found.n_skipped:
        rows = "1 row was" if found.n_skipped == 1 else f"{found.n_skipped:,} rows were"
        print_message(f"{rows} skipped; the first: {log.skipped.first}")
    if plot is not None:
        found.save_plot(plot)
        print_message(str(plot))
    if found.gate is not None and not found.gate.promoted:
        raise typer.Exit(SHUT)
