"""`sweep.json`: what is written is read back, and files of others are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.experiments.sweep import SweepCell
from banditsrl.experiments.sweep_file import read_sweep

ENTRY = {
    "figure": "vardim",
    "part": "realizable",
    "panel": "Varying dimension: realizable",
    "label": "LinUCB",
    "base": None,
    "tuned": "Bases",
    "problem": "vardim-realizable",
    "problem_settings": {"seed": 1},
    "policy": "linucb",
    "preset": "paper",
    "settings": {"ucb_scale": 0.5},
    "horizon": 100,
    "seeds": [0, 1, 2],
    "runs": ["a", "b"],
}


def write(folder: Path, **document: Any) -> Path:
    (folder / "sweep.json").write_text(json.dumps({"schema": 1, **document}))
    return folder


def test_every_word_of_an_entry_is_read(tmp_path: Path) -> None:
    sweep = read_sweep(write(tmp_path, title="T", command="a\nb", cells=[ENTRY]))
    (cell,) = sweep.cells
    found = {name: getattr(cell, name) for name in ENTRY}
    assert found == ENTRY | {"seeds": (0, 1, 2), "runs": ("a", "b")}
    assert (sweep.title, sweep.command, sweep.finished) == ("T", "a\nb", frozenset())
    assert cell.name == "Bases"


def test_optional_words_may_be_absent(tmp_path: Path) -> None:
    words = ("panel", "label", "problem", "policy", "horizon", "seeds", "runs")
    (cell,) = read_sweep(write(tmp_path, cells=[{name: ENTRY[name] for name in words}])).cells
    assert (cell.base, cell.tuned, cell.preset, cell.settings) == (None, None, None, {})
    assert cell.name == "LinUCB"
    assert cell.key == (None, "Varying dimension: realizable", "LinUCB")


def test_runs_count_as_finished_when_their_table_exists(tmp_path: Path) -> None:
    other = {**ENTRY, "label": "Other", "runs": ["b", "c"]}
    for run in ("b", "c"):
        (tmp_path / "runs" / run).mkdir(parents=True)
    (tmp_path / "runs" / "b" / "table.parquet").touch()
    (tmp_path / "runs" / "c" / "error.txt").write_text("Traceback\nValueError: no luck\n")
    (tmp_path / "runs" / "c" / "spec.json").write_text("[")
    sweep = read_sweep(write(tmp_path, cells=[ENTRY, other]))
    assert sweep.runs == ("a", "b", "c")
    assert sweep.finished == {"b"}
    assert [sweep.count_finished(cell) for cell in sweep.cells] == [1, 1]
    assert (sweep.store.read_failure("c"), sweep.store.read_failure("a")) == (
        "ValueError: no luck",
        "",
    )
    assert sweep.store.read_document("c", "spec.json") == {}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"schema": 2, "cells": [ENTRY]}, "must be of schema 1, got schema 2"),
        ({"schema": 1, "cells": []}, "must list at least one cell"),
        ({"schema": 1, "cells": [{}]}, r"cells\[0\] must have panel, label, problem, policy"),
        ([], "must be of schema 1, got schema None"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, document: Any, message: str) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(document))
    with pytest.raises(InvalidArgument, match=message):
        read_sweep(tmp_path)


def test_a_tuned_cell_is_shown_under_the_name_of_its_group() -> None:
    words = {"panel": "p", "problem": "q", "policy": "r", "horizon": 1, "seeds": (0,), "runs": ()}
    assert SweepCell(label="x", tuned="y", **words).name == "y"  # type: ignore[arg-type]
    assert SweepCell(label="x", **words).name == "x"  # type: ignore[arg-type]
