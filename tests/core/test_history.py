"""The history: blocks cut out and put back, folds, and what a simulation writes into it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import (
    BLOCK,
    History,
    empty_history,
    fold_blocks,
    read_block,
    write_block,
)


@pytest.fixture
def history() -> History:
    """2,500 of 3,072 rounds, with something beyond them that must not count."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        empty = empty_history(np.zeros(2, dtype=np.float32), 2_600)
        assert empty.capacity == 3 * BLOCK
        return History(
            contexts=jnp.asarray(rng.normal(size=empty.contexts.shape)),
            actions=jnp.asarray(rng.integers(5, size=empty.capacity)),
            rewards=jnp.asarray(rng.normal(size=empty.capacity)),
            certified=jnp.asarray(rng.random(empty.capacity) < 0.5),
            n=jnp.asarray(2_500),
        )


def test_a_fold_sees_the_rounds_that_happened_and_no_others(history: History) -> None:
    with jax.enable_x64(True):
        total = fold_blocks(history, jnp.zeros(2), lambda sums, rounds: sums + _weighed(rounds))
    contexts, rewards = np.asarray(history.contexts), np.asarray(history.rewards)
    expected = sum(contexts[t] * rewards[t] for t in range(2_500))
    np.testing.assert_allclose(total, expected, rtol=1e-10)


def _weighed(rounds: Any) -> Any:
    return (rounds.contexts * (rounds.rewards * rounds.valid)[:, None]).sum(axis=0)


def test_a_block_put_back_changes_its_own_rounds_only(history: History) -> None:
    with jax.enable_x64(True):
        block = read_block(history, np.asarray(BLOCK))
        assert int(block.n) == 2_500 - BLOCK
        np.testing.assert_array_equal(block.actions, np.asarray(history.actions)[BLOCK : 2 * BLOCK])
        other = block._replace(rewards=block.rewards + 1.0, n=jnp.asarray(700))
        after = write_block(history, np.asarray(BLOCK), other)
    expected = np.array(history.rewards)
    expected[BLOCK : 2 * BLOCK] += 1.0
    np.testing.assert_array_equal(after.rewards, expected)
    np.testing.assert_array_equal(after.contexts, history.contexts)
    assert int(after.n) == BLOCK + 700
    assert after.n.dtype == history.n.dtype


class Seen(NamedTuple):
    """Two sums over the rounds, and by how much they were ever missed."""

    n: Any
    actions: Any
    rewards: Any
    missed: Any


class Watching:
    """Keeps sums of all rounds, and compares them with the history at the ends of phases."""

    phase_growth, uses_history, n_actions = 1.5, True, 5

    def init(self, key: Any) -> Seen:
        return Seen(*[jnp.zeros(())] * 4)

    def act(self, state: Seen, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        action = jax.random.randint(key, (), 0, self.n_actions)
        pmf = jnp.full(self.n_actions, 1 / self.n_actions)
        return banditsrl.policies.untested(action, pmf)

    def learn(self, state: Seen, context: Any, action: Any, reward: Any) -> Seen:
        n = state.n + 1
        place = n * (1 + context)
        return Seen(n, state.actions + place * action, state.rewards + n * reward, state.missed)

    def refresh(self, state: Seen, history: History, key: Any) -> Seen:
        def add(sums: Any, rounds: Any) -> Any:
            n, actions, rewards = sums
            places = (n + 1 + jnp.arange(BLOCK)) * rounds.valid
            actions += (places * (1 + rounds.contexts) * rounds.actions).sum()
            return n + rounds.valid.sum(), actions, rewards + (places * rounds.rewards).sum()

        sums = fold_blocks(history, (jnp.zeros(()),) * 3, add)
        gaps = [jnp.abs(a - b) / (1 + jnp.abs(a)) for a, b in zip(state[:3], sums, strict=True)]
        return state._replace(missed=jnp.maximum(state.missed, jnp.stack(gaps).max()))


def test_a_simulation_hands_every_round_to_refresh(problem: banditsrl.FiniteProblem) -> None:
    result = banditsrl.simulate(problem, Watching(), horizon=3_000, seeds=3)
    assert any(end > 2 * BLOCK and end % BLOCK for end in result.phases)
    np.testing.assert_array_equal(result.state.n, 3_000)
    assert np.unique(np.asarray(result.state.actions)).size == 3
    assert np.asarray(result.state.missed).max() < 1e-12
