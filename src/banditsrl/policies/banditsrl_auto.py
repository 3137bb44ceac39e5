"""BanditSRL over a portfolio: a mixture of embeddings explores, and a small trained one certifies.

Wide embeddings (the columns together with random features of them) predict well after few rounds,
but their dimension is far too large for a test. The last layer of a network has a dimension that is
small enough for the test, once the network fits the rewards. The portfolio uses all of them:

- *prediction*: the value of an action is the weighted mean of what the wide embeddings and the
  network predict. The weights are those that would have predicted the explored rounds best
  (`stacking`).
- *exploration* is optimism: the width of the wide embeddings, ucb_scale ||psi||_{V^-1}, is added to
  the value. The network's own width would be too small where it has not yet learned to distinguish
  contexts.
- *realizability*: the network is in Phi_t, and may certify, unless the mean of its squared errors
  over all rounds exceeds the mixture's by more than the relative error `tolerance` plus `slack`
  standard errors of the paired difference. This replaces alpha of the paper, which never eliminates
  anything at such horizons.
- *spectrum*: the network is trained with the spectral loss.
- *the test*: a round is certified if the network is in Phi_t, its likelihood ratio passes the test,
  and its action is both the action of largest value and the action that optimism would play. So a
  certificate never stops exploration that optimism would still do.

The test has the tightest radius that theory allows (`radius="determinant"`). Its guarantee holds if
the network is realizable; Phi_t and the agreement with the mixture can only find evidence against
that. Unlike in the paper, the network is also trained on certified rounds, because their rewards
show when a certificate is wrong. Mixture, width and Phi_t are heuristics.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import above, at_least, check_action, check_mask, check_reward
from banditsrl.core.actions import draw_best
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, RidgeSettings
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import seeds_of_a_network
from banditsrl.policies.tested_policy import DEFAULTS, TestedPolicy
from banditsrl.policies.wide_ucb import WideState, WideUCB
from banditsrl.selection.certificate import Certificate, Verdict
from banditsrl.selection.network_learner import NetworkLearner, NetworkState
from banditsrl.selection.stacking import (
    MEMORY,
    Stack,
    add_predictions,
    empty_stack,
    fade,
    fit_weights,
)


class ErrorComparison(NamedTuple):
    """Sums over rounds of the squared error of the network minus the mixture's.

    Earlier phases count less.
    """

    n: Array
    total: Array
    squares: Array
    mixture: Array  # sum of the squared errors of the mixture


class AutoState(NamedTuple):
    """State of the portfolio; the network is the last of its E embeddings."""

    explorer: WideState
    network: NetworkState
    stack: Stack
    weights: Array  # (E,)
    comparison: ErrorComparison
    may_certify: Array  # () whether the network is in Phi_t


class BanditSRLAuto(TestedPolicy[AutoState]):
    """A portfolio of wide embeddings and a network: all of them predict, the network certifies.

    Args:
        explorer: The wide embeddings, and the scale of their width.
        learner: The network and its training.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> policy = banditsrl.make_policy("banditsrl-auto", problem)
        >>> result = banditsrl.simulate(problem, policy, horizon=300, seeds=1)
        >>> bool(result.mean[-1] < 60)  # a third of what playing at random costs
        True
    """

    explorer: WideUCB
    learner: NetworkLearner
    _: KW_ONLY
    gamma: float = setting(1.2, "Growth of the phases.")
    slack: float = setting(
        2.0, "Standard errors by which the network's error may exceed the mixture's."
    )
    tolerance: float = setting(0.25, "Additional relative error that is tolerated.")

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        at_least("slack", self.slack, 0.0)
        at_least("tolerance", self.tolerance, 0.0)
        if self.effective.lam != self.learner.lam:
            raise InvalidArgument(
                f"lam must be that of the learner, {self.learner.lam:g}, "
                f"got {self.effective.lam:g}."
            )
        if self.explorer.n_actions != self.learner.network.n_actions:
            raise InvalidArgument(
                "explorer and learner must have the same number of actions, "
                f"got {self.explorer.n_actions} and {self.learner.network.n_actions}."
            )

    @property
    def inherited(self) -> RidgeSettings:
        """The network's ridge parameter, and the defaults otherwise."""
        return DEFAULTS._replace(lam=self.learner.lam)

    @property
    def certificate(self) -> Certificate:
        """The test on the embedding of the network."""
        return self.make_certificate(tie=self.rules.tie_of_networks, refuses_twins=True)

    @in_float64
    def init(self, key: Array) -> AutoState:
        """Return empty statistics and fresh weights; the network may not certify yet."""
        stack = empty_stack(len(self.explorer.wides) + 1)
        weights_key, _ = jax.random.split(key)
        return AutoState(
            explorer=self.explorer.init(key),
            network=self.learner.init(weights_key),
            stack=stack,
            weights=fit_weights(stack),
            comparison=ErrorComparison(*jnp.zeros((4,), dtype=jnp.float64)),
            may_certify=jnp.zeros((), dtype=bool),
        )

    @in_float64
    def act(self, state: AutoState, context: Context, mask: ArrayLike | None, key: Array) -> Choice:
        """Play optimistically on the mixture; certify if the test passes and all agree."""
        phi = self.learner.embed(state.network, context)
        available = check_mask(mask, phi.shape[0])
        values, width = self._predict(state, context, phi)
        predicted = jnp.where(available, state.weights @ values, -jnp.inf)
        action, pmf = draw_best(predicted + width, key)
        verdict = self._test(state, phi, available)
        agreed = (jnp.argmax(predicted) == verdict.greedy) & (action == verdict.greedy)
        counts = (state.may_certify & agreed) | (available.sum() == 1)
        certified = verdict.certified & counts
        used = jnp.where(certified, len(state.weights) - 1, jnp.argmax(state.weights))
        final = verdict._replace(certified=certified)
        return final.override(action, pmf, used.astype(jnp.int32))

    def _predict(self, state: AutoState, context: Context, phi: Array) -> tuple[Array, Array]:
        """Return every embedding's prediction for every action (E, A), and the width (A,)."""
        values, norms = self.explorer.score(state.explorer, context)
        own = (phi * state.network.ridge.theta).sum(1)
        width = self.explorer.ucb_scale * (state.explorer.weights @ norms)
        return jnp.vstack([values, own]), width

    def _test(self, state: AutoState, phi: Array, available: Array) -> Verdict:
        """Test the context in the embedding of the network."""
        facts = self.learner.facts(state.network, self.effective.sigma)
        ridge = state.network.ridge
        verdict = self.certificate.test(ridge, phi, available, facts, self.delta_after(ridge.n))
        if not self.rules.waits_for_batch:
            return verdict
        ready = self.learner.has_batch(state.network)
        return verdict._replace(certified=verdict.certified & ready)

    @in_float64
    def learn(
        self,
        state: AutoState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> AutoState:
        """Add the errors of the predictions; the wide embeddings and the network learn."""
        phi = self.learner.embed(state.network, context)
        played, y = check_action(action, phi.shape[0]), check_reward(reward)
        predicted = self._predict(state, context, phi)[0][:, played]  # (E,)
        mixture = (state.weights @ predicted - y) ** 2
        difference = (predicted[-1] - y) ** 2 - mixture
        more = ErrorComparison(jnp.ones(()), difference, difference * difference, mixture)
        certified = jnp.asarray(certified)
        return AutoState(
            explorer=self.explorer.learn(state.explorer, context, played, y, certified),
            network=self.learner.learn(state.network, phi, played, y, certified),
            stack=add_predictions(state.stack, predicted, y, ~certified),
            weights=state.weights,
            comparison=jax.tree.map(jnp.add, state.comparison, more),
            may_certify=state.may_certify,
        )

    @in_float64
    def predict(self, state: AutoState, context: Context) -> Array | None:
        """Return the prediction of the mixture for every action."""
        phi = self.learner.embed(state.network, context)
        return state.weights @ self._predict(state, context, phi)[0]

    @in_float64
    def refresh(self, state: AutoState, history: History, key: Array) -> AutoState:
        """Fit the weights, decide whether the network is in Phi_t, and train the network."""
        explorer_key, network_key = jax.random.split(key)
        train_key, _ = jax.random.split(network_key)
        faded = [MEMORY * value for value in state.comparison]
        return AutoState(
            explorer=self.explorer.refresh(state.explorer, history, explorer_key),
            network=self.learner.train(state.network, history, train_key),
            stack=fade(state.stack),
            weights=fit_weights(state.stack),
            comparison=ErrorComparison(*faded),
            may_certify=self.learner.has_batch(state.network) & self._fits(state.comparison),
        )

    def _fits(self, comparison: ErrorComparison) -> Array:
        """Return whether the network predicts about as well as the mixture."""
        n, total, squares, mixture = comparison
        n = jnp.maximum(n, 1.0)
        mean = total / n
        error = jnp.sqrt(jnp.maximum(squares / n - mean * mean, 0.0) / n)
        return mean <= self.slack * error + self.tolerance * mixture / n

    def report(self, state: AutoState) -> dict[str, Array]:
        """Return the embedding of largest weight, all weights, Phi_t, and the spectral loss."""
        always = jnp.ones(len(state.weights) - 1, dtype=bool)
        return {
            "representation": jnp.argmax(state.weights).astype(jnp.int32),
            "weights": state.weights,
            "active": jnp.append(always, state.may_certify),
            "loss": state.network.loss,
            "lambda_min": state.network.lambda_min,
        }

    @property
    def phase_growth(self) -> float | None:
        """The growth gamma of the phases."""
        return self.gamma

    @property
    def uses_history(self) -> bool:
        """True: the network is trained on all rounds."""
        return True

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the network, against which contexts are checked."""
        return (self.learner.network.inputs,)

    @property
    def seeds_at_once(self) -> int | None:
        """One on a CPU, which training one network keeps busy."""
        return seeds_of_a_network()
