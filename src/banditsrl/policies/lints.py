"""LinTS: the best action of a parameter draw_action around the estimate (Thompson sampling)."""

from dataclasses import KW_ONLY

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least, count
from banditsrl.core.actions import draw_action, maximisers, uniform_from_key, uniform_over
from banditsrl.core.settings import setting
from banditsrl.linear.bounds import ucb_width
from banditsrl.policies.linear_policy import LinearPolicy, View


class LinTS(LinearPolicy):
    """theta ~ N(theta_t, C^2 V^-1), then argmax of phi.theta, with C the width of LinUCB.

    The distribution of the argmax has no closed form, so `Choice.pmf` is a Monte-Carlo estimate
    from `draws` further parameters and the one that was played (which keeps it positive). Actions
    that a parameter ranks equal, such as twins, share its draw.
    """

    _: KW_ONLY
    ts_scale: float = setting(1.0, "multiplies C")
    draws: int = setting(64, "parameters draw_action to estimate the pmf")

    def __check_init__(self) -> None:
        at_least("ts_scale", self.ts_scale, 0.0)
        count("draws", self.draws)

    @property
    def pmf_draws(self) -> int:
        """The pmf is estimated, never exact."""
        return self.draws

    def randomness(self, key: Array, dim: int) -> tuple[Array, Array, Array]:
        """Standard normal parameters, the one played and those for the pmf; and a quantile."""
        play, estimate, lot = jax.random.split(key, 3)
        return _normal(play, (1, dim)), _normal(estimate, (self.draws, dim)), uniform_from_key(lot)

    def choose(self, view: View, randomness: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Play one draw, and count how often each action wins in all of them."""
        played, others = (self._wins(view, noise) for noise in randomness[:2])
        pmf = (played[0] + others.sum(0)) / (self.draws + 1.0)
        return draw_action(played[0], randomness[2]), pmf

    def _wins(self, view: View, noise: Array) -> Array:
        """The share of each action in a win under each draw_action parameter, (draws, A)."""
        width = self.ts_scale * ucb_width(
            view.log_det, delta=view.level, sigma=view.sigma, lam=self.lam, B=view.B
        )
        sampled = view.values + width * (noise @ view.whitened.T)  # (draws, A)
        sampled = jnp.where(view.mask, sampled, -jnp.inf)
        return jax.vmap(lambda values: uniform_over(maximisers(values)))(sampled)


def _normal(key: Array, shape: tuple[int, int]) -> Array:
    return jax.random.normal(key, shape, dtype=jnp.float32).astype(jnp.float64)
