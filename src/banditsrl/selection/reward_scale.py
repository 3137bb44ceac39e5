"""In which units are rewards? Their location and scale are estimated from the rewards themselves.

A policy that measures predictions and widths in these units chooses the same actions and gives the
same certificates whether rewards are y or a y + b, for any a > 0. The first reward is subtracted
from all of them (`anchor`), so that sums are exact also where b is large.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from banditsrl.core.history import History


class RewardScale(NamedTuple):
    """Running mean and variance of the rewards so far."""

    n: Array  # ()
    anchor: Array  # () the first reward
    mean: Array  # () mean of the rewards minus the anchor
    squares: Array  # () sum of the squared deviations from the mean

    @property
    def deviation(self) -> Array:
        """Standard deviation of the rewards; zero until two rewards differ."""
        return jnp.sqrt(self.squares / jnp.maximum(self.n, 1.0))


def empty_scale() -> RewardScale:
    """Return the scale before the first reward."""
    return RewardScale(*jnp.zeros((4,), dtype=jnp.float64))


def cover_history(scale: RewardScale, history: History) -> RewardScale:
    """Return the scale of all rounds of a history, if the given one counts fewer.

    It counts fewer after an older version of a model was put back, or a change was noticed.
    """
    anchor = jnp.where(scale.n > 0, scale.anchor, history.rewards[0])
    n = history.n.astype(jnp.float64)
    happened = jnp.arange(history.capacity) < history.n
    mean = jnp.where(happened, history.rewards - anchor, 0.0).sum() / jnp.maximum(n, 1.0)
    squares = jnp.where(happened, (history.rewards - anchor - mean) ** 2, 0.0).sum()
    whole = (n, anchor, mean, squares)
    pairs = zip(whole, scale, strict=True)
    return RewardScale(*(jnp.where(n > scale.n, new, old) for new, old in pairs))


def subtract_anchor(scale: RewardScale, reward: Array) -> tuple[RewardScale, Array]:
    """Return the scale, whose anchor is set by now, and the reward minus the anchor."""
    anchor = jnp.where(scale.n > 0, scale.anchor, reward)
    return scale._replace(anchor=anchor), reward - anchor


def add_reward(scale: RewardScale, y: Array) -> RewardScale:
    """Return the scale after one more reward, from which the anchor was subtracted."""
    n = scale.n + 1.0
    mean = scale.mean + (y - scale.mean) / n
    return scale._replace(n=n, mean=mean, squares=scale.squares + (y - scale.mean) * (y - mean))
