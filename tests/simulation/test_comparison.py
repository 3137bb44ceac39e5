"""Do names, bars, summaries and comparisons say what plain NumPy says?"""

import io
from typing import Any

import numpy as np
import pytest
from scipy import stats

import banditsrl
from banditsrl.display.progress_bar import ProgressBar
from banditsrl.errors import InvalidArgument, InvalidType, UnknownName
from banditsrl.simulation.comparison import Comparison

HORIZON, SEEDS = 400, 4
LINUCB = "linucb on candidate 0"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    policies = ["linucb", "uniform"]
    return banditsrl.compare("vardim-realizable", policies, horizon=HORIZON, seeds=SEEDS)


@pytest.fixture(scope="module")
def result(comparison: Comparison) -> banditsrl.Result:
    return comparison["linucb"]


def test_names_stand_for_the_objects_they_make(result: banditsrl.Result) -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    policy = banditsrl.make_policy("linucb", problem)
    again = banditsrl.simulate(problem, policy, horizon=HORIZON, seeds=SEEDS, name=result.policy)
    assert np.array_equal(again.regret, result.regret)
    assert (again.problem, again.policy) == (result.problem, result.policy)


def test_a_misspelt_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="no policy named 'linucv'; did you mean 'linucb'"):
        banditsrl.simulate("vardim-realizable", "linucv", horizon=10)
    with pytest.raises(UnknownName, match="no problem named 'weel'; did you mean 'wheel"):
        banditsrl.simulate("weel", "linucb", horizon=10)


def test_the_repr_of_a_result_is_one_short_line(result: banditsrl.Result) -> None:
    assert repr(result).startswith("Result(linucb on candidate 0 on vardim-realizable: regret ")
    assert repr(result).endswith(" 400 steps, 4 seeds)")
    assert len(repr(result)) < 120


def test_the_summary_has_the_regret_and_its_interval_by_student(result: banditsrl.Result) -> None:
    final = result.regret[:, -1]
    low, high = stats.t.interval(0.95, SEEDS - 1, loc=final.mean(), scale=stats.sem(final))
    mean, margin = dict(result.summary().rows)["regret"].split(" ± ")
    assert float(mean) == pytest.approx((low + high) / 2, rel=0.05)
    assert float(margin) == pytest.approx((high - low) / 2, rel=0.05)
    assert str(result) == str(result.summary())
    assert (
        str(result).splitlines()[0]
        == "linucb on candidate 0 on vardim-realizable, 400 steps, 4 seeds"
    )


def test_a_notebook_shows_a_table_and_a_small_plot(result: banditsrl.Result) -> None:
    shown = result._repr_html_()
    assert shown.count("<tr>") == len(result.summary().rows)
    assert shown.count("<polyline") == 1
    assert len(shown) < 20_000


def test_the_table_has_one_row_per_seed_and_step(result: banditsrl.Result) -> None:
    frame = result.to_polars()
    assert frame.columns[:5] == ["problem", "policy", "seed", "step", "regret"]
    assert len(frame) == result.regret.size
    last = frame.filter((frame["seed"] == 2) & (frame["step"] == HORIZON))
    assert last["regret"].item() == result.regret[2, -1]


