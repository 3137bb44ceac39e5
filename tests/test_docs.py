"""Do the docs work for a reader? Each page is run from top to bottom in an empty folder.

- Python blocks are executed; the blocks of one page share their names.
- A YAML block whose first line is `# NAME.yaml` is written to that file.
- Each line of a console block that begins with `banditsrl` is a command. Each one is *checked*:
  its options are parsed, and its problem, policy, settings, figure, scale and panel must exist. It
  is then *run* with a small horizon and two seeds appended, and must exit with 0.
- Commands are checked but not run if `<!-- not run: REASON -->` precedes the block, or if they are
  indented instead of fenced. In the docs every command that trains networks or takes long must be
  marked like this; in the README such commands are left out without a mark. BANDITSRL_DOCS=all,
  which CI sets, runs all of them with few steps. Figures of the paper are reduced to one curve of
  their first panel, because some need hundreds of compiled programs.
- Networks and trees are small (SMALL) unless the page sets their sizes; `test_readme.py` has a
  policy of the default size.

`test_scripts.py` tests the commands of `make`, `python` and `pip`.
"""

import dataclasses
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from clusters import ray_cluster
from documents import (
    EVERY_PAGE,
    PAGES,
    README,
    RUN_SLOW_COMMANDS,
    SHELLS,
    read_blocks,
    read_fenced_commands,
    read_unfenced_commands,
    split_commands,
)
from shared_files import DATA, HAS_COVERTYPE
from typer.testing import CliRunner

import banditsrl
from banditsrl.cli.commands import app
from banditsrl.experiments.building import default_policy, split_settings
from banditsrl.experiments.figure import Figure
from banditsrl.experiments.figure_catalogue import FIGURES, read_figure
from banditsrl.experiments.planning import list_cells
from banditsrl.experiments.run_spec import is_file, parse_settings
from banditsrl.policies import POLICIES
from banditsrl.problems import DATASETS, PROBLEMS
from banditsrl.simulation import step_timing as timing

TINY = ["--horizon", "60", "--seeds", "2", "--workers", "1"]
WHOLE = {name: FIGURES[name] for name in FIGURES}
TRAINS = re.compile(r"nn-|neural|igw-|rff-|banditsrl-auto")

NETWORK = {"layers": (8, 4), "passes": 2}
TREES = {"n_trees": 4, "depth": 2}
SMALL: dict[str, dict[str, Any]] = {
    "banditsrl-auto": {**NETWORK, **TREES, "n_features": 10},
    **{name: NETWORK for name in POLICIES if re.match("nn-|neural|igw-", name)},
    "tree-egreedy": TREES,
    "tree-linucb": {**TREES, "n_leaf_trees": 2, "leaf_depth": 1},
}
"""Sizes with which a policy is trained in a fraction of a second."""

# Checks, which simulate nothing.


def check(words: list[str]) -> None:
    """Refuse a command with unknown options, names or settings."""
    program, *arguments = words
    if program == "banditsrl" and arguments != ["--help"]:
        group: Any = typer.main.get_command(app)
        assert arguments[0] in group.commands, f"there is no command {arguments[0]}"
        command = group.commands[arguments[0]]
        while isinstance(command, click.Group):
            arguments = arguments[1:]
            command = command.commands[arguments[0]]
        parsed = command.make_context(arguments[0], arguments[1:])
        CHECKS.get(arguments[0], lambda given: None)(parsed.params)


def check_run(given: dict[str, Any]) -> None:
    settings = parse_settings(given["settings"] or [])
    of_problem, of_policy = split_settings(given["problem"], settings)
    problem = _problem(given["problem"], of_problem)
    name = given["policy"] or default_policy(problem)
    banditsrl.make_policy(name, problem, preset=given["preset"], **of_policy)
    assert given["engine"] in ("local", "ray")


def _problem(name: str, settings: dict[str, Any]) -> Any:
    """Return the problem, or a similar one if it needs a file or a download."""
    if name.endswith(".json"):
        return banditsrl.make_problem("vardim-realizable")
    if is_file(name):
        assert "label" in settings, "a table needs --set label=COLUMN"
        return banditsrl.make_problem("mushroom")
    return banditsrl.make_problem("mushroom" if name == "covertype" else name, **settings)


def check_reproduce(given: dict[str, Any]) -> None:
    names = list(FIGURES) if given["figure"] == "all" else [given["figure"]]
    for name in names:
        figure = WHOLE[name] if given["panel"] is None else WHOLE[name].select_panel(given["panel"])
        settings = parse_settings(given["settings"] or [])
        for cell in list_cells(figure, given["scale"], settings=settings):
            assert cell.policy in POLICIES
            assert cell.problem in PROBLEMS


def check_sweep(given: dict[str, Any]) -> None:
    if Path(given["file"]).exists():
        read_figure(Path(given["file"]))
    assert Path(given["file"]).suffix in (".yaml", ".yml")


def check_doctor(given: dict[str, Any]) -> None:
    assert Path(given["file"]).suffix in (".json", ".parquet", ".csv")


