"""Is this object a policy? The contract as code, for our policies and for anybody's.

Each check is a function that raises `ContractViolation` with one sentence; `verify_contract` runs
them all on contexts of a given problem, and reports all that fail together. What people call is
`check_policy`, in `simulation.policy_check`, which also takes names.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from banditsrl.arguments import one_index
from banditsrl.core.adapters import POLICY_MEMBERS, as_policy, as_problem, missing_members
from banditsrl.core.contract_checks import SAME_STRUCTURE, ContractCase, list_checks, require
from banditsrl.core.outside_policy import check_choice_form
from banditsrl.core.policy import AnyPolicy, Choice, Policy, State
from banditsrl.core.problem import AnyProblem, Problem
from banditsrl.core.representation import Context, Representation
from banditsrl.errors import BanditSRLError, ContractViolation
from banditsrl.numerics.precision import in_float64

N_ROUNDS = 3
"""Rounds played before the checks, so that states are not empty."""


@in_float64
def verify_contract(
    policy: AnyPolicy, problem: AnyProblem, *, representation: int | Representation | None = None
) -> tuple[str, ...]:
    """Return the names of the checks that a policy passes, or raise one error for all that fail.

    The arguments are those of `check_policy`.
    """
    name = type(policy).__name__
    missing = missing_members(policy, POLICY_MEMBERS)
    _refuse(name, [f"{name} must have a method {member}." for member in missing])
    policy, problem = as_policy(policy), as_problem(problem)
    embed = _embedding_of(problem, representation)
    try:
        _try_each_method(policy, problem, embed)
        case = _play_case(policy, problem, embed)
    except BanditSRLError:
        raise
    except Exception as error:
        raise ContractViolation(
            f"{policy.display_name} fails in its first rounds: {_summarise(error)}"
        ) from error
    checks = list_checks()
    found = {name: _find_defect(name, check, case) for name, check in checks.items()}
    if found["compiles"]:
        found["maps over seeds"] = None  # it fails for the same reason
    if found["structure of the state is stable"]:
        found["state saves and loads"] = None  # likewise
    _refuse(policy.display_name, [sentence for sentence in found.values() if sentence])
    return tuple(checks)


def _find_defect(
    name: str, check: Callable[[ContractCase], None], case: ContractCase
) -> str | None:
    """Return the sentence of a check that fails, or None if it passes."""
    try:
        check(case)
    except BanditSRLError as error:
        return str(error)
    except Exception as error:
        return f"{case.policy.display_name} fails the check {name!r}: {_summarise(error)}"
    return None


def _refuse(name: str, defects: list[str]) -> None:
    """Raise one error for all defects, if there are any."""
    unique = tuple(dict.fromkeys(defects))
    if not unique:
        return
    if len(unique) == 1:
        raise ContractViolation(unique[0], unique)
    listed = "".join(f"\n- {sentence}" for sentence in unique)
    raise ContractViolation(f"{name} breaks the contract in {len(unique)} ways:{listed}", unique)


def _embedding_of(
    problem: Problem, representation: int | Representation | None
) -> Callable[[Context], Context]:
    """Return what the policy is handed: the context, or its embedding padded as by BanditSRL."""
    if representation is None:
        return lambda context: context
    dim = 0
    if not isinstance(representation, Representation):
        one_index("representation", representation, len(problem.representations))
        dim = max(candidate.dim for candidate in problem.representations)
        representation = problem.representations[int(representation)]
    embedding = representation
    missing = max(dim - embedding.dim, 0)
    return lambda context: jnp.pad(embedding.embed(context), ((0, 0), (0, missing)))


def _play_case(
    policy: Policy[Any], problem: Problem, embed: Callable[[Context], Context]
) -> ContractCase:
    """Return a case after a few rounds with rewards from the problem."""
    keys = jax.random.split(jax.random.key(20221128), N_ROUNDS + 2)
    contexts = problem.contexts(keys[-1], N_ROUNDS + 1)
    mask = jnp.ones(problem.n_actions, dtype=bool)
    last = embed(jax.tree.map(lambda leaf: leaf[-1], contexts))
    fresh = state = policy.init(keys[-2])
    first = policy.act(fresh, last, mask, keys[0])
    _require_form(policy, first)
    for i in range(N_ROUNDS):
        context = jax.tree.map(lambda leaf, i=i: leaf[i], contexts)
        choice = policy.act(state, embed(context), mask, keys[i])
        reward = problem.means(context)[choice.action]
        state = policy.learn(state, embed(context), choice.action, reward)
        _require_structure(policy, fresh, state)
    return ContractCase(policy, fresh, first, state, last, mask, keys[0], problem.n_actions)


def _try_each_method(
    policy: Policy[Any], problem: Problem, embed: Callable[[Context], Context]
) -> None:
    """Refuse what `act` and `learn` return in the first round, both at once if both are wrong."""
    key = jax.random.key(0)
    context = jax.tree.map(lambda leaf: leaf[0], problem.contexts(key, 1))
    seen, mask = embed(context), jnp.ones(problem.n_actions, dtype=bool)
    fresh = policy.init(key)

    def act() -> None:
        _require_form(policy, policy.act(fresh, seen, mask, key))

    def learn() -> None:
        action = jnp.zeros((), dtype=jnp.int32)
        state = policy.learn(fresh, seen, action, problem.means(context)[action])
        _require_structure(policy, fresh, state)

    found = [_find_violation(policy, method) for method in (act, learn)]
    _refuse(policy.display_name, [sentence for sentence in found if sentence])


def _find_violation(policy: Policy[Any], method: Callable[[], None]) -> str | None:
    """Return the sentence about a method that breaks the contract; other errors of ours pass on."""
    try:
        method()
    except ContractViolation as error:
        return str(error)
    except BanditSRLError:
        raise
    except Exception as error:
        return f"{policy.display_name} fails in its first rounds: {_summarise(error)}"
    return None


def _require_form(policy: Policy[Any], choice: Any) -> None:
    """Refuse what is not a choice of one action, before anything is computed with it."""
    if not isinstance(choice, Choice):
        raise ContractViolation(
            f"{policy.display_name}.act must return a banditsrl.Choice, got "
            f"{type(choice).__name__}."
        )
    check_choice_form(policy.display_name, choice.action, choice.pmf, None)
    certified = np.asarray(choice.certified)
    require(
        certified.shape == () and certified.dtype.kind == "b",
        policy,
        f"must say True or False for certified, got {certified.dtype} of shape {certified.shape}",
    )


def _require_structure(policy: Policy[Any], fresh: State, state: State) -> None:
    before: Any = jax.tree.structure(fresh)
    after: Any = jax.tree.structure(state)
    got = "" if type(state) is type(fresh) else f", got {type(state).__name__}"
    require(before == after, policy, f"{SAME_STRUCTURE}{got}")


def _summarise(error: Exception) -> str:
    """Return an error in one line; the whole error is the exception's cause."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
