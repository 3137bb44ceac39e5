"""What happens when a policy meets a problem? All seeds at once, compiled, in lanes.

Seeds run side by side in a fixed number of lanes, so a seed gives the same numbers alone, among
others, or in any order. Each seed is split into named keys (contexts, noise, policy): changing
the policy changes neither the contexts nor the noise. Randomness is dealt in blocks of steps;
within a block one compiled loop with dynamic bounds serves every phase.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.errors import BoundExceeded, InvalidArgument
from banditsrl.experiments.result import Result
from banditsrl.linear.lanes import double
from banditsrl.policies.history import BLOCK, History, allocate
from banditsrl.policies.policy import learned, phase_ends

LANES = 40
"""Seeds that run side by side; fewer are padded, more run in batches."""

N_RECORDS = 100
"""Steps recorded when none are named."""

Progress = Callable[[int, int], None]


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
    records: Array  # (K + 1, fields of Tally, lanes); the last row is scratch


class Deal(NamedTuple):
    """The randomness of one block, (BLOCK, lanes)."""

    contexts: Any
    noises: Array
    keys: Array


@double
def simulate(
    problem: Any,
    policy: Any,
    *,
    horizon: int,
    seeds: int | Sequence[int] = 40,
    steps: Sequence[int] | None = None,
    name: str | None = None,
    reward_bound: float | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a policy on a problem for `horizon` steps with every seed.

    Args:
        problem: A problem, for example from `make_problem`.
        policy: A policy: ours, or any object with `init/act/learn`.
        horizon: Number of steps.
        seeds: How many seeds (0, 1, ...), or which ones.
        steps: The steps to record, in increasing order; about a hundred by default.
        name: What to call the policy in tables; its class by default.
        reward_bound: Warn when a reward exceeds this in absolute value.
        progress: Called now and then with the steps done and the steps in all.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> policy = banditsrl.LinUCB(problem.representations[0], sigma=problem.sigma)
        >>> result = banditsrl.simulate(problem, policy, horizon=1000, seeds=5)
        >>> bool(result.mean[-1] < 100)
        True
    """
    horizon = count("horizon", horizon)
    chosen = _seeds(seeds)
    recorded = _recorded(steps, horizon)
    lanes = int(getattr(policy, "lanes", LANES))
    started = time.perf_counter()
    batches = [chosen[i : i + lanes] for i in range(0, len(chosen), lanes)]
    total, done, parts = horizon * len(chosen), 0, []
    for batch in batches:
        report = _scaled(progress, done, len(batch), total)
        parts.append(_run(problem, policy, batch, lanes, horizon, recorded, report))
        done += horizon * len(batch)
    carries, reports, ends = (list(column) for column in zip(*parts, strict=True))
    result = _result(
        problem,
        policy,
        name,
        horizon,
        chosen,
        recorded,
        carries,
        reports,
        ends[0],
        time.perf_counter() - started,
    )
    _warn(result, reward_bound)
    return result


def _run(
    problem: Any,
    policy: Any,
    seeds: NDArray[np.int64],
    lanes: int,
    horizon: int,
    recorded: NDArray[np.int64],
    progress: Progress | None,
) -> tuple[Carry, list[dict[str, NDArray[Any]]], list[int]]:
    """One batch of seeds from the first step to the last."""
    padded = np.concatenate([seeds, np.full(lanes - len(seeds), seeds[-1])])
    keys = _named_keys(jnp.asarray(padded))
    carry = _start(policy, problem, keys, horizon, len(recorded))
    growth = getattr(policy, "phase_growth", None)
    ends = phase_ends(growth, horizon) if growth else []
    reports = [_report(policy, carry.state)]
    deal = None
    for first, last in _segments(horizon, ends):
        if deal is None or first % BLOCK == 0:
            deal = _deal(problem, keys, jnp.asarray(first // BLOCK))
            slots = _slots(recorded, first - first % BLOCK)
        carry = _advance(
            (policy, problem, deal, slots, jnp.asarray(first), jnp.asarray(last)), carry
        )
        if last in ends:
            carry = _refresh((policy, keys, jnp.asarray(last)), carry)
            reports.append(_report(policy, carry.state))
        if progress is not None and last % BLOCK == 0 or last == horizon:
            jax.block_until_ready(carry.tally.regret)
            if progress is not None:
                progress(last, horizon)
    kept = jax.tree.map(lambda leaf: leaf[..., : len(seeds)], carry._replace(history=None))
    return kept, [jax.tree.map(lambda x: x[..., : len(seeds)], r) for r in reports], ends


def _segments(horizon: int, ends: list[int]) -> Iterator[tuple[int, int]]:
    """Consecutive (first, last) step ranges cut at phase ends and block ends."""
    cuts = sorted({*ends, *range(BLOCK, horizon, BLOCK), horizon})
    return zip([0, *cuts], cuts, strict=False)


@eqx.filter_jit
def _named_keys(seeds: Array) -> dict[str, Array]:
    def split(seed: Array) -> dict[str, Array]:
        key = jax.random.key(seed)
        names = ("contexts", "noise", "policy", "refresh", "init")
        return dict(zip(names, jax.random.split(key, len(names)), strict=True))

    return jax.vmap(split)(seeds)


@eqx.filter_jit
def _deal(problem: Any, keys: dict[str, Array], block: Array) -> Deal:
    def one(keys: dict[str, Array]) -> Deal:
        fold = {name: jax.random.fold_in(key, block) for name, key in keys.items()}
        return Deal(
            problem.contexts(fold["contexts"], BLOCK),
            problem.noises(fold["noise"], BLOCK),
            jax.random.split(fold["policy"], BLOCK),
        )

    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), jax.vmap(one)(keys))


