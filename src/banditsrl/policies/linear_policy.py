"""How does a linear bandit algorithm choose? By a rule on ridge statistics, alone or as a base.

A linear policy is defined by one method, `pmf(view)`: the distribution over actions, given the
statistics. Alone it keeps its own statistics of its representation. As the base of BanditSRL or of
the GLRT it receives the statistics of the current representation. A rule is written in plain
`jax.numpy` for one seed; the package maps it over seeds.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

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
from banditsrl.core.outside_policy import check_choice_form
from banditsrl.core.policy import Choice, Policy, RidgeSettings
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.linear.likelihood_ratio import Scores, score_actions
from banditsrl.linear.ridge import (
    REFRESH_GROWTH,
    Ridge,
    add_sample,
    empty_ridge,
    estimate_noise,
    recompute,
)
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import select_row
from banditsrl.representations.conversion import optional_representation
from banditsrl.selection.certificate import known_or
from banditsrl.selection.conventions import CONVENTIONS, Conventions
from banditsrl.selection.norms import update_largest_norm


class View(NamedTuple):
    r"""The information that a rule may use to choose.

    Attributes:
        values: Estimated rewards, (A,).
        norms: Norms $\lVert\phi\rVert_{V^{-1}}$, (A,).
        whitened: The embeddings times $S$, where $SS^\top=V^{-1}$, (A, d).
        mask: Available actions, (A,).
        step: The step t, counted from one over the whole run.
        log_det: $\log\det V-\log\det(\lambda I)$.
        level: Confidence level delta of this round.
        sigma: Noise level, given or estimated.
        B: Bound on the norm of theta, given or estimated.
    """

    values: Array
    norms: Array
    whitened: Array
    mask: Array
    step: Array
    log_det: Array
    level: Array
    sigma: Array
    B: Array

    def available(self, values: Array) -> Array:
        """Return `values` (A,) with unavailable actions at minus infinity."""
        return jnp.where(self.mask, values, -jnp.inf)


class LinearState(NamedTuple):
    """The state of a linear policy on its own representation."""

    ridge: Ridge
    largest_norm: Array  # () largest embedding norm seen


class RidgePolicy(Policy[LinearState]):
    """A policy that chooses on ridge statistics. A subclass must define `choose`.

    Args:
        representation: The embedding to work in: a `Representation`, or an array
            (n_contexts, n_actions, dim). A policy that is the base of another one needs none.
        sigma: Sub-Gaussian constant of the noise; estimated from residuals when None.
        lam: Ridge parameter lambda.
        delta: Confidence level of the widths.
        conventions: "paper", or "authors" for the variants of their experiments.
    """

    representation: Representation | None = eqx.field(
        default=None, converter=optional_representation
    )
    _: KW_ONLY
    sigma: float | None = setting(None, "Noise level; estimated from residuals when None.")
    lam: float = setting(1.0, "Ridge parameter lambda.")
    delta: float = setting(0.01, "Confidence level of the widths.")
    conventions: str = setting("paper", "paper, or authors for the variants of their experiments.")

    def __check_init__(self) -> None:
        if self.sigma is not None:
            positive("sigma", self.sigma)
        positive("lam", self.lam)
        probability("delta", self.delta)
        one_of("conventions", self.conventions, tuple(CONVENTIONS))

    @abstractmethod
    def choose(self, view: View, key: Array) -> tuple[Array, Array]:
        """Return an action and the distribution (A,) that it was drawn from."""

    @in_float64
    def init(self, key: Array) -> LinearState:
        """Return empty statistics."""
        del key
        return LinearState(empty_ridge(self._embedding.dim, self.lam), jnp.zeros((), jnp.float64))

    @in_float64
    def act(
        self, state: LinearState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Choose by the rule; without a test the choice is never certified."""
        embedding, ridge = self._embedding, state.ridge
        phi = embedding.embed(context)
        view = view_actions(
            score_actions(ridge.root, ridge.theta, phi),
            ridge,
            check_mask(mask, embedding.n_actions),
            level=jnp.asarray(self.delta),
            step=ridge.n + 1.0,
            sigma=known_or(self.sigma, estimate_noise(ridge, jnp.asarray(float(embedding.dim)))),
            B=known_or(embedding.B, jnp.sqrt((ridge.theta**2).sum())),
        )
        return Choice.without_test(*self.choose(view, key))

    @in_float64
    def learn(
        self,
        state: LinearState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> LinearState:
        """Add the sample to the statistics."""
        del certified
        phi = self._embedding.embed(context)
        norm = update_largest_norm(self._embedding, phi, state.largest_norm)
        played = select_row(phi, check_action(action, phi.shape[0]))
        return LinearState(add_sample(state.ridge, played, check_reward(reward)), norm)

    @in_float64
    def refresh(self, state: LinearState, history: History, key: Array) -> LinearState:
        """Recompute the square root of V^-1, which removes accumulated rounding errors."""
        del history, key
        return state._replace(ridge=recompute(state.ridge, lam=self.lam))

    @property
    def phase_growth(self) -> float | None:
        """The growth of the number of rounds between two recomputations of the statistics."""
        return REFRESH_GROWTH

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The representation, if one was given."""
        return () if self.representation is None else (self.representation,)

    def largest_norms(self, state: LinearState) -> Array | None:
        """Return the largest norm seen, (1,)."""
        return state.largest_norm[None]

    @property
    def ridge_settings(self) -> RidgeSettings | None:
        """Noise level, lambda, delta and conventions, which a policy around this one inherits."""
        return RidgeSettings(self.sigma, self.lam, self.delta, self.conventions)

    @property
    def rules(self) -> Conventions:
        """The object that the conventions name."""
        return CONVENTIONS[self.conventions]

    @property
    def _embedding(self) -> Representation:
        if self.representation is None:
            raise InvalidArgument(
                f"representation must be given when {type(self).__name__} is used alone, got None."
            )
        return self.representation


class LinearPolicy(RidgePolicy):
    """A ridge policy whose distribution over actions is known. A subclass must define `pmf`."""

    @abstractmethod
    def pmf(self, view: View) -> Array:
        """Return the distribution over actions, (A,)."""

    def choose(self, view: View, key: Array) -> tuple[Array, Array]:
        """Draw an action from the distribution."""
        pmf = self.pmf(view)
        check_choice_form(self.display_name, 0, pmf, view.mask)
        return draw_action(pmf, uniform_from_key(key)), pmf


def view_actions(
    scores: Scores, ridge: Ridge, mask: Array, *, level: Array, step: Array, sigma: Array, B: Array
) -> View:
    """Return the view of one context, from its scores and the statistics behind them."""
    values, norms, whitened = scores
    return View(values, norms, whitened, mask, step, ridge.log_det, level, sigma, B)
