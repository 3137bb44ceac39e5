"""Does the picture of an evaluation show every estimate, and what the log tried?"""

from pathlib import Path

import numpy as np
import pytest
from logged_offers import FixedTarget, make_certain_offers, make_offers

from banditsrl.reports.evaluation_findings import Evaluation
from banditsrl.reports.evaluation_plots import draw_evaluation
from banditsrl.reports.evaluation_report import evaluate


@pytest.fixture(scope="module")
def found() -> Evaluation:
    targets = [FixedTarget([0.1, 0.7, 0.2]), "uniform"]
    return evaluate(make_offers(), targets, estimators=["snips", "ips"], reward_range=(0, 1))


def test_every_estimate_has_a_row_with_both_intervals(found: Evaluation) -> None:
    left, _ = draw_evaluation(found).axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [
        "logged",
        *(f"{t}, {e}" for t in ("candidate", "uniform") for e in ("snips", "ips")),
    ]
    value = found.targets[0].estimates["snips"]
    lines = [line for line in left.get_lines() if np.all(np.asarray(line.get_ydata()) == 1)]
    ends = [tuple(np.asarray(line.get_xdata(), dtype=float)) for line in lines]
    assert (value.low, value.high) in ends
    assert (value.value,) in ends


def test_the_plays_of_the_log_and_of_targets_are_drawn(found: Evaluation) -> None:
    _, right = draw_evaluation(found).axes
    widths = [bar.get_width() for bar in right.patches]
    assert widths == pytest.approx(np.asarray(found.quality.counts) / 600)
    assert list(right.get_lines()[0].get_xdata()) == pytest.approx([0.1, 0.7, 0.2])


def test_a_target_without_a_number_is_shown_as_such() -> None:
    refused = evaluate(make_certain_offers(), ["uniform"], estimators=["ips"])
    canvas = draw_evaluation(refused)
    assert "uniform: no number" in [t.get_text() for t in canvas.axes[0].get_yticklabels()]


def test_a_file_is_written(found: Evaluation, tmp_path: Path) -> None:
    found.save_plot(tmp_path / "values.png")
    assert (tmp_path / "values.png").read_bytes().startswith(b"\x89PNG")
