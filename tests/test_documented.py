"""Do the pages agree with the code on policies, settings, defaults and figures?"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from documents import PAGES, ROOT
from typer.testing import CliRunner

import banditsrl
from banditsrl.cli.commands import app
from banditsrl.core.policy import Policy
from banditsrl.experiments.figure_catalogue import FIGURES
from banditsrl.policies import POLICIES, PRESETS
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.problems import PROBLEMS
from banditsrl.representations.wide import Wide
from banditsrl.selection.conventions import Conventions
from banditsrl.selection.network_learner import NetworkLearner
from banditsrl.selection.training import Training


def find_parts() -> list[type[Any]]:
    """Return every policy, and every part of one, that declares settings of its own."""
    modules = [importlib.import_module(f"banditsrl.policies.{name}") for name in list_modules()]
    policies = {
        thing
        for module in modules
        for thing in vars(module).values()
        if inspect.isclass(thing) and issubclass(thing, Policy) and not inspect.isabstract(thing)
    }
    parts = [*policies, Training, NetworkLearner]
    return sorted((part for part in parts if list_settings(part)), key=lambda part: part.__name__)


def list_modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(banditsrl.policies.__path__)]


def list_settings(part: type[Any]) -> dict[str, Any]:
    """Return the settings of a class with their defaults."""
    fields = dataclasses.fields(part)
    return {field.name: field.default for field in fields if "help" in field.metadata}


def read_rows(page: str) -> list[list[str]]:
    """Return the rows of all tables of a page, as cells."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    found = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)] for row in found]


def documents_default(page: str, name: str, default: Any) -> bool:
    """Return whether some table of a page has this setting with this default."""
    listed = [row[1] for row in read_rows(page) if row[0] == f"`{name}`"]
    if isinstance(default, float):
        numbers = [word for word in listed if re.fullmatch(r"[\d./]+", word)]
        return any(float(Fraction(word)) == default for word in numbers)
    return str(default) in listed


@pytest.mark.parametrize("part", find_parts(), ids=lambda part: part.__name__)
def test_some_page_has_a_table_of_all_settings_with_their_defaults(part: type[Any]) -> None:
    missing = {
        page.stem: [
            f"{name}={default}"
            for name, default in list_settings(part).items()
            if not documents_default(page.stem, name, default)
        ]
        for page in PAGES
        if page.parent.name == "docs"
    }
    assert not min(missing.values(), key=len), min(missing.items(), key=lambda item: len(item[1]))


def test_the_settings_of_the_portfolio_are_those_of_its_parts() -> None:
    explorer = {field.name: field.default for field in dataclasses.fields(WideUCB)}
    for name in ("ucb_scale", "n_scaling"):
        assert documents_default("auto", name, explorer[name])
    assert documents_default(
        "auto", "n_features", inspect.signature(Wide).parameters["n_features"].default
    )


def test_the_table_of_presets_holds_exactly_what_differs() -> None:
    problem = banditsrl.make_problem("wheel")
    paper, default = (PRESETS[name](problem) for name in ("paper", "default"))
    defaults = {field.name: field.default for field in dataclasses.fields(banditsrl.NNBanditSRL)}
    paper = {name: paper.get(name, defaults.get(name)) for name in default}
    first = read_rows("nn-banditsrl").index(["setting", "`paper`", "`default`"])
    table = {row[0].strip("`"): row[1:] for row in read_rows("nn-banditsrl")[first + 2 :]}
    assert set(table) == {name for name in paper if paper[name] != default[name]}
    for name, (of_paper, of_default) in table.items():
        for said, value in ((of_paper, paper[name]), (of_default, default[name])):
            words = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            assert said.split()[0] == words, name


def test_the_table_of_conventions_has_every_difference() -> None:
    first = read_rows("banditsrl").index(["difference", "`paper`", "`authors`"])
    listed = [row[0].strip("`") for row in read_rows("banditsrl")[first + 2 :]]
    assert listed == [field.name for field in dataclasses.fields(Conventions)]


def test_the_reference_has_every_public_name_and_only_names_that_exist() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    for address in re.findall(r"^::: (\S+)$", text, re.MULTILINE):
        module, _, name = address.rpartition(".")
        parent = importlib.import_module(module)
        assert name in vars(parent) or importlib.import_module(address), address
    for name in banditsrl.__all__:
        if not inspect.ismodule(getattr(banditsrl, name)):
            assert re.search(rf"^::: \S+\.{name}$|`{name}`|\b{name}[,\]]", text, re.MULTILINE), name


def test_every_policy_figure_and_problem_is_mentioned() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    for name in [*POLICIES, *PROBLEMS]:
        if not name.startswith("glrt-"):
            assert f"`{name}`" in text, name
    headings = re.findall(r"^## ([\w-]+)$", (ROOT / "docs/reproducing.md").read_text(), re.M)
    assert headings == list(FIGURES)


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith(("ab", "wheel"))])
def test_the_page_on_reproducing_knows_how_many_runs_a_figure_has(
    name: str, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "reproducing.md").read_text()
    section = " ".join(page.partition(f"\n## {name}\n")[2].partition("\n## ")[0].split())
    told = re.search(
        r"`quick` the command starts ([\d,]+) runs .* there are ([\d,]+) runs", section
    )
    assert told is not None
    for scale, n_runs in zip(("quick", "full"), told.groups(), strict=True):
        words = ["reproduce", name, "--scale", scale, "--dry-run", "--out", str(tmp_path / scale)]
        done = CliRunner().invoke(app, words)
        assert f" {n_runs} runs, 0 already done" in done.output


def test_the_page_on_extending_lists_every_member_of_a_policy() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    section = page.partition("\n## A policy\n")[2].partition("\n## ")[0]
    listed = {
        n for row in re.findall(r"^\| (`.*?) \|", section, re.M) for n in re.findall(r"`(\w+)", row)
    }
    members = {name for name in vars(Policy) if not name.startswith("_")}
    assert listed == members
