"""BanditSRL over a portfolio: a wide embedding explores, a small trained one certifies.

A wide embedding (the columns beside random features of them) predicts well from few rounds, but
its dimension is far too large for a test. The last layer of a network is small enough to prove
things, once it fits. The portfolio uses both:

- *realizability*: both predict every reward before it is seen. The network is in Phi_t when the
  mean of its squared errors does not exceed the wide embedding's by more than `slack` standard
  errors of the paired difference. This replaces alpha of the paper, which never binds at such
  horizons; it is a heuristic.
- *spectrum*: the network is trained with the spectral loss, so that it can certify.
- *the test*: a round is certified when the network is in Phi_t, its likelihood ratio passes, and
  the wide embedding agrees on the best action; then that action is played. Elsewhere the explorer
  plays. Squared errors of the network see only the rounds of the explorer, as in NN-BanditSRL.

The likelihood ratio test is the paper's, and its guarantee holds if the network is realizable;
that it looks so is what Phi_t and the agreement check. The explorer's width is a heuristic.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least
from banditsrl.errors import InvalidArgument
from banditsrl.linear.glrt import checked_mask
from banditsrl.linear.lanes import double
from banditsrl.policies.certified import CertifiedState
from banditsrl.policies.history import History
from banditsrl.policies.neural import NNBanditSRL
from banditsrl.policies.policy import Choice, Policy, setting
from banditsrl.policies.wide import WideState, WideUCB

MEMORY = 0.5
"""Weight of earlier phases in the comparison of errors."""


class Trial(NamedTuple):
    """Paired differences of squared errors, network minus wide, weighted by phase."""

    n: Array
    total: Array
    squares: Array


class AutoState(NamedTuple):
    """State of the portfolio."""

    explorer: WideState
    certifier: CertifiedState
    trial: Trial
    compatible: Array  # () the network is in Phi_t


class BanditSRLAuto(Policy):
    """A portfolio of a wide embedding that explores and a network that certifies.

    Args:
        explorer: Optimism on a wide embedding.
        certifier: NN-BanditSRL; its base is not used.

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
    slack: float = setting(2.0, "standard errors by which the network may predict worse")

    def __check_init__(self) -> None:
        at_least("slack", self.slack, 0.0)
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

    @double
    def init(self, key: Array) -> AutoState:
        """Empty statistics, fresh weights; the network has to earn its place."""
        zero = jnp.zeros((), dtype=jnp.float64)
        return AutoState(
            explorer=self.explorer.init(key),
            certifier=self.certifier.init(key),
            trial=Trial(zero, zero, zero),
            compatible=jnp.zeros((), dtype=bool),
        )

    @double
    def act(self, state: AutoState, context: Any, mask: Any, key: Array) -> Choice:
        """The network's greedy action where it is proved best, else the explorer's."""
        available = checked_mask(mask, self.n_actions)
        explored = self.explorer.act(state.explorer, context, available, key)
        tested = self.certifier.act(state.certifier, context, available, key)
        values, _ = self.explorer.scores(state.explorer, context)
        best = jnp.argmax(jnp.where(available, values, -jnp.inf))
        alone = available.sum() == 1
        agreed = state.compatible & (best == tested.action)
        certified = tested.certified & (agreed | alone)
        return Choice(
            action=jnp.where(certified, tested.action, explored.action).astype(jnp.int32),
            pmf=jnp.where(certified, tested.pmf, explored.pmf),
            certified=certified,
            glr=tested.glr,
            threshold=tested.threshold,
            representation=certified.astype(jnp.int32),
        )

    @double
    def learn(
        self, state: AutoState, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> AutoState:
        """Compare the predictions, then teach both."""
        values, _ = self.explorer.scores(state.explorer, context)
        phi = self.certifier.embed(state.certifier, context)[action]
        predicted = phi @ state.certifier.ridge.theta
        difference = (predicted - reward) ** 2 - (values[action] - reward) ** 2
        trial = Trial(
            state.trial.n + 1.0,
            state.trial.total + difference,
            state.trial.squares + difference * difference,
        )
        return AutoState(
            explorer=self.explorer.learn(state.explorer, context, action, reward, certified),
            certifier=self.certifier.learn(state.certifier, context, action, reward, certified),
            trial=trial,
            compatible=state.compatible,
        )

    @double
    def refresh(self, state: AutoState, history: History, key: Array) -> AutoState:
        """Decide on Phi_t by the phase that ends, then train the network."""
        n = jnp.maximum(state.trial.n, 1.0)
        mean = state.trial.total / n
        error = jnp.sqrt(jnp.maximum(state.trial.squares / n - mean * mean, 0.0) / n)
        explorer_key, certifier_key = jax.random.split(key)
        certifier = self.certifier.refresh(state.certifier, history, certifier_key)
        trained = state.certifier.learned.n_explored >= self.certifier.training.batch
        return AutoState(
            explorer=self.explorer.refresh(state.explorer, history, explorer_key),
            certifier=certifier,
            trial=Trial(*[MEMORY * value for value in state.trial]),
            compatible=trained & (mean <= self.slack * error),
        )

    def report(self, state: AutoState) -> dict[str, Array]:
        """Which embedding certifies (1: the network; 0: none), Phi_t and the spectral loss."""
        return {
            "representation": state.compatible.astype(jnp.int32),
            "active": jnp.stack([jnp.ones((), dtype=bool), state.compatible]),
            "loss": state.certifier.loss,
            "lambda_min": state.certifier.lambda_min,
        }
