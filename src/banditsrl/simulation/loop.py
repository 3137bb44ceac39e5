"""What happens in a round, and how are rounds repeated? The loop of every simulation.

`play_round` is one step of one seed; `play_steps` repeats it for all seeds of a batch, compiled.
Arrays carry the seeds along their last axis. One loop with dynamic bounds serves every phase and
every horizon, and the buffers of a run are updated in place.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from numpy.typing import NDArray

from banditsrl.core.history import (
    BLOCK,
    History,
    empty_history,
    read_block,
    write_block,
    write_rounds,
)
from banditsrl.core.policy import Choice, Policy, State
from banditsrl.core.problem import Problem
from banditsrl.numerics import padding
from banditsrl.numerics.compiling import jit_quickly
from banditsrl.numerics.partition import Partitioned
from banditsrl.numerics.seed_axis import map_over_seeds
from banditsrl.simulation.dealing import Deal
from banditsrl.simulation.tally import Tally


def play_round(
    policy: Policy[Any], problem: Problem, step: Array, state: State, tally: Tally, dealt: Deal
) -> tuple[State, Tally, Choice, Array]:
    """Play one step of one seed: deal, choose, pay, learn, count."""
    context = dealt.contexts
    mask, means = problem.mask(context), problem.means(context)
    choice = policy.act(state, context, mask, dealt.keys)
    mean = _mean_of(choice.action, means, mask)
    reward = problem.reward(mean, dealt.noises)
    state = policy.watch(state, context, choice, reward)
    state = policy.learn(state, context, choice.action, reward, choice.certified)
    regret = jnp.where(mask, means, -jnp.inf).max() - mean
    return state, tally.add(choice, regret, reward, step), choice, reward


class Carry(NamedTuple):
    """Everything that a batch of seeds carries from step to step; seeds are the last axis."""

    state: State
    tally: Tally
    history: History | None
    records: Array  # (rows, fields of Tally, seeds)


class Game(NamedTuple):
    """The two sides of a simulation, ready for compiled programs."""

    policy: Partitioned[Policy[Any]]
    problem: Partitioned[Problem]


class Steps(NamedTuple):
    """Steps first + 1 .. last, all of one block, and where each step of the block is recorded."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    rows: NDArray[np.int32]  # (BLOCK,) row among the records, or -1


@partial(jax.jit, donate_argnums=3, static_argnums=4)
def play_steps(
    game: Game, dealt: Deal, steps: Steps, carry: Carry, size: int | None = None
) -> Carry:
    """Play some steps of one block for all seeds; `carry.history` is that block of the history.

    If a size is given, it must be enough for the padded arrays of all states until the last step.
    """
    policy, problem = game.policy.combine(), game.problem.combine()
    play_all = map_over_seeds(partial(play_round, policy, problem), n_shared=1)

    def step(t: Array, carry: Carry) -> Carry:
        i = t % BLOCK
        now = jax.tree.map(lambda leaf: leaf[i], dealt)
        state, tally, choice, reward = play_all(t + 1, carry.state, carry.tally, now)
        history = carry.history
        if history is not None:
            rounds = (now.contexts, choice.action, reward, choice.certified)
            history = write_rounds(history, i, *jax.tree.map(lambda leaf: leaf[None], rounds))
        records = _record(carry.records, jnp.asarray(steps.rows)[i], tally)
        return Carry(state, tally, history, records)

    padded = carry.state
    if size is not None and policy.padding is not None:
        carry = carry._replace(state=padding.crop(policy.padding, padded, size))
    result: Carry = jax.lax.fori_loop(steps.first, steps.last, step, carry)
    return result._replace(state=padding.restore(padded, result.state))


def find_size(policy: Partitioned[Policy[Any]], state: State) -> int | None:
    """Return which size is enough for the states of all seeds until the end of the phase.

    Without padding that could be cut, this is None.
    """
    found = policy.combine().padding
    if found is None or found.size < padding.MIN_CROPPED:
        return None
    size = padding.enough(found, int(_largest_used(policy, state)))
    return None if size == found.size else size


@jit_quickly
def _largest_used(policy: Partitioned[Policy[Any]], state: State) -> Array:
    whole = policy.combine().padding
    return jnp.zeros(()) if whole is None else padding.largest_used(whole, state)


