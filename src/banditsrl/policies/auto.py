"""BanditSRL over a portfolio: a wide embedding explores, a small trained one certifies.

A wide embedding (the columns beside random features of them) predicts well from few rounds, but
its dimension is far too large for a test. The last layer of a network is small enough to prove
things, once it fits. The portfolio uses both:

- *realizability*: both predict every reward before it is seen, and each is judged where it is used.
  The network may certify (it is in Phi_t) unless the mean of its squared errors over all rounds
  exceeds the other's by the share `tolerance` and `slack` standard errors of the paired difference.
  The wide embedding may explore unless over the explored rounds its mean exceeds the network's by
  `slack` standard errors; it returns when the network leaves. This replaces alpha of the paper,
  which never binds at such horizons; it is a heuristic.
- *spectrum*: the network is trained with the spectral loss, and in Phi_t it is the one that tests.
- *the test*: a round is certified when the network is in Phi_t, its likelihood ratio passes, and
  the wide embedding, if it is in Phi_t, agrees on the best action; then that action is played.
- *elsewhere* the wide embedding explores as long as it is in Phi_t, and then the base algorithm on
  the network.

The likelihood ratio test has the tightest radius that theory allows (`radius="determinant"`), and
its guarantee holds if the network is realizable; that it looks so is what Phi_t and the agreement
check. The network is trained on certified rounds too, unlike in the paper: this is how a wrong
certificate is noticed. The explorer's width is a heuristic.
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
    """Paired differences of squared errors, network minus wide: of explored rounds, and of all.

    Sums over rounds, (2,) each; earlier phases weigh less.
    """

    n: Array
    total: Array
    squares: Array
    wide: Array  # squared errors of the wide embedding alone


class AutoState(NamedTuple):
    """State of the portfolio."""

    explorer: WideState
    certifier: CertifiedState
    trial: Trial
    active: Array  # (2,) Phi_t: whether it holds the wide embedding, and the network


class BanditSRLAuto(Policy):
    """A portfolio of a wide embedding that explores and a network that certifies.

    Args:
        explorer: Optimism on a wide embedding.
        certifier: NN-BanditSRL; its base explores once the wide embedding is out.

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
    slack: float = setting(2.0, "standard errors by which an embedding in Phi_t may be worse")
    tolerance: float = setting(0.05, "share by which the network's error may be worse, besides")

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

    @double
    def init(self, key: Array) -> AutoState:
        """Empty statistics, fresh weights; the network has to earn its place."""
        zero = jnp.zeros(2, dtype=jnp.float64)
        return AutoState(
            explorer=self.explorer.init(key),
            certifier=self.certifier.init(key),
            trial=Trial(zero, zero, zero, zero),
            active=jnp.asarray([True, False]),
        )

    @double
    def act(self, state: AutoState, context: Any, mask: Any, key: Array) -> Choice:
        """The network's greedy action where it is proved best, else exploration."""
        available = checked_mask(mask, self.n_actions)
        explored = self.explorer.act(state.explorer, context, available, key)
        tested = self.certifier.act(state.certifier, context, available, key)
        values, _ = self.explorer.scores(state.explorer, context)
        best = jnp.argmax(jnp.where(available, values, -jnp.inf))
        wide, network = state.active
        agreed = ~wide | (best == tested.action)
        certified = tested.certified & ((network & agreed) | (available.sum() == 1))
        by_network = certified | ~wide
        return Choice(
            action=jnp.where(by_network, tested.action, explored.action).astype(jnp.int32),
            pmf=jnp.where(by_network, tested.pmf, explored.pmf),
            certified=certified,
            glr=tested.glr,
            threshold=tested.threshold,
            representation=by_network.astype(jnp.int32),
        )

    @double
    def learn(
        self, state: AutoState, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> AutoState:
        """Compare the predictions, then teach both."""
        values, _ = self.explorer.scores(state.explorer, context)
        phi = self.certifier.embed(state.certifier, context)[action]
        predicted = phi @ state.certifier.ridge.theta
        wide = (values[action] - reward) ** 2
        difference = (predicted - reward) ** 2 - wide
        counts = jnp.stack([jnp.where(certified, 0.0, 1.0), jnp.ones(())])  # explored, all
        trial = Trial(
            state.trial.n + counts,
            state.trial.total + counts * difference,
            state.trial.squares + counts * difference * difference,
            state.trial.wide + counts * wide,
        )
        return AutoState(
            explorer=self.explorer.learn(state.explorer, context, action, reward, certified),
            certifier=self.certifier.learn(state.certifier, context, action, reward, certified),
            trial=trial,
            active=state.active,
        )

    @double
    def refresh(self, state: AutoState, history: History, key: Array) -> AutoState:
        """Decide on Phi_t by the phase that ends, then train the network."""
        n = jnp.maximum(state.trial.n, 1.0)
        mean = state.trial.total / n  # (2,) explored, all
        error = jnp.sqrt(jnp.maximum(state.trial.squares / n - mean * mean, 0.0) / n)
        limit = self.slack * error[1] + self.tolerance * state.trial.wide[1] / n[1]
        trained = state.certifier.learned.n_explored >= self.certifier.training.batch
        network = trained & (mean[1] <= limit)
        wide = (state.active[0] & (mean[0] >= -self.slack * error[0])) | ~network
        explorer_key, certifier_key = jax.random.split(key)
        certifier = self.certifier.refresh(state.certifier, history, certifier_key)
        return AutoState(
            explorer=self.explorer.refresh(state.explorer, history, explorer_key),
            certifier=certifier,
            trial=Trial(*[MEMORY * value for value in state.trial]),
            active=jnp.stack([wide, network]),
        )

    def report(self, state: AutoState) -> dict[str, Array]:
        """Which embedding explores (0: wide, 1: network), Phi_t and the spectral loss."""
        return {
            "representation": (~state.active[0]).astype(jnp.int32),
            "active": state.active,
            "loss": state.certifier.loss,
            "lambda_min": state.certifier.lambda_min,
        }
