"""Uniform: play every available action with equal probability."""

from jax import Array

from banditsrl.core.actions import uniform_over
from banditsrl.policies.linear_policy import LinearPolicy, View


class Uniform(LinearPolicy):
    """Play at random; every other policy should have less regret than this one."""

    def pmf(self, view: View) -> Array:
        """Return equal probability on the available actions."""
        return uniform_over(view.mask)
