"""Progress: what the meter adds up."""

import math
from dataclasses import replace

import pytest

from banditsrl.engines.jobs import Outcome, Status
from banditsrl.engines.progress import Meter
from banditsrl.experiments.planning import Job
from banditsrl.experiments.run_spec import RunSpec


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


def test_progress_never_goes_backwards() -> None:
    spec = RunSpec("mixing", "greedy", 100, (0,), (100,))
    jobs = [Job(replace(spec, seeds=(seed,)), "a", 1.0) for seed in range(4)]
    jobs += [Job(replace(spec, policy="linucb"), "b", 1.0)]
    meter, shares = Meter(jobs), []
    for done in (10, 80, 30):  # the worker died and began again
        status = Status(jobs[0].spec.hash, "a", done, 100, 1.0)
        shares.append(meter.snapshot({"1": status}).share)
    shares.append(meter.snapshot({}).share)  # the outcome is on its way
    meter.add(Outcome(jobs[0].spec.hash, 1.0, regret=1.0))
    shares.append(meter.snapshot({}).share)
    assert shares == sorted(shares)
    assert shares[1] == shares[3] == pytest.approx(0.8 / 5)


def test_the_time_left_follows_the_first_measured_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    wide = RunSpec("wheel", "neural-linucb", 100, (0,), (100,))
    thin = RunSpec("wheel", "linucb", 100, (0,), (100,))
    jobs = [Job(replace(wide, seeds=(seed,)), "wide", 1.0) for seed in range(3)]
    jobs += [Job(thin, "thin", 1.0)]
    meter = Meter(jobs)
    now[0] = 12.0
    meter.add(Outcome(jobs[0].spec.hash, 10.0, regret=1.0))
    meter.add(Outcome(jobs[3].spec.hash, 2.0, regret=1.0))
    # 12 of 32 measured seconds are done; by the expected times it would be a half.
    assert meter.snapshot({}).share == pytest.approx(12 / 32)
    assert meter.snapshot({}).seconds_left == pytest.approx(20.0)


def test_compilation_does_not_count_in_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    job = Job(RunSpec("mixing", "greedy", 1_000, (0,), (1_000,)), "a", 1.0)
    meter, seen = Meter([job]), {}
    for second, done in ((90, 0), (100, 5), (120, 10), (130, 200), (140, 400)):
        now[0] = float(second)
        seen[second] = meter.snapshot({"1": Status(job.spec.hash, "a", done, 1_000, 1.0)})
    assert all(math.isinf(seen[second].seconds_left) for second in (90, 100, 120))
    assert [seen[second].steps_per_second for second in (90, 100, 120)] == [0.0] * 3
    # Compiling ended at second 120 with 10 steps; 390 steps took 20 seconds since.
    assert seen[140].steps_per_second == pytest.approx(390 / 20)
    assert seen[140].seconds_left == pytest.approx(600 / (390 / 20))