@partial(jit_quickly, static_argnums=(2, 3))
def start_run(game: Game, keys: dict[str, Array], capacity: int, n_rows: int) -> Carry:
    """Return the carry before the first step, with room for a history (if any) and records."""
    policy, problem = game.policy.combine(), game.problem.combine()
    state = map_over_seeds(policy.init)(keys["init"])
    zeros = jnp.zeros(keys["init"].shape, dtype=jnp.float64)
    tally = Tally(*[zeros] * len(Tally._fields))
    records = jnp.zeros((n_rows, len(tally), *zeros.shape))
    history = None
    if capacity:
        one = jax.tree.map(lambda leaf: leaf[0], problem.contexts(keys["contexts"][0], 1))
        empty = empty_history(one, capacity)
        n_seeds = zeros.shape[0]
        history = jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], n_seeds, axis=-1), empty)
    return Carry(state, tally, history, records)


def end_phase(
    policy: Partitioned[Policy[Any]], keys: dict[str, Array], step: ArrayLike, carry: Carry
) -> tuple[Carry, dict[str, Array]]:
    """Refresh the states of all seeds, and return what the policy reports.

    A policy whose seeds run one by one computes for long here, such as when it trains a network, so
    its program is optimised; the others compile quickly.
    """
    runs_alone = carry.records.shape[-1] == 1
    end = _end_phase_optimised if runs_alone else _end_phase_quickly
    after: tuple[Carry, dict[str, Array]] = end(policy, keys, step, carry)
    return after


def _end_phase(
    policy: Partitioned[Policy[Any]], keys: dict[str, Array], step: ArrayLike, carry: Carry
) -> tuple[Carry, dict[str, Array]]:
    whole = policy.combine()

    def refresh(state: State, key: Array, history: History) -> State:
        return whole.refresh(state, history, jax.random.fold_in(key, step))

    state = map_over_seeds(refresh)(carry.state, keys["refresh"], carry.history)
    return carry._replace(state=state), _report_all(whole, keys, state)


_end_phase_optimised = jax.jit(_end_phase, donate_argnums=3)
_end_phase_quickly = jit_quickly(_end_phase, donate_argnums=3)


@jax.jit
def report_state(
    policy: Partitioned[Policy[Any]], keys: dict[str, Array], state: State
) -> dict[str, Array]:
    """Return what the policy reports of every seed."""
    return _report_all(policy.combine(), keys, state)


def _report_all(policy: Policy[Any], keys: dict[str, Array], state: State) -> dict[str, Array]:
    """Map `report` over seeds; the keys count them, since a state may hold no arrays at all."""
    reported: dict[str, Array] = map_over_seeds(lambda _, own: policy.report(own))(
        keys["init"], state
    )
    return reported


def open_block(carry: Carry, first: int) -> Carry:
    """Return the carry with only the block of the history after its first `first` rounds.

    The loop takes only this block: a step costs the same, and the same program serves, however long
    the history is.
    """
    if carry.history is None:
        return carry
    return carry._replace(history=_read_block(carry.history, np.asarray(first)))


def close_block(carry: Carry, whole: History | None, first: int) -> Carry:
    """Return the carry with the whole history, into which its block is written."""
    if whole is None:
        return carry
    return carry._replace(history=_write_block(whole, np.asarray(first), carry.history))


_read_block = jit_quickly(read_block)
_write_block = jit_quickly(write_block, donate_argnums=0)


def _mean_of(action: Array, means: Array, mask: Array) -> Array:
    """Return the mean reward of an action; minus infinity if it is not offered, refused later."""
    played = mask & (jnp.arange(means.shape[0]) == action)
    return jnp.where(played, means, -jnp.inf).max()


def _record(records: Array, row: Array, tally: Tally) -> Array:
    """Write the totals into a row of the records, unless the row is -1."""

    def write(records: Array) -> Array:
        return jnp.asarray(
            jax.lax.dynamic_update_index_in_dim(records, jnp.stack(tally), row, axis=0)
        )

    written: Array = jax.lax.cond(row >= 0, write, lambda records: records, records)
    return written
