"""BanditSRL over a portfolio: a mixture of embeddings explores, a small trained one certifies.

Wide embeddings (the columns beside random features of them) predict well from few rounds, but
their dimension is far too large for a test. The last layer of a network is small enough to prove
things, once it fits. The portfolio uses all of them:

- *prediction*: the value of an action is the weighted mean of what the wide embeddings and the
  network predict. The weights are those that would have predicted the explored rounds best
  (`stacking`): what suits the problem takes over, and what complements each other is combined.
- *exploration* is optimism: to the value comes the width of the wide embeddings, ucb_scale
  ||psi||_{V^-1}. The network's own would be too small where it has not yet learned to tell
  contexts apart.
- *realizability*: the network may certify (it is in Phi_t) unless the mean of its squared errors
  over all rounds exceeds the mixture's by the share `tolerance` and `slack` standard errors of the
  paired difference. This replaces alpha of the paper, which never binds at such horizons.
- *spectrum*: the network is trained with the spectral loss.
- *the test*: a round is certified when the network is in Phi_t, its likelihood ratio passes, and
  its action is also the one of largest value and the one of largest index. So a certificate says
  that exploration has ended for a context; it never ends what optimism still asks for.

The likelihood ratio test has the tightest radius that theory allows (`radius="determinant"`), and
its guarantee holds if the network is realizable; that it looks so is what Phi_t and the agreement
check. The network is trained on certified rounds too, unlike in the paper: this is how a wrong
certificate is noticed. Mixture, width and Phi_t are heuristics.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least, check_action, check_mask, check_reward
from banditsrl.core.actions import uniform_from_key
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, Policy
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.nn_banditsrl import NNBanditSRL
from banditsrl.policies.wide_ucb import WideState, WideUCB, optimistic
from banditsrl.selection.certificate import CertifiedState
from banditsrl.selection.stacking import MEMORY, Stack, empty_stack, faded, stacked, weights


class Trial(NamedTuple):
    """Paired differences of squared errors, network minus mixture, summed; earlier count less."""

    n: Array
    total: Array
    squares: Array
    mixture: Array  # squared errors of the mixture alone


class AutoState(NamedTuple):
    """State of the portfolio; the network is the last of its E embeddings."""

    explorer: WideState
    certifier: CertifiedState
    stack: Stack
    weights: Array  # (E,)
    trial: Trial
    may_test: Array  # () whether the network is in Phi_t


class BanditSRLAuto(Policy):
    """A portfolio of wide embeddings and a network: all predict, the network certifies.

    Args:
        explorer: The wide embeddings, and the scale of their width.
        certifier: NN-BanditSRL; its base never plays, the mixture does.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> policy = banditsrl.make_policy("banditsrl-auto", problem)
        >>> result = banditsrl.simulate(problem, policy, horizon=300, seeds=1)
        >>> bool(result.mean[-1] < 60)  # a third of what playing at random costs
        True
    """

    explorer: WideUCB
    certifier: NNBanditSRL
    _: KW_ONLY
    slack: float = setting(2.0, "standard errors by which the network in Phi_t may be worse")
    tolerance: float = setting(0.25, "share by which its error may be worse, besides")

    def __check_init__(self) -> None:
        at_least("slack", self.slack, 0.0)
        at_least("tolerance", self.tolerance, 0.0)
        if self.explorer.n_actions != self.certifier.n_actions:
            raise InvalidArgument(
                "explorer and certifier must have the same number of actions, "
                f"got {self.explorer.n_actions} and {self.certifier.n_actions}."
            )

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self.certifier.n_actions

    @property
    def phase_growth(self) -> float | None:
        """That of the network."""
        return self.certifier.gamma

    @property
    def uses_history(self) -> bool:
        """The network is trained on all rounds."""
        return True

    @property
    def lanes(self) -> int:
        """As the network."""
        return self.certifier.lanes

    @in_float64
    def init(self, key: Array) -> AutoState:
        """Empty statistics, fresh weights; the network has to earn its place."""
        stack = empty_stack(len(self.explorer.wides) + 1)
        return AutoState(
            explorer=self.explorer.init(key),
            certifier=self.certifier.init(key),
            stack=stack,
            weights=weights(stack),
            trial=Trial(*jnp.zeros((4,), dtype=jnp.float64)),
            may_test=jnp.zeros((), dtype=bool),
        )

    def scores(self, state: AutoState, context: Any) -> tuple[Array, Array]:
        """What every embedding predicts for every action (E, A), and the wide ones' width (A,)."""
        values, norms = self.explorer.scores(state.explorer, context)
        own = (self.certifier.embed(state.certifier, context) * state.certifier.ridge.theta).sum(1)
        width = self.explorer.ucb_scale * (state.explorer.weights @ norms)
        return jnp.vstack([values, own]), width

    @in_float64
    def act(self, state: AutoState, context: Any, mask: Any, key: Array) -> Choice:
        """Optimism on the mixture; certified where the network's test proves that it is greedy."""
        available = check_mask(mask, self.n_actions)
        tested = self.certifier.act(state.certifier, context, available, key)
        values, width = self.scores(state, context)
        predicted = jnp.where(available, state.weights @ values, -jnp.inf)
        action, pmf = optimistic(predicted + width, uniform_from_key(key))
        agreed = (jnp.argmax(predicted) == tested.action) & (action == tested.action)
        certified = tested.certified & ((state.may_test & agreed) | (available.sum() == 1))
        used = jnp.where(certified, len(state.weights) - 1, jnp.argmax(state.weights))
        return Choice(
            action=jnp.where(certified, tested.action, action).astype(jnp.int32),
            pmf=jnp.where(certified, tested.pmf, pmf),
            certified=certified,
            glr=tested.glr,
            threshold=tested.threshold,
            representation=used.astype(jnp.int32),
        )

    @in_float64
    def learn(
        self, state: AutoState, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> AutoState:
        """Compare the predictions, then teach both."""
        action, reward = check_action(action, self.n_actions), check_reward(reward)
        predicted = self.scores(state, context)[0][:, action]  # (E,)
        mixture = (state.weights @ predicted - reward) ** 2
        difference = (predicted[-1] - reward) ** 2 - mixture
        more = Trial(jnp.ones(()), difference, difference * difference, mixture)
        explored = ~jnp.asarray(certified)
        return AutoState(
            explorer=self.explorer.learn(state.explorer, context, action, reward, certified),
            certifier=self.certifier.learn(state.certifier, context, action, reward, certified),
            stack=stacked(state.stack, predicted, reward, explored),
            weights=state.weights,
            trial=jax.tree.map(jnp.add, state.trial, more),
            may_test=state.may_test,
        )

    @in_float64
    def refresh(self, state: AutoState, history: History, key: Array) -> AutoState:
        """Weigh the embeddings and decide on Phi_t by the phase that ends; train the network."""
        n, total, squares, mixture = state.trial
        n = jnp.maximum(n, 1.0)
        mean = total / n
        error = jnp.sqrt(jnp.maximum(squares / n - mean * mean, 0.0) / n)
        trained = state.certifier.learned.n_explored >= self.certifier.training.batch
        fits = mean <= self.slack * error + self.tolerance * mixture / n
        explorer_key, certifier_key = jax.random.split(key)
        return AutoState(
            explorer=self.explorer.refresh(state.explorer, history, explorer_key),
            certifier=self.certifier.refresh(state.certifier, history, certifier_key),
            stack=faded(state.stack),
            weights=weights(state.stack),
            trial=Trial(*[MEMORY * value for value in state.trial]),
            may_test=trained & fits,
        )

    def report(self, state: AutoState) -> dict[str, Array]:
        """The embedding of largest weight, all weights, Phi_t, and the spectral loss."""
        always = jnp.ones(len(state.weights) - 1, dtype=bool)
        return {
            "representation": jnp.argmax(state.weights).astype(jnp.int32),
            "weights": state.weights,
            "active": jnp.append(always, state.may_test),
            "loss": state.certifier.loss,
            "lambda_min": state.certifier.lambda_min,
        }
