"""How is a network trained at the end of a phase? By passes over the history, in one compiled loop.

Training minimises

    c_reg * (spectral loss of all samples) + (mean squared error of explored samples)

The explored samples are the rounds that were not certified. The squared error leaves certified
rounds out: they repeat what is already known, and a network that fits only optimal actions no
longer fits the others. The spectral loss uses every round, since the design matrix of *all* rounds
is the one that tends to the optimal actions. The explored samples are repeated until they are as
many as all samples. Every pass is shuffled by a permutation that is computed, not stored. The
number of steps is dynamic, so that one compiled program serves every phase.

Three settings depart from this scheme and are off by default. `every_weight` adds the squared error
of all samples, so that the network can correct a prediction that led to a wrong certificate.
`passes_over="explored"` makes a pass as long as the explored samples, or a quarter of all samples
if that is more, so that training costs less where exploration ends. `decay` multiplies the weights
by 1 - rate * decay / sqrt(n) at each step.
"""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least, count, one_of, positive
from banditsrl.core.history import History
from banditsrl.core.settings import DescribedMeta, setting
from banditsrl.errors import InvalidArgument
from banditsrl.representations.network import Network, NetworkWeights
from banditsrl.selection.shuffling import mix_bits, shuffle
from banditsrl.selection.spectral_losses import REGULARISERS, descend, is_saddle

if TYPE_CHECKING:
    import optax

OPTIMIZERS = ("sgd", "adam")
"""Optimisers by their names in Optax, which is imported only where something is trained."""

SCHEDULES = ("constant", "cosine")
PASSES_OVER = ("all", "explored")

LEAST = 4
"""A pass over explored samples has at least as many as all samples divided by this number."""


