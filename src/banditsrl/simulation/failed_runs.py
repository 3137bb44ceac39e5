"""Why did a simulation fail? If a policy from outside breaks the contract, that is why.

An error inside a compiled program speaks of tracers and shapes that the author of a policy never
wrote. So when a run fails that involves somebody else's policy, the contract is checked, and what
it finds is raised instead.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from banditsrl.core.contract import verify_contract
from banditsrl.core.outside_policy import OutsidePolicy
from banditsrl.core.policy import Policy
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Representation, TrainableRepresentation
from banditsrl.errors import BanditSRLError, ContractViolation
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.linear_policy import LinearPolicy
from banditsrl.policies.policy_wrapper import PolicyAroundPolicy
from banditsrl.policies.tested_policy import PolicyAroundBase

OURS = "banditsrl."
"""Modules of this package begin with this."""


def explain_failure(error: Exception, policy: Policy[Any], problem: Problem) -> None:
    """Raise an error that names all defects of a policy from outside; return if there are none.

    A violation that ended the run is one defect of perhaps several, so the others follow it; our
    other errors speak for themselves.
    """
    if isinstance(error, BanditSRLError) and not isinstance(error, ContractViolation):
        return
    try:
        _verify_parts(policy, problem)
    except ContractViolation as violation:
        is_news = isinstance(error, ContractViolation) and str(error) not in str(violation)
        first = f"{error}\n" if is_news else ""
        raise ContractViolation(f"{first}{violation}", violation.defects) from error


def _verify_parts(policy: Policy[Any], problem: Problem) -> None:
    suspects = list(_find_suspects(policy, problem))
    for suspect, representation in suspects:
        verify_contract(suspect, problem, representation=representation)
    if suspects:
        verify_contract(policy, problem)


def _find_suspects(
    policy: Policy[Any], problem: Problem
) -> Iterator[tuple[Policy[Any], int | Representation | None]]:
    """Return each part from outside, and the representation in which it sees contexts."""
    if isinstance(policy, PolicyAroundPolicy):
        yield from _find_suspects(policy.inner, problem)
        return
    if not isinstance(policy, PolicyAroundBase):
        if _is_foreign(policy):
            yield policy, None
        return
    base = policy.base_policy
    if not _is_foreign(base):
        return
    embedding = policy.embeddings[0]
    if isinstance(base, LinearPolicy):
        yield (base if base.embeddings else _embed(base, embedding)), None
    elif isinstance(policy, GLRT):
        yield base, None  # it sees the problem's own contexts
    elif not isinstance(embedding, TrainableRepresentation):
        yield base, 0 if policy.embeddings == problem.representations else embedding


def _is_foreign(policy: Policy[Any]) -> bool:
    return isinstance(policy, OutsidePolicy) or not type(policy).__module__.startswith(OURS)


def _embed(base: LinearPolicy, embedding: Representation) -> Policy[Any]:
    """Return a linear base with a representation, so that it can be checked alone."""
    return dataclasses.replace(base, representation=embedding)
