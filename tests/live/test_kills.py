"""Is anything lost that was acknowledged? A program that writes is killed at random moments.

The program keeps a ledger: one line on its standard output for every answer that it got. A line
that is not whole was never read by anyone, so it does not count.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from banditsrl import Loop

PROGRAM = """
import sys, threading
from banditsrl import Loop

loop = Loop.open(sys.argv[1])
print("ready", flush=True)
lock = threading.Lock()

def say(*words):
    with lock:
        sys.stdout.write(" ".join(words) + "\\n")
        sys.stdout.flush()

def work(number):
    while True:
        decision = loop.decide({"age": number / 4})
        say("decision", decision.id, decision.action)
        settled = loop.reward(decision.id, 0.25 * number)
        say("reward", decision.id, str(settled.counted))

threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(4)]
for thread in threads:
    thread.start()
threads[0].join()
"""

VERIFY = "from banditsrl.cli import main; main()"

N_KILLS = 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL.")
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "offers.db"
    config = {
        "name": "offers",
        "actions": ["red", "green"],
        "columns": {"age": "number"},
        "policy": "linucb-disjoint",
    }
    Loop.create(path, config, warm_up=False).close()
    rng = np.random.default_rng(0)
    answers = [line for _ in range(N_KILLS) for line in run_and_kill(path, rng.uniform(0.05, 0.6))]
    decisions = {words[1]: words[2] for words in answers if words[0] == "decision"}
    rewards = [words[1] for words in answers if words[0] == "reward"]
    assert min(len(decisions), len(rewards)) > 0  # a busy machine makes few in this time
    assert len(rewards) == len(set(rewards))
    with Loop.open(path, warm_up=False) as loop:
        for id_, action in decisions.items():
            assert loop.decision(id_).action == action
        for id_ in rewards:
            assert loop.outcome(id_)["status"] == "settled"
        loop.flush()
        records = loop.log(limit=10**6)
        settled = [record["id"] for record in records if record["kind"] == "reward"]
        assert len(settled) == len(set(settled)) == loop.status()["rounds"]
        assert [record["position"] for record in records] == list(range(1, len(records) + 1))
    check_replay(path)


def run_and_kill(path: Path, seconds: float) -> list[list[str]]:
    """Run the program for so many seconds of work, kill it, and return the answers it got."""
    process = subprocess.Popen(  # noqa: S603 (the program above)
        [sys.executable, "-c", PROGRAM, str(path)],
        env=make_environment(path),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    text, _ = process.communicate(timeout=30)
    return [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]


def check_replay(path: Path) -> None:
    """Verify in a process like the one that wrote: pytest compiles with less optimisation."""
    command = [sys.executable, "-c", VERIFY, "loop", "verify", str(path), "--json"]
    done = subprocess.run(  # noqa: S603 (our own command)
        command, env=make_environment(path), capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)
    assert found["differences"] == []
    assert (done.returncode, found["passed"], found["decisions"] > 20) == (0, True, True)


def make_environment(path: Path) -> dict[str, str]:
    """Return an environment in which later processes need not compile again."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(path.parent / "compiled")}
    return {**os.environ, **cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
