"""Figures of several panels: one legend, and the best of what was tuned."""

from types import SimpleNamespace
from typing import Any

import pytest

import banditsrl
from banditsrl.cli.execution import group_by_panel
from banditsrl.reports.matplotlib_plots import draw


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
