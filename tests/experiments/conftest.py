"""A result that the tests of tables and of the store share."""

import pytest

import banditsrl

STEPS = (10, 1_024, 1_025, 1_500)


@pytest.fixture(scope="session")
def result(problem: banditsrl.FiniteProblem) -> banditsrl.Result:
    """Two seeds of a policy that reports values of several kinds, over several phases."""
    policy = banditsrl.make_policy("banditsrl-egreedy", problem)
    return banditsrl.simulate(problem, policy, horizon=1_500, seeds=2, steps=STEPS)
