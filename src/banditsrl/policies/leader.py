"""LEADER: the tightest optimism of all candidates, for each action separately.

argmax over a of min over phi in Phi_t of UCB(x, a, phi). It mixes representations and so reaches
constant regret even where no single candidate is HLS, at the price of being tied to LinUCB and of
keeping every candidate's statistics up to date (paper, Section 3, and Papini et al. 2021).

Departure: Phi_t is recomputed at the ends of phases (gamma = 2), not at every step.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

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
from banditsrl.core.policy import CONVENTIONS, Choice, Policy, untested
from banditsrl.core.representation import Representation
from banditsrl.core.settings import setting
from banditsrl.linear.bounds import OFFSETS, ucb_width
from banditsrl.linear.likelihood_ratio import score
from banditsrl.linear.ridge import Ridge, cropped, empty, noise_estimate, observed
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import select_row
from banditsrl.policies.linear_policy import known_or, largest_norm
from banditsrl.representations.conversion import as_representations
from banditsrl.selection.elimination import Fits, compatible, fitted, known, offset_name


class LeaderState(NamedTuple):
    """State of LEADER."""

    ridges: tuple[Ridge, ...]  # of every candidate, from every round
    active: Array  # (M,) the set Phi_t
    largest_norm: Array  # (M,)


class Leader(Policy):
    """LEADER over Phi_t.

    Args:
        representations: The candidates Phi; they may differ in dimension.
        eliminate: False keeps every candidate for ever (the plain variant).
    """

    representations: tuple[Representation, ...] = eqx.field(converter=as_representations)
    _: KW_ONLY
    sigma: float | None = setting(None, "noise level; estimated from residuals when None")
    lam: float = setting(1.0, "ridge regularizer lambda")
    delta: float = setting(0.01, "confidence level, shared by the candidates")
    ucb_scale: float = setting(1.0, "alpha_UCB, on the noise term of the width")
    eliminate: bool = setting(True, "whether candidates can leave the set")
    gamma: float = setting(2.0, "growth of the phases at whose ends the set is recomputed")
    offset: str | None = setting(None, "paper or tight; by the conventions when None")
    conventions: str = setting("paper", "paper, or authors for the variants of their experiments")

    def __check_init__(self) -> None:
        if self.sigma is not None:
            positive("sigma", self.sigma)
        positive("lam", self.lam)
        probability("delta", self.delta)
        at_least("ucb_scale", self.ucb_scale, 0.0)
        flag("eliminate", self.eliminate)
        above("gamma", self.gamma, 1.0)
        one_of("conventions", self.conventions, CONVENTIONS)
        OFFSETS[self._offset]

    @property
    def phase_growth(self) -> float | None:
        """Gamma."""
        return self.gamma

    @in_float64
    def init(self, key: Array) -> LeaderState:
        """Empty statistics of every candidate."""
        del key
        n = len(self.representations)
        ridges = tuple(empty(r.dim, self.lam) for r in self.representations)
        return LeaderState(ridges, jnp.ones(n, dtype=bool), jnp.zeros(n, dtype=jnp.float64))

    @in_float64
    def act(self, state: LeaderState, context: Any, mask: Any, key: Array) -> Choice:
        """Optimism under the tightest active candidate of each action."""
        available = check_mask(mask, self.representations[0].n_actions)
        bounds = jnp.stack(
            [
                self._ucb(r, ridge, context)
                for r, ridge in zip(self.representations, state.ridges, strict=True)
            ]
        )  # (M, A)
        u = uniform_from_key(key)
        action, pmf, used = _tightest(bounds, state.active, available, u)
        return untested(action, pmf, used)

    @in_float64
    def learn(
        self,
        state: LeaderState,
        context: Any,
        action: Any,
        reward: Any,
        certified: Any = False,
    ) -> LeaderState:
        """Add the sample to the statistics of every candidate."""
        del certified
        action = check_action(action, self.representations[0].n_actions)
        reward = check_reward(reward)
        embedded = [r.embed(context) for r in self.representations]
        ridges = tuple(
            observed(ridge, select_row(phi, action), reward)
            for ridge, phi in zip(state.ridges, embedded, strict=True)
        )
        norms = jnp.stack(
            [
                largest_norm(r, phi, state.largest_norm[k])
                for k, (r, phi) in enumerate(zip(self.representations, embedded, strict=True))
            ]
        )
        return LeaderState(ridges, state.active, norms)

    @in_float64
    def refresh(self, state: LeaderState, history: History, key: Array) -> LeaderState:
        """Refresh the statistics and recompute the set."""
        del history, key
        eyes = [self.lam * jnp.eye(r.dim, dtype=jnp.float64) for r in self.representations]
        fits = fitted(
            [(ridge.V - eye, ridge.b) for ridge, eye in zip(state.ridges, eyes, strict=True)],
            state.ridges[0].n,
            state.ridges[0].yy,
            radii=[r.B for r in self.representations],
            lam=self.lam,
            in_ball=self.conventions != "authors",
        )
        ridges = tuple(cropped(fits.ridge(m), r.dim) for m, r in enumerate(self.representations))
        if not self.eliminate:
            return state._replace(ridges=ridges)
        return LeaderState(ridges, self._compatible(state, fits), state.largest_norm)

    def report(self, state: LeaderState) -> dict[str, Array]:
        """The set Phi_t."""
        return {"active": state.active}

    def _ucb(self, representation: Representation, ridge: Ridge, context: Any) -> Array:
        scores = score(ridge.root, ridge.theta, representation.embed(context))
        authors = self.conventions == "authors"
        width = ucb_width(
            ridge.log_det,
            delta=self.delta if authors else self.delta / len(self.representations),
            sigma=known_or(self.sigma, noise_estimate(ridge, jnp.asarray(representation.dim))),
            lam=self.lam,
            B=known_or(representation.B, jnp.sqrt((ridge.theta**2).sum())),
            scale=1.0 if authors else self.ucb_scale,
        )
        outer = self.ucb_scale if authors else 1.0
        return jnp.asarray(scores.values + outer * width * scores.norms)

    def _compatible(self, state: LeaderState, fits: Fits) -> Array:
        t = state.ridges[0].n
        return compatible(
            fits.squared_errors / t,
            t,
            state.active if self.conventions == "authors" else None,  # theirs leave for good
            dim=jnp.asarray([float(r.dim) for r in self.representations]),
            L=known([r.L for r in self.representations], state.largest_norm),
            B=known([r.B for r in self.representations], fits.theta_norms),
            delta=self.delta,
            offset=self._offset,
        )

    @property
    def _offset(self) -> str:
        return offset_name(self.offset, authors=self.conventions == "authors")


def _tightest(bounds: Array, active: Array, mask: Array, u: Array) -> tuple[Array, Array, Array]:
    """The action, its pmf, and the candidate whose bound decided it, from bounds (M, A)."""
    kept = jnp.where(active[:, None], bounds, jnp.inf)
    optimism = jnp.where(mask, kept.min(0), -jnp.inf)  # (A,)
    pmf = uniform_over(maximisers(optimism))
    action = draw_action(pmf, u)
    binding = jnp.argmin(kept, axis=0)  # (A,)
    return action, pmf, binding[action]
