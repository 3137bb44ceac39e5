"""What is counted while a policy plays? Running totals of one seed."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from banditsrl.core.policy import Choice


class Tally(NamedTuple):
    """Running totals of one seed; see `Result` for what they mean."""

    regret: Array
    certified: Array
    trivial: Array
    wrong: Array
    wrong_regret: Array
    last_regret: Array  # the last step with positive regret
    last_uncertified: Array  # the last step that was not certified
    largest_reward: Array  # in absolute value

    def add(self, choice: Choice, regret: Array, reward: Array, step: Array) -> "Tally":
        """Return the totals after one more round."""
        trivial = choice.certified & jnp.isinf(choice.glr)
        wrong = choice.certified & (regret > 0)
        now = step.astype(jnp.float64)
        return Tally(
            regret=self.regret + regret,
            certified=self.certified + (choice.certified & ~trivial),
            trivial=self.trivial + trivial,
            wrong=self.wrong + wrong,
            wrong_regret=self.wrong_regret + jnp.where(wrong, regret, 0.0),
            last_regret=jnp.where(regret > 0, now, self.last_regret),
            last_uncertified=jnp.where(choice.certified, self.last_uncertified, now),
            largest_reward=jnp.maximum(self.largest_reward, jnp.abs(reward)),
        )
