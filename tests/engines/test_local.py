"""One machine: the same tables in one process and in several, which may die or be stopped."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sweeps import assert_same_stores, run_cell

from banditsrl.core.scratch import scratch_folder
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


@contextmanager
def long_run(words: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A command with two workers as a process that leads a group of its own."""
    program = "from banditsrl.cli import main; main()"
    process = subprocess.Popen(  # noqa: S603  (our own command)
        [sys.executable, "-c", program, *words, "--workers", "2"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def wait_for(folder: Path, pattern: str) -> None:
    """Return when a file appears, and fail if that takes two minutes."""
    deadline = time.monotonic() + 120.0
    while not list(folder.glob(pattern)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_ctrl_c_ends_the_workers_and_says_how_to_go_on(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(
        "horizon: 100000000\nseeds: 80\nproblems: [vardim-realizable]\ncurves: [greedy]\n"
    )
    words = ["sweep", str(file), "--out", str(tmp_path / "out")]
    with long_run(words, {"BANDITSRL_CHECKPOINT_SECONDS": "0.1"}) as process:
        wait_for(tmp_path, "out/runs/*/checkpoint.npz")
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
        _, errors = process.communicate(timeout=60.0)
    assert process.returncode == 130
    assert "run the same command again to continue" in errors.decode()
    assert "Traceback" not in errors.decode()
    assert list(tmp_path.glob("out/runs/*/checkpoint.npz"))
    assert nobody_left(process.pid)


def test_what_a_killed_sweep_leaves_in_the_temporary_directory_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["run", "vardim-realizable", "greedy", "--horizon", "100000000", "--seeds", "80"]
    with long_run(words, {"TMPDIR": str(tmp_path)}) as process:
        wait_for(tmp_path, "banditsrl-*/[0-9]*.json")  # a worker has written its status
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60.0)
    assert nobody_left(process.pid)
    assert len(list(tmp_path.glob("banditsrl-*"))) == 2  # the store of the run, and the board
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder() as folder:
        assert list(tmp_path.glob("banditsrl-*")) == [folder]
    assert not list(tmp_path.glob("banditsrl-*"))


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
