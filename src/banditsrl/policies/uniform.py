"""Uniform: every available action with equal probability."""

from jax import Array

from banditsrl.policies.linear import LinearPolicy, View
from banditsrl.policies.policy import uniform_over


class Uniform(LinearPolicy):
    """Play at random; the yardstick that anything must beat."""

    def pmf(self, view: View) -> Array:
        """Equal over the available actions."""
        return uniform_over(view.mask)
