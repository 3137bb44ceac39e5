"""How does a network learn its embedding and its statistics? By training at the end of each phase.

Within a phase the weights are fixed: the last layer of the network is the embedding, and its ridge
statistics include every round. At the end of a phase the network is trained on all rounds (see
`training`), and the statistics are rebuilt in the new embedding.

With `held_out` the network is trained on the rounds 0, 2, 4, ... only, and the statistics are those
of the rounds 1, 3, 5, ..., so that the test is made on rewards to whose noise the network was not
fitted.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import flag, one_of, positive
from banditsrl.core.history import History, Rounds, every_other, fold_blocks
from banditsrl.core.representation import Context
from banditsrl.core.settings import setting
from banditsrl.linear.ridge import (
    Ridge,
    add_sample,
    empty_ridge,
    estimate_noise,
    ridge_from_spectrum,
    squared_error,
)
from banditsrl.linear.spectra import decompose
from banditsrl.numerics.seed_axis import select_row
from banditsrl.representations.network import Network, NetworkWeights
from banditsrl.selection.certificate import Facts, known_or
from banditsrl.selection.norms import largest_norm
from banditsrl.selection.training import Training, train

REFITS = ("ridge", "sgd", "none")


class NetworkState(NamedTuple):
    """The weights of a network and the statistics of its embedding."""

    weights: NetworkWeights
    ridge: Ridge  # statistics of its embedding, from every round
    largest_norm: Array  # () largest embedding norm seen
    n_rounds: Array  # () rounds learned
    n_explored: Array  # () rounds that were not certified
    loss: Array  # () spectral loss at the end of the last training; nan before
    lambda_min: Array  # () smallest eigenvalue of the Gram matrix at that time; nan before


class EmbeddingSums(NamedTuple):
    """Sums over all rounds in one embedding."""

    gram: Array  # (d, d) sum phi phi^T
    b: Array  # (d,) sum phi y
    yy: Array  # () sum y^2
    largest_norm: Array  # () largest norm of the played embeddings


class NetworkLearner(eqx.Module):
    """A network, its training, and the ridge statistics of its embedding.

    Args:
        network: The network whose last layer is the embedding.
        training: How the network is trained.
        lam: Ridge parameter lambda.
    """

    network: Network
    training: Training
    _: KW_ONLY
    lam: float = eqx.field(static=True, default=1.0)
    refit: str = setting("ridge", "Last layer between phases: ridge, sgd or none.")
    refit_rate: float = setting(1e-3, "Step size when the last layer is refitted by sgd.")
    guarded: bool = setting(
        False, "Whether to keep the old network where the new one fits all samples worse."
    )
    held_out: bool = setting(
        False, "Whether the test uses only rounds on which the network is not trained."
    )

    def __check_init__(self) -> None:
        one_of("refit", self.refit, REFITS)
        positive("refit_rate", self.refit_rate)
        flag("guarded", self.guarded)
        flag("held_out", self.held_out)

    def init(self, key: Array) -> NetworkState:
        """Return fresh weights and empty statistics."""
        weights = self.network.init(key)
        nothing = jnp.full((), jnp.nan, dtype=jnp.float64)
        return NetworkState(
            weights=weights,
            ridge=self._with_output_layer(empty_ridge(self.network.dim, self.lam), weights),
            largest_norm=jnp.zeros((), dtype=jnp.float64),
            n_rounds=jnp.zeros((), dtype=jnp.int32),
            n_explored=jnp.zeros((), dtype=jnp.int32),
            loss=nothing,
            lambda_min=nothing,
        )

    def embed(self, state: NetworkState, context: Context) -> Array:
        """Return the network's embedding at its current weights, (A, d)."""
        return self.network.at(state.weights).embed(context)

    def learn(
        self,
        state: NetworkState,
        phi: Array,
        action: Array,
        reward: Array,
        certified: Array,
        counts: Array | None = None,
    ) -> NetworkState:
        """Add a round with embedding phi (A, d) to the statistics; update the last layer.

        A round that does not count is left out of the statistics; None means that it counts.
        """
        ridge: Ridge = add_sample(state.ridge, select_row(phi, action), reward)
        if self.refit != "ridge":
            theta = state.ridge.theta
            if self.refit == "sgd":
                played = phi[action]
                theta = theta + 2.0 * self.refit_rate * (reward - played @ theta) * played
            ridge = ridge._replace(theta=theta)
        if self.held_out:
            counts = state.n_rounds % 2 == 1
        if counts is not None:
            ridge = jax.tree.map(lambda new, old: jnp.where(counts, new, old), ridge, state.ridge)
        return state._replace(
            ridge=ridge,
            n_rounds=state.n_rounds + 1,
            largest_norm=jnp.maximum(state.largest_norm, largest_norm(phi)),
            n_explored=state.n_explored + jnp.where(certified, 0, 1).astype(jnp.int32),
        )

    def train(
        self,
        state: NetworkState,
        history: History,
        key: Array,
        tested: History | None = None,
    ) -> NetworkState:
        """Train the network on a history, then rebuild the statistics in its new embedding.

        The statistics are those of the rounds in `tested`, by default of the same history.
        """
        if self.held_out:
            history, tested = every_other(history, 0), every_other(history, 1)
        weights, losses = train(self.training, self.network, state.weights, history, key)
        if self.guarded:
            weights = self._better(state.weights, weights, history)
        counted = history if tested is None else tested
        sums = self._sum_history(weights, counted)
        spectrum = decompose(sums.gram)
        n = counted.n.astype(jnp.float64)
        ridge = ridge_from_spectrum(spectrum, sums.gram, sums.b, n, sums.yy, lam=self.lam)
        return state._replace(
            weights=weights,
            ridge=self._with_output_layer(ridge, weights),
            largest_norm=sums.largest_norm,
            loss=losses.spectral.astype(jnp.float64),
            lambda_min=spectrum.values[0],
        )

    def has_batch(self, state: NetworkState) -> Array:
        """Return whether one training batch of explored samples exists."""
        return state.n_explored >= self.training.batch

    def facts(self, state: NetworkState, sigma: float | None) -> Facts:
        """Return L (the largest norm seen), B (the norm of theta), the noise level and d."""
        theta, dim = state.ridge.theta, jnp.asarray(float(self.network.dim))
        return Facts(
            dim=dim,
            L=state.largest_norm,
            B=jnp.sqrt((theta * theta).sum()),
            sigma=known_or(sigma, self._estimate_noise(state.ridge, dim)),
        )

    def _estimate_noise(self, ridge: Ridge, dim: Array) -> Array:
        """Estimate sigma from residuals, also where theta is not the ridge estimate."""
        if self.refit == "ridge":
            return estimate_noise(ridge, dim)
        residual = squared_error(ridge, ridge.theta, lam=self.lam)
        n = jnp.maximum(ridge.n, 1.0)
        estimate = jnp.sqrt((jnp.maximum(residual, 0.0) + dim * ridge.yy / n) / n)
        return jnp.where(ridge.n > 0, estimate, 1.0)

    def _better(self, old: NetworkWeights, new: NetworkWeights, history: History) -> NetworkWeights:
        """Return the weights whose embedding fits all samples better."""

        def unexplained(weights: NetworkWeights) -> Array:
            sums = self._sum_history(weights, history)
            V = sums.gram + self.lam * jnp.eye(self.network.dim, dtype=jnp.float64)
            return jnp.asarray(sums.yy - sums.b @ jnp.linalg.solve(V, sums.b))

        keep = unexplained(old) < unexplained(new)
        better: NetworkWeights = jax.tree.map(lambda a, b: jnp.where(keep, a, b), old, new)
        return better

    def _sum_history(self, weights: NetworkWeights, history: History) -> EmbeddingSums:
        """Sum up all rounds in the embedding at the given weights."""
        network = self.network.at(weights)

        def add(sums: EmbeddingSums, rounds: Rounds) -> EmbeddingSums:
            rows = network.embed_pairs(rounds.contexts, rounds.actions)
            phi = jnp.where(rounds.valid[:, None], rows.astype(jnp.float64), 0.0)
            y = jnp.where(rounds.valid, rounds.rewards, 0.0)
            norm = jnp.sqrt((phi * phi).sum(1).max())
            return EmbeddingSums(
                sums.gram + phi.T @ phi,
                sums.b + y @ phi,
                sums.yy + y @ y,
                jnp.maximum(sums.largest_norm, norm),
            )

        dim, zero = self.network.dim, jnp.zeros((), dtype=jnp.float64)
        gram, b = jnp.zeros((dim, dim), jnp.float64), jnp.zeros(dim, jnp.float64)
        return fold_blocks(history, EmbeddingSums(gram, b, zero, zero), add)

    def _with_output_layer(self, ridge: Ridge, weights: NetworkWeights) -> Ridge:
        """Return the statistics with theta from the output layer, unless theta is refitted."""
        if self.refit == "ridge":
            return ridge
        return ridge._replace(theta=weights.omega.astype(jnp.float64))
