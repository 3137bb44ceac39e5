"""What is to be simulated? The two sides, what is recorded, where phases end, seeds per batch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.phases import phase_ends
from banditsrl.core.policy import Policy
from banditsrl.core.problem import Problem
from banditsrl.numerics.partition import partition
from banditsrl.numerics.seed_axis import seeds_of_a_network
from banditsrl.simulation import run_checks
from banditsrl.simulation.loop import Game
from banditsrl.simulation.named_sides import GivenPolicy, GivenProblem, find_policy, find_problem

SEEDS_AT_ONCE = 40
"""Seeds that run side by side; fewer are padded, more run in several batches."""

LARGEST_DIM_SIDE_BY_SIDE = 64
"""With embeddings of more dimensions one seed keeps a core busy, and padding would be a waste."""


class RunPlan(NamedTuple):
    """What is to be simulated."""

    policy: Policy[Any]
    problem: Problem
    game: Game  # the two, ready for compiled programs
    horizon: int
    recorded: NDArray[np.int64]  # recorded steps, (K,)
    ends: list[int]  # phase ends
    batch_size: int  # seeds side by side


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
