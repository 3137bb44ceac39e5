"""Is this object a problem? The contract as code, for our problems and for anybody's.

Each check is a function that raises `ContractViolation` with one sentence; `check_problem` runs
them all on a few rounds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.adapters import PROBLEM_MEMBERS, as_problem, missing_members
from banditsrl.core.problem import AnyProblem, Problem
from banditsrl.core.representation import Context
from banditsrl.errors import BanditSRLError, ContractViolation
from banditsrl.numerics.precision import in_float64

N_ROUNDS = 64
"""Rounds that are dealt: enough that two keys never deal the same contexts by chance."""


class ProblemCase(NamedTuple):
    """A problem and some rounds of it."""

    problem: Problem
    keys: tuple[Array, Array]
    contexts: Context  # (N_ROUNDS, ...)
    noises: NDArray[Any]  # (N_ROUNDS,)
    means: NDArray[Any]  # (N_ROUNDS, A)
    masks: NDArray[Any]  # (N_ROUNDS, A)


@in_float64
def check_problem(problem: AnyProblem) -> tuple[str, ...]:
    """Verify that `problem` keeps the contract, on a few rounds that it deals.

    Args:
        problem: Any object with the members of `Problem`.

    Returns:
        The names of the checks that passed (all of them).

    Raises:
        ContractViolation: With one sentence on the first check that fails.

    Example:
        >>> import banditsrl
        >>> passed = banditsrl.check_problem(banditsrl.make_problem("vardim-realizable"))
        >>> "rewards are finite" in passed
        True
    """
    for member in missing_members(problem, PROBLEM_MEMBERS):
        raise ContractViolation(f"{type(problem).__name__} must have a member {member}.")
    adapted = as_problem(problem)
    checks: dict[str, Callable[[ProblemCase], None]] = {
        "contexts are dealt one per round": _check_contexts,
        "keys decide the contexts": _check_keys,
        "means are finite": _check_means,
        "masks offer an action": _check_masks,
        "rewards are finite": _check_rewards,
        "embeddings are finite": _check_embeddings,
    }
    what = "deal its first rounds"
    try:
        case = _deal_case(adapted)
        for what, check in checks.items():  # noqa: B007 - named in the message below
            check(case)
    except BanditSRLError:
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise ContractViolation(
            f"{adapted.name} fails at {what!r}: {type(error).__name__}: {first}"
        ) from error
    return tuple(checks)


def _deal_case(problem: Problem) -> ProblemCase:
    """Deal some rounds, by compiled programs as in a simulation."""
    first, second, noise = jax.random.split(jax.random.key(20221128), 3)
    contexts = problem.contexts(first, N_ROUNDS)
    _check_lengths(problem, contexts)
    means, masks = (
        np.asarray(jax.jit(jax.vmap(part))(contexts)) for part in (problem.means, problem.mask)
    )
    noises = np.asarray(problem.noises(noise, N_ROUNDS))
    return ProblemCase(problem, (first, second), contexts, noises, means, masks)


def _check_lengths(problem: Problem, contexts: Context) -> None:
    for leaf in jax.tree.leaves(contexts):
        shape = np.shape(leaf)
        _require(
            shape[:1] == (N_ROUNDS,),
            problem,
            f"must deal {N_ROUNDS} contexts along the first axis when asked to, got shape {shape}",
        )


def _check_contexts(case: ProblemCase) -> None:
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(case.contexts)]
    for array in arrays:
        finite = array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
        _require(finite, case.problem, "must deal finite contexts, got NaN or infinity")
    n = case.problem.n_contexts
    if n is not None:
        inside = all(((array >= 0) & (array < n)).all() for array in arrays)
        _require(inside, case.problem, f"must deal contexts below its n_contexts, {n}")


def _check_keys(case: ProblemCase) -> None:
    problem, (first, second) = case.problem, case.keys
    again, other = problem.contexts(first, N_ROUNDS), problem.contexts(second, N_ROUNDS)
    same = _are_equal(case.contexts, again)
    _require(same, problem, "must deal the same contexts for the same key")
    _require(
        problem.n_contexts == 1 or not _are_equal(case.contexts, other),
        problem,
        "must deal different contexts for different keys (a problem with one context says so by "
        "n_contexts = 1)",
    )


def _check_means(case: ProblemCase) -> None:
    wanted = (N_ROUNDS, case.problem.n_actions)
    shape = case.means.shape
    _require(
        shape == wanted,
        case.problem,
        f"must return means of shape {wanted[1:]} for a context, got {shape[1:]}",
    )
    finite = bool(np.isfinite(case.means[case.masks.astype(bool)]).all())
    _require(finite, case.problem, "must return finite means, got NaN or infinity")


def _check_masks(case: ProblemCase) -> None:
    wanted, shape = (N_ROUNDS, case.problem.n_actions), case.masks.shape
    _require(
        shape == wanted and case.masks.dtype == bool,
        case.problem,
        f"must return a mask of {wanted[1]} booleans for a context, got {case.masks.dtype} of "
        f"shape {shape[1:]}",
    )
    offered = bool(case.masks.any(axis=1).all())
    _require(offered, case.problem, "must offer at least one action in every context, got none")


def _check_rewards(case: ProblemCase) -> None:
    shape = case.noises.shape
    _require(
        shape == (N_ROUNDS,),
        case.problem,
        f"must draw {N_ROUNDS} noises when asked to, got shape {shape}",
    )
    rounds, best = np.arange(N_ROUNDS), case.masks.argmax(axis=1)  # the first action offered
    pay = jax.jit(jax.vmap(case.problem.reward))
    rewards = np.asarray(pay(case.means[rounds, best], case.noises))
    _require(
        rewards.shape == (N_ROUNDS,),
        case.problem,
        f"must return one number as a reward, got shape {rewards.shape[1:]}",
    )
    finite = bool(np.isfinite(rewards).all())
    _require(finite, case.problem, "must return finite rewards, got NaN or infinity")


def _check_embeddings(case: ProblemCase) -> None:
    for k, representation in enumerate(case.problem.representations):
        phi = np.asarray(jax.jit(jax.vmap(representation.embed))(case.contexts))
        wanted = (case.problem.n_actions, representation.dim)
        _require(
            phi.shape[1:] == wanted,
            case.problem,
            f"must have embeddings of shape {wanted}, got {phi.shape[1:]} from representation {k}",
        )
        finite = bool(np.isfinite(phi).all())
        _require(
            finite,
            case.problem,
            f"must have finite embeddings, got NaN or infinity from representation {k}",
        )


def _are_equal(one: Context, other: Context) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True) for a, b in pairs)


def _require(holds: bool, problem: Problem, rule: str) -> None:
    if not holds:
        raise ContractViolation(f"{problem.name} {rule}.")
