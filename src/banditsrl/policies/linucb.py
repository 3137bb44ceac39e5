"""LinUCB (also called OFUL): the action that could be best, within the confidence ellipsoid."""

from dataclasses import KW_ONLY

import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least
from banditsrl.core.actions import maximisers, uniform_over
from banditsrl.core.settings import setting
from banditsrl.linear.bounds import ucb_width
from banditsrl.linear.regret import linucb_worst_case
from banditsrl.policies.linear_policy import LinearPolicy, View, available_values


class LinUCB(LinearPolicy):
    """Optimism: argmax of phi.theta + C ||phi||_{V^-1} (paper, Eq. 6).

    C = ucb_scale sigma sqrt(2 log(det(V)^1/2 det(lam I)^-1/2 / delta)) + sqrt(lam) B. With
    ``conventions="authors"`` the scale multiplies both terms.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> policy = banditsrl.LinUCB(problem.representations[0], sigma=0.3)
        >>> result = banditsrl.simulate(problem, policy, horizon=200, seeds=2)
        >>> result.regret.shape == (2, len(result.steps))
        True
    """

    _: KW_ONLY
    ucb_scale: float = setting(1.0, "alpha_UCB, on the noise term of the width")

    def __check_init__(self) -> None:
        at_least("ucb_scale", self.ucb_scale, 0.0)

    def width(self, view: View) -> Array:
        """C, the radius that multiplies ||phi||_{V^-1}."""
        inner = 1.0 if self.conventions == "authors" else self.ucb_scale
        width = ucb_width(
            view.log_det, delta=view.level, sigma=view.sigma, lam=self.lam, B=view.B, scale=inner
        )
        return self.ucb_scale * width if self.conventions == "authors" else width

    def pmf(self, view: View) -> Array:
        """Equal over the actions of largest upper confidence bound."""
        ucb = view.values + self.width(view) * view.norms
        return uniform_over(maximisers(available_values(view, ucb)))

    def worst_case_regret(self, T: Array, *, n_actions: int, **facts: Array) -> Array:
        """Gap-free regret bound of known quantities, for the best-in-class loss."""
        del n_actions
        return jnp.asarray(linucb_worst_case(T, **facts))


OFUL = LinUCB
