"""A program is compiled once for a policy and a problem, and a second process reuses it."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import pytest

import banditsrl

PROGRAM = """
import json, sys
import jax, banditsrl
from banditsrl.core.files import cache_dir
from banditsrl.numerics.process import use_compilation_cache

use_compilation_cache(cache_dir() / "compiled")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
seen = []
jax.monitoring.register_event_listener(lambda event, **_: seen.append(event))
problem = banditsrl.make_problem("wheel", n_contexts=10)
policy = banditsrl.make_policy("nn-banditsrl-egreedy", problem, layers=(5, 3), passes=1)
result = banditsrl.simulate(problem, policy, horizon=60, seeds=1)
names = ("cache_hits", "cache_misses")
counts = {name: seen.count(f"/jax/compilation_cache/{name}") for name in names}
print(json.dumps({**counts, "regret": result.regret[0, -1]}))
"""


@pytest.fixture
def compiled() -> Any:
    """Names of the programs that are compiled, as it happens."""
    names: list[str] = []

    def heard(event: str, seconds: float, **details: Any) -> None:
        del seconds
        if event.endswith("backend_compile_duration"):
            names.append(str(details.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(heard)
    yield names
    jax.monitoring.unregister_event_duration_listener(heard)


def test_a_phase_compiles_nothing_new(compiled: list[str]) -> None:
    problem = banditsrl.make_problem("wheel", n_contexts=10)
    policy = banditsrl.make_policy("nn-banditsrl-egreedy", problem, layers=(9, 3), passes=1)
    result = banditsrl.simulate(problem, policy, horizon=400, seeds=[0])
    assert len(result.phases) > 20
    counts = Counter(compiled)
    assert counts["jit(play_steps)"] == counts["jit(_end_phase)"] == 1
    compiled.clear()
    banditsrl.simulate(problem, policy, horizon=400, seeds=[1])
    assert compiled == []


def test_a_longer_horizon_reuses_the_rounds(
    three: banditsrl.FiniteProblem, compiled: list[str]
) -> None:
    policy = banditsrl.make_policy("banditsrl-egreedy", three, lam=0.7)
    for horizon in (60, 1_500):
        banditsrl.simulate(three, policy, horizon=horizon, seeds=1)
    assert Counter(compiled)["jit(play_steps)"] == 1


def test_a_second_start_reuses_what_the_first_compiled(tmp_path: Path) -> None:
    hurry = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    environment = {**os.environ, **hurry, "XDG_CACHE_HOME": str(tmp_path)}
    found = []
    for _ in range(2):
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", PROGRAM],
            env=environment, capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        assert done.stderr == ""
        found.append(json.loads(done.stdout))
    assert found[0]["cache_misses"] > 0
    assert found[1]["cache_misses"] == 0
    assert found[1]["cache_hits"] == found[0]["cache_misses"] + found[0]["cache_hits"]
    assert found[0]["regret"] == found[1]["regret"]
