"""Do other servers of a loop use what its learner has trained, and does nothing outlive it?"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from banditsrl import Loop
from banditsrl.live.state_bytes import digest_content, pack_state

if TYPE_CHECKING:
    from postgres_server import PostgresServer

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"a": "number", "b": "number"},
    "policy": "glrt-linucb",
    "spare_actions": 0,
    "reward": {"range": [0, 1]},
}

WAIT_SECONDS = 120.0
"""How long something may take that is expected to happen."""

PARENT = """
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-m", "banditsrl.live.training_process"], stdin=int(sys.argv[1])
)
print(child.pid, flush=True)
child.wait()
"""


def runs(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_model_of_the_learner_reaches_the_other_replica(postgres: "PostgresServer") -> None:
    url, rng = postgres.new_database(), np.random.default_rng(0)
    with Loop.create(url, CONFIG) as learner, Loop.open(url, replica=1) as other:
        for _ in range(40):
            a, b = rng.normal(size=2)
            decision = other.decide({"a": a, "b": b})
            learner.reward(decision.id, float(decision.action == "red"))
        wait_until(lambda: learner.status()["model"] >= 1)
        wait_until(lambda: not learner.status()["training"])
        wait_until(lambda: other.status()["model"] == learner.status()["model"])
        learner.set_mode("frozen")  # nothing is trained any more
        wait_until(lambda: not learner.status()["training"])
        learner.flush()
        other.flush()
        assert other.status()["training_starts"] == 0
        states = [digest_content(pack_state(one._engine.fold.state)) for one in (learner, other)]
        assert states[0] == states[1]
        assert other.decide({"a": 1.0}).model == learner.status()["model"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL.")
def test_the_training_process_ends_with_a_parent_that_is_killed() -> None:
    """Its input stays open here, so only the watch for the parent can end it."""
    reads, writes = os.pipe()
    parent = subprocess.Popen(  # noqa: S603 (our own words)
        [sys.executable, "-c", PARENT, str(reads)],
        stdout=subprocess.PIPE,
        pass_fds=[reads],
        text=True,
    )
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        mine = os.getpriority(os.PRIO_PROCESS, 0)
        wait_until(lambda: os.getpriority(os.PRIO_PROCESS, child) > mine)  # it has begun
        parent.send_signal(signal.SIGKILL)
        parent.communicate()
        wait_until(lambda: not runs(child))
    finally:
        parent.kill()
        os.close(reads)
        os.close(writes)
