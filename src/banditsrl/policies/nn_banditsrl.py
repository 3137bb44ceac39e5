"""NN-BanditSRL: BanditSRL whose representation is a network, trained at the end of each phase.

Within a phase it works like BanditSRL: the network's last layer is the representation, and the
likelihood ratio test and the base algorithm work on its ridge statistics. At the end of a phase
the network is trained on the mean squared error and a spectral loss, and the statistics are rebuilt
from all samples (see `selection.network_learner`). With the spectral loss and the test switched
off, the policy is the base algorithm on the maximum-likelihood representation (Neural-LinUCB and so
on).

There is one departure from the linear case. Two actions with equal embeddings may have different
embeddings after the next phase, so a round in which the greedy action has such a twin is not
certified.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import above, check_action, check_mask, check_reward
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, State
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.base_player import Moment, keep_if_certified
from banditsrl.policies.fitted_policy import FittedPolicy
from banditsrl.policies.tested_policy import PolicyAroundBase
from banditsrl.representations.network import Network
from banditsrl.selection.certificate import Certificate
from banditsrl.selection.network_learner import NetworkLearner, NetworkState
from banditsrl.selection.training import Training


class NNBanditSRLState(NamedTuple):
    """State of NN-BanditSRL."""

    network: NetworkState
    base: State  # the base's own state


class NNBanditSRL(PolicyAroundBase[NNBanditSRLState], FittedPolicy[NNBanditSRLState]):
    """Bandit Spectral Representation Learner with a network.

    Args:
        network: The network whose last layer is the representation.
        base: Any no-regret algorithm, as in `BanditSRL`.
        training: How the network is trained.
        gamma: A phase ends when the number of rounds has grown by this factor.
        refit: The last layer between phases: "ridge" on all samples, "sgd" one step per round from
            the trained output layer, or "none" (the network's own output, as in plain IGW).

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> network = banditsrl.Network(problem.representations[0], layers=(20, 5))
        >>> policy = banditsrl.NNBanditSRL(network, base=banditsrl.EpsilonGreedy(), sigma=0.2)
        >>> result = banditsrl.simulate(problem, policy, horizon=200, seeds=1)
        >>> result.regret.shape
        (1, 100)
    """

    network: Network
    _: KW_ONLY
    training: Training = eqx.field(default_factory=Training)
    gamma: float = setting(1.2, "A phase ends when the number of rounds has grown by this factor.")
    refit: str = setting("ridge", "Last layer between phases: ridge, sgd or none.")
    refit_rate: float = setting(1e-3, "Step size when the last layer is refitted by sgd.")
    guarded: bool = setting(
        False, "Whether to keep the old network where the new one fits all samples worse."
    )
    held_out: bool = setting(
        False, "Whether the test uses only rounds on which the network is not trained."
    )

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        self.learner.__check_init__()

    @property
    def learner(self) -> NetworkLearner:
        """The network, its training, and the statistics of its embedding."""
        return NetworkLearner(
            self.network,
            self.training,
            lam=self.effective.lam,
            refit=self.refit,
            refit_rate=self.refit_rate,
            guarded=self.guarded,
            held_out=self.held_out,
        )

    @property
    def certificate(self) -> Certificate:
        """The test on the embedding of a network."""
        return self.make_certificate(tie=self.rules.tie_of_networks, refuses_twins=True)

    @in_float64
    def init(self, key: Array) -> NNBanditSRLState:
        """Return fresh weights and empty statistics."""
        weights_key, base_key = jax.random.split(key)
        return NNBanditSRLState(
            network=self.learner.init(weights_key),
            base=self.player.init(self.network.dim, base_key),
        )

    @in_float64
    def act(
        self, state: NNBanditSRLState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Play the greedy action if the test passes, otherwise the choice of the base."""
        network, ridge = state.network, state.network.ridge
        phi = self.learner.embed(network, context)
        available = check_mask(mask, phi.shape[0])
        facts = self.learner.facts(network, self.effective.sigma)
        delta = self.delta_after(ridge.n)
        verdict = self.certificate.test(ridge, phi, available, facts, delta)
        if self.rules.waits_for_batch:
            ready = self.learner.has_batch(network)
            verdict = verdict._replace(certified=verdict.certified & ready)
        moment = Moment(phi, phi, available, ridge, delta, facts.sigma, facts.B)
        action, pmf = self.player.choose(state.base, moment, key)
        return verdict.override(action, pmf, jnp.zeros((), dtype=jnp.int32))

    @in_float64
    def learn(
        self,
        state: NNBanditSRLState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> NNBanditSRLState:
        """Add the sample to the statistics; if the base played the round, it learns too."""
        phi = self.learner.embed(state.network, context)
        played, y = check_action(action, phi.shape[0]), check_reward(reward)
        taught = self.player.learn(state.base, phi, phi, played, y)
        return NNBanditSRLState(
            network=self.learner.learn(state.network, phi, played, y, jnp.asarray(certified)),
            base=keep_if_certified(certified, state.base, taught),
        )

    @in_float64
    def predict(self, state: NNBanditSRLState, context: Context) -> Array | None:
        """Return the prediction of the last layer for every action."""
        return self.learner.embed(state.network, context) @ state.network.ridge.theta

    @in_float64
    def refresh(self, state: NNBanditSRLState, history: History, key: Array) -> NNBanditSRLState:
        """Train the network, rebuild its statistics, and reset the base."""
        train_key, base_key = jax.random.split(key)
        return NNBanditSRLState(
            network=self.learner.train(state.network, history, train_key),
            base=self.player.init(self.network.dim, base_key),
        )

    def report(self, state: NNBanditSRLState) -> dict[str, Array]:
        """Return the spectral loss and the smallest eigenvalue; there is one candidate."""
        return {
            "representation": jnp.zeros((), dtype=jnp.int32),
            "active": jnp.ones(1, dtype=bool),
            "loss": state.network.loss,
            "lambda_min": state.network.lambda_min,
        }

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the network, against which contexts are checked."""
        return (self.network.inputs,)
