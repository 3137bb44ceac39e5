"""How is a batch of seeds played? Segment by segment, with the ends of phases in between.

Segments end where a phase ends and where a block of steps ends, for which contexts are dealt at
once. A batch is saved to a checkpoint now and then, and goes on from there.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.history import BLOCK
from banditsrl.numerics.draws import is_key
from banditsrl.simulation import loop
from banditsrl.simulation.checkpoint import Slot, drop_weak_types, unpack
from banditsrl.simulation.collecting import BatchOutcome
from banditsrl.simulation.dealing import deal_block, name_keys
from banditsrl.simulation.loop import Carry, Steps
from banditsrl.simulation.run_plan import RunPlan

LONG_RUN, LONG_PHASE = 4096, 256
"""From so many steps on, a program for arrays without padding is worth its compilation."""

ROWS = 128
"""Records are kept in a multiple of so many rows, so that few sizes are compiled."""

Reports = list[dict[str, NDArray[Any]]]


def run_batch(
    plan: RunPlan, seeds: NDArray[np.int64], tell: Callable[[int, Array], None], slot: Slot
) -> BatchOutcome:
    """Run one batch of seeds from the first step, or from where it was saved, to the last."""
    padding = np.full(plan.batch_size - len(seeds), seeds[-1])
    keys = name_keys(np.concatenate([seeds, padding]))
    done, reports, carry = _start_or_resume(plan, keys, slot)
    for first, last in _segments(plan, done):
        block = first - first % BLOCK
        if first in (done, *plan.ends):
            size = _find_size(plan, carry, first)
        if first in (block, done):
            dealt = deal_block(plan.game.problem, keys, np.asarray(block // BLOCK))
            rows = _rows_of_block(plan.recorded, block)
        steps = Steps(np.asarray(first), np.asarray(last), rows)
        whole = carry.history
        carry = loop.play_steps(plan.game, dealt, steps, loop.open_block(carry, block), size)
        carry = loop.close_block(carry, whole, block)
        if last in plan.ends:
            carry, report = loop.end_phase(plan.game.policy, keys, np.asarray(last), carry)
            carry = drop_weak_types(carry)
            reports.append(_copy_to_host(report))
        tell(last, carry.tally.regret)
        slot.save_if_due(last, (reports, carry))
    outcome = BatchOutcome(carry.state, carry.tally, carry.records, reports)
    if len(seeds) == plan.batch_size:
        return outcome
    cut: BatchOutcome = jax.tree.map(lambda leaf: _drop_padding(leaf, len(seeds)), outcome)
    return cut


def _start_or_resume(
    plan: RunPlan, keys: dict[str, Array], slot: Slot
) -> tuple[int, Reports, Carry]:
    """Return the last step done, the reports so far, and the carry."""
    keeps_history = bool(plan.ends) and plan.policy.uses_history
    n_rows = ROWS * -(-len(plan.recorded) // ROWS)
    carry = loop.start_run(plan.game, keys, plan.horizon if keeps_history else 0, n_rows)
    carry = drop_weak_types(carry)
    reports = [_copy_to_host(loop.report_state(plan.game.policy, keys, carry.state))]
    saved = slot.load()
    if saved is None:
        return 0, reports, carry
    n_ended = sum(end <= saved.step for end in plan.ends)
    reports, rest = unpack(reports * (1 + n_ended), saved.arrays)
    carry, _ = unpack(carry, rest)
    return saved.step, reports, carry


def _find_size(plan: RunPlan, carry: Carry, first: int) -> int | None:
    """Return the size to which states are cut until the phase ends, or None if they are not."""
    start = max((end for end in plan.ends if end <= first), default=0)
    end = min((end for end in plan.ends if end > first), default=plan.horizon)
    if plan.horizon < LONG_RUN or end - start < LONG_PHASE:
        return None
    return loop.find_size(plan.game.policy, carry.state)


def _segments(plan: RunPlan, done: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive (first, last) step ranges after `done`, cut at phase and block ends."""
    ends = {*plan.ends, *range(BLOCK, plan.horizon, BLOCK), plan.horizon}
    cuts = sorted(end for end in ends if end > done)
    return zip([done, *cuts], cuts, strict=False)


def _rows_of_block(recorded: NDArray[np.int64], block: int) -> NDArray[np.int32]:
    """Return for each step of a block its row among the records, or -1."""
    rows = np.full(BLOCK, -1, dtype=np.int32)
    inside = (recorded > block) & (recorded <= block + BLOCK)
    rows[recorded[inside] - block - 1] = np.flatnonzero(inside)
    return rows


def _copy_to_host(report: dict[str, Array]) -> dict[str, NDArray[Any]]:
    """Copy a report, since the buffers of a run are reused."""
    return {name: np.array(value) for name, value in report.items()}


def _drop_padding(leaf: Any, n_seeds: int) -> Any:
    """Keep the first seeds; on the host, where slicing takes no compiling, unless it is a key."""
    return (leaf if is_key(leaf) else np.asarray(leaf))[..., :n_seeds]
