"""Figures of several panels: one legend, and the best of what was tuned."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import banditsrl
from banditsrl.cli.execution import group_by_panel
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.reports.cell_styles import assign_cell_styles
from banditsrl.reports.colours import LIGHT
from banditsrl.reports.matplotlib_plots import draw
from banditsrl.reports.page import write_report


@pytest.fixture(scope="module")
def results(problem: banditsrl.FiniteProblem) -> list[Any]:
    policies = [banditsrl.make_policy(name, problem) for name in ("uniform", "greedy")]
    return [banditsrl.simulate(problem, policy, horizon=60, seeds=2) for policy in policies]


def test_all_panels_share_one_legend(results: list[Any]) -> None:
    canvas = draw([("one", results), ("two", results[:1])], "both")
    (legend,) = canvas.legends
    assert [text.get_text() for text in legend.get_texts()] == [r.policy for r in results]
    assert [axis.get_title() for axis in canvas.axes] == ["one", "two"]
    colours = [axis.get_lines()[0].get_color() for axis in canvas.axes]
    assert colours[0] == colours[1] != canvas.axes[0].get_lines()[1].get_color()


def test_lines_wear_the_styles_that_the_page_gives_them(store: Path, results: list[Any]) -> None:
    styles = assign_cell_styles(read_sweep(store).cells)
    assert styles["BanditSRL-LinUCB"].colour != styles["LinUCB"].colour  # one colour per policy
    names = ["LinUCB", "LEADER"]
    named = [replace(result, policy=name) for result, name in zip(results, names, strict=True)]
    canvas = draw([("one", named)], "one panel", styles)
    lines = canvas.axes[0].get_lines()
    assert [line.get_color() for line in lines] == [LIGHT[styles[name].colour] for name in names]
    assert [line.get_linestyle() for line in lines] == ["-", "-"]  # no two share a colour
    page = write_report(store).read_text(encoding="utf-8")
    found = re.search(r'id="plots">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    drawn = {line["name"]: line for line in json.loads(found[1])["regret-0"]["lines"]}
    for name in drawn:
        assert (drawn[name]["colour"], drawn[name]["dash"]) == styles[name]


def test_of_a_tuned_group_the_best_is_drawn_under_its_name(results: list[Any]) -> None:
    def cells() -> Any:
        for tuned in ("Tuned", None):
            cell = SimpleNamespace(panel=f"panel {tuned}", tuned=tuned)
            yield from ((SimpleNamespace(cell=cell), result) for result in results)

    executed: Any = SimpleNamespace(results=list(cells()))
    (first, best), (second, both) = group_by_panel(executed)
    assert (first, second) == ("panel Tuned", "panel None")
    assert [result.policy for result in best] == ["Tuned"]
    assert best[0].mean[-1] == min(result.mean[-1] for result in results)
    assert [result.policy for result in both] == [result.policy for result in results]
