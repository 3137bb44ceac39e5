"""The docs as a reader would use them: each page is run from top to bottom in an empty folder.

- A block of Python is executed; blocks of a page share their names.
- A block of YAML whose first line is `# NAME.yaml` is written to that file.
- A line of a block of console that begins with `banditsrl` is a command. Every one is *checked*:
  its options are parsed, and its problem, policy, settings, figure, scale and panel must exist.
  Then it is *run*, with a tiny horizon and two seeds put behind what is written, and must exit
  with 0.
- `<!-- not run: REASON -->` before a block leaves its commands at the check. What trains networks
  or takes long must be marked so in the docs; in the README it is left out by itself.
  BANDITSRL_DOCS=all, as CI has it, runs marked `run`, `doctor` and `reproduce` commands too, tiny.
  Figures of the paper are cut to one curve of their first panel: some have hundreds of programs.
- Indented commands, and `make` and `python` everywhere, are checked: the target or script exists.
"""

import dataclasses
import inspect
import os
import re
import shlex
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

import banditsrl
from banditsrl import cli
from banditsrl.experiments.building import default_policy, shared_out
from banditsrl.experiments.paper import FIGURES, Figure, read_figure
from banditsrl.experiments.spec import is_file, parsed_settings
from banditsrl.experiments.sweep import cells_of
from banditsrl.policies import POLICIES, PRESETS
from banditsrl.policies.auto import BanditSRLAuto
from banditsrl.policies.wide import WideUCB
from banditsrl.problems import DATASETS, PROBLEMS
from banditsrl.representations.wide import Wide

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
README = ROOT / "README.md"

TINY = ["--horizon", "60", "--seeds", "2", "--workers", "1"]
EVERYTHING = os.environ.get("BANDITSRL_DOCS") == "all"
WHOLE = {name: FIGURES[name] for name in FIGURES}

FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", flags=re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- not run: [^>]+ -->\s*\Z")
SHELLS = ("console", "bash", "sh", "shell")
TRAINS = re.compile(r"nn-|neural|igw-|rff-|banditsrl-auto")


pytestmark = pytest.mark.usefixtures("unoptimised")


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    text: str
    marked: bool


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCE.finditer(text):
        body = textwrap.dedent(found[3])
        yield Block(found[2], body, MARK.search(text[: found.start()]) is not None)


def lines(text: str) -> list[list[str]]:
    """The commands of a block, as words; comments and prompts are dropped."""
    joined = text.replace("\\\n", " ").splitlines()
    plain = [line.strip().removeprefix("$ ") for line in joined]
    return [shlex.split(line, comments=True) for line in plain if line and line[0] != "#"]


def commands(page: Path) -> list[tuple[list[str], bool]]:
    """Every command of a page in fences, as words, and whether it is marked."""
    shells = [block for block in blocks(page) if block.kind in SHELLS]
    return [(words, block.marked) for block in shells for words in lines(block.text)]


def indented(page: Path) -> list[list[str]]:
    """Commands in blocks that are set off by indentation."""
    rest = FENCE.sub("", page.read_text())
    return lines("\n".join(re.findall(r"^    ((?:make|banditsrl|python) .*)$", rest, re.MULTILINE)))


# Checks: nothing is simulated.


def check(words: list[str]) -> None:
    program, *arguments = words
    if program == "banditsrl" and arguments != ["--help"]:
        group: Any = typer.main.get_command(cli.app)
        assert arguments[0] in group.commands, f"there is no command {arguments[0]}"
        parsed = group.commands[arguments[0]].make_context(arguments[0], arguments[1:])
        CHECKS[arguments[0]](parsed.params)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        for target in [word for word in arguments if "=" not in word]:
            assert target in targets, f"the Makefile has no target {target}"
    if program == "python" and arguments[0].endswith(".py"):
        assert (ROOT / arguments[0]).is_file(), f"there is no {arguments[0]}"


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


def run(words: list[str]) -> None:
    tiny = TINY if words[1] in ("run", "sweep", "reproduce") else []
    done = CliRunner().invoke(cli.app, [*words[1:], *tiny])
    assert done.exit_code == 0, f"{shlex.join(words)}:\n{done.output}\n{done.exception!r}"


