"""Forty seeds of a policy, and the regret of the second half of their steps."""

from typing import Any

import banditsrl


def run(problem: Any, name: str, horizon: int, **settings: Any) -> banditsrl.Result:
    policy = banditsrl.make_policy(name, problem, **settings)
    steps = [horizon // 2, horizon]
    return banditsrl.simulate(problem, policy, horizon=horizon, seeds=40, steps=steps)


def half(result: banditsrl.Result) -> Any:
    return result.regret[:, -1] - result.regret[:, 0]
