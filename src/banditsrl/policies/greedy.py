"""Greedy: play the action with the largest estimated reward."""

from jax import Array

from banditsrl.core.actions import maximisers, uniform_over
from banditsrl.policies.linear_policy import LinearPolicy, View


class Greedy(LinearPolicy):
    """Never explore on purpose. This is not a no-regret algorithm."""

    def pmf(self, view: View) -> Array:
        """Return equal probability on the actions of largest estimated reward."""
        return uniform_over(maximisers(view.available(view.values)))
