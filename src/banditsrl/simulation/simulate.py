"""What happens when a policy meets a problem? All seeds at once, compiled, in lanes.

Seeds run side by side in a fixed number of lanes, so a seed gives the same numbers alone, among
others, or in any order. Each seed is split into named keys (contexts, noise, policy): changing
the policy changes neither the contexts nor the noise. The rounds themselves are in `rounds`.
"""

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count, positive
from banditsrl.core.adapters import as_problem
from banditsrl.core.history import BLOCK
from banditsrl.core.phases import phase_ends
from banditsrl.core.policy import embeddings, keeps_history, unmapped_lanes
from banditsrl.errors import InvalidType
from banditsrl.numerics.draws import is_key
from banditsrl.numerics.partition import partition
from banditsrl.numerics.precision import in_float64
from banditsrl.simulation import loop as rounds
from banditsrl.simulation import run_checks as checks
from banditsrl.simulation.checkpoint import Checkpoint, Saved, Slot, strong, unpacked
from banditsrl.simulation.loop import Carry, Game, Tally
from banditsrl.simulation.result import Result

LANES = 40
"""Seeds that run side by side; fewer are padded, more run in batches."""

MOST_IN_LANES = 64
"""With embeddings of more dimensions one seed keeps a core busy, and padding would be a waste."""

ROWS = 128
"""Records are kept in a multiple of so many rows: programs are compiled for the number."""

WORTH_A_PROGRAM = 4096
"""Steps of a run from which on it pays to compile a cheaper program for some of its phases."""

Progress = Callable[..., None]


class Plan(NamedTuple):
    """What is to be run."""

    policy: Any
    problem: Any
    game: Game  # the two, held
    horizon: int
    recorded: NDArray[np.int64]  # steps, (K,)
    ends: list[int]  # phase ends
    lanes: int


class Batch(NamedTuple):
    """What came of one batch of seeds."""

    carry: Carry
    reports: list[dict[str, NDArray[Any]]]


@in_float64
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
    checkpoint: Checkpoint | None = None,
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
        progress: Called now and then with the steps done and the steps in all; and with the mean
            `regret` so far of the seeds that are running, if it takes that.
        checkpoint: Where to save the state now and then, and to continue from; the result is the
            same with and without an interruption.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> policy = banditsrl.LinUCB(problem.representations[0], sigma=problem.sigma)
        >>> result = banditsrl.simulate(problem, policy, horizon=1000, seeds=5)
        >>> bool(result.mean[-1] < 100)
        True
    """
    started = time.perf_counter()
    checks.check_players(problem, policy)
    if reward_bound is not None:
        positive("reward_bound", reward_bound)
    if not (progress is None or callable(progress)):
        raise InvalidType(f"progress must be a function, got {progress!r}.")
    chosen = checks.chosen_seeds(seeds)
    plan = _plan(problem, policy, count("horizon", horizon), steps)
    batches = []
    for index, first in enumerate(range(0, len(chosen), plan.lanes)):
        batch = chosen[first : first + plan.lanes]
        tell = _telling(progress, first * horizon, len(batch), len(chosen) * horizon)
        batches.append(_run(plan, batch, tell, Slot(checkpoint, index)))
    seconds = time.perf_counter() - started
    result = _result(plan, chosen, batches, name=name, seconds=seconds)
    checks.refuse_what_was_not_offered(result)
    checks.warn_of_bounds(result, policy, reward_bound)
    return result


def lanes_of(policy: Any) -> int:
    """How many seeds a policy runs side by side: as it says, or else by its embeddings' size."""
    if hasattr(policy, "lanes"):
        return int(policy.lanes)
    largest = max((embedding.dim for embedding in embeddings(policy)), default=0)
    return unmapped_lanes() if largest > MOST_IN_LANES else LANES


def _plan(problem: Any, policy: Any, horizon: int, steps: Sequence[int] | None) -> Plan:
    growth = getattr(policy, "phase_growth", None)
    game = Game(partition(policy), partition(as_problem(problem).anonymous()))
    return Plan(
        game.policy.combine(),
        problem,
        game,
        horizon,
        checks.recorded_steps(steps, horizon),
        phase_ends(growth, horizon) if growth else [],
        lanes_of(policy),
    )


