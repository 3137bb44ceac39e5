"""Which problem and which policy are meant? Objects as they are, and names looked up."""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

from banditsrl.core.adapters import Progress, as_policy, as_problem, as_progress
from banditsrl.core.policy import AnyPolicy, Policy
from banditsrl.core.problem import AnyProblem, Problem
from banditsrl.display.progress_bar import ProgressBar
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.policies.policy_catalogue import POLICIES, make_policy
from banditsrl.policies.uniform import Uniform
from banditsrl.problems.problem_catalogue import look_up_problem

GivenProblem: TypeAlias = AnyProblem | str | Path
"""A problem, or what `make_problem` takes."""

GivenPolicy: TypeAlias = AnyPolicy | str
"""A policy, or a name that `make_policy` knows."""

ON_CANDIDATE = " on candidate "
"""Between the name of a policy and the number of the candidate that it works on."""


def find_problem(given: GivenProblem) -> Problem:
    """Return a problem as it is, or the one that a name or a file stands for."""
    return as_problem(look_up_problem(given))


def find_policy(given: GivenPolicy, problem: Problem) -> Policy[Any]:
    """Return a policy as it is, or the one of that name for this problem."""
    return make_policy(given, problem) if isinstance(given, str) else as_policy(given)


def name_policy(given: GivenPolicy) -> str:
    """Return the name in tables: the name given, or that of the policy."""
    return given if isinstance(given, str) else as_policy(given).display_name


def name_policies(
    given: Sequence[GivenPolicy] | Mapping[str, GivenPolicy], problem: Problem
) -> dict[str, GivenPolicy]:
    """Return policies by name, with the candidate they work on; those of one name are numbered."""
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):
        raise InvalidType(
            "policies must be a list of policies and names, or a dictionary of them by name, "
            f"got {given!r}."
        )
    if not given:
        raise InvalidArgument("policies must hold at least one policy, got none.")
    if isinstance(given, Mapping):
        return dict(given)
    named: dict[str, GivenPolicy] = {}
    for policy in given:
        plain = f"{name_policy(policy)}{_name_candidate(policy, problem)}"
        name, number = plain, 2
        while name in named:
            name, number = f"{plain} ({number})", number + 1
        named[name] = policy
    return named


def _name_candidate(given: GivenPolicy, problem: Problem) -> str:
    """Return which of several candidates a policy works on; empty if there is no such choice."""
    candidates = problem.representations
    if len(candidates) < 2 or given == "uniform" or isinstance(given, Uniform):
        return ""
    if isinstance(given, str):
        chooses = "representation" in inspect.signature(POLICIES[given]).parameters
        return f"{ON_CANDIDATE}0" if chooses else ""
    used = as_policy(given).embeddings
    found = [k for k, each in enumerate(candidates) if len(used) == 1 and used[0] is each]
    return f"{ON_CANDIDATE}{found[0]}" if found else ""


def show_progress(progress: Any, name: str) -> AbstractContextManager[Progress | None]:
    """Return a context with the function to be told: a bar if True, nothing if False or None."""
    if progress is True:
        return ProgressBar(name)
    return nullcontext(None if progress is False else as_progress(progress))
