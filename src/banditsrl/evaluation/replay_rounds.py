"""How is a policy replayed on the log of another one? It learns the rows that it would have drawn.

In each row the policy plays the logged action a with a probability pi(a | x) that depends on what
it has learned so far. The row is accepted with probability

    min(1, rate * pi(a | x) / p(a | x)),

p being the logged propensity. Accepted rows are learned, and others leave no trace. If the minimum
is never 1, the contexts, actions and rewards of accepted rows are distributed as in a run of the
policy itself. With an even log of A actions and rate 1 / A this is the replay method of Li, Chu,
Langford and Wang (2011): accept where the policy plays what was logged.

`watch` and `learn` take a whole choice: whether it was certified, and whether it was an audit. For
an accepted row the policy draws again until it plays the logged action. So the choice has the
distribution that it would have in such a run, given this action. On average this takes no more than
one draw per row, since an action of probability q needs 1 / q draws and is accepted in proportion
to q.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.policy import Choice, Policy, State
from banditsrl.core.representation import Context
from banditsrl.evaluation.acceptance_rates import AcceptanceRate, note_ratio, update_rate
from banditsrl.numerics.partition import Partitioned

ACT_STREAM, COIN_STREAM, REDRAW_STREAM = 0, 1, 2
"""The key of a row is split into one key for each purpose."""

MOST_REDRAWS = 100_000
"""An accepted action that was not drawn in so many attempts is learned as an explored one."""


class ReplayRow(NamedTuple):
    """One logged round, or R of them."""

    number: Array  # place in the log, which decides all draws
    context: Context
    mask: Array  # (n_slots,)
    action: Array
    reward: Array
    propensity: Array


class SeenRows(NamedTuple):
    """What was found in R rows; rows that were not visited are zero."""

    accepted: Array  # (R,)
    certified: Array  # (R,) of accepted rows
    ratios: Array  # (R,) pi(a | x) / p(a | x)
    rates: Array  # (R,) of acceptance, when the row was visited
    pmfs: Array  # (R, n_slots) pi

    def note(self, i: Array, accepted: Array, ratio: Array, rate: Array, pmf: Array) -> "SeenRows":
        """Return the rows after row i was visited; whether it was certified is known later."""
        return SeenRows(
            accepted=self.accepted.at[i].set(accepted),
            certified=self.certified,
            ratios=self.ratios.at[i].set(ratio),
            rates=self.rates.at[i].set(rate),
            pmfs=self.pmfs.at[i].set(pmf),
        )


class ReplayState(NamedTuple):
    """The state of the policy and of its replay between two rows."""

    state: State
    n: Array  # () rows accepted so far
    rate: AcceptanceRate
    seen: SeenRows


class Stretch(NamedTuple):
    """Rows first .. last - 1 are visited, until `limit` rows have been accepted in all."""

    first: Array
    last: Array
    limit: Array


def nothing_seen(n_rows: int, n_slots: int) -> SeenRows:
    """Return what is known of rows before they are visited."""
    no, zeros = jnp.zeros(n_rows, dtype=bool), jnp.zeros(n_rows, dtype=jnp.float64)
    return SeenRows(no, no, zeros, zeros, jnp.zeros((n_rows, n_slots), dtype=jnp.float64))


@jax.jit
def replay_rows(
    parts: Partitioned[Policy[Any]],
    rows: ReplayRow,
    replay: ReplayState,
    stretch: Stretch,
    key: Array,
) -> tuple[ReplayState, Array]:
    """Return the replay after some rows, and the first row that was not visited.

    It stops early when as many rows as `stretch.limit` were accepted: then a phase ends, and the
    next row must be judged by the policy of the next phase.
    """
    policy = parts.combine()

    def pick(i: Array) -> ReplayRow:
        row: ReplayRow = jax.tree.map(lambda leaf: leaf[i], rows)
        return row

    def go_on(carry: tuple[ReplayState, Array]) -> Array:
        return (carry[1] < stretch.last) & (carry[0].n < stretch.limit)

    def learn_next(carry: tuple[ReplayState, Array]) -> tuple[ReplayState, Array]:
        replay, i, found = _find_accepted(policy, *carry, stretch.last, pick, key)

        def learn() -> ReplayState:
            return _learn_row(policy, replay, pick(i), i, key)

        return jax.lax.cond(found, learn, lambda: replay), jnp.where(found, i + 1, i)

    after: tuple[ReplayState, Array] = jax.lax.while_loop(
        go_on, learn_next, (replay, stretch.first)
    )
    return after


def _find_accepted(
    policy: Policy[Any],
    replay: ReplayState,
    first: Array,
    last: Array,
    pick: Callable[[Array], ReplayRow],
    key: Array,
) -> tuple[ReplayState, Array, Array]:
    """Return the replay, the next accepted row (or the last one), and whether there is one.

    The state does not change in this loop, so it is not part of what the loop carries.
    """
    look = partial(_look_at_row, policy, replay.state)

    def go_on(carry: tuple[Array, Array, SeenRows, AcceptanceRate]) -> Array:
        return (carry[0] < last) & ~carry[1]

    def visit(
        carry: tuple[Array, Array, SeenRows, AcceptanceRate],
    ) -> tuple[Array, Array, SeenRows, AcceptanceRate]:
        i, _, seen, rate = carry
        row = pick(i)
        pmf, ratio, coin = look(row, jax.random.fold_in(key, row.number))
        accepted = coin < rate.rate * ratio
        seen = seen.note(i, accepted, ratio, rate.rate, pmf)
        return jnp.where(accepted, i, i + 1), accepted, seen, note_ratio(rate, ratio)

    start = (first, jnp.zeros((), dtype=bool), replay.seen, replay.rate)
    i, found, seen, rate = jax.lax.while_loop(go_on, visit, start)
    return replay._replace(seen=seen, rate=rate), i, found


def _look_at_row(
    policy: Policy[Any], state: State, row: ReplayRow, key: Array
) -> tuple[Array, Array, Array]:
    """Return the policy's distribution, the ratio of the logged action, and a uniform number."""
    choice = policy.act(state, row.context, row.mask, jax.random.fold_in(key, ACT_STREAM))
    coin = jax.random.uniform(jax.random.fold_in(key, COIN_STREAM), dtype=jnp.float64)
    pmf = choice.pmf.astype(jnp.float64)
    return pmf, pmf[row.action] / row.propensity, coin


