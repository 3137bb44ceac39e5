"""Does a loop print its counts, draw its rewards and tabulate its decisions?"""

from collections.abc import Iterator
from pathlib import Path

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
