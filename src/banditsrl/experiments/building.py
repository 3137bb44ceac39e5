"""How does a specification become a problem and a policy? Built once per process, then reused."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from banditsrl.errors import BanditSRLError, InvalidArgument
from banditsrl.experiments.run_spec import RunSpec, Settings, is_file
from banditsrl.policies.policy_catalogue import make_policy
from banditsrl.problems.labelled import read_table
from banditsrl.problems.problem_catalogue import make_problem, settings_of
from banditsrl.theory.diagnosis import diagnose

N_PROBLEMS, N_POLICIES = 6, 256
"""How many are kept; the largest problem holds half a million contexts."""


def build(spec: RunSpec) -> tuple[Any, Any]:
    """The problem and the policy of a run."""
    problem = _problem(spec.problem, spec.problem_settings, spec.content)
    where = (spec.problem, spec.problem_settings, spec.content)
    return problem, _policy(spec.policy, spec.preset, spec.settings, *where)


def shared_out(problem: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings that the problem takes, and the others, which are the policy's."""
    names = problem_settings(problem)
    own = {k: v for k, v in settings.items() if k in names}
    return own, {k: v for k, v in settings.items() if k not in names}


def problem_settings(problem: str) -> set[str]:
    """The names of the settings that a problem takes."""
    if is_file(problem):
        return set() if problem.lower().endswith(".json") else _settings_of_tables()
    return set(settings_of(problem))


def _settings_of_tables() -> set[str]:
    return set(inspect.signature(read_table).parameters) - {"path"}


def default_policy(problem: Any) -> str:
    """What is run when no policy is named: selection among candidates, or else the portfolio."""
    return "banditsrl-linucb" if len(problem.representations) > 1 else "banditsrl-auto"


def worst_candidate(problem: Any) -> int:
    """The realizable candidate without HLS of largest dimension, or else the last realizable."""
    found = [diagnose(problem, k) for k in range(len(problem.representations))]
    realizable = [k for k, d in enumerate(found) if d.realizable]
    if not realizable:
        raise InvalidArgument(
            f"representation=worst must have a realizable candidate, got none in {problem.name}."
        )
    bent = [k for k in realizable if not found[k].hls] or realizable
    return max(bent, key=lambda k: found[k].dim)


@lru_cache(maxsize=N_PROBLEMS)
def _problem(problem: str, settings: Settings, content: str | None) -> Any:
    del content  # part of the key: a file that changed is read again
    with _named_errors(f"problem {problem}"):
        return make_problem(problem, **dict(settings))


@lru_cache(maxsize=N_POLICIES)
def _policy(policy: str, preset: str | None, settings: Settings, problem: str, *where: Any) -> Any:
    built = _problem(problem, *where)
    chosen = dict(settings)
    if chosen.get("representation") == "worst":
        chosen["representation"] = worst_candidate(built)
    with _named_errors(f"policy {policy}"):
        return make_policy(policy, built, preset=preset, **chosen)


@contextmanager
def _named_errors(what: str) -> Iterator[None]:
    """Python's complaint about an argument that does not exist, as one of our own."""
    try:
        yield
    except BanditSRLError:
        raise
    except TypeError as error:
        message = f"{what} must be given settings it knows, got: {error}."
        raise InvalidArgument(message) from error
