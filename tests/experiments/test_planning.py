"""Sweeps: what is planned, what is reused, what happens when a run fails or is killed."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import banditsrl
from banditsrl.engines.local import InProcess
from banditsrl.engines.progress import run_plan
from banditsrl.experiments.cell_results import read_result, result_to_json
from banditsrl.experiments.planning import CellRequest, plan_sweep
from banditsrl.experiments.store import Store
from banditsrl.experiments.sweep_file import record_plan

CELL = CellRequest(
    panel="vardim-realizable",
    label="Greedy",
    problem="vardim-realizable",
    policy="greedy",
    horizon=60,
    seeds=tuple(range(5)),
    settings={},
)
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def go(cells: list[CellRequest], directory: Path) -> Any:
    planned = plan_sweep(cells, Store(directory))
    record_plan(planned, title=cells[0].figure or "Test", command="banditsrl test")
    return planned, run_plan(planned, InProcess(), command="banditsrl test", display=None)


def test_finished_runs_are_not_done_again(tmp_path: Path) -> None:
    planned, outcomes = go([CELL], tmp_path)
    assert (planned.n_runs, planned.n_done, len(outcomes)) == (1, 0, 1)
    assert planned.seconds(1) > 0
    planned, outcomes = go([CELL], tmp_path)
    assert (planned.n_runs, planned.n_done, outcomes) == (1, 1, [])
    assert planned.seconds(1) == 0


def test_more_seeds_cost_only_the_new_ones_and_fewer_cost_nothing(tmp_path: Path) -> None:
    go([CELL], tmp_path)
    more, _ = go([replace(CELL, seeds=tuple(range(8)))], tmp_path)
    assert [job.spec.seeds for job in more.jobs] == [(5, 6, 7)]
    fewer, _ = go([replace(CELL, seeds=(1, 2))], tmp_path)
    assert not fewer.jobs
    result = read_result(fewer.cells[0], fewer.store)
    assert result is not None
    assert result.seeds.tolist() == [1, 2]
    (cell,) = json.loads((tmp_path / "sweep.json").read_text())["cells"]
    assert cell["seeds"] == list(range(8))  # what is there, each seed once
    assert len(cell["runs"]) == 2


def test_a_stored_result_is_what_simulate_gives(
    tmp_path: Path, problem: banditsrl.FiniteProblem
) -> None:
    planned, _ = go([CELL], tmp_path)
    policy = banditsrl.make_policy("greedy", problem)
    direct = banditsrl.simulate(problem, policy, horizon=60, seeds=5)
    stored = read_result(planned.cells[0], planned.store)
    assert stored is not None
    assert (stored.regret == direct.regret).all()
    assert (stored.steps == direct.steps).all()
    assert (stored.last_regret >= direct.last_regret).all()
    numbers = result_to_json(planned.cells[0], stored)
    assert numbers["regret"]["final"] == direct.regret[:, -1].tolist()
    assert numbers["seeds"] == 5


def test_commands_into_one_folder_add_up(tmp_path: Path) -> None:
    go([replace(CELL, figure="one")], tmp_path)
    go([replace(CELL, figure="two", label="Other")], tmp_path)  # the same run
    go([replace(CELL, figure="two", label="Other", horizon=50)], tmp_path)  # defined anew
    plan_file = json.loads((tmp_path / "sweep.json").read_text())
    assert [cell["horizon"] for cell in plan_file["cells"]] == [60, 50]
    assert plan_file["figure"] is None
    assert len({cell["panel"] for cell in plan_file["cells"]}) == 2


def test_a_foreign_plan_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"mine": 1}')
    with pytest.raises(banditsrl.errors.InvalidArgument, match="left alone"):
        go([CELL], tmp_path)
    assert (tmp_path / "sweep.json").read_text() == '{"mine": 1}'


@pytest.mark.usefixtures("broken")
def test_a_failed_run_is_written_down_and_the_others_finish(tmp_path: Path) -> None:
    cells = [replace(CELL, policy="broken", label="Broken"), CELL]
    planned, outcomes = go(cells, tmp_path)
    failed = [outcome for outcome in outcomes if outcome.error]
    assert len(failed) == 1
    assert "no idea what to play" in str(failed[0].error)
    assert "no idea" in (planned.store.folder(failed[0].run) / "error.txt").read_text()
    assert sum(run.finished for run in planned.store.runs()) == 1


def test_a_damaged_run_is_refused_not_repaired(tmp_path: Path) -> None:
    planned, _ = go([CELL], tmp_path)
    (run,) = planned.cells[0].runs
    table = planned.store.folder(run) / "table.parquet"
    table.write_bytes(b"half a fi")
    planned, outcomes = go([CELL], tmp_path)
    assert list(planned.refused) == [run]
    assert outcomes == []
    assert table.read_bytes() == b"half a fi"


def test_what_is_wrong_is_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(banditsrl.errors.UnknownName, match="did you mean"):
        plan_sweep([replace(CELL, settings={"sigm": 1})], Store(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_cell_with_a_seed_twice_is_refused() -> None:
    with pytest.raises(banditsrl.errors.InvalidArgument, match="seeds must be distinct, got 3"):
        replace(CELL, seeds=(3, 4, 3))


def test_killing_a_sweep_changes_no_table(tmp_path: Path, compiled: Path) -> None:
    spec = importlib.util.spec_from_file_location("kill_resume", BENCHMARKS / "kill_resume.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    n_sweeps, wrong = module.trial(
        tmp_path, times=3, workers=1, horizon=60_000, policies=["glrt-egreedy"], cache=compiled
    )
    assert n_sweeps >= 1
    assert wrong == []
