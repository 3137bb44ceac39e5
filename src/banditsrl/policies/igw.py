"""IGW: play an action with a probability inversely proportional to its estimated gap."""

from dataclasses import KW_ONLY

import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least
from banditsrl.core.actions import maximisers
from banditsrl.core.settings import setting
from banditsrl.policies.linear_policy import LinearPolicy, View


class IGW(LinearPolicy):
    r"""Inverse gap weighting: the larger the estimated gap, the smaller the probability.

    $$
    p(a)=\frac{1}{A+\gamma_1t^{\gamma_2}\,(\max_b f(b)-f(a))}
    $$

    for all but the greedy action, which has the remaining probability; several greedy actions share
    it. $A$ is the number of available actions, and $f$ are the predicted rewards.
    """

    _: KW_ONLY
    gamma1: float = setting(10.0, "Factor of the gaps.")
    gamma2: float = setting(1.0 / 3.0, "Exponent of the step.")

    def __check_init__(self) -> None:
        at_least("gamma1", self.gamma1, 0.0)
        at_least("gamma2", self.gamma2, 0.0)

    def pmf(self, view: View) -> Array:
        """Return the inverse gaps, and the rest on the greedy actions."""
        values = view.available(view.values)
        greedy = maximisers(values)
        gap = jnp.where(view.mask, values.max() - view.values, 0.0)
        inverse = 1.0 / (view.mask.sum() + self.gamma1 * view.step**self.gamma2 * gap)
        others = jnp.where(view.mask & ~greedy, inverse, 0.0)
        return jnp.where(greedy, (1.0 - others.sum()) / greedy.sum(), others)
