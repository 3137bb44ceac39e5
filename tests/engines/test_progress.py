"""Progress: what the meter adds up."""

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
