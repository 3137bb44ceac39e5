"""How does a policy use its base algorithm? In one of three ways.

BanditSRL and the GLRT keep ridge statistics of the current representation and ask a base algorithm
where the test does not pass. The base is

- a ridge policy that chooses on those statistics (warm start, as in the paper's experiments),
- a ridge policy with its own statistics, which include only the rounds that it played and are empty
  at the start of each phase (as in the theory), or
- any other policy, which has its own state.

`make_player` returns the right one, so that the policy around the base need not distinguish them.
"""

import dataclasses
from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.core.history import History
from banditsrl.core.policy import Policy, State
from banditsrl.core.representation import Context
from banditsrl.linear.likelihood_ratio import Scores, score_actions
from banditsrl.linear.ridge import Ridge, add_sample, empty_ridge, recompute
from banditsrl.numerics.seed_axis import select_row
from banditsrl.policies.linear_policy import RidgePolicy, view_actions


class Moment(NamedTuple):
    """The information that a base may use in one round."""

    context: Context  # the context of a base with its own state
    phi: Array  # (A, d) embedding of every action
    mask: Array  # (A,) available actions
    ridge: Ridge  # statistics of all rounds
    level: Array  # () delta of the base
    sigma: Array  # () noise level
    B: Array  # () bound on ||theta||
    scores: Scores | None = None  # scores of all actions on these statistics, if known already


class BasePlayer(eqx.Module):
    """A base algorithm, with the methods that the policy around it uses."""

    @abstractmethod
    def init(self, dim: int, key: Array) -> State:
        """Return the base's state at the start of a phase with embeddings of dimension `dim`."""

    @abstractmethod
    def choose(self, state: State, moment: Moment, key: Array) -> tuple[Array, Array]:
        """Return the base's action and the distribution (A,) that it was drawn from."""

    @abstractmethod
    def learn(
        self, state: State, context: Context, phi: Array, action: Array, reward: Array
    ) -> State:
        """Return the base's state after a round that it played."""

    def recompute(self, state: State) -> State:
        """Return the state with recomputed statistics, without accumulated rounding errors."""
        return state

    def refresh(self, state: State, history: History, key: Array) -> State:
        """Return the state after the end of one of the base's own phases."""
        del history, key
        return state

    @property
    def phase_growth(self) -> float | None:
        """Gamma of the base's own phases, or None if it has none."""
        return None

    @property
    def uses_history(self) -> bool:
        """Whether `refresh` reads the history."""
        return False

    @property
    def replays(self) -> bool:
        """Whether the base learns from all past rounds when a new phase begins."""
        return False


class SharedStatistics(BasePlayer):
    """A ridge policy that chooses on the statistics of all rounds; it has no state."""

    base: RidgePolicy

    def init(self, dim: int, key: Array) -> State:
        """Return an empty state."""
        del dim, key
        return ()

    def choose(self, state: State, moment: Moment, key: Array) -> tuple[Array, Array]:
        """Choose on the shared statistics."""
        del state
        return _choose_on(moment.ridge, moment.scores, self.base, moment, key)

    def learn(
        self, state: State, context: Context, phi: Array, action: Array, reward: Array
    ) -> State:
        """Return the empty state; the policy around the base updates the statistics."""
        del context, phi, action, reward
        return state


class OwnStatistics(BasePlayer):
    """A ridge policy with its own statistics, which include only the rounds that it played."""

    base: RidgePolicy

    def init(self, dim: int, key: Array) -> Ridge:
        """Return empty statistics."""
        del key
        return empty_ridge(dim, self.base.lam)

    def choose(self, state: Ridge, moment: Moment, key: Array) -> tuple[Array, Array]:
        """Choose on the base's own statistics."""
        return _choose_on(state, None, self.base, moment, key)

    def learn(
        self, state: Ridge, context: Context, phi: Array, action: Array, reward: Array
    ) -> Ridge:
        """Add the sample to the base's own statistics."""
        del context
        added: Ridge = add_sample(state, select_row(phi, action), reward)
        return added

    def recompute(self, state: Ridge) -> Ridge:
        """Return the base's own statistics recomputed."""
        return recompute(state, lam=self.base.lam)


class OwnState(BasePlayer):
    """Any other policy, which has its own state."""

    base: Policy[State]

    def init(self, dim: int, key: Array) -> State:
        """Return the base's initial state."""
        del dim
        return self.base.init(key)

    def choose(self, state: State, moment: Moment, key: Array) -> tuple[Array, Array]:
        """Return the choice of the base."""
        choice = self.base.act(state, moment.context, moment.mask, key)
        return choice.action, choice.pmf

    def learn(
        self, state: State, context: Context, phi: Array, action: Array, reward: Array
    ) -> State:
        """Return the state of the base after it has learned from the round."""
        del phi
        return self.base.learn(state, context, action, reward, False)

    def refresh(self, state: State, history: History, key: Array) -> State:
        """End a phase of the base, if it has phases."""
        return state if self.phase_growth is None else self.base.refresh(state, history, key)

    @property
    def phase_growth(self) -> float | None:
        """Gamma of the base's phases."""
        return self.base.phase_growth

    @property
    def uses_history(self) -> bool:
        """Whether the base reads the history when a phase ends."""
        return self.phase_growth is not None and self.base.uses_history

    @property
    def replays(self) -> bool:
        """Whether the base learns from all past rounds when a new phase begins."""
        return self.base.replays


def make_player(
    base: Policy[State], *, warm_start: bool, lam: float, conventions: str
) -> BasePlayer:
    """Return the player of a base.

    Args:
        base: The base algorithm.
        warm_start: Whether a ridge policy uses the statistics of all rounds instead of its own.
        lam: Ridge parameter of the policy around the base, which applies to both.
        conventions: Conventions of the policy around the base, which apply to both.
    """
    if not isinstance(base, RidgePolicy):
        return OwnState(base)
    agreed = dataclasses.replace(base, lam=lam, conventions=conventions)
    return SharedStatistics(agreed) if warm_start else OwnStatistics(agreed)


def keep_if_certified(certified: ArrayLike, old: State, new: State) -> State:
    """Return the old state if the round was certified, as the base did not play it, or the new."""
    return jax.tree.map(lambda before, after: jnp.where(certified, before, after), old, new)


def _choose_on(
    ridge: Ridge, scores: Scores | None, base: RidgePolicy, moment: Moment, key: Array
) -> tuple[Array, Array]:
    """Apply the rule of a ridge policy to some statistics."""
    view = view_actions(
        scores or score_actions(ridge.root, ridge.theta, moment.phi),
        ridge,
        moment.mask,
        level=moment.level,
        step=moment.ridge.n + 1.0,
        sigma=moment.sigma,
        B=moment.B,
    )
    return base.choose(view, key)