def _learn_row(
    policy: Policy[Any], replay: ReplayState, row: ReplayRow, i: Array, key: Array
) -> ReplayState:
    """Return the replay after an accepted row is learned."""
    own = jax.random.fold_in(jax.random.fold_in(key, row.number), REDRAW_STREAM)
    choice = draw_given_action(policy, replay.state, row, own)
    state = policy.watch(replay.state, row.context, choice, row.reward)
    state = policy.learn(state, row.context, row.action, row.reward, choice.certified)
    seen = replay.seen._replace(certified=replay.seen.certified.at[i].set(choice.certified))
    return ReplayState(state, replay.n + 1, update_rate(replay.rate), seen)


def draw_given_action(policy: Policy[Any], state: State, row: ReplayRow, key: Array) -> Choice:
    """Return a choice of the policy, drawn again until it plays the logged action."""

    def draw(attempt: Array) -> Choice:
        choice = policy.act(state, row.context, row.mask, jax.random.fold_in(key, attempt))
        return choice._replace(audited=jnp.asarray(choice.audited))

    def differs(carry: tuple[Array, Choice]) -> Array:
        attempt, choice = carry
        return (choice.action != row.action) & (attempt < MOST_REDRAWS)

    def again(carry: tuple[Array, Choice]) -> tuple[Array, Choice]:
        return carry[0] + 1, draw(carry[0])

    zero = jnp.zeros((), dtype=jnp.int32)
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(draw, zero))
    nothing = blank._replace(action=blank.action - 1)  # -1 differs from the action of every row
    _, choice = jax.lax.while_loop(differs, again, (zero, nothing))
    same = choice.action == row.action
    known: Choice = choice._replace(
        action=row.action.astype(choice.action.dtype),
        certified=choice.certified & same,
        audited=jnp.asarray(choice.audited) & same,
    )
    return known
