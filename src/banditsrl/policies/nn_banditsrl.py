"""NN-BanditSRL: BanditSRL whose representation is a network, trained at the end of each phase.

Within a phase nothing differs from BanditSRL: the network's last layer is the representation, the
likelihood ratio test and the base algorithm work on its ridge statistics. At the end of a phase
the network is trained on the mean squared error and a spectral loss (see `training`), and the
statistics are rebuilt from all samples. With the spectral loss and the test switched off the
policy is the base algorithm on the maximum-likelihood representation (Neural-LinUCB and so on).

One departure from the linear case: equal embeddings of two actions prove nothing here, since the
next phase may tell them apart, so such a round is not certified.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import above, flag, one_of, positive
from banditsrl.core.history import History, Rounds, fold_blocks
from banditsrl.core.policy import unmapped_lanes
from banditsrl.core.settings import setting
from banditsrl.linear.likelihood_ratio import Ratio
from banditsrl.linear.ridge import Ridge, empty_ridge, ridge_from_spectrum, squared_error
from banditsrl.linear.spectra import decompose
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.network import Network, Weights
from banditsrl.selection.certificate import CertifiedPolicy, CertifiedState, Facts
from banditsrl.selection.training import Training, trained

REFITS = ("ridge", "sgd", "none")


class Learned(NamedTuple):
    """What the network has learned, and from how many explored rounds it may."""

    weights: Weights
    n_explored: Array  # () rounds that the base played


class Refit(NamedTuple):
    """Sums over all samples in the current embedding."""

    gram: Array
    b: Array
    yy: Array
    largest_norm: Array


class NNBanditSRL(CertifiedPolicy):
    """Bandit Spectral Representation Learner with a network.

    Args:
        network: The network whose last layer is the representation.
        base: Any no-regret algorithm, as in `BanditSRL`.
        training: How the network is trained.
        gamma: Growth of the phases.
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
    gamma: float = setting(1.2, "growth of the phases")
    refit: str = setting("ridge", "last layer between phases: ridge, sgd or none")
    refit_rate: float = setting(1e-3, "step size when the last layer is refitted by sgd")
    guarded: bool = setting(False, "keep the old network where the new one fits all samples worse")

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        one_of("refit", self.refit, REFITS)
        positive("refit_rate", self.refit_rate)
        flag("guarded", self.guarded)

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
        """On a CPU seeds run one by one (training is cheaper unmapped), else side by side."""
        return unmapped_lanes()

    @property
    def tie(self) -> float:
        """Smaller than for tables."""
        return 0.001

    @in_float64
    def init(self, key: Array) -> CertifiedState:
        """Fresh weights and empty statistics."""
        weights_key, base_key = jax.random.split(key)
        dim, weights = self.network.dim, self.network.fresh(weights_key)
        return CertifiedState(
            ridge=self._with_output_layer(empty_ridge(dim, self.settings.lam), weights),
            base=self.fresh_base(dim, base_key),
            representation=jnp.zeros((), dtype=jnp.int32),
            active=jnp.ones(1, dtype=bool),
            phase=jnp.zeros((), dtype=jnp.int32),
            largest_norm=jnp.zeros(1, dtype=jnp.float64),
            loss=jnp.full((), jnp.nan, dtype=jnp.float64),
            lambda_min=jnp.full((), jnp.nan, dtype=jnp.float64),
            learned=Learned(weights, jnp.zeros((), dtype=jnp.int32)),
        )

    def embed(self, state: CertifiedState, context: Any) -> Array:
        """The network's last layer, (A, d)."""
        body = self._learned(state).weights.body
        return self.network.embed(body, context).astype(jnp.float64)

    def facts(self, state: CertifiedState) -> Facts:
        """The largest norm seen and the norm of the estimate."""
        theta = state.ridge.theta
        return Facts(
            dim=jnp.asarray(float(self.network.dim)),
            L=state.largest_norm[0],
            B=jnp.sqrt((theta * theta).sum()),
        )

    def levels(self, state: CertifiedState) -> tuple[Array, Array]:
        """With a network both are delta."""
        delta = self.decayed_delta(state)
        return delta, delta

    def base_context(self, context: Any, phi: Array) -> Any:
        """The base sees the current embedding."""
        del context
        return phi

    def seen(self, state: CertifiedState, phi: Array) -> Array:
        """The largest norm of the current embedding."""
        return jnp.maximum(state.largest_norm, jnp.sqrt((phi * phi).sum(-1)).max())

    def may_certify(self, state: CertifiedState, found: Ratio, mask: Array) -> Array:
        """Not against an equal embedding; the authors wait for one batch of explored samples."""
        del mask
        if not self.authors:
            return ~found.twin
        return ~found.twin & (self._learned(state).n_explored >= self.training.batch)

    def noise(self, ridge: Ridge, facts: Facts) -> Array:
        """Sigma, given or estimated; theta need not be the ridge estimate here."""
        if self.refit == "ridge" or self.settings.sigma is not None:
            return super().noise(ridge, facts)
        residual = squared_error(ridge, ridge.theta, lam=self.settings.lam)
        n = jnp.maximum(ridge.n, 1.0)
        estimate = jnp.sqrt((jnp.maximum(residual, 0.0) + facts.dim * ridge.yy / n) / n)
        return jnp.where(ridge.n > 0, estimate, 1.0)

    @in_float64
    def learn(
        self,
        state: CertifiedState,
        context: Any,
        action: Any,
        reward: Any,
        certified: Any = False,
    ) -> CertifiedState:
        """As any certified policy; the last layer as `refit` says."""
        after = super().learn(state, context, action, reward, certified)
        known = self._learned(state)
        explored = known.n_explored + jnp.where(certified, 0, 1).astype(jnp.int32)
        after = after._replace(learned=known._replace(n_explored=explored))
        if self.refit == "ridge":
            return after
        theta = state.ridge.theta
        if self.refit == "sgd":
            phi = self.embed(state, context)[action]
            theta = theta + 2.0 * self.refit_rate * (reward - phi @ theta) * phi
        return after._replace(ridge=after.ridge._replace(theta=theta))

    @in_float64
    def refresh(self, state: CertifiedState, history: History, key: Array) -> CertifiedState:
        """Train the network, then rebuild the statistics from all samples."""
        train_key, base_key = jax.random.split(key)
        known = self._learned(state)
        weights, losses = trained(self.training, self.network, known.weights, history, train_key)
        if self.guarded:
            weights = self._better(known.weights, weights, history)
        sums = self._sums(weights, history)
        found = decompose(sums.gram)
        n = history.n.astype(jnp.float64)
        ridge = ridge_from_spectrum(found, sums.gram, sums.b, n, sums.yy, lam=self.settings.lam)
        return state._replace(
            ridge=self._with_output_layer(ridge, weights),
            base=self.fresh_base(self.network.dim, base_key),
            phase=state.phase + 1,
            largest_norm=sums.largest_norm[None],
            loss=losses.spectral.astype(jnp.float64),
            lambda_min=found.values[0],
            learned=known._replace(weights=weights),
        )

    def _better(self, old: Weights, new: Weights, history: History) -> Weights:
        """The weights whose embedding fits all samples better: realizability, old against new."""

        def unexplained(weights: Weights) -> Array:
            sums = self._sums(weights, history)
            V = sums.gram + self.settings.lam * jnp.eye(self.network.dim, dtype=jnp.float64)
            return jnp.asarray(sums.yy - sums.b @ jnp.linalg.solve(V, sums.b))

        keep = unexplained(old) < unexplained(new)
        better: Weights = jax.tree.map(lambda a, b: jnp.where(keep, a, b), old, new)
        return better

    def _sums(self, weights: Weights, history: History) -> Refit:
        """One pass over all samples."""

        def block(sums: Refit, rounds: Rounds) -> Refit:
            rows = self.network.embed_rows(weights.body, rounds.contexts, rounds.actions)
            phi = jnp.where(rounds.valid[:, None], rows.astype(jnp.float64), 0.0)
            y = jnp.where(rounds.valid, rounds.rewards, 0.0)
            norm = jnp.sqrt((phi * phi).sum(1).max())
            return Refit(
                sums.gram + phi.T @ phi,
                sums.b + y @ phi,
                sums.yy + y @ y,
                jnp.maximum(sums.largest_norm, norm),
            )

        dim, zero = self.network.dim, jnp.zeros((), dtype=jnp.float64)
        start = Refit(jnp.zeros((dim, dim), jnp.float64), jnp.zeros(dim, jnp.float64), zero, zero)
        return fold_blocks(history, start, block)

    def _with_output_layer(self, ridge: Ridge, weights: Weights) -> Ridge:
        if self.refit == "ridge":
            return ridge
        return ridge._replace(theta=weights.omega.astype(jnp.float64))

    def _learned(self, state: CertifiedState) -> Learned:
        return cast(Learned, state.learned)
