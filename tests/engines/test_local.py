"""One machine: the same tables in one process and in several, which may die or be stopped."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sweeps import assert_same_stores, run_cell

from banditsrl.engines.engine import make_engine
from banditsrl.engines.jobs import Outcome
from banditsrl.engines.local import InProcess, Processes, split_into_batches
from banditsrl.experiments.planning import Job
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.store import Store

pytestmark = pytest.mark.optimised


@pytest.mark.filterwarnings("default")
def test_two_workers_give_the_same_tables(tmp_path: Path) -> None:
    run_cell(InProcess(), tmp_path / "alone")
    engine = make_engine("local", workers=2, address=None, n_jobs=4)
    assert isinstance(engine, Processes)
    run_cell(engine, tmp_path / "together")
    assert_same_stores(tmp_path / "alone", tmp_path / "together")


def test_a_worker_that_dies_costs_only_its_unfinished_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job(RunSpec("mixing", "greedy", 10, (seed,), (10,)), "x", 1.0) for seed in range(3)]
    rounds: list[int] = []

    def dies_once(self: Any, waiting: list[Job], store: Store, command: str) -> Any:
        rounds.append(len(waiting))
        yield Outcome(waiting[0].spec.hash, 1.0)
        if len(rounds) == 1:
            raise BrokenProcessPool
        yield from (Outcome(job.spec.hash, 1.0) for job in waiting[1:])

    monkeypatch.setattr(Processes, "_run_batches", dies_once)
    outcomes = list(Processes(2).run_jobs(jobs, Store(tmp_path), ""))
    assert rounds == [3, 2]
    assert {outcome.run for outcome in outcomes} == {job.spec.hash for job in jobs}


def test_a_run_that_always_kills_its_worker_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> Any:
        raise BrokenProcessPool

    monkeypatch.setattr(Processes, "_run_batches", dies)
    job = Job(RunSpec("mixing", "greedy", 10, (0,), (10,)), "x", 1.0)
    (outcome,) = Processes(2).run_jobs([job], Store(tmp_path), "")
    assert "killed" in str(outcome.error)


def test_ctrl_c_ends_the_workers_and_says_how_to_go_on(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(
        "horizon: 100000000\nseeds: 80\nproblems: [vardim-realizable]\ncurves: [greedy]\n"
    )
    program = "from banditsrl.cli import main; main()"
    command = [sys.executable, "-c", program, "sweep", str(file), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(  # noqa: S603  (our own command)
        [*command, "--workers", "2"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "BANDITSRL_CHECKPOINT_SECONDS": "0.1"},
    )
    deadline = time.monotonic() + 60.0
    while not list(tmp_path.glob("out/runs/*/checkpoint.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    _, errors = process.communicate(timeout=60.0)
    assert process.returncode == 130
    assert "the same command again goes on" in errors.decode()
    assert "Traceback" not in errors.decode()
    assert list(tmp_path.glob("out/runs/*/checkpoint.npz"))
    assert nobody_left(process.pid)


def nobody_left(group: int) -> bool:
    """Whether every process of a group ends within five seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_short_runs_of_a_cell_travel_together_and_long_ones_alone() -> None:
    spec = RunSpec("mixing", "greedy", 10, (0,), (10,))
    short = [Job(replace(spec, seeds=(seed,)), "x", 0.1) for seed in range(100)]
    long = [Job(replace(spec, horizon=99, seeds=(seed,)), "x", 100.0) for seed in range(3)]
    pieces = split_into_batches([*short, *long], 2)
    assert [job for piece in pieces for job in piece] == [*short, *long]
    assert {len(piece) for piece in pieces} == {25, 1}
