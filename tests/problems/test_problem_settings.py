"""What is shown of a problem: a sentence and its settings with help."""

import inspect

import pytest

from banditsrl.problems import PROBLEMS
from banditsrl.problems.problem_catalogue import settings_of
from banditsrl.problems.problem_settings import describe_problem, list_problem_settings
from banditsrl.problems.wheel import wheel


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_problem_has_a_line_and_its_settings_have_help(name: str) -> None:
    assert describe_problem(name).endswith(".")
    assert len(describe_problem(name)) <= 56
    rows = list_problem_settings(name)
    shown = [row.name for row in rows]
    assert set(shown) == set(settings_of(name)) - {"name"}
    assert all(row.help for row in rows)


def test_defaults_are_those_of_the_function() -> None:
    shown = {row.name: row.default for row in list_problem_settings("wheel")}
    assert shown == {k: p.default for k, p in inspect.signature(wheel).parameters.items()}