@eqx.filter_jit
def _start(
    policy: Any, problem: Any, keys: dict[str, Array], horizon: int, n_records: int
) -> Carry:
    state = jax.vmap(policy.init, out_axes=-1)(keys["init"])
    zeros = jnp.zeros(keys["init"].shape, dtype=jnp.float64)
    tally = Tally(*[zeros] * len(Tally._fields))
    records = jnp.zeros((n_records + 1, len(tally), *zeros.shape))
    history = None
    if getattr(policy, "uses_history", hasattr(policy, "refresh")):
        one = jax.tree.map(lambda leaf: leaf[0], problem.contexts(keys["contexts"][0], 1))
        empty = allocate(one, horizon)
        lanes = zeros.shape[0]
        history = jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], lanes, axis=-1), empty)
    return Carry(state, tally, history, records)


@eqx.filter_jit(donate="all-except-first")
def _advance(fixed: tuple[Any, Any, Deal, Array, Array, Array], carry: Carry) -> Carry:
    """Steps first + 1 .. last, all seeds."""
    policy, problem, deal, slots, first, last = fixed

    def step(t: Array, carry: Carry) -> Carry:
        i = t % BLOCK
        context, noise, key = jax.tree.map(lambda leaf: leaf[i], deal)
        lane = jax.vmap(_round, in_axes=(None, None, None, -1, -1, -1, -1, -1), out_axes=-1)
        state, tally, action, reward, certified = lane(
            policy, problem, t + 1, carry.state, carry.tally, context, noise, key
        )
        history = carry.history
        if history is not None:
            history = _written(history, t, context, action, reward, certified)
        row = jnp.stack(tally)  # (fields, lanes)
        return Carry(state, tally, history, carry.records.at[slots[i]].set(row))

    return jax.lax.fori_loop(first, last, step, carry)


def _round(
    policy: Any,
    problem: Any,
    step: Array,
    state: Any,
    tally: Tally,
    context: Any,
    noise: Array,
    key: Array,
) -> tuple[Any, Tally, Array, Array, Array]:
    """One step of one seed."""
    mask, means = problem.mask(context), problem.means(context)
    choice = policy.act(state, context, mask, key)
    played = (means * (jnp.arange(means.shape[0]) == choice.action)).sum()
    reward = problem.reward(played, noise)
    state = learned(policy, state, context, choice.action, reward, choice.certified)
    regret = jnp.where(mask, means, -jnp.inf).max() - played
    trivial = choice.certified & jnp.isinf(choice.glr)
    wrong = choice.certified & (regret > 0)
    now = step.astype(jnp.float64)
    tally = Tally(
        regret=tally.regret + regret,
        certified=tally.certified + (choice.certified & ~trivial),
        trivial=tally.trivial + trivial,
        wrong=tally.wrong + wrong,
        wrong_regret=tally.wrong_regret + jnp.where(wrong, regret, 0.0),
        last_regret=jnp.where(regret > 0, now, tally.last_regret),
        last_uncertified=jnp.where(choice.certified, tally.last_uncertified, now),
        largest_reward=jnp.maximum(tally.largest_reward, jnp.abs(reward)),
    )
    return state, tally, choice.action, reward, choice.certified


