"""Engines: the same tables in one process, in two, and on a Ray cluster that loses a node."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import SMALL, ray_cluster

import banditsrl
from banditsrl.engines.engine import make_engine
from banditsrl.engines.jobs import Job, Outcome, Status
from banditsrl.engines.local import InProcess, Processes, batches, limits
from banditsrl.engines.progress import Meter, carry_out
from banditsrl.experiments.planning import Cell, Plan, plan
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.run_tables import same
from banditsrl.experiments.store import Store

pytestmark = pytest.mark.optimised

CELL = Cell(
    panel="p",
    label="Greedy",
    problem="vardim-realizable",
    policy="greedy",
    horizon=2_000,
    seeds=tuple(range(160)),
    settings={},
)


def go(engine: Any, directory: Path, cell: Cell = CELL) -> Plan:
    planned = plan([cell], Store(directory))
    outcomes = carry_out(planned, engine, command="test", display=None)
    assert [outcome.error for outcome in outcomes] == [None] * len(planned.jobs)
    return planned


def assert_same(one: Path, other: Path) -> None:
    a, b = Store(one), Store(other)
    runs = [run.hash for run in a.runs()]
    assert runs == [run.hash for run in b.runs()]
    assert all(same(a.table(run), b.table(run)) for run in runs)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of one worker."""
    directory = tmp_path_factory.mktemp("alone")
    go(InProcess(), directory)
    return directory


@pytest.mark.filterwarnings("default")
def test_two_workers_give_the_same_tables(alone: Path, tmp_path: Path) -> None:
    engine = make_engine("local", workers=2, address=None, n_jobs=4)
    assert isinstance(engine, Processes)
    go(engine, tmp_path)
    assert_same(alone, tmp_path)


@pytest.mark.filterwarnings("default")
def test_a_ray_cluster_gives_the_same_tables_even_when_it_loses_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: Path
) -> None:
    cell = replace(CELL, horizon=100_000)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(compiled))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    interrupted: list[str] = []
    with ray_cluster() as cluster:
        lost = cluster.add_node(**SMALL)
        engine = make_engine("ray", workers=None, address=cluster.address, n_jobs=4)

        def lose() -> None:
            run = _running_on(lost.node_id, engine)
            cluster.remove_node(lost, allow_graceful=False)
            if run and not Store(tmp_path / "ray").is_finished(run):
                interrupted.append(run)

        killer = threading.Thread(target=lose)
        killer.start()
        go(engine, tmp_path / "ray", cell)
        killer.join()
        assert len(cluster.list_all_nodes()) == 1
    assert interrupted  # a run was under way on the node when it went, and was done again
    go(InProcess(), tmp_path / "alone", cell)
    assert_same(tmp_path / "alone", tmp_path / "ray")


def _running_on(node: str, engine: Any) -> str | None:
    """The run that a node is in the middle of, as soon as there is one."""
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline:
        for worker, status in engine.statuses().items():
            if node.startswith(worker.split("-")[0]) and 0 < status.done < status.total:
                return str(status.run)
        time.sleep(0.05)
    return None


def test_an_outcome_comes_when_its_table_is_in_place(tmp_path: Path) -> None:
    store = Store(tmp_path)
    jobs = plan([replace(CELL, horizon=50, seeds=tuple(range(120)))], store).jobs
    seen = []
    for outcome in InProcess().outcomes(jobs, store, "test"):
        assert store.is_finished(outcome.run)
        seen.append(outcome.run)
    assert seen == [job.spec.hash for job in jobs]


def test_a_run_that_can_not_be_written_is_an_outcome_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Store, "finish", full)
    store = Store(tmp_path)
    jobs = plan([replace(CELL, horizon=50, seeds=tuple(range(80)))], store).jobs
    outcomes = list(InProcess().outcomes(jobs, store, "test"))
    assert [outcome.run for outcome in outcomes] == [job.spec.hash for job in jobs]
    assert all("no space left on device" in str(outcome.error) for outcome in outcomes)


def test_a_run_that_can_not_begin_is_an_outcome_and_the_others_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    jobs = plan([replace(CELL, horizon=50, seeds=tuple(range(160)))], store).jobs
    begin = Store.begin

    def refuses_the_second(self: Store, spec: RunSpec, **options: Any) -> Path:
        if spec == jobs[1].spec:
            raise OSError("permission denied")
        return begin(self, spec, **options)

    monkeypatch.setattr(Store, "begin", refuses_the_second)
    outcomes = list(InProcess().outcomes(jobs, store, "test"))
    assert [outcome.run for outcome in outcomes] == [job.spec.hash for job in jobs]
    assert [outcome.error is None for outcome in outcomes] == [True, False, True, True]
    assert "permission denied" in str(outcomes[1].error)
    assert [store.is_finished(job.spec.hash) for job in jobs] == [True, False, True, True]


