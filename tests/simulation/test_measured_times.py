"""Measured times, on results made by hand."""

from dataclasses import replace

import numpy as np

import banditsrl
from banditsrl.simulation.measured_times import measured_times


def made(problem: banditsrl.FiniteProblem) -> banditsrl.Result:
    policy = banditsrl.Uniform(problem.representations[0])
    result = banditsrl.simulate(problem, policy, horizon=20, seeds=3)
    active = np.ones((3, 5, 2), dtype=bool)
    active[0, 2:, 1] = False
    active[1, 4:, 1] = False
    chosen = np.array([[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1]])
    return replace(
        result,
        phases=np.array([2, 4, 8, 16]),
        reports={"active": active, "representation": chosen},
        last_uncertified=np.array([5, 20, 0]),
    )


def test_times_are_read_off_the_reports(problem: banditsrl.FiniteProblem) -> None:
    times = measured_times(made(problem), hls=0)
    assert times.last_elimination.tolist() == [4, 16, np.inf]
    assert times.first_hls.tolist() == [2, 8, np.inf]
    assert times.first_certified.tolist() == [6, np.inf, 1]


def test_without_an_hls_candidate_there_is_no_such_time(problem: banditsrl.FiniteProblem) -> None:
    assert np.isinf(measured_times(made(problem)).first_hls).all()
