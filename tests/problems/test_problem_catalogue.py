"""Is everything with a name a problem, and does a stream describe the rounds of an application?"""

from typing import Any

import pytest

import banditsrl
from banditsrl.core.problem import Problem, Task
from banditsrl.core.representation import Representation
from banditsrl.problems import PROBLEMS
from banditsrl.problems.problem_catalogue import settings_of

SMALL = [name for name in PROBLEMS if name != "covertype"]


def check_task(task: Task) -> None:
    assert isinstance(task.name, str)
    assert task.n_actions > 1
    assert task.sigma is None or task.sigma >= 0.0
    for representation in task.representations:
        assert isinstance(representation, Representation)
        assert representation.n_actions == task.n_actions
        assert representation.n_contexts == task.n_contexts


@pytest.mark.parametrize("name", SMALL)
def test_what_a_name_stands_for_is_a_problem(name: str) -> None:
    problem = banditsrl.make_problem(name)
    assert isinstance(problem, Problem)
    check_task(problem)


def test_a_fresh_wheel_is_a_problem_and_a_stream_is_a_task_only() -> None:
    wheel = banditsrl.make_problem("wheel", n_contexts=None)
    assert isinstance(wheel, Problem)
    check_task(wheel)
    stream = banditsrl.Stream(3, 2)
    assert isinstance(stream, Task)
    assert not isinstance(stream, Problem)
    check_task(stream)


def test_a_problem_is_added_by_one_line_and_its_settings_are_those_of_its_maker() -> None:
    def make(*, size: int = 2, **_: Any) -> Problem:
        return banditsrl.FiniteProblem([[1.0] + [0.0] * (size - 1)])

    with PROBLEMS.temporary("mine", make):
        assert settings_of("mine") == ["size"]
        assert banditsrl.make_problem("mine", size=4).n_actions == 4
