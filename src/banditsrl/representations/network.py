"""How does a network embed a context? By its last layer, one vector per action.

A `Network` is a recipe: how an input vector of a context and an action becomes an embedding. What
training changes is `NetworkWeights`, which live in the state of a policy; `network.at(weights)` is
the representation at given weights. The output layer `omega` has no bias, so that the network's
prediction phi . omega is linear in its embedding. Networks compute in float32; embeddings leave in
float64, where statistics live.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import count, one_of
from banditsrl.core.representation import Context, Representation, TrainableRepresentation
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.conversion import as_representation

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "leaky-relu": jax.nn.leaky_relu,
    "tanh": jnp.tanh,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
}

PAPER_LAYERS = (50, 50, 50, 50, 10)


class Layer(NamedTuple):
    """One dense layer: activation(x @ matrix + bias)."""

    matrix: Array  # (n_in, n_out)
    bias: Array  # (n_out,)


class NetworkWeights(NamedTuple):
    """What training changes."""

    body: Any  # the layers up to the embedding, or the weights of an Equinox module
    omega: Array  # (d,) output layer
    z: Array  # (d,) unit vector of the Rayleigh quotient


class Network(TrainableRepresentation):
    """A network whose last layer is the embedding.

    Args:
        inputs: How a context and an action become an input vector: a representation, or an array
            (n_contexts, n_actions, n_inputs).
        layers: Widths of the dense layers; the last one is the dimension of the embedding.
        activation: Activation after every layer, including the last one: relu, leaky-relu, tanh,
            gelu or silu.
        module: Instead of layers, any Equinox module that maps one input vector to the embedding
            (its weights are where every seed starts), or a function from a key to such a module.

    Example:
        >>> import jax
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> network = Network(problem.representations[0], layers=(20, 4))
        >>> weights = network.init(jax.random.key(0))
        >>> network.at(weights).embed(0).shape
        (5, 4)
    """

    inputs: Representation
    template: Any
    weights: NetworkWeights | None
    layers: tuple[int, ...] = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    make: Callable[[Array], Any] | None = eqx.field(static=True)
    dim: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    L: float | None
    B: float | None

    def __init__(
        self,
        inputs: Any,
        *,
        layers: Sequence[int] = PAPER_LAYERS,
        activation: str = "relu",
        module: Any = None,
    ) -> None:
        self.inputs = as_representation(inputs)
        self.n_actions = self.inputs.n_actions
        self.activation = one_of("activation", activation, tuple(ACTIVATIONS))
        self.layers = () if module is not None else _check_widths(layers)
        is_maker = module is not None and not isinstance(module, eqx.Module)
        if is_maker and not callable(module):
            raise InvalidType(
                "module must be an Equinox module or a function from a key to one, "
                f"got {type(module).__name__}."
            )
        self.make = module if is_maker else None
        self.template = module(jax.random.key(0)) if is_maker else module
        self.dim = self.layers[-1] if module is None else _embedding_dim(self.template, self.inputs)
        self.weights = self.L = self.B = None

    @property
    def n_contexts(self) -> int | None:
        """Number of contexts of the inputs, if they are a table."""
        return self.inputs.n_contexts

    def init(self, key: Array) -> NetworkWeights:
        """Return the weights before any training."""
        body_key, omega_key, z_key = jax.random.split(key, 3)
        z = jax.random.normal(z_key, (self.dim,), dtype=jnp.float32)
        return NetworkWeights(
            body=self._init_body(body_key),
            omega=_normal(omega_key, (self.dim, 1))[:, 0],
            z=z / jnp.sqrt((z * z).sum()),
        )

    def at(self, weights: NetworkWeights) -> "Network":
        """Return the network at the given weights."""
        placed: Network = eqx.tree_at(
            lambda network: network.weights, self, weights, is_leaf=lambda leaf: leaf is None
        )
        return placed

    @in_float64
    def embed(self, context: Context) -> Array:
        """Return the embedding of every action, (A, d) float64."""
        return self.embed_single(context).astype(jnp.float64)

    def embed_single(self, context: Context) -> Array:
        """Return the embedding of every action in single precision, (A, d) float32."""
        body = self._weights.body
        if self.template is not None:
            rows = self.inputs.embed(context).astype(jnp.float32)
            return jnp.asarray(jax.vmap(self._module)(rows))
        return self._forward(self.inputs.embed_times(context, body[0].matrix), body)

    def embed_pairs(self, contexts: Context, actions: Array) -> Array:
        """Return the embedding of n pairs of a context and an action, (n, d) float32."""
        rows = jax.vmap(self.inputs.embed_action)(contexts, actions).astype(jnp.float32)
        if self.template is not None:
            return jnp.asarray(jax.vmap(self._module)(rows))
        body = self._weights.body
        return self._forward(rows @ body[0].matrix, body)

    def predict(self, context: Context) -> Array:
        """Return the network's own prediction of every action's reward, (A,) float32."""
        return jnp.dot(self.embed_single(context), self._weights.omega)

    @property
    def _weights(self) -> NetworkWeights:
        if self.weights is None:
            raise InvalidArgument(
                "weights must be given before a network embeds a context, got None; "
                "use network.at(weights)."
            )
        return self.weights

    @property
    def _module(self) -> Callable[[Array], Array]:
        """The Equinox module with its current weights."""
        module: Callable[[Array], Array] = eqx.combine(self._weights.body, self.template)
        return module

    def _forward(self, first: Array, body: tuple[Layer, ...]) -> Array:
        """Apply the layers, given the product of the inputs with the first matrix, (n, d)."""
        activate = ACTIVATIONS[self.activation]
        hidden = activate(first + body[0].bias)
        for layer in body[1:]:
            hidden = activate(hidden @ layer.matrix + layer.bias)
        return hidden

    def _init_body(self, key: Array) -> Any:
        if self.template is not None:
            module = self.template if self.make is None else self.make(key)
            weights = eqx.filter(module, eqx.is_inexact_array)
            return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), weights)
        sizes = (self.inputs.dim, *self.layers)
        keys = jax.random.split(key, len(self.layers))
        shapes = zip(keys, sizes, sizes[1:], strict=False)
        return tuple(
            Layer(_normal(k, (n_in, n_out)), jnp.zeros(n_out, dtype=jnp.float32))
            for k, n_in, n_out in shapes
        )


def _normal(key: Array, shape: tuple[int, int]) -> Array:
    """Draw from N(0, 4 / (n_in + n_out)), for which a layer and its ReLU keep the variance."""
    deviation = (4.0 / sum(shape)) ** 0.5
    return jnp.asarray(deviation * jax.random.normal(key, shape, dtype=jnp.float32))


def _check_widths(layers: Any) -> tuple[int, ...]:
    if not isinstance(layers, Sequence) or isinstance(layers, str) or not layers:
        raise InvalidArgument(f"layers must name at least one width, got {layers!r}.")
    return tuple(count("layers", width) for width in layers)


def _embedding_dim(module: Any, inputs: Representation) -> int:
    """Return the length of the vector that a module makes of one input vector."""
    try:
        found = jax.eval_shape(module, jnp.zeros(inputs.dim, dtype=jnp.float32))
    except Exception as error:
        raise InvalidArgument(
            f"module must take one input vector of shape ({inputs.dim},), "
            f"got {type(error).__name__}: {error}"
        ) from error
    shape = found.shape if isinstance(found, jax.ShapeDtypeStruct) else None
    if shape is None or len(shape) != 1:
        raise InvalidArgument(
            f"module must return one vector per action, of shape (dim,), got shape {shape}."
        )
    return int(shape[0])
