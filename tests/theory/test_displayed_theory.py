"""Do a theory and a diagnosis print, draw and tabulate their own numbers?"""

import math

import pytest

import banditsrl


@pytest.fixture(scope="module")
def known() -> banditsrl.FiniteProblem:
    problem: banditsrl.FiniteProblem = banditsrl.make_problem("vardim-realizable")
    return problem


@pytest.fixture(scope="module")
def theory(known: banditsrl.FiniteProblem) -> banditsrl.Theory:
    return banditsrl.theory(known)


def test_a_theory_prints_every_number_and_every_note(theory: banditsrl.Theory) -> None:
    text = str(theory)
    assert [row[0] for row in theory.summary().rows] == [row[0] for row in theory.as_rows()]
    assert all(note in text for note in (*theory.violations, *theory.notes))
    assert repr(theory).startswith("Theory(no regret after step ")
    assert len(repr(theory)) < 100


def test_its_bars_are_powers_of_ten(theory: banditsrl.Theory) -> None:
    chart = theory.chart()
    expected = [
        max(math.log10(value), 0.0) if 0 < value < math.inf else 0.0
        for name, value, _ in theory.as_rows()
        if name.startswith("tau")
    ]
    assert list(chart.lengths) == pytest.approx(expected)
    assert theory.plot()._repr_png_().startswith(b"\x89PNG")
    assert "<rect" in theory._repr_html_()


def test_its_table_has_one_row_per_number(theory: banditsrl.Theory) -> None:
    assert theory.to_polars().rows() == [tuple(row) for row in theory.as_rows()]


def test_a_name_stands_for_its_problem(theory: banditsrl.Theory) -> None:
    assert banditsrl.theory("vardim-realizable") == theory
    assert banditsrl.diagnose("vardim-realizable", 0).hls
    assert banditsrl.make_policy("linucb", "vardim-realizable").n_actions == 5


def test_a_diagnosis_states_a_verdict(known: banditsrl.FiniteProblem) -> None:
    good, other = (banditsrl.diagnose(known, k) for k in (0, 1))
    assert "Realizable and HLS: regret can be constant." in str(good)
    assert "not HLS" in repr(other)
    assert good.chart().lengths == (good.dim, good.rank, good.optimal_rank)
    assert good.to_polars().row(0, named=True) == good.as_dict()
    assert good.plot()._repr_png_().startswith(b"\x89PNG")
