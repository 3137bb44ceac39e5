"""How is a policy simulated on a problem? All seeds side by side, in batches, step after step.

Seeds run side by side in batches of a fixed size (see `batches`), so a seed gives the same numbers
alone, among others, or in any order.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count, positive
from banditsrl.core.adapters import Progress
from banditsrl.errors import ContractViolation
from banditsrl.numerics.precision import in_float64
from banditsrl.simulation import run_checks
from banditsrl.simulation.batches import run_batch
from banditsrl.simulation.checkpoint import Checkpoint, Slot
from banditsrl.simulation.collecting import BatchOutcome, collect_result
from banditsrl.simulation.failed_runs import explain_failure
from banditsrl.simulation.named_sides import GivenPolicy, GivenProblem, name_policy, show_progress
from banditsrl.simulation.result import Result
from banditsrl.simulation.run_plan import RunPlan, make_run_plan

HORIZON = 5_000
"""Steps simulated unless a number is given: enough for a first certificate on small problems."""


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
            outcomes.append(run_batch(plan, batch, tell, Slot(checkpoint, index)))
    except Exception as error:
        explain_failure(error, plan.policy, plan.problem)
        raise
    return outcomes


def _make_teller(
    progress: Progress | None, done: int, n_seeds: int, total: int
) -> Callable[[int, Array], None]:
    if progress is None:
        return lambda _, __: None

    def tell(step: int, regret: Array) -> None:
        progress(done + step * n_seeds, total, float(np.asarray(regret)[:n_seeds].mean()))

    return tell
