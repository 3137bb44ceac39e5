"""How far can one trust a predictor that was trained? As far as it agrees with a twin.

A confidence bound assumes that the embedding was given beforehand. An embedding that was trained on
the very rewards with which it is tested fits their noise, and the bound is too small: on pure noise
it certifies. Twins need no such bound. One is trained on the rounds 0, 2, 4, ..., the other one on
the rounds 1, 3, 5, ..., so the errors that noise causes in the two are independent, whatever was
trained and however. If D_1 and D_2 are what the two say about a difference, then (D_1 + D_2) / 2
has an error whose square is, on average, (D_1 - D_2)^2 / 4.

The networks here are such twins. A state is a `NetworkState` whose arrays have one more axis in
front, of length two.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.history import History, every_other
from banditsrl.core.representation import Context
from banditsrl.selection.network_learner import NetworkLearner, NetworkState


class TwinNetworks(eqx.Module):
    """Two networks, each trained on its own half of the rounds.

    Args:
        learner: The network, its training, and its statistics.
    """

    learner: NetworkLearner

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return self.learner.network.n_actions

    def init(self, key: Array) -> NetworkState:
        """Return two networks with different weights."""
        state: NetworkState = jax.vmap(self.learner.init)(jax.random.split(key))
        return state

    def embed(self, state: NetworkState, context: Context) -> Array:
        """Return the embeddings of both networks, (2, A, d)."""
        return jax.vmap(lambda one: self.learner.embed(one, context))(state)

    def predict(self, state: NetworkState, phi: Array) -> Array:
        """Return what each network predicts of every action, (2, A)."""
        return (phi * state.ridge.theta[:, None]).sum(2)

    def learn(
        self, state: NetworkState, phi: Array, action: Array, reward: Array, certified: Array
    ) -> NetworkState:
        """Add a round to the statistics of the network to whose half it belongs."""

        def learn(one: NetworkState, phi: Array, half: Array) -> NetworkState:
            counts = one.n_rounds % 2 == half
            return self.learner.learn(one, phi, action, reward, certified, counts)

        learned: NetworkState = jax.vmap(learn)(state, phi, jnp.arange(2))
        return learned

    def train(self, state: NetworkState, halves: History, key: Array) -> NetworkState:
        """Train each network on its half of the rounds (see `split`)."""
        parts = (state, halves, jax.random.split(key))
        trained: NetworkState = jax.lax.map(lambda part: self.learner.train(*part), parts)
        return trained


def split(history: History) -> History:
    """Return the two halves of a history, stacked along a new first axis of every array."""
    halves = [every_other(history, first) for first in (0, 1)]
    stacked: History = jax.tree.map(lambda *parts: jnp.stack(parts), *halves)
    return stacked
