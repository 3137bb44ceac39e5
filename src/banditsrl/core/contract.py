"""Is this object a policy? The contract as code, for our policies and for anybody's.

Each check is a function that raises `ContractViolation` with one sentence; `check_policy` runs
them all on contexts of a given problem, and reports all that fail together.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import one_index
from banditsrl.core.adapters import (
    POLICY_MEMBERS,
    as_policy,
    as_problem,
    check_choice_form,
    missing_members,
)
from banditsrl.core.policy import AnyPolicy, Choice, Policy, State
from banditsrl.core.problem import AnyProblem, Problem
from banditsrl.core.representation import Context, Representation
from banditsrl.core.scratch import scratch_folder
from banditsrl.core.state_files import load_state, save_state
from banditsrl.errors import BanditSRLError, ContractViolation
from banditsrl.numerics.draws import key_words
from banditsrl.numerics.precision import in_float64

N_ROUNDS = 3
"""Rounds played before the checks, so that states are not empty."""

PMF_TOLERANCE = 1e-6
"""Slack on the sum of a pmf: policies may work in float32."""

SAME_STRUCTURE = "must return from learn a state of the structure, shapes and dtypes init gave it"


class ContractCase(NamedTuple):
    """A policy with a state that has seen a few rounds, and what to try next."""

    policy: Policy[Any]
    fresh: State  # the state before the first round
    first: Choice  # the choice made from it
    state: State
    context: Context
    mask: Array
    key: Array
    n_actions: int


@in_float64
def check_policy(
    policy: AnyPolicy, problem: AnyProblem, *, representation: int | Representation | None = None
) -> tuple[str, ...]:
    """Verify that `policy` keeps the contract, on contexts of `problem`.

    Args:
        policy: Any object with `init`, `act` and `learn`.
        problem: Where the contexts come from.
        representation: An index into the problem's candidates, or a representation. If given,
            contexts are handed over embedded, (n_actions, dim), as BanditSRL does with its base:
            of an index, padded with zeros to the largest dimension among the candidates.

    Returns:
        The names of the checks that passed (all of them).

    Raises:
        ContractViolation: With one sentence for each check that fails, as a list if there are
            several; `defects` holds the sentences.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> passed = banditsrl.check_policy(banditsrl.LinUCB(problem.representations[0]), problem)
        >>> "maps over seeds" in passed
        True
    """
    name = type(policy).__name__
    missing = missing_members(policy, POLICY_MEMBERS)
    _refuse(name, [f"{name} must have a method {member}." for member in missing])
    policy, problem = as_policy(policy), as_problem(problem)
    embed = _embedding_of(problem, representation)
    try:
        case = _play_case(policy, problem, embed)
    except BanditSRLError:
        raise
    except Exception as error:
        raise ContractViolation(
            f"{policy.display_name} fails in its first rounds: {_summarise(error)}"
        ) from error
    checks = _list_checks()
    found = {name: _find_defect(name, check, case) for name, check in checks.items()}
    if found["compiles"]:
        found["maps over seeds"] = None  # it fails for the same reason
    _refuse(policy.display_name, [sentence for sentence in found.values() if sentence])
    return tuple(checks)


def _list_checks() -> dict[str, Callable[[ContractCase], None]]:
    return {
        "same key, same choice": _check_same_choice,
        "same rounds, same state": _check_same_learning,
        "pmf is a distribution over the available actions": _check_pmf,
        "only available actions": _check_mask,
        "inputs untouched": _check_inputs_untouched,
        "structure of the state is stable": _check_structure,
        "state saves and loads": _check_state_file,
        "compiles": _check_compiles,
        "maps over seeds": _check_maps,
    }


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


def _require_form(policy: Policy[Any], choice: Any) -> None:
    """Refuse what is not a choice of one action, before anything is computed with it."""
    if not isinstance(choice, Choice):
        raise ContractViolation(
            f"{policy.display_name}.act must return a banditsrl.Choice, got "
            f"{type(choice).__name__}."
        )
    check_choice_form(policy.display_name, choice.action, choice.pmf, None)
    certified = np.asarray(choice.certified)
    _require(
        certified.shape == () and certified.dtype.kind == "b",
        policy,
        f"must say True or False for certified, got {certified.dtype} of shape {certified.shape}",
    )


def _require_structure(policy: Policy[Any], fresh: State, state: State) -> None:
    before: Any = jax.tree.structure(fresh)
    after: Any = jax.tree.structure(state)
    _require(before == after, policy, SAME_STRUCTURE)


def _check_same_choice(case: ContractCase) -> None:
    first = case.policy.act(case.state, case.context, case.mask, case.key)
    again = case.policy.act(case.state, case.context, case.mask, case.key)
    _require(_same(first, again), case.policy, "must make the same choice with the same key")
    later = case.policy.act(case.fresh, case.context, case.mask, case.key)
    _require(
        _same(case.first, later),
        case.policy,
        "must keep nothing outside its state: its first choice is another one after some rounds",
    )


def _check_same_learning(case: ContractCase) -> None:
    once, again = (
        case.policy.learn(case.state, case.context, case.first.action, 0.5) for _ in range(2)
    )
    _require(_same(once, again), case.policy, "must learn the same from the same round")


def _check_pmf(case: ContractCase) -> None:
    without_first = case.mask.at[0].set(case.n_actions == 1)
    for mask in (case.mask, without_first):
        choice = case.policy.act(case.state, case.context, mask, case.key)
        pmf = np.asarray(choice.pmf)
        _require(
            pmf.shape == (case.n_actions,),
            case.policy,
            f"must return a pmf of shape ({case.n_actions},), got {pmf.shape}",
        )
        total = float(pmf.sum())
        _require(
            abs(total - 1.0) <= PMF_TOLERANCE and bool((pmf >= 0).all()),
            case.policy,
            f"must return a non-negative pmf that sums to one, got a sum of {total:g}",
        )
        off = float(pmf[~np.asarray(mask)].sum())
        _require(off == 0.0, case.policy, f"must give unavailable actions no mass, got {off:g}")
        chosen = float(pmf[int(choice.action)])
        _require(chosen > 0, case.policy, "must give the action it plays positive probability")


def _check_mask(case: ContractCase) -> None:
    for action in range(case.n_actions):
        only = jnp.arange(case.n_actions) == action
        played = int(case.policy.act(case.state, case.context, only, case.key).action)
        _require(
            played == action,
            case.policy,
            f"must play the only available action {action}, got {played}",
        )


def _check_inputs_untouched(case: ContractCase) -> None:
    mutable = jax.tree.map(lambda leaf: leaf, case.state)
    before = [np.array(leaf, copy=True) for leaf in map(key_words, jax.tree.leaves(mutable))]
    choice = case.policy.act(mutable, case.context, case.mask, case.key)
    case.policy.learn(mutable, case.context, choice.action, 0.5)
    after = [np.asarray(leaf) for leaf in map(key_words, jax.tree.leaves(mutable))]
    same = len(before) == len(after) and all(map(_equal, before, after))
    _require(same, case.policy, "must not change the state it is given (act and learn are pure)")


def _check_structure(case: ContractCase) -> None:
    def shape(state: State) -> Any:
        return jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.asarray(leaf).dtype), state)

    _require(
        shape(case.state) == shape(case.fresh),
        case.policy,
        SAME_STRUCTURE,
    )


def _check_state_file(case: ContractCase) -> None:
    with scratch_folder() as folder:
        path = Path(folder) / "state"
        save_state(path, case.policy, case.state)
        loaded = load_state(path, case.policy)
    expected = case.policy.act(case.state, case.context, case.mask, case.key)
    found = case.policy.act(loaded, case.context, case.mask, case.key)
    _require(_same(expected, found), case.policy, "must choose alike from a saved and loaded state")


def _check_compiles(case: ContractCase) -> None:
    """Lower to a program for one seed; `_check_maps` then compiles one for three seeds."""
    jax.jit(_step(case)).lower(case.state, case.context, case.mask, case.key)


def _check_maps(case: ContractCase) -> None:
    keys = jax.random.split(case.key, 3)
    mapped = jax.jit(jax.vmap(_step(case), in_axes=(None, None, None, 0)))
    together, _ = mapped(case.state, case.context, case.mask, keys)
    single = [case.policy.act(case.state, case.context, case.mask, key).action for key in keys]
    same = [int(a) for a in together.action] == [int(a) for a in single]
    _require(same, case.policy, "must choose alike compiled for many seeds and one by one")


def _step(case: ContractCase) -> Callable[[State, Context, Array, Array], tuple[Choice, State]]:
    def step(state: State, context: Context, mask: Array, key: Array) -> tuple[Choice, State]:
        choice = case.policy.act(state, context, mask, key)
        return choice, case.policy.learn(state, context, choice.action, jnp.asarray(0.5))

    return step


def _summarise(error: Exception) -> str:
    """Return an error in one line; the whole error is the exception's cause."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def _require(holds: bool, policy: Policy[Any], rule: str) -> None:
    if not holds:
        raise ContractViolation(f"{policy.display_name} {rule}.")


def _same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(_equal(np.asarray(key_words(a)), np.asarray(key_words(b))) for a, b in pairs)


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return np.array_equal(one, other, equal_nan=True)
