"""Jobs: an outcome comes with its table in place, and a failure to write is an outcome too."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sweeps import GREEDY

from banditsrl.engines.local import InProcess
from banditsrl.experiments.planning import plan_sweep
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.store import Store

pytestmark = pytest.mark.optimised


def test_an_outcome_comes_when_its_table_is_in_place(tmp_path: Path) -> None:
    store = Store(tmp_path)
    jobs = plan_sweep([replace(GREEDY, horizon=50, seeds=tuple(range(120)))], store).jobs
    seen = []
    for outcome in InProcess().run_jobs(jobs, store, "test"):
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
    jobs = plan_sweep([replace(GREEDY, horizon=50, seeds=tuple(range(80)))], store).jobs
    outcomes = list(InProcess().run_jobs(jobs, store, "test"))
    assert [outcome.run for outcome in outcomes] == [job.spec.hash for job in jobs]
    assert all("no space left on device" in str(outcome.error) for outcome in outcomes)


def test_a_run_that_can_not_begin_is_an_outcome_and_the_others_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    jobs = plan_sweep([replace(GREEDY, horizon=50, seeds=tuple(range(160)))], store).jobs
    begin = Store.begin

    def refuses_the_second(self: Store, spec: RunSpec, **options: Any) -> Path:
        if spec == jobs[1].spec:
            raise OSError("permission denied")
        return begin(self, spec, **options)

    monkeypatch.setattr(Store, "begin", refuses_the_second)
    outcomes = list(InProcess().run_jobs(jobs, store, "test"))
    assert [outcome.run for outcome in outcomes] == [job.spec.hash for job in jobs]
    assert [outcome.error is None for outcome in outcomes] == [True, False, True, True]
    assert "permission denied" in str(outcomes[1].error)
    assert [store.is_finished(job.spec.hash) for job in jobs] == [True, False, True, True]
