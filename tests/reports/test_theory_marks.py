"""Are the right times marked, and are candidates called by their names?"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import banditsrl
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.reports.curves import ReportPanel, build_panels
from banditsrl.reports.measurements import measure_sweep
from banditsrl.reports.page_plots import describe_choice_plot, plot_choices
from banditsrl.reports.sweep_problems import SweepProblems
from banditsrl.reports.theory_comparison import TheoryComparison, TheoryEvent
from banditsrl.reports.theory_marks import describe_marks, mark_times


@pytest.fixture(scope="module")
def problems(store: Path) -> SweepProblems:
    return SweepProblems(read_sweep(store))


@pytest.fixture(scope="module")
def panels(problems: SweepProblems) -> tuple[ReportPanel, ...]:
    return build_panels(problems.sweep, measure_sweep(problems.sweep))


def compare(*times: float, promised: float) -> TheoryComparison:
    end = TheoryEvent("A", "no more regret", promised, np.array(times))
    return TheoryComparison((replace(end, event="every round certified"), end), ())


def test_the_measured_end_is_the_median_and_the_promised_one_may_lie_beyond() -> None:
    marks = mark_times(compare(100.0, 300.0, np.inf, promised=1.7e10), 1000)
    found = [(mark["kind"], mark["step"], mark["label"]) for mark in marks]
    assert found == [("measured", 300.0, "median: 300"), ("promised", 1.7e10, "theory: 1.7 × 10¹⁰")]
    assert "it ended in 2 of 3 seeds" in marks[0]["text"]
    words = describe_marks(marks)
    assert words.startswith("A circle marks the median step")
    assert "no more regret after step 1.7 × 10¹⁰ in the worst case" in words


def test_what_most_seeds_lack_or_what_has_only_just_ended_is_not_marked() -> None:
    assert mark_times(compare(100.0, np.inf, np.inf, promised=np.inf), 1000) == []
    assert mark_times(compare(950.0, 960.0, 970.0, promised=np.inf), 1000) == []
    assert describe_marks([]) == ""


def test_candidates_have_the_names_of_the_problem(
    problems: SweepProblems, panels: tuple[ReportPanel, ...]
) -> None:
    curve = panels[0].curves[0]
    assert curve.choices is not None
    claims = banditsrl.make_problem("vardim-realizable").claims
    names = problems.name_candidates(curve)
    assert names == tuple(claim.name for claim in claims[: len(curve.choices)])
    plot = plot_choices(curve, names)
    assert plot is not None
    assert plot["rows"] == list(names)
    assert describe_choice_plot(curve, names).startswith("In use at the end, with the share of 4")
    assert f"{names[0]} (100%)" in describe_choice_plot(curve, names)


def test_candidates_of_other_problems_are_numbered(
    problems: SweepProblems, panels: tuple[ReportPanel, ...]
) -> None:
    curve = panels[1].curves[0]  # on the wheel
    assert problems.name_candidates(curve) == tuple(f"candidate {k}" for k in range(4))
