"""NeuralUCB: optimism with the gradient of the whole network as features (Zhou et al., 2020).

    argmax of f(x, a) + ucb_scale ||grad f(x, a)||_{Z^-1}

Z is the diagonal approximation of the paper's comparison: it starts at lambda and adds the squared
gradient of each action played, taken with the network of that time. The network is trained on the
squared error under the same phases as NN-BanditSRL. There is no test: it is never certified.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import above, at_least, check_action, check_mask, check_reward, positive
from banditsrl.core.actions import draw_action, maximisers, uniform_from_key, uniform_over
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, Policy, unmapped_lanes, untested
from banditsrl.core.settings import setting
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.network import Network, Weights
from banditsrl.selection.training import Training, trained


class NeuralUCBState(NamedTuple):
    """State of NeuralUCB."""

    weights: Weights
    Z: Any  # like the trained weights, float64


class NeuralUCB(Policy):
    """Optimism on the gradient of the network, with a diagonal design matrix.

    Args:
        network: The network; its prediction is f = phi . omega.
        training: How it is trained; the spectral loss should be "none".
    """

    network: Network
    _: KW_ONLY
    training: Training = eqx.field(default_factory=lambda: Training(loss="none"))
    gamma: float = setting(1.2, "growth of the phases")
    lam: float = setting(1.0, "where the diagonal of Z starts")
    ucb_scale: float = setting(1.0, "alpha_UCB, multiplies the bonus")

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        positive("lam", self.lam)
        at_least("ucb_scale", self.ucb_scale, 0.0)

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self.network.n_actions

    @property
    def phase_growth(self) -> float | None:
        """Gamma."""
        return self.gamma

    @property
    def uses_history(self) -> bool:
        """The network is trained on all rounds."""
        return True

    @property
    def lanes(self) -> int:
        """As NN-BanditSRL."""
        return unmapped_lanes()

    @in_float64
    def init(self, key: Array) -> NeuralUCBState:
        """Fresh weights; Z = lambda."""
        weights = self.network.fresh(key)
        trainable = (weights.body, weights.omega)
        Z = jax.tree.map(lambda w: jnp.full(w.shape, self.lam, dtype=jnp.float64), trainable)
        return NeuralUCBState(weights, Z)

    @in_float64
    def act(self, state: NeuralUCBState, context: Any, mask: Any, key: Array) -> Choice:
        """The available action of largest index, ties at random."""
        available = check_mask(mask, self.n_actions)
        values, squares = self._gradients(state.weights, context)
        shares = jax.tree.map(
            lambda g, z: (g / z).reshape(self.n_actions, -1).sum(1), squares, state.Z
        )
        bonus = jnp.sqrt(sum(jax.tree.leaves(shares)))
        index = jnp.where(available, values + self.ucb_scale * bonus, -jnp.inf)
        pmf = uniform_over(maximisers(index))
        return untested(draw_action(pmf, uniform_from_key(key)), pmf)

    @in_float64
    def learn(
        self, state: NeuralUCBState, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> NeuralUCBState:
        """Add the squared gradient of the action played; rewards wait for the next phase."""
        del certified
        check_action(action, self.n_actions)
        check_reward(reward)
        _, squares = self._gradients(state.weights, context)
        return state._replace(Z=jax.tree.map(lambda z, g: z + g[action], state.Z, squares))

    @in_float64
    def refresh(self, state: NeuralUCBState, history: History, key: Array) -> NeuralUCBState:
        """Train the network; Z stays."""
        weights, _ = trained(self.training, self.network, state.weights, history, key)
        return state._replace(weights=weights)

    def _gradients(self, weights: Weights, context: Any) -> tuple[Array, Any]:
        """Predictions of every action, (A,), and their squared gradients, (A, ...) float64."""

        def predicted(trainable: Any) -> Array:
            body, omega = trainable
            return jnp.dot(self.network.embed(body, context), omega)

        trainable = (weights.body, weights.omega)
        gradients = jax.jacrev(predicted)(trainable)
        squares = jax.tree.map(lambda g: g.astype(jnp.float64) ** 2, gradients)
        return predicted(trainable).astype(jnp.float64), squares
