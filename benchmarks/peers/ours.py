"""How is banditsrl used? `make_policy` and `simulate`, one setting for all problems.

Time per step is that of a second, compiled run; what the first took longer is given as the time to
compile.
"""

from typing import Any

from dealing import make_problem
from measuring import Moment, Record, now, peak_memory
from settings import OURS
from streams import CHECKPOINTS, recorded

import banditsrl
from banditsrl.policies.policy_catalogue import POLICIES

PACKAGES = ("banditsrl", "jax")


def run(setting: str, *, problem: str, seed: int, steps: int) -> Record:
    """One policy on one problem with one seed."""
    name, preset = OURS[setting]
    if name not in POLICIES:
        return {"status": "skipped", "reason": f"{name} is not a policy of this version"}
    built = make_problem(problem)
    policy = banditsrl.make_policy(name, built, preset=preset)
    before = peak_memory()
    first, _ = _timed(built, policy, seed=seed, steps=steps)
    spent, result = _timed(built, policy, seed=seed, steps=steps)
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


def _timed(problem: Any, policy: Any, *, seed: int, steps: int) -> tuple[Moment, Any]:
    started = now()
    result = banditsrl.simulate(problem, policy, horizon=steps, seeds=[seed], steps=recorded(steps))
    return now().since(started), result
