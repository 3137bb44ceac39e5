"""LEADER: optimism with the tightest bound among all candidates, for each action separately.

It plays argmax over a of min over phi in Phi_t of UCB(x, a, phi). It mixes representations, so that
its regret can be constant even where no single candidate is HLS. In return it works with LinUCB
only, and it updates the statistics of every candidate (paper, Section 3, and Papini et al. 2021).

Departure: Phi_t is recomputed at the ends of phases (gamma = 2), not at every step.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import (
    above,
    at_least,
    check_action,
    check_mask,
    check_reward,
    flag,
    one_of,
    positive,
    probability,
)
from banditsrl.core.actions import draw_action, maximisers, uniform_from_key, uniform_over
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, Policy
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.linear.bounds import OFFSETS
from banditsrl.linear.likelihood_ratio import score_actions
from banditsrl.linear.ridge import Ridge, add_sample, crop, empty_ridge, estimate_noise
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import select_row
from banditsrl.representations.conversion import as_representations
from banditsrl.selection.certificate import known_or
from banditsrl.selection.conventions import CONVENTIONS, Conventions
from banditsrl.selection.elimination import compatible_candidates
from banditsrl.selection.fits import Fits, fit_candidates
from banditsrl.selection.norms import known_or_seen, update_largest_norm


class LeaderState(NamedTuple):
    """State of LEADER."""

    ridges: tuple[Ridge, ...]  # statistics of every candidate, from every round
    active: Array  # (M,) the set Phi_t
    largest_norm: Array  # (M,) largest embedding norms seen


class Leader(Policy[LeaderState]):
    """LEADER over Phi_t.

    Args:
        representations: The candidates Phi; they may differ in dimension.
        eliminate: Whether candidates can be eliminated; False is the plain variant.
    """

    representations: tuple[Representation, ...] = eqx.field(converter=as_representations)
    _: KW_ONLY
    sigma: float | None = setting(None, "Noise level; estimated from residuals when None.")
    lam: float = setting(1.0, "Ridge parameter lambda.")
    delta: float = setting(0.01, "Confidence level, shared by the candidates.")
    ucb_scale: float = setting(1.0, "alpha_UCB, the factor of the noise term of the width.")
    eliminate: bool = setting(True, "Whether candidates can leave the set.")
    gamma: float = setting(
        2.0, "The set is recomputed when the number of rounds has grown by this factor."
    )
    offset: str | None = setting(
        None, "Elimination offset: paper or tight; by default that of the conventions."
    )
    conventions: str = setting("paper", "paper, or authors for the variants of their experiments.")

    def __check_init__(self) -> None:
        if self.sigma is not None:
            positive("sigma", self.sigma)
        positive("lam", self.lam)
        probability("delta", self.delta)
        at_least("ucb_scale", self.ucb_scale, 0.0)
        flag("eliminate", self.eliminate)
        above("gamma", self.gamma, 1.0)
        one_of("conventions", self.conventions, tuple(CONVENTIONS))
        OFFSETS[self._offset]

    @in_float64
    def init(self, key: Array) -> LeaderState:
        """Return empty statistics of every candidate."""
        del key
        n = len(self.representations)
        ridges = tuple(empty_ridge(r.dim, self.lam) for r in self.representations)
        return LeaderState(ridges, jnp.ones(n, dtype=bool), jnp.zeros(n, dtype=jnp.float64))

    @in_float64
    def act(
        self, state: LeaderState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Play the action with the largest bound, using each action's tightest active candidate."""
        available = check_mask(mask, self.representations[0].n_actions)
        pairs = zip(self.representations, state.ridges, strict=True)
        bounds = jnp.stack([self._ucb(r, ridge, context) for r, ridge in pairs])  # (M, A)
        active_bounds = jnp.where(state.active[:, None], bounds, jnp.inf)
        optimism = jnp.where(available, active_bounds.min(0), -jnp.inf)  # (A,)
        pmf = uniform_over(maximisers(optimism))
        action = draw_action(pmf, uniform_from_key(key))
        deciding = jnp.argmin(active_bounds, axis=0)[action]
        return Choice.without_test(action, pmf, deciding)

    @in_float64
    def learn(
        self,
        state: LeaderState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> LeaderState:
        """Add the sample to the statistics of every candidate."""
        del certified
        action = check_action(action, self.representations[0].n_actions)
        reward = check_reward(reward)
        embedded = [r.embed(context) for r in self.representations]
        ridges = tuple(
            add_sample(ridge, select_row(phi, action), reward)
            for ridge, phi in zip(state.ridges, embedded, strict=True)
        )
        norms = jnp.stack(
            [
                update_largest_norm(r, phi, state.largest_norm[k])
                for k, (r, phi) in enumerate(zip(self.representations, embedded, strict=True))
            ]
        )
        return LeaderState(ridges, state.active, norms)

    @in_float64
    def refresh(self, state: LeaderState, history: History, key: Array) -> LeaderState:
        """Recompute the statistics, which removes rounding errors, and the set Phi_t."""
        del history, key
        eyes = [self.lam * jnp.eye(r.dim, dtype=jnp.float64) for r in self.representations]
        fits = fit_candidates(
            [(ridge.design - eye, ridge.b) for ridge, eye in zip(state.ridges, eyes, strict=True)],
            state.ridges[0].n,
            state.ridges[0].yy,
            radii=[r.B for r in self.representations],
            lam=self.lam,
            in_ball=self._rules.fits_in_ball,
        )
        ridges = tuple(crop(fits.ridge(m), r.dim) for m, r in enumerate(self.representations))
        if not self.eliminate:
            return state._replace(ridges=ridges)
        return LeaderState(ridges, self._compatible(state, fits), state.largest_norm)

    def report(self, state: LeaderState) -> dict[str, Array]:
        """Return the set Phi_t."""
        return {"active": state.active}

    @property
    def phase_growth(self) -> float | None:
        """The growth gamma of the phases."""
        return self.gamma

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The candidates."""
        return self.representations

    def largest_norms(self, state: LeaderState) -> Array | None:
        """Return the largest norm seen of every candidate, (M,)."""
        return state.largest_norm

    def _ucb(self, representation: Representation, ridge: Ridge, context: Context) -> Array:
        """Return the upper confidence bound of every action under one candidate, (A,)."""
        scores = score_actions(ridge.root, ridge.theta, representation.embed(context))
        share = len(self.representations) if self._rules.shares_delta else 1
        dim = jnp.asarray(representation.dim)
        width = self._rules.ucb_width(
            ridge.log_det,
            delta=self.delta / share,
            sigma=known_or(self.sigma, estimate_noise(ridge, dim)),
            lam=self.lam,
            B=known_or(representation.B, jnp.sqrt((ridge.theta**2).sum())),
            scale=self.ucb_scale,
        )
        return jnp.asarray(scores.values + width * scores.norms)

    def _compatible(self, state: LeaderState, fits: Fits) -> Array:
        t = state.ridges[0].n
        return compatible_candidates(
            fits.squared_errors / t,
            t,
            dim=jnp.asarray([float(r.dim) for r in self.representations]),
            L=known_or_seen([r.L for r in self.representations], state.largest_norm),
            B=known_or_seen([r.B for r in self.representations], fits.theta_norms),
            delta=self.delta,
            offset=self._offset,
            among=state.active if self._rules.elimination_is_final else None,
        )

    @property
    def _rules(self) -> Conventions:
        return CONVENTIONS[self.conventions]

    @property
    def _offset(self) -> str:
        return self.offset or self._rules.offset
