"""Does a decision wait for anything but its own computation and its transaction?"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array

from banditsrl import Loop
from banditsrl.core.policy import State
from banditsrl.live.fold import Fold
from banditsrl.live.follower import Follower
from banditsrl.live.programs import LearnedRound, Programs

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
    "spare_actions": 0,
}


@jax.jit
def multiply_often(matrix: Array) -> Array:
    """Return zero, much later than the call returns."""
    product = jax.lax.fori_loop(0, 50, lambda _, x: jnp.tanh(x @ matrix), matrix)
    return jnp.where(jnp.isnan(product).any(), 1.0, 0.0)


def test_whoever_decides_is_given_a_state_that_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of JAX returns before its result is there, so learning takes a long time here."""
    learn, publish = Programs.learn, Follower._publish
    is_ready: list[bool] = []

    def learn_slowly(self: Programs, state: State, one: LearnedRound) -> State:
        learned, nothing = learn(self, state, one), multiply_often(jnp.ones((400, 400)))
        with jax.enable_x64(True):
            return jax.tree.map(lambda leaf: leaf + nothing.astype(leaf.dtype), learned)

    def look(self: Follower, fold: Fold) -> None:
        is_ready.append(all(leaf.is_ready() for leaf in jax.tree.leaves(fold.state)))
        publish(self, fold)

    with Loop.create(tmp_path / "offers.db", CONFIG) as loop:
        rewards = [{"id": loop.decide({"age": 1.0}).id, "value": 1.0} for _ in range(5)]
        monkeypatch.setattr(Programs, "learn", learn_slowly)
        monkeypatch.setattr(Follower, "_publish", look)
        loop.reward_many(rewards)
        loop.flush()
        assert loop.status()["rounds"] == 5
    assert is_ready
    assert all(is_ready)