def _written(
    history: History, t: Array, context: Any, action: Array, reward: Array, certified: Array
) -> History:
    """The history of all seeds after step t + 1."""
    return History(
        jax.tree.map(lambda buffer, x: buffer.at[t].set(x), history.contexts, context),
        history.actions.at[t].set(action.astype(jnp.int32)),
        history.rewards.at[t].set(reward),
        history.certified.at[t].set(certified),
        jnp.full_like(history.n, t + 1),
    )


@eqx.filter_jit(donate="all-except-first")
def _refresh(fixed: tuple[Any, dict[str, Array], Array], carry: Carry) -> Carry:
    policy, keys, step = fixed
    folded = jax.vmap(lambda key: jax.random.fold_in(key, step))(keys["refresh"])
    refresh = jax.vmap(policy.refresh, in_axes=(-1, -1, 0), out_axes=-1)
    return carry._replace(state=refresh(carry.state, carry.history, folded))


def _report(policy: Any, state: Any) -> dict[str, NDArray[Any]]:
    report = getattr(policy, "report", None)
    if report is None:
        return {}
    # Copied to the host, since the state's own buffers are reused by the next step.
    return jax.tree.map(np.array, jax.vmap(report, in_axes=-1, out_axes=-1)(state))


def _slots(recorded: NDArray[np.int64], offset: int) -> Array:
    """For each step of a block, its row among the records (the last row is scratch)."""
    slots = np.full(BLOCK, len(recorded), dtype=np.int32)
    inside = (recorded > offset) & (recorded <= offset + BLOCK)
    slots[recorded[inside] - offset - 1] = np.flatnonzero(inside)
    return jnp.asarray(slots)


def _result(
    problem: Any,
    policy: Any,
    name: str | None,
    horizon: int,
    seeds: NDArray[np.int64],
    recorded: NDArray[np.int64],
    carries: list[Carry],
    reports: list[list[dict[str, NDArray[Any]]]],
    ends: list[int],
    seconds: float,
) -> Result:
    def joined(arrays: Sequence[Any]) -> NDArray[Any]:
        return np.concatenate([np.asarray(array) for array in arrays], axis=-1)

    rows = joined([carry.records[:-1] for carry in carries])  # (K, fields, S)
    columns = {field: rows[:, k].T for k, field in enumerate(Tally._fields)}
    last = {f: columns.pop(f)[:, -1] for f in ("last_regret", "last_uncertified", "largest_reward")}
    stacked = [{k: np.stack([r[k] for r in batch]) for k in batch[0]} for batch in reports]
    return Result(
        problem=problem.name,
        policy=name or type(policy).__name__,
        horizon=horizon,
        seeds=seeds,
        steps=recorded,
        last_regret=last["last_regret"].astype(np.int64),
        last_uncertified=last["last_uncertified"].astype(np.int64),
        largest_reward=last["largest_reward"],
        phases=np.asarray(ends, dtype=np.int64),
        reports={k: np.moveaxis(joined([s[k] for s in stacked]), -1, 0) for k in stacked[0]},
        state=jax.tree.map(
            lambda *leaves: jnp.concatenate(leaves, axis=-1), *[carry.state for carry in carries]
        ),
        pmf_draws=int(getattr(policy, "pmf_draws", 0)),
        seconds=seconds,
        **columns,
    )


def _seeds(seeds: int | Sequence[int]) -> NDArray[np.int64]:
    if isinstance(seeds, int):
        return np.arange(count("seeds", seeds), dtype=np.int64)
    chosen = [count("seeds", int(seed), 0) for seed in seeds]
    if not chosen:
        raise InvalidArgument("seeds must name at least one seed, got none.")
    return np.asarray(chosen, dtype=np.int64)


def _recorded(steps: Sequence[int] | None, horizon: int) -> NDArray[np.int64]:
    if steps is None:
        spaced = np.linspace(horizon / N_RECORDS, horizon, N_RECORDS)
        return np.unique(np.maximum(np.round(spaced), 1).astype(np.int64))
    recorded = np.asarray(steps, dtype=np.int64)
    increasing = (np.diff(recorded) > 0).all()
    if recorded.size == 0 or not increasing or recorded[0] < 1 or recorded[-1] > horizon:
        raise InvalidArgument(
            f"steps must increase within 1 and the horizon {horizon}, got {list(steps)}."
        )
    return recorded


def _scaled(progress: Progress | None, done: int, n_seeds: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda step, _: progress(done + step * n_seeds, total)


def _warn(result: Result, reward_bound: float | None) -> None:
    largest = float(result.largest_reward.max())
    if reward_bound is not None and largest > reward_bound:
        warnings.warn(
            f"reward_bound = {reward_bound:g} was given but a reward of {largest:g} was observed.",
            BoundExceeded,
            stacklevel=3,
        )