def is_run(words: list[str], *, marked: bool) -> bool:
    if words[0] != "banditsrl":
        return False
    if marked:
        runs = words[1] in ("run", "doctor", "reproduce")
        return EVERYTHING and runs and "covertype" not in words
    return is_cheap(words)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, but for what a reader has got from elsewhere."""
    monkeypatch.chdir(tmp_path)
    instance = banditsrl.make_problem("vardim-weak-hls")  # in place of the authors'
    for name in ("vardim-weak-hls", "mine", "known"):
        banditsrl.problems.write_problem(instance, tmp_path / f"{name}.json")
    table = "\n".join(f"{k % 7},{k * k % 5},{'ab'[k % 2]}" for k in range(30))
    (tmp_path / "mine.csv").write_text(f"width,height,class\n{table}\n")
    for name, figure in WHOLE.items():
        monkeypatch.setitem(FIGURES._entries, name, cut(figure))
    return tmp_path


def cut(figure: Figure) -> Figure:
    first = figure.panels[0]
    small = dataclasses.replace(first, curves=first.curves[:1])
    return dataclasses.replace(figure, panels=(small,))


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
    for words, marked in commands(page):
        if words[0] == "banditsrl":
            assert marked or is_cheap(words), f"mark it `not run`: {shlex.join(words)}"


def test_commands_of_the_readme_work(folder: Path) -> None:
    for words, marked in commands(README):
        check(words)
        if is_run(words, marked=marked):
            run(words)


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_commands_outside_of_fences_exist(page: Path, folder: Path) -> None:
    for words in indented(page):
        check(words)


# What the pages say of settings is what the code has.

DOCUMENTED = [
    ("linear", banditsrl.LinUCB),
    ("linear", banditsrl.LinTS),
    ("linear", banditsrl.EpsilonGreedy),
    ("linear", banditsrl.IGW),
    ("glrt", banditsrl.GLRT),
    ("banditsrl", banditsrl.BanditSRL),
    ("leader", banditsrl.Leader),
    ("nn-banditsrl", banditsrl.NNBanditSRL),
    ("nn-banditsrl", banditsrl.Training),
    ("baselines", banditsrl.NeuralUCB),
    ("auto", BanditSRLAuto),
]


def rows(page: str) -> list[list[str]]:
    """The rows of all tables of a page, as cells."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    found = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)] for row in found]


def says(page: str, name: str, default: Any) -> bool:
    """Whether some table of a page has this setting with this default."""
    listed = [row[1] for row in rows(page) if row[0] == f"`{name}`"]
    if isinstance(default, float):
        numbers = [word for word in listed if re.fullmatch(r"[\d./]+", word)]
        return any(float(Fraction(word)) == default for word in numbers)
    return str(default) in listed


@pytest.mark.parametrize(("page", "part"), DOCUMENTED, ids=lambda it: getattr(it, "__name__", it))
def test_every_setting_is_in_its_table_with_its_default(page: str, part: Any) -> None:
    for field in dataclasses.fields(part):
        if "help" in field.metadata and not field.name.startswith("_"):
            assert says(page, field.name, field.default), f"{page}: {field.name}={field.default}"


def test_the_settings_of_the_portfolio_are_those_of_its_parts() -> None:
    explorer = {field.name: field.default for field in dataclasses.fields(WideUCB)}
    for name in ("ucb_scale", "n_scaling"):
        assert says("auto", name, explorer[name])
    assert says("auto", "n_features", inspect.signature(Wide).parameters["n_features"].default)


def test_the_table_of_presets_holds_exactly_what_differs() -> None:
    problem = banditsrl.make_problem("wheel")
    paper, default = (PRESETS[name](problem) for name in ("paper", "default"))
    defaults = {field.name: field.default for field in dataclasses.fields(banditsrl.NNBanditSRL)}
    paper = {name: paper.get(name, defaults.get(name)) for name in default}
    first = rows("nn-banditsrl").index(["setting", "`paper`", "`default`"])
    table = {row[0].strip("`"): row[1:] for row in rows("nn-banditsrl")[first + 2 :]}
    assert set(table) == {name for name in paper if paper[name] != default[name]}
    for name, (of_paper, of_default) in table.items():
        for said, value in ((of_paper, paper[name]), (of_default, default[name])):
            words = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            assert said.split()[0] == words, name


def test_every_policy_figure_and_problem_is_mentioned() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    for name in [*POLICIES, *PROBLEMS]:
        if not name.startswith("glrt-"):
            assert f"`{name}`" in text, name
    headings = re.findall(r"^## ([\w-]+)$", (ROOT / "docs/reproducing.md").read_text(), re.M)
    assert headings == list(FIGURES)
