"""How does a policy start from logged data? It learns the log round by round, phases included.

Some of what a policy knows comes from the ends of phases: the scaling of its columns, the weights
of its predictors (judged by rounds that they had not seen), the network. So phases end in a log
after the same numbers of rounds as in a run, and once more at its last round. With propensities,
rows can count as if actions had been played evenly (`log_weights`).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.arguments import count, finite_array, known_index, moderate_value
from banditsrl.core.adapters import as_policy
from banditsrl.core.history import History, empty_history, write_rounds
from banditsrl.core.phases import phase_ends
from banditsrl.core.policy import AnyPolicy, Policy, State
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.draws import key_words
from banditsrl.numerics.partition import Partitioned, partition
from banditsrl.numerics.precision import in_float64
from banditsrl.serving.compiled import compiled
from banditsrl.serving.log_weights import LARGEST_WEIGHT, weigh_log


def warm_start(
    policy: AnyPolicy,
    key: Array,
    *,
    contexts: Any,
    actions: Any,
    rewards: Any,
    propensities: Any = None,
    weighting: str = "none",
    largest_weight: float = LARGEST_WEIGHT,
    capacity: int = 0,
) -> tuple[State, History]:
    """Return a state that has learned from logged rounds, and the history that holds them.

    Phases end where they would have ended in a run of that length, and after the last round. The
    rounds count as explored. Estimates and certificates hold as with the policy's own data if
    the log's actions depended only on what the log contains (contexts, past actions and rewards).

    Policies have no weights, so with a weighting the rows are chosen at random, in proportion to
    one over their propensities. This removes the bias of a logging policy that knew more than the
    contexts contain, and of a model of rewards that is only roughly right. Three kinds of bias
    remain: where a weight was cut, for actions that were never played, and what comes from
    propensities that are wrong. A weighting leaves fewer rounds to learn from, and in almost all
    cases of docs/warm-start.md that costs more than the smaller bias gains. `learn_log` also
    returns a sentence that says in numbers what bias remains.

    Args:
        policy: Any policy.
        key: For the policy's own initial state, its refresh, and the choice of rows.
        contexts: As the problem deals them; the first axis counts the rounds.
        actions: (n,) indices.
        rewards: (n,).
        propensities: (n,) probabilities with which these actions were played.
        weighting: "none" learns every row once; "ips" draws rows in proportion to their weights,
            as many as the effective sample size; "thinned" keeps some rows, each at most once, so
            that certificates and tests still count rounds rightly.
        largest_weight: Largest weight of a row, in rows of an even log.
        capacity: Room for this many further rounds in the history.
    """
    state, history, _ = learn_log(
        policy,
        key,
        contexts=contexts,
        actions=actions,
        rewards=rewards,
        propensities=propensities,
        weighting=weighting,
        largest_weight=largest_weight,
        capacity=capacity,
    )
    return state, history


@in_float64
def learn_log(
    policy: AnyPolicy,
    key: Array,
    *,
    contexts: Any,
    actions: Any,
    rewards: Any,
    propensities: Any = None,
    weighting: str = "none",
    largest_weight: float = LARGEST_WEIGHT,
    capacity: int = 0,
) -> tuple[State, History, str]:
    """Return what `warm_start` returns, and a sentence about the bias that remains."""
    adapted = as_policy(policy)
    contexts, actions, rewards = _check_rounds(adapted, contexts, actions, rewards)
    n_actions = adapted.n_actions
    chosen = weigh_log(
        actions,
        propensities,
        weighting=weighting,
        n_actions=int(actions.max()) + 1 if n_actions is None else n_actions,
        largest_weight=largest_weight,
        rng=np.random.default_rng(np.asarray(key_words(key)).ravel()),
    )
    if weighting != "none":
        places = chosen.places
        contexts = jax.tree.map(lambda leaf: np.asarray(leaf)[places], contexts)
        actions, rewards = actions[places], rewards[places]
    history = _make_history(contexts, actions, rewards, count("capacity", capacity, 0))
    return _learn_history(adapted, history, key), history, chosen.note


def _make_history(contexts: Context, actions: Any, rewards: Any, capacity: int) -> History:
    """Return a history of explored rounds, with room for this many further ones."""
    n = len(rewards)
    first = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], contexts)
    empty = empty_history(first, n + capacity)
    return write_rounds(empty, 0, contexts, actions, rewards, np.zeros(n, dtype=bool))


def _check_rounds(
    policy: Policy[Any], contexts: Any, actions: Any, rewards: Any
) -> tuple[Context, Any, Any]:
    """Return contexts, actions and rewards as arrays that fit together."""
    rewards = finite_array("rewards", rewards, "(n,)")
    moderate_value("rewards", rewards)
    actions, n = np.asarray(actions), len(rewards)
    if actions.shape != (n,) or not np.issubdtype(actions.dtype, np.integer):
        raise InvalidArgument(
            f"actions must be {n} integers, one per reward, got {actions.dtype} of shape "
            f"{actions.shape}."
        )
    contexts = _as_arrays(contexts)
    lengths = {len(leaf) for leaf in jax.tree.leaves(contexts)}
    if lengths != {n}:
        raise InvalidArgument(f"contexts must hold {n} rounds, got {sorted(lengths)}.")
    _check_log(policy, contexts, actions)
    return contexts, actions, rewards


def _as_arrays(contexts: Any) -> Context:
    """Return a list, or a tuple of numbers, as one array, and other contexts as they are."""
    is_numbers = isinstance(contexts, tuple) and all(np.ndim(context) == 0 for context in contexts)
    return np.asarray(contexts) if isinstance(contexts, list) or is_numbers else contexts


def _check_log(policy: Policy[Any], contexts: Context, actions: Any) -> None:
    """Refuse contexts that are not finite or enormous, and indices beyond the policy's sizes."""
    for leaf in jax.tree.leaves(contexts):
        moderate_value("contexts", leaf)
    if policy.n_actions is not None:
        known_index("actions", actions, policy.n_actions)
    for representation in policy.embeddings:
        if representation.n_contexts is not None:
            known_index("contexts", contexts, representation.n_contexts)


def _learn_history(policy: Policy[Any], history: History, key: Array) -> State:
    """Return the state after all rounds of a history; a phase ends after the last one in any case.

    Training at every phase end costs about as much as it would have in a run of that length.
    """
    parts, refresh = partition(policy), compiled(policy).refresh
    init_key, refresh_key = jax.random.split(key)
    n, growth = int(history.n), policy.phase_growth
    ends: list[int] = []
    if growth is not None:
        ends = [end for end in phase_ends(growth, n, policy.longest_phase) if end < n]
    state, first = policy.init(init_key), 0
    for last in ends:
        state = _learn_rounds(parts, state, history, np.asarray(first), np.asarray(last))
        past = history._replace(n=jnp.asarray(last, dtype=history.n.dtype))
        state, first = refresh(state, past, jax.random.fold_in(refresh_key, last)), last
    state = _learn_rounds(parts, state, history, np.asarray(first), np.asarray(n))
    return refresh(state, history, refresh_key)


@jax.jit
def _learn_rounds(
    parts: Partitioned[Policy[Any]], state: State, history: History, first: Array, last: Array
) -> State:
    """Return the state after the rounds first, ..., last - 1 of a history."""
    policy = parts.combine()

    def learn_round(i: Array, state: State) -> State:
        context = jax.tree.map(lambda leaf: leaf[i], history.contexts)
        return policy.learn(state, context, history.actions[i], history.rewards[i], False)

    return jax.lax.fori_loop(first, last, learn_round, state)
