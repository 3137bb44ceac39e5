"""How does a network embed a context? Its last layer, one vector per action.

A `Network` is a recipe: how an input vector of a context and an action becomes an embedding. It
keeps no weights that training changes; those are `Weights`, which live in a policy's state. The
output layer `omega` has no bias, so that the network's prediction phi . omega is linear in its
embedding. Networks compute in float32; embeddings leave in float64, where statistics live.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import count, one_of
from banditsrl.core.representation import Representation
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.representations.conversion import as_representation

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "leaky-relu": jax.nn.leaky_relu,
    "tanh": jnp.tanh,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
}

PAPER_LAYERS = (50, 50, 50, 50, 10)


class Weights(NamedTuple):
    """What training changes."""

    body: Any  # the network up to its embedding
    omega: Array  # (d,) output layer
    z: Array  # (d,) unit vector of the Rayleigh quotient


class Layer(NamedTuple):
    """One dense layer: activation(x @ matrix + bias)."""

    matrix: Array  # (n_in, n_out)
    bias: Array  # (n_out,)


class Network(eqx.Module):
    """A network whose last layer is the embedding.

    Args:
        inputs: How a context and an action become an input vector: a representation, a problem's
            candidate, or an array (n_contexts, n_actions, n_inputs).
        layers: Widths of the dense layers; the last one is the dimension of the embedding.
        activation: After every layer, the last included: relu, leaky-relu, tanh, gelu, silu.
        module: Instead of layers, any Equinox module that maps one input vector to the embedding
            (its weights are where every seed starts), or a function from a key to such a module.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> network = Network(problem.representations[0], layers=(20, 4))
        >>> network.dim, network.n_actions
        (4, 5)
    """

    inputs: Representation
    template: Any
    layers: tuple[int, ...] = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    make: Callable[[Array], Any] | None = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: Any,
        *,
        layers: Sequence[int] = PAPER_LAYERS,
        activation: str = "relu",
        module: Any = None,
    ) -> None:
        self.inputs = as_representation(inputs)
        self.activation = one_of("activation", activation, tuple(ACTIVATIONS))
        self.layers = () if module is not None else _widths(layers)
        is_maker = module is not None and not isinstance(module, eqx.Module)
        if is_maker and not callable(module):
            raise InvalidType(
                "module must be an Equinox module or a function from a key to one, "
                f"got {type(module).__name__}."
            )
        self.make = module if is_maker else None
        self.template = module(jax.random.key(0)) if is_maker else module
        self.dim = self.layers[-1] if module is None else _embedding_dim(self.template, self.inputs)

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self.inputs.n_actions

    def fresh(self, key: Array) -> Weights:
        """Weights before any training."""
        body_key, omega_key, z_key = jax.random.split(key, 3)
        z = jax.random.normal(z_key, (self.dim,), dtype=jnp.float32)
        return Weights(
            body=self._fresh_body(body_key),
            omega=_normal(omega_key, (self.dim, 1))[:, 0],
            z=z / jnp.sqrt((z * z).sum()),
        )

    def embed(self, body: Any, context: Any) -> Array:
        """The embedding of every action, (A, d) float32."""
        if self.template is not None:
            rows = self.inputs.embed(context).astype(jnp.float32)
            return jnp.asarray(jax.vmap(self._module(body))(rows))
        return self._forward(self.inputs.embed_times(context, body[0].matrix), body)

    def embed_rows(self, body: Any, contexts: Any, actions: Array) -> Array:
        """The embedding of n pairs of a context and an action, (n, d) float32."""
        rows = jax.vmap(self.inputs.embed_action)(contexts, actions).astype(
            jnp.float32
        )  # (n, n_inputs)
        if self.template is not None:
            return jnp.asarray(jax.vmap(self._module(body))(rows))
        return self._forward(rows @ body[0].matrix, body)

    def _forward(self, first: Array, body: tuple[Layer, ...]) -> Array:
        """The layers, given the product of the inputs with the first matrix, (n, d)."""
        activate = ACTIVATIONS[self.activation]
        hidden = activate(first + body[0].bias)
        for layer in body[1:]:
            hidden = activate(hidden @ layer.matrix + layer.bias)
        return hidden

    def _fresh_body(self, key: Array) -> Any:
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

    def _module(self, body: Any) -> Any:
        return eqx.combine(body, self.template)


def _normal(key: Array, shape: tuple[int, int]) -> Array:
    """N(0, 4 / (n_in + n_out)): variance is kept by a layer and its ReLU."""
    deviation = (4.0 / sum(shape)) ** 0.5
    return jnp.asarray(deviation * jax.random.normal(key, shape, dtype=jnp.float32))


def _widths(layers: Any) -> tuple[int, ...]:
    if not isinstance(layers, Sequence) or isinstance(layers, str) or not layers:
        raise InvalidArgument(f"layers must name at least one width, got {layers!r}.")
    return tuple(count("layers", width) for width in layers)


def _embedding_dim(module: Any, inputs: Representation) -> int:
    """The length of the vector that a module makes of one input vector."""
    try:
        found = jax.eval_shape(module, jnp.zeros(inputs.dim, dtype=jnp.float32))
    except Exception as error:
        raise InvalidArgument(
            f"module must take one input vector of shape ({inputs.dim},), "
            f"got {type(error).__name__}: {error}"
        ) from error
    shape = getattr(found, "shape", None)
    if shape is None or len(shape) != 1:
        raise InvalidArgument(
            f"module must return one vector per action, of shape (dim,), got shape {shape}."
        )
    return int(shape[0])
