"""Is everything compiled when a loop is open, so that no later call waits for a compiler?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest
from waiting import wait_until

from banditsrl import Loop
from banditsrl.live_store.records import Decision

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "glrt-linucb",
    "audit": 0.05,
    "drift": 1000,
    "spare_actions": 1,
}


@pytest.fixture
def compiled() -> Iterator[list[str]]:
    """Names of the programs that were compiled in this process."""
    names: list[str] = []

    def listen(event: str, _: float, **what: Any) -> None:
        if event.endswith("backend_compile_duration"):
            names.append(str(what.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


def test_nothing_is_compiled_once_a_loop_is_open(tmp_path: Path, compiled: list[str]) -> None:
    """Not for questions about it, nor for changes, nor when a model takes over."""
    with Loop.create(tmp_path / "offers.db", CONFIG) as loop:
        assert compiled
        compiled.clear()
        play(loop, 70)
        wait_until(lambda: loop.status()["model"] >= 1 and not loop.status()["training"])
        play(loop, 3)
        for _ in range(2):  # the second time, too
            loop.trust()
            loop.summary()
        loop.history()
        loop.models()
        loop.add_action("blue")
        decision = play(loop, 3)
        loop.explain(decision.id)
        loop.promote(0)
        play(loop, 3)
        loop.promote(1)
        play(loop, 3)
        loop.resume()
        loop.erase([decision.id])
        loop.decide({}, available=["red"])
        assert compiled == []


def play(loop: Loop, n: int) -> Decision:
    for i in range(n):
        decision = loop.decide({"age": i / n})
        loop.reward(decision.id, float(decision.action == "red"))
    return decision