def _run(plan: Plan, seeds: NDArray[np.int64], tell: Callable[..., None], slot: Slot) -> Batch:
    """One batch of seeds from the first step, or from where it was saved, to the last."""
    whole = plan.game
    padding = np.full(plan.lanes - len(seeds), seeds[-1])
    keys = rounds.named_keys(np.concatenate([seeds, padding]))
    capacity = plan.horizon if keeps_history(plan.policy) else 0
    carry = strong(rounds.start(whole, keys, capacity, _rows(plan.recorded)))
    done, game, reports, carry = _resumed(plan, carry, slot.load())
    for first, last in _segments(plan, done):
        if first % BLOCK == 0 or first == done:
            dealt = rounds.deal(whole.problem, keys, np.asarray(first // BLOCK))
            slots = _slots(plan.recorded, first - first % BLOCK)
        fixed = (game, dealt, slots, np.asarray(first), np.asarray(last))
        carry = rounds.advance(fixed, carry)
        if last in plan.ends:
            carry = _handed_over(carry, game, whole)
            carry, report = rounds.refreshed((whole.policy, keys, np.asarray(last)), carry)
            reports.append(_copied(report))
            game = _narrowed(plan, reports[-1], last)
            carry = strong(_handed_over(carry, whole, game))
        tell(last, carry.tally.regret)
        slot.save_if_due(last, (reports, carry))
    carry = _handed_over(carry, game, whole)
    batch = Batch(carry._replace(history=None), reports)
    if len(seeds) < plan.lanes:
        batch = jax.tree.map(lambda leaf: _on_host(leaf)[..., : len(seeds)], batch)
    return batch


def _resumed(
    plan: Plan, carry: Carry, saved: Saved | None
) -> tuple[int, Game, list[dict[str, NDArray[Any]]], Carry]:
    """The last step done, who is playing, the reports so far, and the carry."""
    whole = plan.game
    reports = [_copied(rounds.reported(whole.policy, carry.state))]
    if saved is None:
        return 0, whole, reports, carry
    ended = [end for end in plan.ends if end <= saved.step]
    reports, rest = unpacked(reports * (1 + len(ended)), saved.arrays)
    game = _narrowed(plan, reports[-1], ended[-1]) if ended else whole
    carry, _ = unpacked(strong(_handed_over(carry, whole, game)), rest)
    return saved.step, game, reports, carry


def _narrowed(plan: Plan, report: dict[str, NDArray[Any]], step: int) -> Game:
    """Who plays the phase that begins: the policy, or a cheaper one with the same choices."""
    del report, step
    return plan.game


def _copied(report: dict[str, Array]) -> dict[str, NDArray[Any]]:
    """A report on the host, since the buffers of a run are reused."""
    return {name: np.array(value) for name, value in report.items()}


def _handed_over(carry: Carry, game: Game, other: Game) -> Carry:
    if game is other:
        return carry
    return carry._replace(state=rounds.moved(game.policy, other.policy, carry.state))


def _segments(plan: Plan, done: int) -> Iterator[tuple[int, int]]:
    """Consecutive (first, last) step ranges after `done`, cut at phase ends and block ends."""
    ends = {*plan.ends, *range(BLOCK, plan.horizon, BLOCK), plan.horizon}
    cuts = sorted(end for end in ends if end > done)
    return zip([done, *cuts], cuts, strict=False)


def _rows(recorded: NDArray[np.int64]) -> int:
    """Rows for the records and for scratch."""
    return ROWS * -(-(len(recorded) + 1) // ROWS)


def _slots(recorded: NDArray[np.int64], offset: int) -> NDArray[np.int32]:
    """For each step of a block, its row among the records (the last row is scratch)."""
    slots = np.full(BLOCK, _rows(recorded) - 1, dtype=np.int32)
    inside = (recorded > offset) & (recorded <= offset + BLOCK)
    slots[recorded[inside] - offset - 1] = np.flatnonzero(inside)
    return slots


def _result(
    plan: Plan, seeds: NDArray[np.int64], batches: list[Batch], *, name: str | None, seconds: float
) -> Result:
    policy, problem = plan.policy, plan.problem
    records = _joined([batch.carry.records for batch in batches])
    rows = records[: len(plan.recorded)]  # (K, fields, S)
    columns = {field: rows[:, k].T for k, field in enumerate(Tally._fields)}
    totals = {f: _joined([getattr(b.carry.tally, f) for b in batches]) for f in Tally._fields}
    for field in ("last_regret", "last_uncertified", "largest_reward"):
        del columns[field]
    names = batches[0].reports[0]
    return Result(
        problem=problem.name,
        policy=name or type(policy).__name__,
        horizon=plan.horizon,
        seeds=seeds,
        steps=plan.recorded,
        last_regret=totals["last_regret"].astype(np.int64),
        last_uncertified=totals["last_uncertified"].astype(np.int64),
        largest_reward=totals["largest_reward"],
        phases=np.asarray(plan.ends, dtype=np.int64),
        reports={field: _reports(batches, field) for field in names},
        state=_state(batches),
        pmf_draws=int(getattr(policy, "pmf_draws", 0)),
        seconds=seconds,
        **columns,
    )


def _reports(batches: list[Batch], field: str) -> NDArray[Any]:
    """What was reported of one thing, (S, J + 1, ...)."""
    stacked = [np.stack([report[field] for report in batch.reports]) for batch in batches]
    return np.moveaxis(_joined(stacked), -1, 0)


def _state(batches: list[Batch]) -> Any:
    """The states of all seeds, side by side."""
    states = [batch.carry.state for batch in batches]

    def beside(*leaves: Any) -> Any:
        return jnp.concatenate(leaves, axis=-1) if is_key(leaves[0]) else _joined(leaves)

    return jax.device_put(states[0] if len(states) == 1 else jax.tree.map(beside, *states))


def _on_host(leaf: Any) -> Any:
    """As NumPy's array, where slicing takes no compiling; a random key as it is."""
    return leaf if is_key(leaf) else np.asarray(leaf)


def _joined(arrays: Sequence[Any]) -> NDArray[Any]:
    """Batches side by side along their last axis, the seeds."""
    return np.concatenate([np.asarray(array) for array in arrays], axis=-1)


def _telling(
    progress: Progress | None, done: int, n_seeds: int, total: int
) -> Callable[[int, Array], None]:
    if progress is None:
        return lambda _, __: None
    wants_regret = "regret" in inspect.signature(progress).parameters

    def tell(step: int, regret: Array) -> None:
        now = {"regret": float(np.asarray(regret)[:n_seeds].mean())} if wants_regret else {}
        progress(done + step * n_seeds, total, **now)

    return tell
