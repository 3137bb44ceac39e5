"""The docs as a reader would use them: each page is run from top to bottom in an empty folder.

- A block of Python is executed; blocks of a page share their names.
- A block of YAML whose first line is `# NAME.yaml` is written to that file.
- A line of a block of console that begins with `banditsrl` is a command. Every one is *checked*:
  its options are parsed, and its problem, policy, settings, figure, scale and panel must exist.
  Then it is *run*, with a tiny horizon and two seeds put behind what is written, and must exit
  with 0.
- `<!-- not run: REASON -->` before a block, or indentation instead of a fence, leaves its commands
  at the check. What trains networks or takes long must be marked so in the docs; in the README it
  is left out by itself. BANDITSRL_DOCS=all, as CI has it, runs every one, tiny. Figures of the
  paper are cut to one curve of their first panel: some have hundreds of programs.

Commands of `make`, `python` and `pip` are those of `test_scripts.py`.
"""

import dataclasses
import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import typer
from beside import DATA, HAS_COVERTYPE
from clusters import ray_cluster
from documents import EVERY_PAGE, EVERYTHING, PAGES, README, SHELLS, blocks, fenced, lines, unfenced
from typer.testing import CliRunner

import banditsrl
from banditsrl.cli import main as cli
from banditsrl.experiments.building import default_policy, shared_out
from banditsrl.experiments.figure_catalogue import FIGURES, Figure, read_figure
from banditsrl.experiments.planning import cells_of
from banditsrl.experiments.run_spec import is_file, parsed_settings
from banditsrl.policies import POLICIES
from banditsrl.problems import DATASETS, PROBLEMS
from banditsrl.simulation import step_timing as timing

TINY = ["--horizon", "60", "--seeds", "2", "--workers", "1"]
WHOLE = {name: FIGURES[name] for name in FIGURES}
TRAINS = re.compile(r"nn-|neural|igw-|rff-|banditsrl-auto")

# Checks: nothing is simulated.


def check(words: list[str]) -> None:
    program, *arguments = words
    if program == "banditsrl" and arguments != ["--help"]:
        group: Any = typer.main.get_command(cli.app)
        assert arguments[0] in group.commands, f"there is no command {arguments[0]}"
        parsed = group.commands[arguments[0]].make_context(arguments[0], arguments[1:])
        CHECKS[arguments[0]](parsed.params)


def check_run(given: dict[str, Any]) -> None:
    settings = parsed_settings(given["settings"] or [])
    of_problem, of_policy = shared_out(given["problem"], settings)
    problem = _problem(given["problem"], of_problem)
    name = given["policy"] or default_policy(problem)
    banditsrl.make_policy(name, problem, preset=given["preset"], **of_policy)
    assert given["engine"] in ("local", "ray")


def _problem(name: str, settings: dict[str, Any]) -> Any:
    """The problem, or one of its kind where that needs a file or a download."""
    if name.endswith(".json"):
        return banditsrl.make_problem("vardim-realizable")
    if is_file(name):
        assert "label" in settings, "a table needs --set label=COLUMN"
        return banditsrl.make_problem("mushroom")
    return banditsrl.make_problem("mushroom" if name == "covertype" else name, **settings)


def check_reproduce(given: dict[str, Any]) -> None:
    names = list(FIGURES) if given["figure"] == "all" else [given["figure"]]
    for name in names:
        figure = WHOLE[name] if given["panel"] is None else WHOLE[name].only(given["panel"])
        settings = parsed_settings(given["settings"] or [])
        for cell in cells_of(figure, given["scale"], settings=settings):
            assert cell.policy in POLICIES
            assert cell.problem in PROBLEMS


def check_sweep(given: dict[str, Any]) -> None:
    if Path(given["file"]).exists():
        read_figure(Path(given["file"]))
    assert Path(given["file"]).suffix in (".yaml", ".yml")


def check_doctor(given: dict[str, Any]) -> None:
    assert Path(given["file"]).suffix in (".json", ".parquet")


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
    "report": lambda given: None,
    "bench": lambda given: None,
}


# Running.


def is_cheap(words: list[str]) -> bool:
    """Whether a command takes seconds when it is tiny: nothing trains, nothing is fetched."""
    if words[:2] == ["banditsrl", "run"]:
        named = [word for word in words[2:] if word in POLICIES]
        return bool(named) and not TRAINS.match(named[0]) and "covertype" not in words
    return words[1] not in ("reproduce", "bench") and "covertype" not in words


def is_run(words: list[str], *, marked: bool) -> bool:
    if words[0] != "banditsrl" or ("covertype" in words and not HAS_COVERTYPE):
        return False
    return EVERYTHING or (not marked and is_cheap(words))


def run(words: list[str]) -> None:
    if "--address" in words:
        with ray_cluster() as cluster:
            invoke([*words, *TINY, "--address", cluster.address])
    elif words[1] in ("run", "sweep", "reproduce"):
        invoke([*words, *TINY])
    elif "--data-dir" in words:
        invoke([*words, "--data-dir", str(DATA)])
    else:
        invoke(words)


def invoke(words: list[str]) -> None:
    done = CliRunner().invoke(cli.app, words[1:])
    assert done.exit_code == 0, f"{shlex.join(words)}:\n{done.output}\n{done.exception!r}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, but for what a reader has got from elsewhere."""
    monkeypatch.chdir(tmp_path)
    if HAS_COVERTYPE:
        monkeypatch.setenv("BANDITSRL_DATA", str(DATA))
    monkeypatch.setattr(timing, "CASES", (timing.Case("vardim-realizable", "greedy", 50, 2),))
    instance = banditsrl.make_problem("vardim-weak-hls")  # in place of the authors'
    for name in ("vardim-weak-hls", "mixing", "mine", "known"):
        banditsrl.problems.write_problem(instance, tmp_path / f"{name}.json")
    table = "\n".join(f"{k % 7},{k * k % 5},{'ab'[k % 2]}" for k in range(30))
    (tmp_path / "mine.csv").write_text(f"width,height,class\n{table}\n")
    with ExitStack() as stack:
        for name, figure in WHOLE.items():
            stack.enter_context(FIGURES.temporary(name, cut(figure)))
        yield tmp_path


def cut(figure: Figure) -> Figure:
    first = figure.panels[0]
    small = dataclasses.replace(first, curves=first.curves[:1])
    return dataclasses.replace(figure, panels=(small,))


@pytest.mark.filterwarnings("ignore:os.fork", "ignore:unclosed file")  # by a Ray cluster
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom(page: Path, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page):
        if block.kind == "python" and not block.marked:
            exec(compile(block.text, page.name, "exec"), names)  # noqa: S102  (that is the point)
        if block.kind == "yaml" and (title := re.match(r"# (\S+\.yaml)\n", block.text)):
            (folder / title[1]).write_text(block.text)
        for words in lines(block.text) if block.kind in SHELLS else []:
            check(words)
            if is_run(words, marked=block.marked):
                run(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_takes_long_is_marked(page: Path) -> None:
    for words, marked in fenced(page):
        if words[0] == "banditsrl":
            assert marked or is_cheap(words), f"mark it `not run`: {shlex.join(words)}"


def test_commands_of_the_readme_work(folder: Path) -> None:
    for words, marked in fenced(README):
        check(words)
        if is_run(words, marked=marked):
            run(words)


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.parent.name + "-" + page.stem)
def test_commands_outside_of_fences_work(page: Path, folder: Path) -> None:
    for words, marked in unfenced(page):
        check(words)
        if is_run(words, marked=marked):
            run(words)
