"""A history holds the rounds that were written, block by block, however they were written."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import (
    BLOCK,
    History,
    append_round,
    empty_history,
    every_other,
    fold_blocks,
    read_block,
    resize,
    skip_rounds,
    write_block,
    write_rounds,
)
from banditsrl.errors import InvalidArgument


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
        total = fold_blocks(history, jnp.zeros(2), lambda sums, rounds: sums + _weigh(rounds))
    contexts, rewards = np.asarray(history.contexts), np.asarray(history.rewards)
    expected = sum(contexts[t] * rewards[t] for t in range(2_500))
    np.testing.assert_allclose(total, expected, rtol=1e-10)


def _weigh(rounds: Any) -> Any:
    return (rounds.contexts * (rounds.rewards * rounds.valid)[:, None]).sum(axis=0)


def test_a_block_that_is_written_back_changes_its_own_rounds_only(history: History) -> None:
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


def random_rounds(n: int, *trailing: int) -> tuple[Any, Any, Any, Any]:
    """Contexts that are a pytree of two arrays, actions, rewards and certificates of n rounds."""
    rng = np.random.default_rng(n)
    contexts = {
        "x": rng.normal(size=(n, 3, *trailing)),
        "user": rng.integers(100, size=(n, *trailing)),
    }
    actions = rng.integers(5, size=(n, *trailing))
    return contexts, actions, rng.normal(size=(n, *trailing)), rng.random((n, *trailing)) < 0.5


def assert_rounds(history: History, rounds: tuple[Any, Any, Any, Any], first: int = 0) -> None:
    """The rounds behind the first `first` are these, and nothing is behind them."""
    n = len(rounds[1])
    np.testing.assert_array_equal(np.asarray(history.n), first + n)
    found = (history.contexts, history.actions, history.rewards, history.certified)
    for buffer, values in zip(jax.tree.leaves(found), jax.tree.leaves(rounds), strict=True):
        np.testing.assert_array_equal(np.asarray(buffer)[first : first + n], values)
        assert not np.asarray(buffer)[first + n :].any()


EXAMPLE = {"x": np.zeros(3), "user": np.zeros((), dtype=np.int64)}


def test_several_rounds_written_at_once_are_those_rounds_appended_one_by_one() -> None:
    rounds = random_rounds(7)
    with jax.enable_x64(True):
        appended = empty_history(EXAMPLE, 10)
        for t in range(7):
            appended = append_round(appended, *jax.tree.map(lambda leaf, t=t: leaf[t], rounds))
        written = write_rounds(empty_history(EXAMPLE, 10), 0, *rounds)
    assert_rounds(appended, rounds)
    assert_rounds(written, rounds)
    for one, other in zip(jax.tree.leaves(appended), jax.tree.leaves(written), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_rounds_are_written_behind_those_that_are_there() -> None:
    before, after = random_rounds(5), random_rounds(4)
    with jax.enable_x64(True):
        history = write_rounds(empty_history(EXAMPLE, 10), 0, *before)
        history = jax.jit(write_rounds)(history, jnp.asarray(5), *after)
    both = jax.tree.map(lambda *leaves: np.concatenate(leaves), before, after)
    assert_rounds(history, both)


def test_a_trailing_axis_of_seeds_passes_through() -> None:
    """Three seeds along the last axis hold what three histories hold."""
    rounds, n_seeds = random_rounds(6, 3), 3
    with jax.enable_x64(True):
        empty = empty_history(EXAMPLE, 10)
        seeds = jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], n_seeds, axis=-1), empty)
        together = write_rounds(seeds, 0, *rounds)
        assert together.n.shape == (n_seeds,)
        block = read_block(together, 0)
        back = write_block(seeds, 0, block)
        for seed in range(n_seeds):
            own = jax.tree.map(lambda leaf, s=seed: leaf[..., s], rounds)
            for history in (together, block, back):
                assert_rounds(jax.tree.map(lambda leaf, s=seed: leaf[..., s], history), own)


def test_values_are_kept_in_the_types_of_the_buffers() -> None:
    with jax.enable_x64(True):
        history = empty_history(np.zeros(2, dtype=np.float32), 4)
        history = write_rounds(history, 0, np.ones((2, 2)), np.array([1, 2]), [1, 0], [1, 0])
    kinds = [leaf.dtype.name for leaf in history]
    assert kinds == ["float32", "int32", "float64", "bool", "int32"]


def test_a_full_history_refuses_another_round() -> None:
    history = empty_history(0, 1)._replace(n=np.int32(BLOCK))
    message = (
        f"history must have room for one more round, got {BLOCK} rounds in a history of capacity "
        f"{BLOCK}"
    )
    with pytest.raises(InvalidArgument, match=message):
        append_round(history, 0, 0, 0.0)


def test_resizing_keeps_the_rounds_and_changes_the_room() -> None:
    rounds = random_rounds(7)
    with jax.enable_x64(True):
        history = write_rounds(empty_history(EXAMPLE, 10), 0, *rounds)
    for capacity in (7, 8, BLOCK, 3 * BLOCK):
        resized = resize(history, capacity)
        assert resized.capacity == capacity
        assert_rounds(resized, rounds)
        for one, other in zip(jax.tree.leaves(resized), jax.tree.leaves(history), strict=True):
            assert one.dtype == other.dtype
    assert_rounds(resize(resize(history, 7), BLOCK), rounds)


def test_an_empty_history_can_be_cut_to_nothing_and_given_room_again() -> None:
    nothing = resize(empty_history(EXAMPLE, 1), 0)
    assert nothing.capacity == 0
    again = resize(nothing, BLOCK)
    assert again.capacity == BLOCK
    assert int(again.n) == 0


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
        return banditsrl.Choice.without_test(action, pmf)

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


def test_rounds_are_skipped_from_the_front() -> None:
    history = empty_history(np.zeros(2), 10)
    for i in range(7):
        history = append_round(history, np.full(2, i), i % 3, 10.0 * i, i % 2 == 0)
    rest = skip_rounds(history, 4)
    assert int(rest.n) == 3
    assert rest.capacity == history.capacity
    np.testing.assert_array_equal(rest.rewards[:3], [40.0, 50.0, 60.0])
    np.testing.assert_array_equal(rest.actions[:3], [1, 2, 0])
    np.testing.assert_array_equal(rest.contexts[:3, 0], [4, 5, 6])
    np.testing.assert_array_equal(rest.certified[:3], [True, False, True])


@pytest.mark.parametrize("n", [0, 1, 6, 7])
def test_every_other_round_is_a_history_of_its_own(n: int) -> None:
    rounds = random_rounds(n)
    with jax.enable_x64(True):
        history = write_rounds(empty_history(EXAMPLE, 10), 0, *rounds)
        halves = [jax.jit(every_other, static_argnums=1)(history, first) for first in (0, 1)]
    for first, half in enumerate(halves):
        assert_rounds(half, jax.tree.map(lambda leaf, f=first: leaf[f::2], rounds))
        assert half.capacity == BLOCK
    assert int(halves[0].n) + int(halves[1].n) == n


@pytest.mark.parametrize("n_blocks", [1, 2, 3])
def test_half_a_history_has_room_for_whole_blocks(n_blocks: int) -> None:
    with jax.enable_x64(True):
        half = every_other(empty_history(EXAMPLE, n_blocks * BLOCK), 1)
    assert half.capacity == -(-n_blocks // 2) * BLOCK
    assert half.n.dtype == np.int32
