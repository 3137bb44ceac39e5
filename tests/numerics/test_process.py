"""Settings of a process: its share of the cores, and an environment that comes back."""

import os
from pathlib import Path

import pytest

from banditsrl.numerics.process import environment_variables, read_memory, thread_limits


def test_every_process_gets_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_mine=1")
    assert thread_limits(2)["XLA_FLAGS"] == "--xla_mine=1 --xla_cpu_multi_thread_eigen=false"
    assert thread_limits(2)["OMP_NUM_THREADS"] == thread_limits(2)["POLARS_MAX_THREADS"] == "2"
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")
    assert thread_limits(2)["XLA_FLAGS"] == "--xla_cpu_multi_thread_eigen=true"


def test_the_environment_is_the_same_after_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDITSRL_SET", "before")
    monkeypatch.delenv("BANDITSRL_UNSET", raising=False)
    changes = {"BANDITSRL_SET": "inside", "BANDITSRL_UNSET": "inside"}

    def fail() -> None:
        with environment_variables(changes):
            assert {name: os.environ[name] for name in changes} == changes
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert os.environ["BANDITSRL_SET"] == "before"
    assert "BANDITSRL_UNSET" not in os.environ


def test_the_memory_is_that_of_the_machine() -> None:
    file = Path("/proc/meminfo")
    if not file.exists():
        pytest.skip("/proc/meminfo is not there: this is not Linux")
    words = dict(line.split(":") for line in file.read_text().splitlines())
    assert read_memory() == 1024 * int(words["MemTotal"].split()[0])
