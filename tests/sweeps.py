"""Small sweeps, and the comparison of their tables."""

from pathlib import Path

import polars as pl

from banditsrl.engines.engine import Engine
from banditsrl.engines.progress import run_plan
from banditsrl.experiments.planning import CellRequest, SweepPlan, plan_sweep
from banditsrl.experiments.store import Store

GREEDY = CellRequest(
    panel="p",
    label="Greedy",
    problem="vardim-realizable",
    policy="greedy",
    horizon=2_000,
    seeds=tuple(range(160)),
    settings={},
)


def run_cell(engine: Engine, directory: Path, cell: CellRequest = GREEDY) -> SweepPlan:
    """Run a cell into a folder; every run must succeed."""
    plan = plan_sweep([cell], Store(directory))
    outcomes = run_plan(plan, engine, command="test", display=None)
    assert [outcome.error for outcome in outcomes] == [None] * len(plan.jobs)
    return plan


def same_tables(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Tell whether two tables are equal to the last bit in everything but wall time."""
    return one.drop("seconds").equals(other.drop("seconds"))


def assert_same_stores(one: Path, other: Path) -> None:
    """Check that two folders hold the same runs with the same tables."""
    a, b = Store(one), Store(other)
    runs = [run.hash for run in a.runs()]
    assert runs == [run.hash for run in b.runs()]
    assert all(same_tables(a.read_table(run), b.read_table(run)) for run in runs)
