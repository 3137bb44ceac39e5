"""Does a loop print its counts, draw its rewards and tabulate its decisions?"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import banditsrl

CONFIG = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"member": "flag"},
    "policy": "linucb-disjoint",
}
REWARDS = [1.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[banditsrl.Loop]:
    path: Path = tmp_path_factory.mktemp("loop") / "offers.db"
    with banditsrl.Loop.create(path, CONFIG, clock=lambda: 1e9, warm_up=False) as loop:
        assert loop.chart() is None
        for value in REWARDS:
            loop.reward(loop.decide({"member": True}).id, value)
        loop.decide({"member": False})
        loop.flush()
        yield loop


def test_it_prints_its_counts(loop: banditsrl.Loop) -> None:
    rows = dict(loop.summary().rows)
    assert (rows["decisions"], rows["rewards"], rows["waiting for a reward"]) == ("4", "3", "1")
    assert repr(loop) == "Loop('offers', linucb-disjoint, 4 decisions)"
    assert str(loop).startswith("Loop offers\n  policy")


def test_it_draws_its_mean_reward(loop: banditsrl.Loop) -> None:
    chart = loop.chart()
    assert chart is not None
    reward, _ = chart.lines
    assert reward.y.tolist() == pytest.approx([sum(REWARDS) / 3])
    assert reward.x.tolist() == [4.0]
    assert loop.plot()._repr_png_().startswith(b"\x89PNG")


def test_its_table_is_what_it_exports(loop: banditsrl.Loop, tmp_path: Path) -> None:
    import polars as pl

    frame = loop.to_polars()
    loop.export(tmp_path / "offers.parquet")
    assert frame.equals(pl.read_parquet(tmp_path / "offers.parquet"))
    assert frame["reward"].to_list() == [*REWARDS, None]


def import_rows(folder: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the history of a loop that has learned from these rows, at the time 1e9."""
    path = folder / "rows.jsonl"
    plain = [{"context": {"member": True}, "action": "red", **row} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in plain))
    with banditsrl.Loop.create(folder / "new.db", CONFIG, clock=lambda: 1e9, warm_up=False) as loop:
        assert loop.import_decisions(path) == len(rows)
        chart = loop.chart()
        assert chart is not None
        assert loop.plot()._repr_png_().startswith(b"\x89PNG")
        history = loop.history()
        assert chart.lines[0].y.tolist() == pytest.approx([one["mean"] for one in history])
        return history


def test_imported_rows_without_times_count_as_made_now(tmp_path: Path) -> None:
    rows = [{"id": f"{i}", "reward": value} for i, value in enumerate(REWARDS)]
    (only,) = import_rows(tmp_path, [*rows, {"id": "no time", "time": None, "reward": None}])
    assert only["time"] == 1e9 // 60 * 60
    assert (only["decisions"], only["rewards"]) == (4, 3)
    assert only["mean"] == pytest.approx(sum(REWARDS) / 3)


def test_imported_rewards_are_drawn_where_they_were_given(tmp_path: Path) -> None:
    """At their own time, or else with their decision."""
    rows = [
        {"id": "early", "time": 600.0, "reward": 1.0},
        {"id": "late", "time": 600.0, "reward": 0.0, "rewarded": 660.0},
        {"id": "second", "time": 660.0, "reward": 0.5},
    ]
    first, second = import_rows(tmp_path, rows)
    assert [(one["time"], one["decisions"], one["rewards"]) for one in (first, second)] == [
        (600.0, 2, 1),
        (660.0, 1, 2),
    ]
    assert (first["mean"], second["mean"]) == (1.0, 0.25)
