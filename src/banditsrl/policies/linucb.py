"""LinUCB (also called OFUL): play the action with the largest upper confidence bound."""

from dataclasses import KW_ONLY

import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least
from banditsrl.core.actions import maximisers, uniform_over
from banditsrl.core.policy import RegretBound
from banditsrl.core.settings import setting
from banditsrl.linear.regret import linucb_worst_case
from banditsrl.policies.linear_policy import LinearPolicy, View


class LinUCB(LinearPolicy):
    r"""Optimism: play the largest $\phi^\top\theta+C\lVert\phi\rVert_{V^{-1}}$ (paper, Eq. 6).

    $$
    C=\alpha\,\sigma\sqrt{2\log\frac{\det(V)^{1/2}\det(\lambda I)^{-1/2}}{\delta}}+\sqrt{\lambda}B
    $$

    Here $\alpha$ is `ucb_scale`. With `conventions="authors"` it multiplies both terms.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> policy = banditsrl.LinUCB(problem.representations[0], sigma=0.3)
        >>> result = banditsrl.simulate(problem, policy, horizon=200, seeds=2)
        >>> result.regret.shape == (2, len(result.steps))
        True
    """

    _: KW_ONLY
    ucb_scale: float = setting(1.0, "alpha_UCB, the factor of the noise term of the width.")

    def __check_init__(self) -> None:
        at_least("ucb_scale", self.ucb_scale, 0.0)

    def width(self, view: View) -> Array:
        """Return C, the radius that multiplies ||phi||_{V^-1}."""
        return self.rules.ucb_width(
            view.log_det,
            delta=view.level,
            sigma=view.sigma,
            lam=self.lam,
            B=view.B,
            scale=self.ucb_scale,
        )

    def pmf(self, view: View) -> Array:
        """Return equal probability on the actions of largest upper confidence bound."""
        ucb = view.values + self.width(view) * view.norms
        return uniform_over(maximisers(view.available(ucb)))

    @property
    def worst_case_regret(self) -> RegretBound | None:
        """A regret bound that holds whatever the gap is."""
        return _worst_case


def _worst_case(T: Array, *, n_actions: int, **known: Array) -> Array:
    del n_actions
    return jnp.asarray(linucb_worst_case(T, **known))


OFUL = LinUCB