def check_list(given: dict[str, Any]) -> None:
    assert given["kind"] in (None, "problems", "policies", "figures")


def check_data(given: dict[str, Any]) -> None:
    assert given["name"] is None or given["name"] in DATASETS


CHECKS = {
    "run": check_run,
    "reproduce": check_reproduce,
    "sweep": check_sweep,
    "doctor": check_doctor,
    "list": check_list,
    "data": check_data,
}
"""What is checked beyond the options of a command."""


# Runs.


def is_cheap(words: list[str]) -> bool:
    """Return whether a shortened command takes seconds: it trains and downloads nothing."""
    if "--dry-run" in words:
        return True
    if words[:2] == ["banditsrl", "run"]:
        named = [word for word in words[2:] if word in POLICIES]
        return bool(named) and not TRAINS.match(named[0]) and "covertype" not in words
    return words[1] not in ("reproduce", "bench", "serve") and "covertype" not in words


def should_run(words: list[str], *, marked: bool) -> bool:
    if words[0] != "banditsrl" or ("covertype" in words and not HAS_COVERTYPE):
        return False
    if words[1] == "serve":  # it ends only when it is stopped; tests/web start it
        return False
    return RUN_SLOW_COMMANDS or (not marked and is_cheap(words))


def run_shortened(words: list[str]) -> None:
    """Run a command with few steps and seeds."""
    if "--address" in words:
        with ray_cluster() as cluster:
            run_command([*words, *TINY, "--address", cluster.address])
    elif words[1] == "reproduce":  # a folder of its own: a report draws all panels of its folder
        run_command([*words, *TINY, "--out", tempfile.mkdtemp(dir=Path.cwd())])
    elif words[1] in ("run", "sweep"):
        run_command([*words, *TINY])
    elif "--data-dir" in words:
        run_command([*words, "--data-dir", str(DATA)])
    else:
        run_command(words)


def run_command(words: list[str]) -> None:
    """Run a command of ours in this process; it must exit with 0."""
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, f"{shlex.join(words)}:\n{done.output}\n{done.exception!r}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to a folder that holds only the files that a reader would have."""
    monkeypatch.chdir(tmp_path)
    if HAS_COVERTYPE:
        monkeypatch.setenv("BANDITSRL_DATA", str(DATA))
    monkeypatch.setattr(timing, "CASES", (timing.TimedCase("vardim-realizable", "greedy", 50, 2),))
    instance = banditsrl.make_problem("vardim-weak-hls")  # instead of the authors' instance
    for name in ("vardim-weak-hls", "mixing", "mine", "known"):
        banditsrl.problems.write_problem(instance, tmp_path / f"{name}.json")
    table = "\n".join(f"{k % 7},{k * k % 5},{'ab'[k % 2]}" for k in range(30))
    (tmp_path / "mine.csv").write_text(f"width,height,class\n{table}\n")
    with ExitStack() as stack:
        for name, figure in WHOLE.items():
            stack.enter_context(FIGURES.temporary(name, keep_one_curve(figure)))
        for name, sizes in SMALL.items():
            stack.enter_context(POLICIES.temporary(name, partial(POLICIES[name], **sizes)))
        yield tmp_path


def keep_one_curve(figure: Figure) -> Figure:
    """Return the figure with one curve of its first panel, and with a small network."""
    first, curve = figure.panels[0], figure.panels[0].curves[0]
    sizes = {
        key: value for key, value in SMALL.get(curve.policy, {}).items() if key in curve.settings
    }
    curve = dataclasses.replace(curve, settings={**curve.settings, **sizes})
    small = dataclasses.replace(first, curves=(curve,))
    return dataclasses.replace(figure, panels=(small,))


@pytest.mark.filterwarnings("ignore:os.fork", "ignore:unclosed file")  # from a Ray cluster
@pytest.mark.filterwarnings("ignore::banditsrl.errors.TooFewSteps")  # the runs are shortened
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom(page: Path, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    for block in read_blocks(page):
        if block.kind == "python" and not block.marked:
            exec(compile(block.text, page.name, "exec"), names)  # noqa: S102  (the test runs the page)
        if block.kind == "yaml" and (title := re.match(r"# (\S+\.yaml)\n", block.text)):
            (folder / title[1]).write_text(block.text)
        for words in split_commands(block.text) if block.kind in SHELLS else []:
            check(words)
            if should_run(words, marked=block.marked):
                run_shortened(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_slow_commands_are_marked(page: Path) -> None:
    for words, marked in read_fenced_commands(page):
        if words[0] == "banditsrl":
            assert marked or is_cheap(words), f"mark it `not run`: {shlex.join(words)}"


def test_commands_of_the_readme_work(folder: Path) -> None:
    for words, marked in read_fenced_commands(README):
        check(words)
        if should_run(words, marked=marked):
            run_shortened(words)


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.parent.name + "-" + page.stem)
def test_commands_outside_of_fences_work(page: Path, folder: Path) -> None:
    for words, marked in read_unfenced_commands(page):
        check(words)
        if should_run(words, marked=marked):
            run_shortened(words)
