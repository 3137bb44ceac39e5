"""LinTS: play the best action of a parameter drawn around the estimate (Thompson sampling).

The distribution of the action that is played has no closed form, but it has one along a line.
Write the noise of a drawn parameter as z = z' + s u, with a fixed unit vector u and s ~ N(0, 1).
Given z', the value of each action is a linear function of s, an action is best on an interval of s,
and the probability of that interval is a difference of two normal distribution functions. Averaged
over draws of z', this estimates small probabilities better than counting how often an action won.
"""

from dataclasses import KW_ONLY

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import ndtr

from banditsrl.arguments import at_least, count
from banditsrl.core.actions import (
    ROUNDING,
    draw_action,
    maximisers,
    uniform_from_key,
    uniform_over,
)
from banditsrl.core.settings import setting
from banditsrl.linear.bounds import ucb_width
from banditsrl.numerics.seed_axis import small_product
from banditsrl.policies.linear_policy import RidgePolicy, View

SMALLEST = 1e-12
"""Probability of the played action where rounding leaves none."""


class LinTS(RidgePolicy):
    r"""Thompson sampling: draw a parameter and play the action that is best under it.

    The parameter is $\tilde\theta\sim\mathcal{N}(\theta,\,(sC)^2V^{-1})$, where $s$ is `ts_scale`
    and $C$ is the width of LinUCB.

    `Choice.pmf` is an estimate: the mean, over `draws` further parameters and the one that was
    played, of the probability of each action along one line through that parameter (see the top of
    this file). It is unbiased if one does not condition on the action that was played. Given that
    an action was played, the draw that made it win is among them, so that the estimate for this
    action is too large on average, by less than 1 / (`draws` + 1); more draws make that smaller.
    Actions that are equally good under a drawn parameter, such as actions with the same embedding,
    share its probability.
    """

    _: KW_ONLY
    ts_scale: float = setting(1.0, "Factor of the width C, with which parameters are drawn.")
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
        mine, others = self._noise(view, play_key, 1), self._noise(view, estimate_key, self.draws)
        width = self._width(view)
        sampled = view.values + width * small_product(mine, view.whitened.T)  # (1, A)
        best = uniform_over(maximisers(view.available(sampled[0])))
        lines = _win_along_lines(view, width, jnp.concatenate([mine, others]))
        pmf = lines.mean(0) + SMALLEST * best
        return draw_action(best, uniform_from_key(tie_key)), pmf / pmf.sum()

    def _noise(self, view: View, key: Array, n: int) -> Array:
        """Return the standard normal noise of n parameters, (n, d)."""
        shape = (n, view.whitened.shape[1])
        return jax.random.normal(key, shape, dtype=jnp.float32).astype(jnp.float64)

    def _width(self, view: View) -> Array:
        """Return C times its factor."""
        return self.ts_scale * ucb_width(
            view.log_det, delta=view.level, sigma=view.sigma, lam=self.lam, B=view.B
        )


def _win_along_lines(view: View, width: Array, noise: Array) -> Array:
    """Return the probability that each action is best on the line through each noise, (n, A)."""
    u = _informative_direction(view, width)
    rest = noise - (noise * u).sum(-1)[:, None] * u  # (n, d)
    start = view.values + width * small_product(rest, view.whitened.T)  # (n, A) at s = 0
    slope = width * (view.whitened * u).sum(-1)  # (A,)
    faster = slope[:, None] - slope  # (A, A) how much faster action a grows than action b
    behind = start[:, None, :] - start[:, :, None]  # (n, A, A) how far a is behind b at s = 0
    parallel = jnp.abs(faster) <= ROUNDING * jnp.abs(slope).max()
    limit = ROUNDING * jnp.abs(start).max()
    meeting = behind / jnp.where(parallel, 1.0, faster)
    rises, falls = (view.mask & ~parallel & side for side in (faster > 0, faster < 0))
    lower = jnp.where(rises, meeting, -jnp.inf).max(-1)  # (n, A)
    upper = jnp.where(falls, meeting, jnp.inf).min(-1)
    beaten = (view.mask & parallel & (behind > limit)).any(-1)
    n_equal = (view.mask & parallel & (jnp.abs(behind) <= limit)).sum(-1)
    won = jnp.where(view.mask & ~beaten, _normal_probability(lower, upper), 0.0)
    return won / jnp.maximum(n_equal, 1)


def _informative_direction(view: View, width: Array) -> Array:
    """Return a unit vector along which the greedy action and its likeliest rival differ, (d,)."""
    first = jnp.argmax(view.available(view.values))
    hopeful = view.available(view.values + width * view.norms)
    second = jnp.argmax(jnp.where(jnp.arange(len(hopeful)) == first, -jnp.inf, hopeful))
    difference = view.whitened[first] - view.whitened[second]
    norm = jnp.sqrt((difference**2).sum())
    return difference / jnp.where(norm > 0, norm, 1.0)


def _normal_probability(lower: Array, upper: Array) -> Array:
    """Return P(lower < s < upper) of a standard normal s, also precisely in its upper tail."""
    mirrored = lower > 0
    low, high = jnp.where(mirrored, -upper, lower), jnp.where(mirrored, -lower, upper)
    return jnp.maximum(ndtr(high) - ndtr(low), 0.0)