def test_a_worker_that_dies_costs_only_its_unfinished_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures.process import BrokenProcessPool

    jobs = [Job(RunSpec("mixing", "greedy", 10, (seed,), (10,)), "x", 1.0) for seed in range(3)]
    rounds: list[int] = []

    def dies_once(self: Any, waiting: list[Job], store: Store, command: str) -> Any:
        rounds.append(len(waiting))
        yield Outcome(waiting[0].spec.hash, 1.0)
        if len(rounds) == 1:
            raise BrokenProcessPool
        yield from (Outcome(job.spec.hash, 1.0) for job in waiting[1:])

    monkeypatch.setattr(Processes, "_round", dies_once)
    outcomes = list(Processes(2).outcomes(jobs, Store(tmp_path), ""))
    assert rounds == [3, 2]
    assert {outcome.run for outcome in outcomes} == {job.spec.hash for job in jobs}


def test_a_run_that_always_kills_its_worker_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures.process import BrokenProcessPool

    def dies(*_: Any) -> Any:
        raise BrokenProcessPool

    monkeypatch.setattr(Processes, "_round", dies)
    job = Job(RunSpec("mixing", "greedy", 10, (0,), (10,)), "x", 1.0)
    (outcome,) = Processes(2).outcomes([job], Store(tmp_path), "")
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
    assert "run the same command again to continue" in errors.decode()
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
    pieces = batches([*short, *long], 2)
    assert [job for piece in pieces for job in piece] == [*short, *long]
    assert {len(piece) for piece in pieces} == {25, 1}


def test_every_worker_gets_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_mine=1")
    assert limits(2)["XLA_FLAGS"] == "--xla_mine=1 --xla_cpu_multi_thread_eigen=false"
    assert limits(2)["OMP_NUM_THREADS"] == limits(2)["POLARS_MAX_THREADS"] == "2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "slurm"}, "engine must be one of local, ray"),
        ({"name": "local", "workers": 0}, "workers must be at least 1"),
        ({"name": "local", "address": "auto"}, "address must go with engine ray"),
    ],
)
def test_a_wrong_engine_is_refused(options: dict[str, Any], message: str) -> None:
    settings = {"workers": None, "address": None, "n_jobs": 1, **options}
    with pytest.raises(banditsrl.errors.InvalidArgument, match=message):
        make_engine(settings.pop("name"), **settings)


def test_without_ray_the_way_to_get_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(banditsrl.errors.InvalidArgument, match=r"install banditsrl\[ray\]"):
        make_engine("ray", workers=None, address=None, n_jobs=1)


def test_the_meter_adds_up_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    spec = RunSpec("mixing", "greedy", 100, (0, 1), (100,))
    jobs = [Job(spec, "a", 3.0), Job(replace(spec, horizon=50), "b", 1.0)]
    meter = Meter(jobs)
    now[0] = 110.0
    meter.add(Outcome(jobs[1].spec.hash, 1.0, regret=4.0))
    status = Status(spec.hash, "a", 100, 200, 8.0)
    seen = meter.snapshot({"1": status})
    assert (seen.n_finished, seen.n_jobs) == (1, 2)
    assert seen.share == pytest.approx((1.0 + 1.5) / 4.0)
    assert seen.steps_per_second == pytest.approx((100 + 100) / 10.0)
    assert seen.regret == pytest.approx(6.0)
    assert seen.seconds_left == pytest.approx(10.0 * 1.5 / 2.5)


def test_progress_is_shown_in_plain_lines_and_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    from banditsrl.cli import console
    from banditsrl.engines.progress import Snapshot

    status = Status("r", "wheel: LinUCB", 50, 200, 8.0)
    half = Snapshot(1, 2, 0.5, 2_000.0, 6.0, 10.0, {"17": status})
    console.PlainDisplay().show(half)
    text = capsys.readouterr().err
    assert "1 of 2 runs, 50%, 2 thousand steps/s, regret so far 6.0, 10 s left" in text
    assert "worker 17: wheel: LinUCB, 25%, regret so far 8.0" in text
    monkeypatch.setattr(console, "messages", Console(stderr=True, force_terminal=True, width=120))
    display = console.make_display(quiet=False)
    assert isinstance(display, console.LiveDisplay)
    display.show(half)
    display.end(half._replace(n_finished=2, workers={}))
    shown = capsys.readouterr().err
    assert "wheel: LinUCB" in shown
    assert "2 of 2 runs" in shown
    assert console.make_display(quiet=True) is None
