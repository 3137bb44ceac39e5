"""How does a specification become a problem and a policy? Each is built once per process."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from banditsrl.core.policy import Policy
from banditsrl.core.problem import Problem, Task
from banditsrl.errors import BanditSRLError, InvalidArgument, UnknownName
from banditsrl.experiments.run_spec import RunSpec, Settings, is_file
from banditsrl.policies.policy_catalogue import make_policy
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.labelled import read_table
from banditsrl.problems.problem_catalogue import make_problem, settings_of
from banditsrl.registry import SAME_WORD
from banditsrl.theory.diagnosis import diagnose

N_PROBLEMS, N_POLICIES = 6, 256
"""How many of each are kept; the largest problem holds half a million contexts."""


def build_problem(spec: RunSpec) -> Problem:
    """Return the problem of a run; runs on the same problem share one object."""
    return _build_problem(spec.problem, spec.problem_settings, spec.content)


def build_policy(spec: RunSpec) -> Policy[Any]:
    """Return the policy of a run; runs of the same policy on the same problem share one object."""
    problem = (spec.problem, spec.problem_settings, spec.content)
    return _build_policy(spec.policy, spec.preset, spec.settings, problem)


def split_settings(
    problem: str, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that the problem takes, and the others, which are the policy's."""
    names = problem_setting_names(problem)
    own = {k: v for k, v in settings.items() if k in names}
    return own, {k: v for k, v in settings.items() if k not in names}


def problem_setting_names(problem: str) -> set[str]:
    """Return the names of the settings that a problem takes."""
    if not is_file(problem):
        return set(settings_of(problem))
    if problem.lower().endswith(".json"):
        return set()
    return set(inspect.signature(read_table).parameters) - {"path"}


def default_policy(problem: Task) -> str:
    """Return the name of the policy to run on a problem when none is named.

    It selects among the candidate representations if there are several, and is a portfolio of
    representations otherwise.
    """
    return "banditsrl-linucb" if len(problem.representations) > 1 else "banditsrl-auto"


def find_worst_candidate(problem: Problem) -> int:
    """Return the candidate on which the regret bound of LinUCB is largest.

    That is the realizable candidate of largest dimension among those without HLS, or among all
    realizable ones if each of them is HLS.
    """
    if not isinstance(problem, FiniteProblem):
        raise InvalidArgument(
            f"representation=worst needs a finite problem, got {problem.name}, which is not finite."
        )
    found = [diagnose(problem, k) for k in range(len(problem.representations))]
    realizable = [k for k, diagnosis in enumerate(found) if diagnosis.realizable]
    if not realizable:
        raise InvalidArgument(
            f"representation=worst must have a realizable candidate, got none in {problem.name}."
        )
    without_hls = [k for k in realizable if not found[k].hls] or realizable
    return max(without_hls, key=lambda k: found[k].dim)


@lru_cache(maxsize=N_PROBLEMS)
def _build_problem(problem: str, settings: Settings, content: str | None) -> Problem:
    del content  # it is part of the cache key, so that a file that has changed is read again
    with _our_errors(f"problem {problem}"):
        built: Problem = make_problem(problem, **dict(settings))
        return built


@lru_cache(maxsize=N_POLICIES)
def _build_policy(
    policy: str, preset: str | None, settings: Settings, problem: tuple[str, Settings, str | None]
) -> Policy[Any]:
    built = _build_problem(*problem)
    chosen = dict(settings)
    if chosen.get("representation") == "worst":
        chosen["representation"] = find_worst_candidate(built)
    try:
        with _our_errors(f"policy {policy}"):
            made: Policy[Any] = make_policy(policy, built, preset=preset, **chosen)
            return made
    except UnknownName as error:
        raise UnknownName(_mention_problem(error, problem[0], chosen)) from error


def _mention_problem(error: UnknownName, problem: str, settings: Mapping[str, Any]) -> str:
    """Return the message of an unknown setting, with the settings of the problem in mind.

    A setting that the problem does not have is passed to the policy, which knows its own only.
    """
    message = str(error)
    names = sorted(problem_setting_names(problem))
    unknown = [name for name in settings if f"named {name!r};" in message]
    if not message.startswith("There is no setting of") or not unknown or not names:
        return message
    if near := get_close_matches(unknown[0], names, n=1, cutoff=SAME_WORD):
        # The problem has almost this setting, so the guess among the policy's would mislead.
        return (
            f"{message.split(';', maxsplit=1)[0]}. The problem {problem} has a setting {near[0]!r}."
        )
    return f"{message} The settings of the problem {problem} are {', '.join(names)}."


@contextmanager
def _our_errors(what: str) -> Iterator[None]:
    """Turn Python's complaint about an unknown argument into one of our own errors."""
    try:
        yield
    except BanditSRLError:
        raise
    except TypeError as error:
        message = f"{what} must be given settings it knows, got: {error}."
        raise InvalidArgument(message) from error
