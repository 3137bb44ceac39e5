"""How fast is a step on this machine? Linear policies and networks, next to LinUCB in NumPy."""

import time
from typing import Any, NamedTuple

import numpy as np

from banditsrl.policies.policy_catalogue import make_policy
from banditsrl.problems.problem_catalogue import make_problem
from banditsrl.simulation.run_plan import SEEDS_AT_ONCE
from banditsrl.simulation.simulate import simulate

NUMPY_PROBLEM, NUMPY_STEPS = "vardim-realizable", 2_000


class TimedCase(NamedTuple):
    """What is timed: all seeds at once, as `simulate` runs them."""

    problem: str
    policy: str
    horizon: int
    n_seeds: int


CASES = (
    TimedCase("vardim-realizable", "glrt-linucb", 4_000, SEEDS_AT_ONCE),
    TimedCase("vardim-realizable", "banditsrl-linucb", 4_000, SEEDS_AT_ONCE),
    TimedCase("wheel", "nn-banditsrl-egreedy", 2_000, 1),
    TimedCase("wheel", "banditsrl-auto", 2_000, 1),
)


def bench() -> dict[str, Any]:
    """Return microseconds per step and seed, training included, and NumPy's over each of them."""
    reference = _numpy_step()
    found: dict[str, Any] = {"numpy": {"us_per_step": 1e6 * reference, "ratio": 1.0}}
    for case in CASES:
        problem = make_problem(case.problem)
        policy = make_policy(case.policy, problem)
        simulate(problem, policy, horizon=case.horizon, seeds=case.n_seeds)  # compiles
        started = time.perf_counter()
        simulate(problem, policy, horizon=case.horizon, seeds=case.n_seeds)
        step = (time.perf_counter() - started) / (case.horizon * case.n_seeds)
        found[case.policy] = {"us_per_step": 1e6 * step, "ratio": reference / step}
    return found


def _numpy_step() -> float:
    """Seconds per step of LinUCB with rank-one updates, one seed, one step after the other."""
    problem = make_problem(NUMPY_PROBLEM)
    features, means = problem.representations[0].features, problem.mean_rewards
    n_contexts, _, dim = features.shape
    rng = np.random.default_rng(0)
    inverse, response = np.eye(dim), np.zeros(dim)
    started = time.perf_counter()
    for _ in range(NUMPY_STEPS):
        context = int(rng.integers(n_contexts))
        phi = features[context]
        widths = np.sqrt(np.einsum("ad,de,ae->a", phi, inverse, phi))
        action = int(np.argmax(phi @ inverse @ response + widths))
        reward = means[context, action] + 0.3 * rng.normal()
        along = inverse @ phi[action]
        inverse = inverse - np.outer(along, along) / (1.0 + phi[action] @ along)
        response = response + reward * phi[action]
    return (time.perf_counter() - started) / NUMPY_STEPS