def test_a_picture_shows_itself_and_is_saved(result: banditsrl.Result, tmp_path: Any) -> None:
    picture = result.plot()
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture.save(tmp_path / "new" / "regret.png").read_bytes().startswith(b"\x89PNG")
    assert picture.save(tmp_path / "regret.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InvalidArgument, match=r"path must end in .png, .pdf, .svg, got 'a.txt'"):
        picture.save("a.txt")


def test_the_comparison_orders_by_regret_and_draws_every_policy(comparison: Comparison) -> None:
    assert [row[0] for row in comparison.table.rows] == [LINUCB, "uniform"]
    assert [line.name for line in comparison.chart().lines] == [LINUCB, "uniform"]
    assert comparison._repr_html_().count("<polyline") == 2
    assert comparison.plot()._repr_png_().startswith(b"\x89PNG")
    assert repr(comparison) == "Comparison(linucb on candidate 0, uniform on vardim-realizable)"


def test_pairs_are_compared_seed_by_seed(comparison: Comparison) -> None:
    (difference,) = comparison.differences()
    gap = comparison["linucb"].regret[:, -1] - comparison["uniform"].regret[:, -1]
    interval = stats.ttest_1samp(gap, 0.0).confidence_interval(0.95)
    assert difference.mean == pytest.approx(gap.mean())
    assert difference.mean - difference.margin == pytest.approx(interval.low)
    assert difference.n_better == sum(value < 0 for value in gap)
    assert str(difference).startswith(f"{LINUCB} has ")
    assert str(difference) in str(comparison)


def test_the_frame_of_a_comparison_holds_all_results(comparison: Comparison) -> None:
    frame = comparison.to_polars()
    assert len(frame) == sum(result.regret.size for result in comparison.results)
    assert set(frame["policy"]) == {LINUCB, "uniform"}


def test_policies_on_one_of_several_candidates_are_listed_with_it(comparison: Comparison) -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    policies = [banditsrl.LinUCB(problem.representations[k]) for k in (0, 3)]
    both = banditsrl.compare(problem, [*policies, "leader"], horizon=5, seeds=1)
    names = [result.policy for result in both.results]
    assert names == ["LinUCB on candidate 0", "LinUCB on candidate 3", "leader"]
    assert comparison["linucb"] is comparison[LINUCB]
    with pytest.raises(UnknownName, match="no policy named 'LinUCB' in this comparison"):
        both["LinUCB"]  # which one is not clear


def test_certified_shares_are_drawn_below_if_a_round_was_certified(comparison: Comparison) -> None:
    assert comparison.chart().below is None
    problem = banditsrl.make_problem("vardim-realizable")
    certified = banditsrl.simulate(problem, "glrt-linucb", horizon=2_000, seeds=2)
    below = certified.chart().below
    assert below is not None
    gained = np.diff(certified.certified, axis=1, prepend=0.0)
    rounds = np.diff(certified.steps, prepend=0)
    assert np.allclose(below.lines[0].y, (gained / rounds).mean(axis=0))
    assert len(certified.plot().figure.axes) == 2


def test_policies_of_one_name_are_numbered_and_a_dictionary_names_them(
    three: banditsrl.FiniteProblem,
) -> None:
    policy = banditsrl.Uniform(three.representations[0])
    twice = banditsrl.compare(three, [policy, policy], horizon=5, seeds=1)
    assert [result.policy for result in twice.results] == ["Uniform", "Uniform (2)"]
    named = banditsrl.compare(three, {"chance": policy}, horizon=5, seeds=1)
    assert named.results[0].policy == "chance"
    with pytest.raises(UnknownName, match="no policy named 'luck' in this comparison"):
        named["luck"]


def test_no_policies_and_a_lonely_name_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="policies must hold at least one policy"):
        banditsrl.compare("vardim-realizable", [])
    with pytest.raises(InvalidType, match="policies must be a list of policies"):
        banditsrl.compare("vardim-realizable", "linucb")


def test_pandas_is_asked_for_in_one_sentence_or_agrees(result: banditsrl.Result) -> None:
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="to_pandas needs the pandas package"):
            result.to_pandas()
        return
    frame = result.to_pandas()
    assert list(frame.columns) == result.to_polars().columns
    assert frame["regret"].to_numpy() == pytest.approx(result.regret.ravel())


def test_a_bar_counts_up_to_the_end_and_fits_the_line() -> None:
    stream, times = io.StringIO(), iter([0.0, 10.0, 10.01, 12.0, 20.0])
    with ProgressBar("a policy with a very long name", stream=stream, clock=times.__next__) as bar:
        for done in (20, 25, 40, 100):
            bar(done, 100, 12.345)
    lines = [line.rstrip() for line in stream.getvalue().split("\r")[1:]]
    assert lines[0] == "a policy with a ver…: compiling"
    assert [line.split("%")[0][-3:].strip() for line in lines[1:]] == ["20", "40", "100"]
    assert lines[1].endswith("20%  regret 12.3")  # nothing is known about the time yet
    assert lines[2].endswith("40%  6 s left  regret 12.3")  # 2 s for 20 steps, 60 are left
    assert lines[3].endswith("100%  20 s  regret 12.3")
    assert all(len(line) <= 80 for line in lines)


def test_simulate_shows_a_bar_only_if_asked(
    three: banditsrl.FiniteProblem, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = banditsrl.Uniform(three.representations[0])
    banditsrl.simulate(three, policy, horizon=5, seeds=1, progress=False)
    assert capsys.readouterr().err == ""
    banditsrl.simulate(three, policy, horizon=5, seeds=1, progress=True)
    shown = capsys.readouterr().err
    assert "Uniform: compiling" in shown
    assert "100%" in shown
