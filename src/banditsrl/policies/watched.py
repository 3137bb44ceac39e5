"""Can a policy's certificates be trusted? `Watched` checks them with audits, and looks for changes.

`Watched` is a policy around a policy that has a test:

- *Audits*. In a certified round another action is played with a small probability. This gives a
  bound, at all times, on what certified rounds lose per round against the best of several
  challengers, whatever model the policy has (`selection.audits`). When a loss is proved,
  certificates are withdrawn where the challenger names another action; there the challenger is
  played in half of the rounds, until the number of rounds has doubled.
- *Drift*. When predictions become wrong (`selection.drift_alarm`), the policy starts afresh from
  the estimated round of the change, and so do the audits.

With `audit=0` and `drift=None` it plays exactly as the policy inside. What audits cost: a constant
rate costs regret in proportion to the number of rounds, "c/t" costs a logarithm of it.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import check_action, check_mask, check_reward
from banditsrl.core.actions import draw_action, uniform_from_key
from banditsrl.core.history import History, skip_rounds
from banditsrl.core.phases import ROUNDING
from banditsrl.core.policy import Choice, State
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import update_if
from banditsrl.policies.policy_wrapper import PolicyAroundPolicy
from banditsrl.policies.watched_state import WatchedState, empty_watched
from banditsrl.selection.audits import (
    AuditedRound,
    AuditRecord,
    add_audited_round,
    distribute,
    floors_of_audits,
    largest_loss,
)
from banditsrl.selection.drift_alarm import add_error, empty_drift
from banditsrl.selection.trust import Trust, make_trust

AUDIT_STREAM = 1
"""Audits draw from a key of their own, so that the policy inside draws as it would alone."""


class Watched(PolicyAroundPolicy[WatchedState]):
    """A policy whose certificates are audited, and which forgets when rewards change.

    Args:
        policy: A policy that knows its number of actions. Audits need a policy with a certificate,
            and drift needs one that predicts.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> policy = banditsrl.make_policy("glrt-linucb", problem, audit=0.05)
        >>> result = banditsrl.simulate(problem, policy, horizon=2000, seeds=2)
        >>> first = jax.tree.map(lambda leaf: leaf[..., 0], result.state)
        >>> policy.trust(first).withdrawn
        False
    """

    # One round.

    @in_float64
    def init(self, key: Array) -> WatchedState:
        """Return the state before the first round."""
        return empty_watched(
            self.inner.init(key),
            key,
            audits=self.empty_record(1.0) if self.audit else None,
            drift=empty_drift(self.n_known_actions) if self.drift else None,
        )

    @in_float64
    def act(
        self, state: WatchedState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Return the choice of the policy inside, audited now and then."""
        choice = self.inner.act(state.inner, context, mask, key)
        if state.audits is None:
            return choice
        available = check_mask(mask, self.n_known_actions)
        rivals = self.inner.challengers(state.inner, context)
        rates, withdrawn = self.rates(state.audits), state.audits.withdrawn
        pmf, holds = distribute(choice, available, rivals, withdrawn, rates)
        u = uniform_from_key(jax.random.fold_in(key, AUDIT_STREAM))
        action = jnp.where(choice.certified, draw_action(pmf, u), choice.action)
        agrees = action == choice.action
        return choice._replace(
            action=action, pmf=pmf, certified=holds & agrees, audited=holds & ~agrees
        )

    @property
    def watches(self) -> bool:
        """Whether there are audits, whose probabilities must be seen."""
        return bool(self.audit) or self.inner.watches

    @in_float64
    def watch(
        self, state: WatchedState, context: Context, choice: Choice, reward: ArrayLike
    ) -> WatchedState:
        """Add a certified or audited round to the record of the audits."""
        state = state._replace(inner=self.inner.watch(state.inner, context, choice, reward))
        if state.audits is None:
            return state
        counts = (choice.certified | jnp.asarray(choice.audited)) & (choice.pmf.max() < 1.0)
        y = jnp.asarray(check_reward(reward))

        def add(record: AuditRecord) -> AuditRecord:
            audited = self._describe_round(state, record, context, choice, y)
            levels = {"level": self.delta_audit, "tolerance": self.tolerance_loss}
            return add_audited_round(record, audited, **levels)

        record = jax.lax.cond(counts, add, lambda record: record, state.audits)
        trusted = ~state.audits.withdrawn.any()
        return state._replace(audits=record, n_trusted=jnp.where(trusted, state.n, state.n_trusted))

    def _describe_round(
        self,
        state: WatchedState,
        record: AuditRecord,
        context: Context,
        choice: Choice,
        reward: Array,
    ) -> AuditedRound:
        """Return what the audits need; all but action and reward is known before the draw."""
        low, high = self._range(state)
        guesses = self.inner.predict(state.inner, context)
        if guesses is None:
            guesses = jnp.full((self.n_known_actions,), state.total / jnp.maximum(state.n, 1))
        return AuditedRound(
            choice=choice,
            rivals=self.inner.challengers(state.inner, context),
            reward=jnp.clip(reward, low, high),
            guesses=jnp.clip(guesses, low, high),
            width=high - low,
            floors=floors_of_audits(
                self.rates(record), self.n_known_actions, self.inner.n_challengers
            ),
        )

    @in_float64
    def learn(
        self,
        state: WatchedState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> WatchedState:
        """Let the policy inside learn; if its predictions have become wrong, it starts afresh."""
        y = jnp.asarray(check_reward(reward))
        after = state._replace(
            inner=self.inner.learn(state.inner, context, action, reward, certified),
            n=state.n + 1,
            low=jnp.minimum(state.low, y),
            high=jnp.maximum(state.high, y),
            total=state.total + y,
        )
        if state.drift is None or self.drift is None:
            return after
        played = jnp.asarray(check_action(action, self.n_known_actions))
        error = y - self._predict(state, context)[played]
        drift, alarm = add_error(state.drift, error, played, state.n, float(self.drift))
        learned: WatchedState = update_if(
            alarm.raised, self._forget, after._replace(drift=drift), alarm.since
        )
        return learned

    def _forget(self, state: WatchedState, since: Array) -> WatchedState:
        """Return the state after an alarm: the policy, the audits and the test start afresh."""
        audits = state.audits
        return state._replace(
            inner=self.inner.init(jax.random.fold_in(jax.random.wrap_key_data(state.key), state.n)),
            since=since,
            n_refreshed=jnp.zeros_like(state.n_refreshed),
            n_alarms=state.n_alarms + 1,
            audits=None if audits is None else self.empty_record(audits.part + 1.0),
            drift=empty_drift(self.n_known_actions),
        )

    # The end of a phase.

    @in_float64
    def refresh(self, state: WatchedState, history: History, key: Array) -> WatchedState:
        """End a phase of the policy inside, if one is due, on the rounds that still count."""
        state = self._restart_audits(state)
        if not self.drift:
            return state._replace(inner=self.inner.refresh(state.inner, history, key))
        growth, kept = self.inner.phase_growth or 1.0, state.n - state.since

        def refresh(inner: State, history: History, since: Array, key: Array) -> State:
            uses_history = self.inner.uses_history
            rounds = skip_rounds(history, since) if uses_history else history
            return self.inner.refresh(inner, rounds, key)

        due = kept >= jnp.ceil(growth * state.n_refreshed * (1.0 - ROUNDING))
        inner = update_if(due, refresh, state.inner, history, state.since, key)
        return state._replace(inner=inner, n_refreshed=jnp.where(due, kept, state.n_refreshed))

    def _restart_audits(self, state: WatchedState) -> WatchedState:
        """Give certificates a new chance when the rounds have doubled since a loss was proved."""
        if state.audits is None:
            return state
        again = state.audits.withdrawn.any() & (state.n >= 2 * state.n_trusted)
        fresh = self.empty_record(state.audits.part + 1.0)
        audits = jax.tree.map(lambda new, old: jnp.where(again, new, old), fresh, state.audits)
        return state._replace(audits=audits)

    # What is said about it.

    @in_float64
    def trust(self, state: WatchedState, names: Mapping[int, str] | None = None) -> Trust:
        """Return what audits have shown about certified rounds; see `Trust`.

        Args:
            state: The state.
            names: Names of actions by index, for the sentences.
        """
        low, high = self._range(state)
        return make_trust(
            state.audits,
            bound=float(self._bound(state)),
            largest=float(high) - float(low),
            level=self.delta_audit,
            n_actions=self.n_known_actions,
            since=int(state.since),
            n_alarms=int(state.n_alarms),
            names=names,
        )

    @in_float64
    def report(self, state: WatchedState) -> dict[str, Array]:
        """Return what the policy inside reports, the bound of the audits, and the alarms."""
        own = {"loss_bound": self._bound(state), "alarms": state.n_alarms}
        return {**self.inner.report(state.inner), **own}

    @in_float64
    def _bound(self, state: WatchedState) -> Array:
        """Return the bound on the loss of certified rounds; no reward is outside the range."""
        if state.audits is None:
            return jnp.full((), jnp.inf)
        low, high = self._range(state)
        found: Array = largest_loss(state.audits, self.delta_audit, high - low)
        return found

    # The policy inside.

    def predict(self, state: WatchedState, context: Context) -> Array | None:
        """Return the predictions of the policy inside."""
        return self.inner.predict(state.inner, context)

    def largest_norms(self, state: WatchedState) -> Array | None:
        """Return the largest norms of the policy inside."""
        return self.inner.largest_norms(state.inner)

    def _range(self, state: WatchedState) -> tuple[Array, Array]:
        """Return the range of rewards, given or seen; zero before the first reward."""
        if self.reward_range is not None:
            return jnp.asarray(self.reward_range[0]), jnp.asarray(self.reward_range[1])
        seen = state.n > 0
        return jnp.where(seen, state.low, 0.0), jnp.where(seen, state.high, 0.0)

    def _predict(self, state: WatchedState, context: Context) -> Array:
        predicted = self.inner.predict(state.inner, context)
        if predicted is None:
            raise InvalidArgument(
                f"policy must predict rewards for drift, got {self.inner.display_name}, "
                "whose predict returns None."
            )
        return predicted
