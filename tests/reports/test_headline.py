"""Does the headline say what the tables say? Stops and losses computed again, table by table."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from banditsrl.display.numerals import format_number
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.reports.curves import MeasuredCurve, ReportPanel, build_panels
from banditsrl.reports.headline import describe_outcome, find_stop, measure_loss, write_headline
from banditsrl.reports.measurements import measure_sweep


@pytest.fixture(scope="module")
def panel(store: Path) -> ReportPanel:
    sweep = read_sweep(store)
    return build_panels(sweep, measure_sweep(sweep))[0]


def find(panel: ReportPanel, name: str) -> MeasuredCurve:
    return next(curve for curve in panel.curves if curve.name == name)


def read_tables(store: Path, curve: MeasuredCurve) -> list[pl.DataFrame]:
    return [pl.read_parquet(store / "runs" / run / "table.parquet") for run in curve.cell.runs]


def test_exploration_stops_after_the_last_uncertified_step(store: Path, panel: ReportPanel) -> None:
    curve = find(panel, "BanditSRL-LinUCB")
    last = 0
    for table in read_tables(store, curve):
        before = 0
        for step, certified in zip(table["step"], table["certified"], strict=True):
            last = max(last, step) if step - certified != before else last
            before = step - certified
    assert find_stop(curve) == last >= 1000
    assert find_stop(find(panel, "LinUCB")) is None


def test_the_loss_is_the_slope_of_the_second_half(store: Path, panel: ReportPanel) -> None:
    curve = find(panel, "LinUCB")
    losses = []
    for table in read_tables(store, curve):
        pairs = zip(table["step"], table["regret"], strict=True)
        half = [regret for step, regret in pairs if step <= 2048][-1]
        losses.append((table["regret"][-1] - half) / 2048 * 1000)
    assert measure_loss(curve) == pytest.approx(sum(losses) / len(losses))
    assert measure_loss(find(panel, "BanditSRL-LinUCB")) == 0.0


def test_the_sentence_compares_the_best_that_stopped_with_its_base(panel: ReportPanel) -> None:
    stop = format_number(find_stop(find(panel, "BanditSRL-LinUCB")) or 0.0)
    loss = f"{measure_loss(find(panel, 'LinUCB')):.0f}"  # about sixty: two digits
    expected = (
        f"BanditSRL-LinUCB stopped exploring by step {stop}; "
        f"LinUCB still loses {loss} per 1,000 steps."
    )
    assert write_headline(panel) == expected


def test_wrong_certificates_are_never_left_out(panel: ReportPanel) -> None:
    words = describe_outcome(find(panel, "BanditSRL-ε-greedy"))
    assert words.startswith("BanditSRL-ε-greedy stopped exploring by step ")
    assert words.endswith("(1.0% of its certificates were wrong)")  # 20 of 2,096


def test_a_single_curve_is_a_sentence_of_its_own(panel: ReportPanel) -> None:
    alone = ReportPanel("alone", (find(panel, "LEADER"),), ())
    assert write_headline(alone).startswith("LEADER still loses ")
    assert ";" not in write_headline(alone)


def test_a_policy_that_never_certifies_is_said_to_certify_nothing(
    store: Path, panel: ReportPanel
) -> None:
    curve = find(panel, "LinUCB")
    flat = replace(curve, seeds=curve.seeds.with_columns(second_half=pl.lit(0.0)))
    last = format_number(float(curve.per_seed("last_regret").max()))
    assert sum(table["certified"].sum() for table in read_tables(store, curve)) == 0
    expected = f"LinUCB lost nothing after step {last}, and certified no round"
    assert describe_outcome(flat) == expected
