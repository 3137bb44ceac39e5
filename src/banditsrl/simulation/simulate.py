"""How is a policy simulated on a problem? All seeds side by side, in batches, step after step.

Seeds run side by side in batches of a fixed size, so a seed gives the same numbers alone, among
others, or in any order. A batch plays segments of steps (see `loop`), ends phases between them, and
is saved to a checkpoint now and then.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count, positive
from banditsrl.core.adapters import Progress
from banditsrl.core.history import BLOCK
from banditsrl.core.phases import phase_ends
from banditsrl.core.policy import Policy
from banditsrl.core.problem import Problem
from banditsrl.errors import ContractViolation
from banditsrl.numerics.draws import is_key
from banditsrl.numerics.partition import partition
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import seeds_of_a_network
from banditsrl.simulation import loop, run_checks
from banditsrl.simulation.checkpoint import Checkpoint, Slot, drop_weak_types, unpack
from banditsrl.simulation.collecting import BatchOutcome, collect_result
from banditsrl.simulation.dealing import deal_block, name_keys
from banditsrl.simulation.failed_runs import explain_failure
from banditsrl.simulation.loop import Carry, Game, Steps
from banditsrl.simulation.named_sides import (
    GivenPolicy,
    GivenProblem,
    find_policy,
    find_problem,
    name_policy,
    show_progress,
)
from banditsrl.simulation.result import Result

HORIZON = 5_000
"""Steps simulated unless a number is given: enough for a first certificate on small problems."""

SEEDS_AT_ONCE = 40
"""Seeds that run side by side; fewer are padded, more run in several batches."""

LARGEST_DIM_SIDE_BY_SIDE = 64
"""With embeddings of more dimensions one seed keeps a core busy, and padding would be a waste."""

LONG_RUN, LONG_PHASE = 4096, 256
"""From so many steps on, a program for arrays without padding is worth its compilation."""

ROWS = 128
"""Records are kept in a multiple of so many rows, so that few sizes are compiled."""

Reports = list[dict[str, NDArray[Any]]]


class RunPlan(NamedTuple):
    """What is to be simulated."""

    policy: Policy[Any]
    problem: Problem
    game: Game  # the two, ready for compiled programs
    horizon: int
    recorded: NDArray[np.int64]  # recorded steps, (K,)
    ends: list[int]  # phase ends
    batch_size: int  # seeds side by side


@in_float64
def simulate(
    problem: GivenProblem,
    policy: GivenPolicy,
    *,
    horizon: int = HORIZON,
    seeds: int | Sequence[int] = 40,
    steps: Sequence[int] | None = None,
    name: str | None = None,
    reward_bound: float | None = None,
    progress: bool | Callable[..., None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Run a policy on a problem for `horizon` steps with every seed.

    Args:
        problem: A problem, its name or file (see `make_problem`), or any object with the members of
            one.
        policy: A policy, its name (see `make_policy`), or any object with `init`, `act` and
            `learn`.
        horizon: Number of steps.
        seeds: How many seeds (0, 1, ...), or which ones.
        steps: The steps to record, in increasing order; about a hundred by default.
        name: Name of the policy in tables; the name given, or its class, by default.
        reward_bound: Warn when a reward exceeds this in absolute value.
        progress: True shows a bar. A function is called now and then with the steps done and the
            steps in all, and with the mean `regret` so far of the seeds that are running if it has
            a parameter of that name.
        checkpoint: Where to save the state now and then, and to continue from; the result is the
            same with and without an interruption.

    Example:
        >>> import banditsrl
        >>> result = banditsrl.simulate("vardim-realizable", "linucb", horizon=1000, seeds=5)
        >>> bool(result.mean[-1] < 100)
        True
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> policy = banditsrl.LinUCB(problem.representations[0], sigma=problem.sigma)
        >>> same = banditsrl.simulate(problem, policy, horizon=1000, seeds=5)
        >>> bool((same.regret == result.regret).all())
        True
    """
    started = time.perf_counter()
    plan = make_run_plan(problem, policy, horizon=count("horizon", horizon), steps=steps)
    if reward_bound is not None:
        positive("reward_bound", reward_bound)
    run_checks.warn_of_few_steps(plan.policy, plan.problem, horizon)
    label = name or name_policy(policy)
    chosen = run_checks.check_seeds(seeds)
    with show_progress(progress, label) as report:
        outcomes = _run_all(plan, chosen, report, checkpoint)
    result = collect_result(
        outcomes,
        problem=plan.problem.name,
        policy=label,
        seeds=chosen,
        horizon=plan.horizon,
        recorded=plan.recorded,
        phases=plan.ends,
        pmf_draws=plan.policy.pmf_draws,
        seconds=time.perf_counter() - started,
    )
    run_checks.check_means(result)
    try:
        run_checks.check_offered(result)
    except ContractViolation as error:
        explain_failure(error, plan.policy, plan.problem)
        raise
    run_checks.warn_of_exceeded_bounds(result, plan.policy, reward_bound)
    return result


def make_run_plan(
    given_problem: GivenProblem,
    given_policy: GivenPolicy,
    *,
    horizon: int,
    steps: Sequence[int] | None,
) -> RunPlan:
    """Check the two sides and plan what is to be simulated."""
    problem = find_problem(given_problem)
    policy = find_policy(given_policy, problem)
    run_checks.check_sizes(problem, policy)
    game = Game(partition(policy), partition(problem.anonymous()))
    growth = policy.phase_growth
    return RunPlan(
        policy=policy,
        problem=problem,
        game=game,
        horizon=horizon,
        recorded=run_checks.check_steps(steps, horizon),
        ends=phase_ends(growth, horizon, policy.longest_phase) if growth else [],
        batch_size=seeds_side_by_side(policy),
    )


def seeds_side_by_side(policy: Policy[Any]) -> int:
    """Return how many seeds run side by side: as the policy says, or by its embeddings' size."""
    if policy.seeds_at_once is not None:
        return policy.seeds_at_once
    largest = max((embedding.dim for embedding in policy.embeddings), default=0)
    return seeds_of_a_network() if largest > LARGEST_DIM_SIDE_BY_SIDE else SEEDS_AT_ONCE


def _run_all(
    plan: RunPlan,
    seeds: NDArray[np.int64],
    report: Progress | None,
    checkpoint: Checkpoint | None,
) -> list[BatchOutcome]:
    """Run all batches; if that fails, look first for a policy that breaks the contract."""
    outcomes, total = [], len(seeds) * plan.horizon
    try:
        for index, first in enumerate(range(0, len(seeds), plan.batch_size)):
            batch = seeds[first : first + plan.batch_size]
            tell = _make_teller(report, first * plan.horizon, len(batch), total)
            outcomes.append(_run_batch(plan, batch, tell, Slot(checkpoint, index)))
    except Exception as error:
        explain_failure(error, plan.policy, plan.problem)
        raise
    return outcomes


def _run_batch(
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


def _make_teller(
    progress: Progress | None, done: int, n_seeds: int, total: int
) -> Callable[[int, Array], None]:
    if progress is None:
        return lambda _, __: None

    def tell(step: int, regret: Array) -> None:
        progress(done + step * n_seeds, total, float(np.asarray(regret)[:n_seeds].mean()))

    return tell
