"""Greedy: the action with the largest estimated reward."""

from jax import Array

from banditsrl.policies.linear import LinearPolicy, View, available_values, maximisers
from banditsrl.policies.policy import uniform_over


class Greedy(LinearPolicy):
    """Never explore on purpose. Not a no-regret algorithm."""

    def pmf(self, view: View) -> Array:
        """Equal over the actions of largest estimated reward."""
        return uniform_over(maximisers(available_values(view, view.values)))
