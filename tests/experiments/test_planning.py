"""Sweeps: what is planned, what is reused, what happens when a run fails or is killed."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import banditsrl
from banditsrl.engines.local import InProcess
from banditsrl.engines.progress import carry_out
from banditsrl.experiments.cell_results import read_result, result_to_json
from banditsrl.experiments.figure_catalogue import FIGURES, read_figure
from banditsrl.experiments.planning import Cell, cells_of, plan
from banditsrl.experiments.store import Store
from banditsrl.experiments.sweep_file import record_plan
from banditsrl.policies.policy_catalogue import POLICIES
from banditsrl.problems.problem_catalogue import PROBLEMS

CELL = Cell(
    panel="vardim-realizable",
    label="Greedy",
    problem="vardim-realizable",
    policy="greedy",
    horizon=60,
    seeds=tuple(range(5)),
    settings={},
)
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def go(cells: list[Cell], directory: Path) -> Any:
    planned = plan(cells, Store(directory))
    record_plan(planned, title=cells[0].figure or "Test", command="banditsrl test")
    return planned, carry_out(planned, InProcess(), command="banditsrl test", display=None)


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
        plan([replace(CELL, settings={"sigm": 1})], Store(tmp_path))
    assert not list(tmp_path.iterdir())


def test_every_figure_names_policies_and_problems_that_exist() -> None:
    expected = {
        "vardim": 4,
        "vardim-weak-losses": 4,
        "mixing": 1,
        "nonlinear": 5,
        "ablation-bases": 10,
        "ablation-igw": 5,
        "ablation-glrt": 25,
        "ablation-losses": 25,
        "wheel-networks": 6,
    }
    assert {name: len(FIGURES[name].panels) for name in FIGURES} == expected
    for name in FIGURES:
        figure = FIGURES[name]
        assert list(figure.scales) == ["quick", "standard", "full"]
        for panel in figure.panels:
            assert panel.problem in PROBLEMS
            names = {curve.tuned or curve.label for curve in panel.curves}
            for curve in panel.curves:
                assert curve.policy in POLICIES
                assert curve.base is None or curve.base in names


def test_the_paper_s_scales_and_grids() -> None:
    linear, networks = FIGURES["vardim"].scale("full"), FIGURES["nonlinear"].scale("full")
    assert linear.n_seeds == 40
    assert (networks.horizon, networks.n_seeds) == (500_000, 20)
    cells = cells_of(FIGURES["nonlinear"], "full")
    assert {c.horizon for c in cells if c.problem == "covertype"} == {1_000_000}
    wheel = [cell for cell in cells if cell.problem == "wheel"]
    igw = {tuple(c.settings.values()) for c in wheel if c.tuned == "IGW"}
    assert igw == {(a, b) for a in (1, 10, 50, 100) for b in (1 / 3, 1 / 2)}
    bonus = [c.settings["ucb_scale"] for c in wheel if c.tuned == "NeuralUCB"]
    assert bonus == [0.1, 1, 2, 5]
    assert {c.settings["rff_dim"] for c in wheel if c.policy.startswith("rff")} == {100, 300}
    layers = {tuple(c.settings["layers"]) for c in cells_of(FIGURES["wheel-networks"], "quick")}
    assert layers == {
        (1000,),
        (100, 100),
        (50, 50, 10),
        (50, 50, 50),
        (50, 50, 50, 50, 10),
        (50, 50, 50, 50, 50),
    }
    losses = {
        (c.settings["loss"], c.settings["glrt_scale"])
        for c in cells_of(FIGURES["ablation-losses"], "quick")
    }
    assert losses == {(a, b) for a in ("none", "weak", "rayleigh") for b in (0, 5)}


def test_a_sweep_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "horizon: 50\nseeds: 3\nproblems: [mixing, {title: T, problem: t.csv, set: {label: y}}]\n"
        "curves:\n- greedy\n- {policy: linucb, grid: {ucb_scale: [1/2, 1]}, tuned: LinUCB}\n"
    )
    figure = read_figure(file)
    cells = cells_of(figure, "only", n_seeds=2, first_seed=7)
    assert [cell.label for cell in cells[:3]] == [
        "greedy",
        "LinUCB, ucb_scale=1/2",
        "LinUCB, ucb_scale=1",
    ]
    assert cells[1].settings == {"ucb_scale": 0.5}
    assert cells[0].seeds == (7, 8)
    assert cells[3].panel == "T"
    assert cells[3].problem == str(tmp_path / "t.csv")
    assert cells[3].settings == {"label": "y"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("problems: [mixing]", "curves must be a list with an entry"),
        ("curves: [greedy]", "problems must be a list with an entry"),
        ("problems: [mixing]\ncurvs: []", "did you mean 'curves'"),
        ("problems: [mixing]\ncurves: [greedy, greedy]", "labels must differ"),
        ("problems: [mixing]\ncurves: [{label: x}]", "must name a policy"),
        ("a: [", "is not valid YAML"),
        ("- 1", "must hold names with values"),
        ("problems: [mixing]\ncurves: [greedy]\nhorizon: -3", "horizon must be at least 1"),
    ],
)
def test_a_wrong_sweep_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(banditsrl.errors.BanditSRLError, match=message):
        read_figure(file)


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