class Training(eqx.Module, metaclass=DescribedMeta):
    """Settings of the training; the defaults are the paper's.

    Args:
        optimizer: "sgd", "adam", or any Optax transformation, which has its own step size; the
            weight decay uses `learning_rate` in all cases.
    """

    _: KW_ONLY
    loss: str = setting("weak", f"Spectral loss of the network: {', '.join(REGULARISERS)}.")
    loss_weight: float = setting(1.0, "Weight c_reg of the spectral loss.")
    optimizer: Any = setting("sgd", "Optimiser: sgd, adam, or an Optax transformation.")
    learning_rate: float = setting(1e-3, "Step size of the optimiser.")
    schedule: str = setting("constant", "Step size within a phase: constant or cosine.")
    decay: float = setting(
        0.0, "Weight decay, divided by the square root of the number of samples."
    )
    every_weight: float = setting(0.0, "Weight of an additional squared error over all samples.")
    batch: int = setting(128, "Samples per training step.")
    passes: int = setting(30, "Passes over the samples per phase.")
    passes_over: str = setting(
        "all", "Length of one training pass: all samples, or explored samples only."
    )
    max_updates: int | None = setting(
        None, "Largest number of training steps per phase; None means no limit."
    )

    def __check_init__(self) -> None:
        one_of("loss", self.loss, tuple(REGULARISERS))
        at_least("loss_weight", self.loss_weight, 0.0)
        if isinstance(self.optimizer, str):
            one_of("optimizer", self.optimizer, OPTIMIZERS)
        elif not _is_transformation(self.optimizer):
            raise InvalidArgument(
                f"optimizer must be {', '.join(OPTIMIZERS)} or an Optax transformation, "
                f"got {self.optimizer!r}."
            )
        positive("learning_rate", self.learning_rate)
        one_of("schedule", self.schedule, SCHEDULES)
        at_least("decay", self.decay, 0.0)
        at_least("every_weight", self.every_weight, 0.0)
        count("batch", self.batch)
        count("passes", self.passes)
        one_of("passes_over", self.passes_over, PASSES_OVER)
        if self.max_updates is not None:
            count("max_updates", self.max_updates)

    @property
    def transformation(self) -> "optax.GradientTransformation":
        """The optimiser, as an Optax transformation."""
        import optax

        if not isinstance(self.optimizer, str):
            return self.optimizer
        makers = {"sgd": optax.sgd, "adam": optax.adam}
        return makers[self.optimizer](self.learning_rate)

    def n_updates(self, n: Array, n_explored: Array) -> Array:
        """Return the number of training steps, which is 0 before one batch was explored."""
        steps = self.passes * self.updates_per_pass(self.pass_length(n, n_explored))
        if self.max_updates is not None:
            steps = jnp.minimum(steps, self.max_updates)
        return jnp.where(n_explored >= self.batch, steps, 0)

    def pass_length(self, n: Array, n_explored: Array) -> Array:
        """Return the number of samples in a pass."""
        return n if self.passes_over == "all" else jnp.maximum(n_explored, n // LEAST)

    def updates_per_pass(self, length: Array) -> Array:
        """Return the number of steps in a pass; its last batch may be incomplete."""
        return (length + self.batch - 1) // self.batch


class TrainingBatch(NamedTuple):
    """The rounds of one training step."""

    explored: Array  # (n,) rounds for the squared error
    every: Array  # (n,) rounds for the losses over all samples
    valid: Array  # (n,) float32, 0 for the missing samples of an incomplete batch


class TrainingLosses(NamedTuple):
    """The two losses of one training step."""

    squared: Array
    spectral: Array


def train(
    training: Training, network: Network, weights: NetworkWeights, history: History, key: Array
) -> tuple[NetworkWeights, TrainingLosses]:
    """Return the weights after a phase's training, and the losses of its last step."""
    import optax

    rounds, n_explored = _find_explored(history)
    n_updates = training.n_updates(history.n, n_explored)
    n = jnp.maximum(history.n, 1).astype(jnp.float32)
    salt = jax.random.bits(key, (), dtype=jnp.uint32)
    optimizer = training.transformation
    trainable = (weights.body, weights.omega)

    def step(i: Array, carry: Any) -> Any:
        trainable, z, opt_state, _ = carry
        batch = _deal_batch(training, i, rounds, n_explored, history.n, salt)
        gradients, (z, losses) = jax.grad(_objective, has_aux=True)(
            trainable, z, training, network, history, batch
        )
        updates, opt_state = optimizer.update(gradients, opt_state, trainable)
        if training.decay:
            share = training.learning_rate * training.decay * jax.lax.rsqrt(n)
            updates = jax.tree.map(lambda u, w: u - share * w, updates, trainable)
        rate = _rate(training, i, n_updates)
        updates = jax.tree.map(lambda update: rate * update, updates)
        return optax.apply_updates(trainable, updates), z, opt_state, losses

    unknown = jnp.full((), jnp.nan, dtype=jnp.float32)  # the losses if nothing is trained
    start = (trainable, weights.z, optimizer.init(trainable), TrainingLosses(unknown, unknown))
    (body, omega), z, _, losses = jax.lax.fori_loop(0, n_updates, step, start)
    return NetworkWeights(body, omega, z), losses


def _find_explored(history: History) -> tuple[Array, Array]:
    """Return the indices of explored rounds (capacity,), followed by zeros, and their number."""
    explored = ~history.certified & (jnp.arange(history.capacity) < history.n)
    rounds = jnp.nonzero(explored, size=history.capacity, fill_value=0)[0].astype(jnp.int32)
    return rounds, explored.sum(dtype=jnp.int32)


def _objective(
    trainable: tuple[Any, Array],
    z: Array,
    training: Training,
    network: Network,
    history: History,
    batch: TrainingBatch,
) -> tuple[Array, tuple[Array, TrainingLosses]]:
    """Return the loss to minimise, z after its own step, and the two losses of the batch."""
    body, omega = trainable
    spectral_on = training.loss != "none" and training.loss_weight > 0
    needs_all = spectral_on or training.every_weight > 0
    rounds = jnp.concatenate([batch.explored, batch.every]) if needs_all else batch.explored
    contexts = jax.tree.map(lambda buffer: buffer[rounds], history.contexts)
    current = network.at(NetworkWeights(body, omega, z))
    phi = current.embed_pairs(contexts, history.actions[rounds])
    explored, every = phi[: training.batch], phi[-training.batch :]

    def mean_square(phi: Array, rounds: Array) -> Array:
        error = phi @ omega - history.rewards[rounds].astype(jnp.float32)
        return (batch.valid * error * error).sum() / batch.valid.sum()

    squared = mean_square(explored, batch.explored)
    if training.every_weight:
        squared += training.every_weight * mean_square(every, batch.every)
    spectral = REGULARISERS[training.loss](every, explored, z, batch.valid)
    if is_saddle(training.loss):
        z = descend(z, every, batch.valid)
    return squared + training.loss_weight * spectral, (z, TrainingLosses(squared, spectral))


def _deal_batch(
    training: Training, i: Array, rounds: Array, n_explored: Array, n: Array, salt: Array
) -> TrainingBatch:
    """Return the rounds of training step i."""
    length = training.pass_length(n, n_explored)
    per_pass = training.updates_per_pass(length)
    at, within = i // per_pass, i % per_pass
    position = within * training.batch + jnp.arange(training.batch, dtype=jnp.int32)
    valid = position < length
    position = jnp.minimum(position, length - 1)
    overall = at.astype(jnp.uint32) * length.astype(jnp.uint32) + position.astype(jnp.uint32)
    turn, place = _turn_of(overall, n_explored)
    explored = rounds[shuffle(place, n_explored, salt ^ (2 * turn + 1))]
    turn, place = _turn_of(overall, n)
    every = shuffle(place, n, salt ^ mix_bits(2 * turn))
    return TrainingBatch(explored, every, valid.astype(jnp.float32))


def _turn_of(overall: Array, size: Array) -> tuple[Array, Array]:
    """Return which turn through `size` samples a position is in, and where in that turn."""
    length = jnp.maximum(size, 1).astype(jnp.uint32)
    return overall // length, overall % length


def _rate(training: Training, i: Array, n_updates: Array) -> Array:
    if training.schedule == "constant":
        return jnp.ones((), dtype=jnp.float32)
    share = i.astype(jnp.float32) / jnp.maximum(n_updates, 1).astype(jnp.float32)
    return 0.5 * (1.0 + jnp.cos(jnp.float32(jnp.pi) * share))


def _is_transformation(optimizer: Any) -> bool:
    import optax

    return isinstance(optimizer, optax.GradientTransformation)
