"""Which command examines rounds or a problem before anything is run? `doctor`."""

from pathlib import Path

import typer
from rich.console import Console

from banditsrl.cli import options
from banditsrl.cli.console import print_message
from banditsrl.cli.execution import print_json
from banditsrl.doctor.doctor import examine

console = Console()


def add_doctor_command(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("doctor")(doctor)


def doctor(
    file: options.DoctorFile,
    *,
    plot: options.PlotFile = None,
    as_json: options.AsJson = False,
    action: options.ActionColumn = None,
    reward: options.RewardColumn = None,
    propensity: options.PropensityColumn = None,
    columns: options.ColumnNames = None,
    actions: options.ActionNames = None,
    log_format: options.LogFormat = None,
) -> None:
    """Say which representation and which policy suit logged rounds or a problem, and why."""
    options.check_plot(plot)
    examination = examine(
        file,
        progress=not as_json,
        action=action,
        reward=reward,
        propensity=propensity,
        columns=options.split_names(columns),
        actions=options.split_names(actions),
        format=log_format,
    )
    if as_json:
        print_json(examination.as_dict())
    else:
        console.print(examination.text(), highlight=False, markup=False, soft_wrap=True)
    if plot or not as_json:
        path = plot or Path(f"{file.stem}-doctor.png")
        examination.save_plot(path)
        print_message(str(path))
