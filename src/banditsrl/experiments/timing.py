"""How fast is it here? The loop of a linear bandit, against the same steps in plain NumPy."""

import time
from typing import Any

import numpy as np

from banditsrl.experiments.simulate import LANES, simulate
from banditsrl.policies.catalogue import make_policy
from banditsrl.problems.catalogue import make_problem

PROBLEM = "vardim-realizable"
POLICIES = ("glrt-linucb", "banditsrl-linucb")
HORIZON, NUMPY_STEPS = 4_000, 2_000


def bench() -> dict[str, Any]:
    """Microseconds per step and seed, and how many times faster than NumPy that is."""
    reference = _numpy_step()
    found: dict[str, Any] = {"numpy": {"us_per_step": 1e6 * reference, "ratio": 1.0}}
    problem = make_problem(PROBLEM)
    for name in POLICIES:
        policy = make_policy(name, problem)
        simulate(problem, policy, horizon=HORIZON, seeds=LANES)  # compiles
        started = time.perf_counter()
        simulate(problem, policy, horizon=HORIZON, seeds=LANES)
        step = (time.perf_counter() - started) / (HORIZON * LANES)
        found[name] = {"us_per_step": 1e6 * step, "ratio": reference / step}
    return found


def _numpy_step() -> float:
    """Seconds per step of LinUCB with rank-one updates, one seed, one step after the other."""
    problem = make_problem(PROBLEM)
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
