"""What happens in a round, for all seeds at once? The compiled parts of a simulation.

Arrays carry the seeds along their last axis (see `banditsrl.linear.lanes`). Randomness is dealt in
blocks of steps; one loop with dynamic bounds serves every phase, and the buffers of a run are
updated in place. A single lane is not mapped at all: networks train faster that way on a CPU, and
their loops over a history keep plain bounds. Policies and problems come as `Partitioned`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from numpy.typing import NDArray

from banditsrl.core.history import BLOCK, History, empty_history, read_block, write_block
from banditsrl.core.policy import Choice, learned
from banditsrl.numerics import draws
from banditsrl.numerics.compiling import jit_quickly
from banditsrl.numerics.partition import Partitioned


class Tally(NamedTuple):
    """Running totals of one seed."""

    regret: Array
    certified: Array
    trivial: Array
    wrong: Array
    wrong_regret: Array
    last_regret: Array
    last_uncertified: Array
    largest_reward: Array


class Carry(NamedTuple):
    """Everything that a run carries from step to step; seeds along the last axis."""

    state: Any
    tally: Tally
    history: History | None
    records: Array  # (rows, fields of Tally, lanes); the last row is scratch


class Deal(NamedTuple):
    """The randomness of one block, (BLOCK, lanes)."""

    contexts: Any
    noises: Array
    keys: Array


class Game(NamedTuple):
    """Who plays what."""

    policy: Partitioned
    problem: Partitioned


def over_seeds(function: Callable[..., Any], n_fixed: int = 0) -> Callable[..., Any]:
    """`function` for all seeds: its first `n_fixed` arguments are shared, the rest have lanes."""

    def called(*args: Any) -> Any:
        fixed, mapped = args[:n_fixed], args[n_fixed:]
        if jax.tree.leaves(mapped)[0].shape[-1] == 1:
            single = jax.tree.map(lambda leaf: leaf[..., 0], mapped)
            return jax.tree.map(
                lambda leaf: jnp.asarray(leaf)[..., None], function(*fixed, *single)
            )
        axes = (None,) * n_fixed + (-1,) * len(mapped)
        return jax.vmap(function, in_axes=axes, out_axes=-1)(*args)

    return called


@jit_quickly
def named_keys(seeds: ArrayLike) -> dict[str, Array]:
    """One key per purpose and seed: changing the policy changes no context and no noise."""

    def split(seed: Array) -> dict[str, Array]:
        key = jax.random.key(seed)
        names = ("contexts", "noise", "policy", "refresh", "init")
        return dict(zip(names, jax.random.split(key, len(names)), strict=True))

    return jax.vmap(split)(jnp.asarray(seeds))


@jax.jit
def deal(held: Partitioned, keys: dict[str, Array], block: ArrayLike) -> Deal:
    """The randomness of the steps of one block of a problem."""
    problem = held.combine()

    def one(keys: dict[str, Array]) -> Deal:
        fold = {name: jax.random.fold_in(key, block) for name, key in keys.items()}
        return Deal(
            problem.contexts(fold["contexts"], BLOCK),
            problem.noises(fold["noise"], BLOCK),
            draws.keys(fold["policy"], BLOCK),
        )

    dealt: Deal = over_seeds(one)(keys)
    return dealt


@partial(jit_quickly, static_argnums=(2, 3))
def start(game: Game, keys: dict[str, Array], capacity: int, rows: int) -> Carry:
    """Everything before the first step, with room for a history (if any) and for records."""
    policy, problem = (held.combine() for held in game)
    state = over_seeds(policy.init)(keys["init"])
    zeros = jnp.zeros(keys["init"].shape, dtype=jnp.float64)
    tally = Tally(*[zeros] * len(Tally._fields))
    records = jnp.zeros((rows, len(tally), *zeros.shape))
    history = None
    if capacity:
        one = jax.tree.map(lambda leaf: leaf[0], problem.contexts(keys["contexts"][0], 1))
        empty = empty_history(one, capacity)
        lanes = zeros.shape[0]
        history = jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], lanes, axis=-1), empty)
    return Carry(state, tally, history, records)


Turn = tuple[Game, Deal, Array | NDArray[np.int32], ArrayLike, ArrayLike]
"""Who plays, with what randomness, where each step of the block is recorded (BLOCK,), and the steps
first + 1 .. last, all of one block."""


def advance(turn: Turn, carry: Carry) -> Carry:
    """Some steps of all seeds.

    The loop takes only the block of the history that it writes: a step costs the same, and the same
    program serves, however long the history is.
    """
    history = carry.history
    if history is None:
        played: Carry = steps_of_a_block(turn, carry)
        return played
    first: Any = turn[-2]
    start = np.asarray(first - first % BLOCK)
    after: Carry = steps_of_a_block(turn, carry._replace(history=_cut(history, start)))
    return after._replace(history=_pasted(history, start, after.history))


@partial(jax.jit, donate_argnums=1)
def steps_of_a_block(turn: Turn, carry: Carry) -> Carry:
    """`advance`, where the carry has one block of the history."""
    game, dealt, slots, first, last = turn
    sides = tuple(held.combine() for held in game)
    n_records = len(carry.records) - 1

    def step(t: Array, carry: Carry) -> Carry:
        i = t % BLOCK
        now = jax.tree.map(lambda leaf: leaf[i], dealt)
        play = over_seeds(_round, n_fixed=2)
        state, tally, (choice, reward) = play(sides, t + 1, carry.state, carry.tally, now)
        history = carry.history
        if history is not None:
            history = _written(history, i, now.contexts, choice, reward)
        at = slots[i]
        records = jax.lax.cond(at < n_records, _recorded, _kept, carry.records, at, tally)
        return Carry(state, tally, history, records)

    def loop(carry: Carry) -> Carry:
        result: Carry = jax.lax.fori_loop(first, last, step, carry)
        return result

    return loop(carry)


_cut = jit_quickly(read_block)
_pasted = jit_quickly(write_block, donate_argnums=0)


def _recorded(records: Array, slot: Array, tally: Tally) -> Array:
    return _put(records, slot, jnp.stack(tally))


def _kept(records: Array, slot: Array, tally: Tally) -> Array:
    del slot, tally
    return records


def _round(
    sides: tuple[Any, Any], step: Array, state: Any, tally: Tally, dealt: Deal
) -> tuple[Any, Tally, tuple[Choice, Array]]:
    """One step of one seed, between a policy and a problem."""
    policy, problem = sides
    context = dealt.contexts
    mask, means = problem.mask(context), problem.means(context)
    choice = policy.act(state, context, mask, dealt.keys)
    available = mask & (jnp.arange(means.shape[0]) == choice.action)
    played = jnp.where(available, means, -jnp.inf).max()  # of no available action: refused later
    reward = problem.reward(played, dealt.noises)
    state = learned(policy, state, context, choice.action, reward, choice.certified)
    regret = jnp.where(mask, means, -jnp.inf).max() - played
    return state, _tallied(tally, choice, regret, reward, step), (choice, reward)


def _tallied(tally: Tally, choice: Choice, regret: Array, reward: Array, step: Array) -> Tally:
    trivial = choice.certified & jnp.isinf(choice.glr)
    wrong = choice.certified & (regret > 0)
    now = step.astype(jnp.float64)
    return Tally(
        regret=tally.regret + regret,
        certified=tally.certified + (choice.certified & ~trivial),
        trivial=tally.trivial + trivial,
        wrong=tally.wrong + wrong,
        wrong_regret=tally.wrong_regret + jnp.where(wrong, regret, 0.0),
        last_regret=jnp.where(regret > 0, now, tally.last_regret),
        last_uncertified=jnp.where(choice.certified, tally.last_uncertified, now),
        largest_reward=jnp.maximum(tally.largest_reward, jnp.abs(reward)),
    )


def _written(block: History, i: Array, contexts: Any, choice: Choice, rewards: Array) -> History:
    """A block of the history of all seeds after its round i + 1."""
    return History(
        jax.tree.map(lambda buffer, x: _put(buffer, i, x), block.contexts, contexts),
        _put(block.actions, i, choice.action.astype(jnp.int32)),
        _put(block.rewards, i, rewards),
        _put(block.certified, i, choice.certified),
        jnp.full_like(block.n, i + 1),
    )


def _put(buffer: Array, index: Array, value: Array) -> Array:
    written: Array = jax.lax.dynamic_update_index_in_dim(buffer, value, index, axis=0)
    return written


def refreshed(
    fixed: tuple[Partitioned, dict[str, Array], ArrayLike], carry: Carry
) -> tuple[Carry, dict[str, Array]]:
    """All seeds at the start of the next phase, and what the policy has to report.

    A policy whose seeds run one by one has much to compute here, such as training a network.
    """
    much = carry.records.shape[-1] == 1
    after: tuple[Carry, dict[str, Array]] = (_phase_end if much else _short_end)(fixed, carry)
    return after


def phase_end(
    fixed: tuple[Partitioned, dict[str, Array], ArrayLike], carry: Carry
) -> tuple[Carry, dict[str, Array]]:
    """`refreshed`, to be compiled."""
    held, keys, step = fixed
    policy = held.combine()

    def refresh(state: Any, key: Array, history: History | None) -> Any:
        return policy.refresh(state, history, jax.random.fold_in(key, step))

    state = over_seeds(refresh)(carry.state, keys["refresh"], carry.history)
    return carry._replace(state=state), _report(policy, state)


_phase_end = jax.jit(phase_end, donate_argnums=1)
_short_end = jit_quickly(phase_end, donate_argnums=1)


@jit_quickly
def moved(held: Partitioned, other: Partitioned, state: Any) -> Any:
    """All states of one policy as states of another (see `Policy.narrowed`)."""
    policy, target = held.combine(), other.combine()

    def move(state: Any) -> Any:
        return policy.moved(state, target)

    return over_seeds(move)(state)


@jax.jit
def reported(held: Partitioned, state: Any) -> dict[str, Array]:
    """What the policy has to report before the first step."""
    return _report(held.combine(), state)


def _report(policy: Any, state: Any) -> dict[str, Array]:
    if not hasattr(policy, "report"):
        return {}
    mapped: dict[str, Array] = over_seeds(policy.report)(state)
    return mapped
