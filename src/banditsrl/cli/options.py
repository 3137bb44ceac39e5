"""Which options do the commands take? One annotated type per option, with its help text.

To add an option, define its type here and use it as the type of a parameter in `commands.py`.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from banditsrl.cli.program import FLAG, print_version
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.figure_catalogue import FIGURES
from banditsrl.policies.policy_catalogue import POLICIES
from banditsrl.problems.problem_catalogue import PROBLEMS

Version = Annotated[
    bool,
    typer.Option(
        "--version",
        callback=print_version,
        is_eager=True,
        metavar=FLAG,
        help="Print the version and exit.",
    ),
]

# Which runs.

ProblemName = Annotated[
    str,
    typer.Argument(
        help="Name of a problem, or a .json, .csv or .parquet file.",
        autocompletion=lambda: list(PROBLEMS),
    ),
]
PolicyName = Annotated[
    str | None,
    typer.Argument(
        help="Name of a policy. By default, one that suits the problem.",
        autocompletion=lambda: list(POLICIES),
    ),
]
SweepFile = Annotated[Path, typer.Argument(help="YAML file that describes the sweep.")]
FigureName = Annotated[
    str,
    typer.Argument(
        help="Name of a figure of the paper (see `banditsrl list`), or `all`.",
        autocompletion=lambda: [*FIGURES, "all"],
    ),
]
ScaleName = Annotated[
    str, typer.Option(help="Size of the experiment: quick, standard or full (as in the paper).")
]
PanelTitle = Annotated[str | None, typer.Option(help="Run only the panel with this title.")]
ProblemSeed = Annotated[
    int | None, typer.Option(help="Seed from which the problems are generated.")
]
Horizon = Annotated[
    int | None,
    typer.Option(
        help="Number of steps of each run; a value given here overrides that of a file or figure.",
        min=1,
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        help="Number of seeds; a value given here overrides that of a file or figure.", min=1
    ),
]
FirstSeed = Annotated[
    int,
    typer.Option(help="First seed; seeds are numbered consecutively from here.", min=0),
]
PresetName = Annotated[
    str | None,
    typer.Option(help="Preset that supplies all settings that are not given: paper or default."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Setting of the problem or of the policy. May be repeated.",
    ),
]

# Where and how they run.

Out = Annotated[Path, typer.Option(help="Folder for runs, figures and the report.")]
OptionalOut = Annotated[
    Path | None,
    typer.Option(help="Folder for runs and a report. By default, nothing is kept."),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Number of worker processes. By default, one per core.", min=1),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine", help="Where runs are executed: local (this machine) or ray (a cluster)."
    ),
]
Address = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster; needs --engine ray.")
]

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        metavar=FLAG,
        help="Say what would run and how long it would take; run nothing.",
    ),
]

# What is printed.

AsJson = Annotated[
    bool,
    typer.Option("--json", metavar=FLAG, help="Print one JSON document and nothing else."),
]
Quiet = Annotated[bool, typer.Option("--quiet", metavar=FLAG, help="Do not show progress.")]

# How a log is read.

ActionColumn = Annotated[
    str | None, typer.Option("--action", help="Column of the action. By default, action.")
]
RewardColumn = Annotated[
    str | None, typer.Option("--reward", help="Column of the reward. By default, reward.")
]
PropensityColumn = Annotated[
    str | None,
    typer.Option("--propensity", help="Column of the propensity. By default, propensity."),
]
ColumnNames = Annotated[
    str | None,
    typer.Option("--columns", help="Columns of a context, separated by commas. By default, all."),
]
ActionNames = Annotated[
    str | None,
    typer.Option(
        "--actions",
        help="All actions, separated by commas; another one in the log is refused. By default, "
        "those that the log contains.",
    ),
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the log: parquet, csv, jsonl, dsjson, vw, obp or loop. By default, it is "
        "recognised.",
    ),
]

# Other commands.

ListKind = Annotated[
    str | None,
    typer.Argument(help="What to list: problems, policies or figures. By default, all three."),
]
AnyName = Annotated[
    str,
    typer.Argument(
        help="Name of a policy, a problem or a figure.",
        autocompletion=lambda: sorted({*POLICIES, *PROBLEMS, *FIGURES}),
    ),
]
SweepFolder = Annotated[Path, typer.Argument(help="Folder of a sweep (the --out of its command).")]
DoctorFile = Annotated[
    Path,
    typer.Argument(help="Problem (.json) or logged rounds (.parquet, .csv, ...) to examine."),
]
PlotFile = Annotated[
    Path | None,
    typer.Option(help="File for the plot. By default, <FILE>-doctor.png in the current folder."),
]
DataSetName = Annotated[
    str | None,
    typer.Argument(help="Name of a data set. Without one, all are listed with their place."),
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder in which you keep downloaded data files."),
]


def check_plot(path: Path | None) -> None:
    """Refuse a file for a plot whose folder does not exist, before anything is computed."""
    if path is not None and not path.parent.is_dir():
        raise InvalidArgument(f"--plot must be a file in a folder that exists, got {path}.")


@contextlib.contextmanager
def name_options(**options: str) -> Iterator[None]:
    """Let errors about arguments of these names speak of the options that a person typed."""
    try:
        yield
    except InvalidArgument as error:
        name, _, rest = str(error).partition(" ")
        if name not in options:
            raise
        raise type(error)(f"{options[name]} {rest}") from None


def split_names(words: str | None) -> list[str] | None:
    """Return names that are separated by commas, or None if there are none.

    Example:
        >>> split_names("age, city")
        ['age', 'city']
    """
    return None if words is None else [name.strip() for name in words.split(",")]
