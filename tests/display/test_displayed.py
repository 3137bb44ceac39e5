"""Do charts, summaries and frames show the numbers they were given?"""

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from banditsrl.display.chart_svg import draw_svg, nice_ticks
from banditsrl.display.charts import BarChart, LineChart, make_line
from banditsrl.display.data_frames import as_pandas
from banditsrl.display.displayed import Displayed
from banditsrl.display.intervals import margin_of_mean, student_factor
from banditsrl.display.pictures import draw_picture
from banditsrl.display.summaries import Summary
from banditsrl.errors import InvalidArgument, MissingPackage

STEPS = np.arange(1, 11)
LINES = LineChart(
    "Regret <of> one",
    "step",
    "regret",
    (make_line("a & b", STEPS, STEPS * 2.0), make_line("c", STEPS, STEPS**0.5, STEPS * 0.1)),
)
BARS = BarChart("Ranks", "dimensions", ("all", "best"), (6.0, 3.0), ("six", "three"))


def parse(svg: str) -> ET.Element:
    """Parse an SVG element that this package wrote, so that nothing in it is hostile."""
    return ET.fromstring(svg)  # noqa: S314


def find(root: ET.Element, tag: str) -> list[ET.Element]:
    return root.findall(f"{{http://www.w3.org/2000/svg}}{tag}")


def test_lines_are_drawn_where_their_values_are() -> None:
    root = parse(draw_svg(LINES))
    steep, flat = (
        np.array([point.split(",") for point in line.attrib["points"].split()], dtype=float)
        for line in find(root, "polyline")
    )
    assert np.allclose(np.diff(steep, n=2, axis=0), 0.0, atol=0.11)  # straight, up to rounding
    height_per_unit = (steep[0, 1] - steep[-1, 1]) / 18.0
    expected = flat[0, 1] - height_per_unit * (STEPS**0.5 - 1.0)
    assert np.allclose(flat[:, 1], expected, atol=0.15)
    assert len(find(root, "polygon")) == 1  # only one line has a band
    texts = [text.text for text in find(root, "text")]
    assert {"Regret <of> one", "a & b", "c"} <= set(texts)


def test_bars_are_as_long_as_their_values() -> None:
    root = parse(draw_svg(BARS))
    long, short = (float(bar.attrib["width"]) for bar in find(root, "rect"))
    assert long == pytest.approx(2.0 * short)
    assert {"six", "three", "all", "best"} <= {text.text for text in find(root, "text")}


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 930.0), (-3.0, 0.002), (5.0, 5.0)])
def test_ticks_are_inside_and_evenly_spaced(low: float, high: float) -> None:
    ticks = nice_ticks(low, high)
    assert 1 <= len(ticks) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    assert len({round(step, 9) for step in np.diff(ticks)}) <= 1


def test_a_line_with_gaps_and_one_without_values_can_be_drawn() -> None:
    gaps = make_line("gaps", STEPS, np.where(STEPS % 2, 1.0, np.nan))
    nothing = make_line("nothing", STEPS, np.full(10, np.nan))
    root = parse(draw_svg(LineChart("t", "x", "y", (gaps, nothing))))
    assert [len(line.attrib["points"].split()) for line in find(root, "polyline")] == [5, 0]


@pytest.mark.parametrize("chart", [LINES, BARS])
def test_a_picture_is_a_png_and_its_words_are_those_of_the_chart(chart: Any) -> None:
    picture = draw_picture(chart)
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture.figure.axes[0].get_title() == chart.title
    assert repr(picture) == f"Picture({chart.title!r}); save it with .save('picture.png')"


def test_a_summary_is_aligned_text_and_an_escaped_table() -> None:
    summary = Summary("T", (("a", "1"), ("long", "<2>")), ("name", "value"), ("A note.",))
    assert str(summary).splitlines() == [
        "T",
        "  name  value",
        "  a     1",
        "  long  <2>",
        "A note.",
    ]
    shown = summary._repr_html_()
    assert shown.count("<tr>") == 3
    assert "&lt;2&gt;" in shown
    assert "<2>" not in re.sub("&lt;2&gt;", "", shown)


@pytest.mark.parametrize("n", [2, 3, 12])
def test_margins_are_those_of_student(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(n, 2))
    low, high = stats.t.interval(0.95, n - 1, loc=0.0, scale=stats.sem(values))
    assert margin_of_mean(values) == pytest.approx((high - low) / 2)
    assert student_factor(n) == pytest.approx(stats.t.ppf(0.975, n - 1))


def test_one_value_has_no_margin() -> None:
    assert np.isnan(margin_of_mean(np.ones((1, 3)))).all()


class Empty(Displayed):
    """Something without anything to draw."""

    def summary(self) -> Summary:
        return Summary("Empty", (("rounds", "0"),))

    def chart(self) -> None:
        return None

    def to_polars(self) -> pl.DataFrame:
        return pl.DataFrame({"name": ["a", "b"], "value": [1.5, None], "list": [[1], []]})


def test_what_has_nothing_to_draw_shows_its_table_and_refuses_to_plot() -> None:
    assert Empty()._repr_html_() == Empty().summary()._repr_html_()
    assert str(Empty()) == "Empty\n  rounds  0"
    with pytest.raises(InvalidArgument, match="Empty must have rounds to plot, got none"):
        Empty().plot()


def test_without_pandas_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(MissingPackage, match="to_pandas needs the pandas package: pip install"):
        Empty().to_pandas()


def test_with_pandas_the_frame_has_the_same_values() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = as_pandas(Empty().to_polars())
    assert list(frame["name"]) == ["a", "b"]
    assert frame["value"][0] == 1.5
    assert np.isnan(frame["value"][1])
    assert list(frame["list"]) == [[1], []]
