"""How is banditsrl used? `make_policy` and `simulate`, one setting for all problems.

The time per step is that of a second run, after compilation. The difference to the first run is
given as the time to compile.
"""

from typing import Any

from dealing import make_problem
from measuring import Moment, Record, now, peak_memory
from settings import OURS
from streams import CHECKPOINTS, recorded_steps

import banditsrl
from banditsrl.policies.policy_catalogue import POLICIES

PACKAGES = ("banditsrl", "jax")


def run(setting: str, *, problem: str, seed: int, steps: int) -> Record:
    """Run one policy on one problem with one seed, and return its record."""
    name, preset = OURS[setting]
    if name not in POLICIES:
        return {"status": "skipped", "reason": f"{name} is not a policy of this version"}
    built = make_problem(problem)
    policy = banditsrl.make_policy(name, built, preset=preset)
    before = peak_memory()
    first, _ = _time_run(built, policy, seed=seed, steps=steps)
    spent, result = _time_run(built, policy, seed=seed, steps=steps)
    curve = dict(zip(result.steps.tolist(), result.regret[0].tolist(), strict=True))
    return {
        "status": "done",
        "regret": {str(step): curve[step] for step in CHECKPOINTS if step <= steps},
        "curve": [[step, regret] for step, regret in curve.items()],
        **spent.per_step(steps),
        "memory_mb": peak_memory() - before,
        "compile_seconds": max(first.clock - spent.clock, 0.0),
        "certified": float(result.certified[0, -1] / steps),
    }


def _time_run(problem: Any, policy: Any, *, seed: int, steps: int) -> tuple[Moment, Any]:
    started = now()
    result = banditsrl.simulate(
        problem, policy, horizon=steps, seeds=[seed], steps=recorded_steps(steps)
    )
    return now().since(started), result
