"""Greedy: the action with the largest estimated reward."""

from jax import Array

from banditsrl.core.actions import maximisers, uniform_over
from banditsrl.policies.linear_policy import LinearPolicy, View, available_values


class Greedy(LinearPolicy):
    """Never explore on purpose. Not a no-regret algorithm."""

    def pmf(self, view: View) -> Array:
        """Equal over the actions of largest estimated reward."""
        return uniform_over(maximisers(available_values(view, view.values)))
