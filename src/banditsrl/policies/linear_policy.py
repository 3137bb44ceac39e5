"""How does a linear bandit algorithm choose? A rule on ridge statistics, alone or as a base.

A linear policy is one method, `pmf(view)`: the distribution over actions given what the
statistics say of them. Alone it keeps its own statistics of its representation. As the base of
BanditSRL or of the GLRT it is handed the statistics of whatever representation is current.
Rules are written in seeds_last (see `banditsrl.linear.lanes`): actions first, seeds last.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import (
    check_action,
    check_mask,
    check_reward,
    one_of,
    positive,
    probability,
)
from banditsrl.core.actions import draw_action, uniform_from_key
from banditsrl.core.history import History
from banditsrl.core.policy import CONVENTIONS, Choice, Policy, untested
from banditsrl.core.representation import Representation
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.linear.likelihood_ratio import Scores, score
from banditsrl.linear.ridge import REFRESH_GROWTH, Ridge, empty, noise_estimate, observed, refreshed
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import select_row
from banditsrl.representations.conversion import as_representation
from banditsrl.representations.table import Table


class View(NamedTuple):
    """What a rule may look at when it chooses."""

    values: Array  # (A,)    estimated rewards
    norms: Array  # (A,)    ||phi||_{V^-1}
    whitened: Array  # (A, d)  phi S with S S^T = V^-1
    mask: Array  # (A,)    available actions
    step: Array  # ()      t, counted from one over the whole run
    log_det: Array  # ()      log det V - log det(lam I)
    level: Array  # ()      delta this round
    sigma: Array  # ()      noise level, given or estimated
    B: Array  # ()      bound on ||theta||, given or estimated


class LinearState(NamedTuple):
    """The state of a linear policy on its own representation."""

    ridge: Ridge
    largest_norm: Array  # () largest embedding norm seen


class LinearPolicy(Policy):
    """Base of the linear algorithms.

    Args:
        representation: The embedding to work in: a `Representation`, a candidate of a problem or
            an array (n_contexts, n_actions, dim). Not needed for the base of another policy.
        sigma: Sub-Gaussian constant of the noise; estimated from residuals when None.
        lam: Ridge regularizer lambda.
        delta: Confidence level of the widths.
        conventions: "paper", or "authors" for the variants used in their experiments.
    """

    representation: Representation | None = eqx.field(
        default=None, converter=lambda r: None if r is None else as_representation(r)
    )
    _: KW_ONLY
    sigma: float | None = setting(None, "noise level; estimated from residuals when None")
    lam: float = setting(1.0, "ridge regularizer lambda")
    delta: float = setting(0.01, "confidence level of the widths")
    conventions: str = setting("paper", "paper, or authors for the variants of their experiments")

    def __check_init__(self) -> None:
        if self.sigma is not None:
            positive("sigma", self.sigma)
        positive("lam", self.lam)
        probability("delta", self.delta)
        one_of("conventions", self.conventions, CONVENTIONS)

    def pmf(self, view: View) -> Array:
        """The distribution over actions, (A,)."""
        raise NotImplementedError

    def randomness(self, key: Array, dim: int) -> Any:
        """What one choice needs of chance: a uniform_from_key."""
        del dim
        return uniform_from_key(key)

    def choose(self, view: View, randomness: Any) -> tuple[Array, Array]:
        """The action and the distribution it was draw_action from."""
        pmf = self.pmf(view)
        return draw_action(pmf, randomness), pmf

    def decide(self, view: View, key: Array) -> tuple[Array, Array]:
        """`choose` with its randomness, ready to be mapped over seeds."""
        randomness = self.randomness(key, view.whitened.shape[1])
        action, pmf = self.choose(view, randomness)
        return action, pmf

    @in_float64
    def init(self, key: Array) -> LinearState:
        """Empty statistics."""
        del key
        return LinearState(empty(self._embedding.dim, self.lam), jnp.zeros((), jnp.float64))

    @in_float64
    def act(self, state: LinearState, context: Any, mask: Any, key: Array) -> Choice:
        """Choose by the rule; without a test the choice is never certified."""
        phi = self._embedding.embed(context)
        available = check_mask(mask, self._embedding.n_actions)
        scores = score(state.ridge.root, state.ridge.theta, phi)
        view = viewed(
            scores,
            state.ridge,
            available,
            level=jnp.asarray(self.delta),
            step=state.ridge.n + 1.0,
            sigma=known_or(
                self.sigma, noise_estimate(state.ridge, jnp.asarray(float(self._embedding.dim)))
            ),
            B=known_or(self._embedding.B, jnp.sqrt((state.ridge.theta**2).sum())),
        )
        return untested(*self.decide(view, key))

    @in_float64
    def learn(
        self,
        state: LinearState,
        context: Any,
        action: Any,
        reward: Any,
        certified: Any = False,
    ) -> LinearState:
        """Add the sample to the statistics."""
        del certified
        phi = self._embedding.embed(context)
        norm = largest_norm(self._embedding, phi, state.largest_norm)
        played = select_row(phi, check_action(action, phi.shape[0]))
        return LinearState(observed(state.ridge, played, check_reward(reward)), norm)

    @in_float64
    def refresh(self, state: LinearState, history: History, key: Array) -> LinearState:
        """Recompute the square root of V^-1, against drift."""
        del history, key
        return state._replace(ridge=refreshed(state.ridge, lam=self.lam))

    @property
    def phase_growth(self) -> float | None:
        """The statistics are refreshed now and then, against drift."""
        return REFRESH_GROWTH

    @property
    def _embedding(self) -> Representation:
        if self.representation is None:
            raise InvalidArgument(
                f"representation must be given when {type(self).__name__} is used alone, got None."
            )
        return self.representation


def viewed(
    scores: Scores, ridge: Ridge, mask: Array, *, level: Array, step: Array, sigma: Array, B: Array
) -> View:
    """The view of one context, from its scores and the statistics behind them."""
    return View(
        scores.values, scores.norms, scores.whitened, mask, step, ridge.log_det, level, sigma, B
    )


def known_or(given: float | None, estimate: Array) -> Array:
    """A given bound, or its estimate."""
    return estimate if given is None else jnp.asarray(given, dtype=jnp.float64)


def largest_norm(representation: Representation, phi: Array, so_far: Array) -> Array:
    """The largest embedding norm seen; a table's is known beforehand."""
    if isinstance(representation, Table):
        return so_far
    return jnp.maximum(so_far, jnp.sqrt((phi * phi).sum(-1)).max())


def available_values(view: View, values: Array) -> Array:
    """`values` (A,) with unavailable actions at minus infinity."""
    return jnp.where(view.mask, values, -jnp.inf)
