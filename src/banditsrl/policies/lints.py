"""LinTS: play the best action of a parameter drawn around the estimate (Thompson sampling)."""

from dataclasses import KW_ONLY

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least, count
from banditsrl.core.actions import draw_action, maximisers, uniform_from_key, uniform_over
from banditsrl.core.settings import setting
from banditsrl.linear.bounds import ucb_width
from banditsrl.numerics.seed_axis import small_product
from banditsrl.policies.linear_policy import RidgePolicy, View


class LinTS(RidgePolicy):
    """theta ~ N(theta_t, C^2 V^-1), then argmax of phi.theta, with C the width of LinUCB.

    The distribution of the argmax has no closed form, so `Choice.pmf` is a Monte-Carlo estimate
    from `draws` further parameters and the one that was played, which keeps the probability of the
    played action positive. Actions that are equally good under a drawn parameter, such as actions
    with the same embedding, share its draw.
    """

    _: KW_ONLY
    ts_scale: float = setting(1.0, "Factor of C.")
    draws: int = setting(64, "Number of parameters drawn to estimate the pmf.")

    def __check_init__(self) -> None:
        at_least("ts_scale", self.ts_scale, 0.0)
        count("draws", self.draws)

    @property
    def pmf_draws(self) -> int:
        """Number of parameters that are drawn for each estimate of the pmf."""
        return self.draws

    def choose(self, view: View, key: Array) -> tuple[Array, Array]:
        """Play the best action of one draw, and estimate the pmf from all draws."""
        play_key, estimate_key, tie_key = jax.random.split(key, 3)
        played = self._wins(view, play_key, 1)[0]  # (A,)
        others = self._wins(view, estimate_key, self.draws)  # (draws, A)
        pmf = (played + others.sum(0)) / (self.draws + 1.0)
        return draw_action(played, uniform_from_key(tie_key)), pmf

    def _wins(self, view: View, key: Array, n: int) -> Array:
        """Return 1 on the best action of each of n drawn parameters, shared by ties, (n, A)."""
        width = self.ts_scale * ucb_width(
            view.log_det, delta=view.level, sigma=view.sigma, lam=self.lam, B=view.B
        )
        shape = (n, view.whitened.shape[1])
        noise = jax.random.normal(key, shape, dtype=jnp.float32).astype(jnp.float64)
        sampled = view.values + width * small_product(noise, view.whitened.T)  # (n, A)
        sampled = jnp.where(view.mask, sampled, -jnp.inf)
        return jax.vmap(lambda values: uniform_over(maximisers(values)))(sampled)
