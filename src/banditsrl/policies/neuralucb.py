"""NeuralUCB: optimism with the gradient of the whole network as features (Zhou et al., 2020).

    argmax of f(x, a) + ucb_scale ||grad f(x, a)||_{Z^-1}

Z is the diagonal approximation of the paper's comparison. It starts at lambda, and each round adds
the squared gradient of the action played, at the weights of that round. The network is trained on
the squared error in the same phases as NN-BanditSRL. There is no test, so no choice is certified.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import above, at_least, check_action, check_mask, check_reward, positive
from banditsrl.core.actions import draw_best
from banditsrl.core.history import History
from banditsrl.core.policy import Choice
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.fitted_policy import FittedPolicy
from banditsrl.representations.network import Network, NetworkWeights
from banditsrl.selection.training import Training, train


class NeuralUCBState(NamedTuple):
    """State of NeuralUCB."""

    weights: NetworkWeights
    Z: Any  # arrays like the trained weights, float64


class NeuralUCB(FittedPolicy[NeuralUCBState]):
    """Optimism on the gradient of the network, with a diagonal design matrix.

    Args:
        network: The network; its prediction is f = phi . omega.
        training: How the network is trained; the spectral loss should be "none".
    """

    network: Network
    _: KW_ONLY
    training: Training = eqx.field(default_factory=lambda: Training(loss="none"))
    gamma: float = setting(1.2, "A phase ends when the number of rounds has grown by this factor.")
    lam: float = setting(1.0, "Initial value of the diagonal of Z.")
    ucb_scale: float = setting(1.0, "alpha_UCB, the factor of the bonus.")

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        positive("lam", self.lam)
        at_least("ucb_scale", self.ucb_scale, 0.0)

    @in_float64
    def init(self, key: Array) -> NeuralUCBState:
        """Return fresh weights and Z = lambda."""
        weights = self.network.init(key)
        trainable = (weights.body, weights.omega)
        Z = jax.tree.map(lambda w: jnp.full(w.shape, self.lam, dtype=jnp.float64), trainable)
        return NeuralUCBState(weights, Z)

    @in_float64
    def act(
        self, state: NeuralUCBState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Play the available action of largest index, ties at random."""
        n_actions = self.network.n_actions
        available = check_mask(mask, n_actions)
        values, squares = self._squared_gradients(state.weights, context)
        shares = jax.tree.map(lambda g, z: (g / z).reshape(n_actions, -1).sum(1), squares, state.Z)
        bonus = jnp.sqrt(sum(jax.tree.leaves(shares)))
        index = jnp.where(available, values + self.ucb_scale * bonus, -jnp.inf)
        return Choice.without_test(*draw_best(index, key))

    @in_float64
    def learn(
        self,
        state: NeuralUCBState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> NeuralUCBState:
        """Add the squared gradient of the action played; the reward is used at the phase end."""
        del certified
        action = check_action(action, self.network.n_actions)
        check_reward(reward)
        _, squares = self._squared_gradients(state.weights, context)
        return state._replace(Z=jax.tree.map(lambda z, g: z + g[action], state.Z, squares))

    @in_float64
    def refresh(self, state: NeuralUCBState, history: History, key: Array) -> NeuralUCBState:
        """Train the network; Z does not change."""
        weights, _ = train(self.training, self.network, state.weights, history, key)
        return state._replace(weights=weights)

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the network, against which contexts are checked."""
        return (self.network.inputs,)

    def _squared_gradients(self, weights: NetworkWeights, context: Context) -> tuple[Array, Any]:
        """Return the predictions of every action, (A,), and their squared gradients, (A, ...)."""

        def predict(trainable: Any) -> Array:
            body, omega = trainable
            return self.network.at(NetworkWeights(body, omega, weights.z)).predict(context)

        trainable = (weights.body, weights.omega)
        gradients = jax.jacrev(predict)(trainable)
        squares = jax.tree.map(lambda g: g.astype(jnp.float64) ** 2, gradients)
        return predict(trainable).astype(jnp.float64), squares
