"""What does the contract of a policy demand? One function per rule, which raises if it is broken.

`verify_contract` in `core.contract` plays the rounds that these checks look at.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.policy import Choice, Policy, State
from banditsrl.core.representation import Context
from banditsrl.core.scratch import scratch_folder
from banditsrl.core.state_files import load_state, save_state
from banditsrl.errors import ContractViolation
from banditsrl.numerics.draws import key_words

PMF_TOLERANCE = 1e-6
"""Slack on the sum of a pmf: policies may work in float32."""

SAME_STRUCTURE = "must return from learn a state of the structure, shapes and dtypes that init gave"


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


def list_checks() -> dict[str, Callable[[ContractCase], None]]:
    """Return all checks by name, in the order in which they run."""
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


def _check_same_choice(case: ContractCase) -> None:
    first = case.policy.act(case.state, case.context, case.mask, case.key)
    again = case.policy.act(case.state, case.context, case.mask, case.key)
    require(_same(first, again), case.policy, "must make the same choice with the same key")
    later = case.policy.act(case.fresh, case.context, case.mask, case.key)
    require(
        _same(case.first, later),
        case.policy,
        "must keep nothing outside its state: its first choice has changed after some rounds",
    )


def _check_same_learning(case: ContractCase) -> None:
    once, again = (
        case.policy.learn(case.state, case.context, case.first.action, 0.5) for _ in range(2)
    )
    require(_same(once, again), case.policy, "must learn the same from the same round")


def _check_pmf(case: ContractCase) -> None:
    without_first = case.mask.at[0].set(case.n_actions == 1)
    for mask in (case.mask, without_first):
        choice = case.policy.act(case.state, case.context, mask, case.key)
        pmf = np.asarray(choice.pmf)
        require(
            pmf.shape == (case.n_actions,),
            case.policy,
            f"must return a pmf of shape ({case.n_actions},), got {pmf.shape}",
        )
        total = float(pmf.sum())
        require(
            abs(total - 1.0) <= PMF_TOLERANCE and bool((pmf >= 0).all()),
            case.policy,
            f"must return a non-negative pmf that sums to one, got a sum of {total:g}",
        )
        off = float(pmf[~np.asarray(mask)].sum())
        require(off == 0.0, case.policy, f"must give unavailable actions no mass, got {off:g}")
        chosen = float(pmf[int(choice.action)])
        require(chosen > 0, case.policy, "must give the action it plays positive probability")


def _check_mask(case: ContractCase) -> None:
    for action in range(case.n_actions):
        only = jnp.arange(case.n_actions) == action
        played = int(case.policy.act(case.state, case.context, only, case.key).action)
        require(
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
    require(same, case.policy, "must not change the state it is given (act and learn are pure)")


def _check_structure(case: ContractCase) -> None:
    def shape(state: State) -> Any:
        return jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.asarray(leaf).dtype), state)

    require(
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
    require(
        _same(expected, found),
        case.policy,
        "must make the same choice from its state once that was saved and loaded",
    )


def _check_compiles(case: ContractCase) -> None:
    """Lower to a program for one seed; `_check_maps` then compiles one for three seeds."""
    jax.jit(_step(case)).lower(case.state, case.context, case.mask, case.key)


def _check_maps(case: ContractCase) -> None:
    keys = jax.random.split(case.key, 3)
    mapped = jax.jit(jax.vmap(_step(case), in_axes=(None, None, None, 0)))
    together, _ = mapped(case.state, case.context, case.mask, keys)
    single = [case.policy.act(case.state, case.context, case.mask, key).action for key in keys]
    same = [int(a) for a in together.action] == [int(a) for a in single]
    rule = "must make the same choices compiled for many seeds as for one seed at a time"
    require(same, case.policy, rule)


def _step(case: ContractCase) -> Callable[[State, Context, Array, Array], tuple[Choice, State]]:
    def step(state: State, context: Context, mask: Array, key: Array) -> tuple[Choice, State]:
        choice = case.policy.act(state, context, mask, key)
        return choice, case.policy.learn(state, context, choice.action, jnp.asarray(0.5))

    return step


def require(holds: bool, policy: Policy[Any], rule: str) -> None:
    """Raise a sentence about the policy unless the rule holds."""
    if not holds:
        raise ContractViolation(f"{policy.display_name} {rule}.")


def _same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(_equal(np.asarray(key_words(a)), np.asarray(key_words(b))) for a, b in pairs)


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return np.array_equal(one, other, equal_nan=True)
