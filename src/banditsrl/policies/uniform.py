"""Uniform: every available action with equal probability."""

from jax import Array

from banditsrl.core.actions import uniform_over
from banditsrl.policies.linear_policy import LinearPolicy, View


class Uniform(LinearPolicy):
    """Play at random; the yardstick that anything must beat."""

    def pmf(self, view: View) -> Array:
        """Equal over the available actions."""
        return uniform_over(view.mask)
