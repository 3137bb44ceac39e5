"""What does a network compute at given weights, how does it start, and which modules fit?"""

import math
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.representations.coded import Coded
from banditsrl.representations.network import PAPER_LAYERS, Layer, Network, NetworkWeights

RNG = np.random.default_rng(2)
FEATURES = RNG.normal(size=(4, 3, 5))
KEY = jax.random.key(7)

SLOW: dict[str, Any] = {
    "relu": lambda x: x if x > 0 else 0.0,
    "leaky-relu": lambda x: x if x > 0 else 0.01 * x,
    "tanh": math.tanh,
    # JAX's default GELU is the tanh approximation
    "gelu": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


def forward(body: Any, x: Any, activation: str) -> Any:
    """The embedding of one input vector, neuron by neuron."""
    for layer in body:
        matrix, bias = np.asarray(layer.matrix, dtype=float), np.asarray(layer.bias, dtype=float)
        sums = [sum(x[i] * matrix[i, j] for i in range(len(x))) + bias[j] for j in range(len(bias))]
        x = [SLOW[activation](s) for s in sums]
    return np.array(x)


def random_weights(network: Network) -> NetworkWeights:
    """Weights like fresh ones, with biases that are not zero; drawn by NumPy, which is quicker."""
    rng, sizes = np.random.default_rng(0), (network.inputs.dim, *network.layers)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.normal(size=shape) / 2.0, dtype=jnp.float32)

    body = tuple(Layer(normal(n_in, n_out), normal(n_out)) for n_in, n_out in pairwise(sizes))
    return NetworkWeights(body, normal(network.dim), normal(network.dim))


@pytest.mark.parametrize("activation", SLOW)
def test_embeddings_are_those_of_the_layers(activation: str) -> None:
    network = Network(FEATURES, layers=(6, 4), activation=activation)
    weights = random_weights(network)
    phi = network.at(weights).embed_single(2)
    assert (phi.shape, phi.dtype) == ((3, 4), np.float32)
    expected = [forward(weights.body, FEATURES[2, a], activation) for a in range(3)]
    np.testing.assert_allclose(phi, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("x64", [False, True])
def test_embeddings_leave_in_float64_and_are_the_numbers_of_float32(x64: bool) -> None:
    """As of every representation, whatever numeric settings the caller has."""
    network = Network(FEATURES, layers=(6, 4))
    placed = network.at(random_weights(network))
    with jax.enable_x64(x64):
        whole, single = placed.embed(2), placed.embed_single(2)
    assert (whole.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_array_equal(whole, np.asarray(single, dtype=float))


def test_predictions_are_the_products_of_the_embedding_with_the_output_layer() -> None:
    network = Network(FEATURES, layers=(6, 4))
    weights = random_weights(network)
    found = network.at(weights).predict(2)
    omega = np.asarray(weights.omega, dtype=float)
    expected = [forward(weights.body, FEATURES[2, a], "relu") @ omega for a in range(3)]
    assert (found.shape, found.dtype) == ((3,), np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_network_has_no_weights_of_its_own_and_refuses_to_embed_without_them() -> None:
    network = Network(FEATURES, layers=(6, 4))
    message = "weights must be given before a network embeds a context, got None; use network.at"
    for ask in (
        network.embed,
        network.embed_single,
        network.predict,
        lambda x: network.embed_pairs(jnp.asarray([x]), jnp.asarray([0])),
    ):
        with pytest.raises(InvalidArgument, match=message):
            ask(2)
    own = Network(FEATURES, module=eqx.nn.Linear(5, 4, key=KEY))
    with pytest.raises(InvalidArgument, match=message):
        own.embed_single(2)


def test_at_leaves_the_network_as_it_was_and_the_last_weights_count() -> None:
    network = Network(FEATURES, layers=(6, 4))
    first = random_weights(network)
    second = first._replace(body=jax.tree.map(lambda w: 2.0 * w, first.body))
    placed = network.at(first).at(second)
    assert network.weights is None
    assert isinstance(placed, banditsrl.representations.Representation)
    expected = [forward(second.body, FEATURES[2, a], "relu") for a in range(3)]
    np.testing.assert_allclose(placed.embed_single(2), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "inputs",
    [
        FEATURES,
        Coded(n_actions=3, code="blocks", table=RNG.normal(size=(4, 2))),
        Coded(n_actions=3, code="one-hot", n_columns=2),
    ],
    ids=["table", "blocks of an index", "one-hot of a vector"],
)
def test_pairs_are_the_embeddings_of_their_actions(inputs: Any) -> None:
    network = Network(inputs, layers=(6, 4))
    placed = network.at(random_weights(network))
    is_vector = isinstance(inputs, Coded) and inputs.table is None
    contexts = RNG.normal(size=(7, 2)).astype(np.float32) if is_vector else RNG.integers(4, size=7)
    actions = RNG.integers(3, size=7)
    rows = placed.embed_pairs(jnp.asarray(contexts), jnp.asarray(actions))
    expected = [placed.embed_single(x)[a] for x, a in zip(contexts, actions, strict=True)]
    assert (rows.shape, rows.dtype) == ((7, 4), np.float32)
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-6)


def test_the_paper_s_network_is_the_default_and_its_last_layer_the_dimension() -> None:
    network = Network(FEATURES)
    assert network.layers == PAPER_LAYERS == (50, 50, 50, 50, 10)
    assert (network.dim, network.n_actions, network.activation) == (10, 3, "relu")


@pytest.fixture(scope="module")
def wide() -> Network:
    return Network(RNG.normal(size=(1, 2, 300)), layers=(200, 100))


def test_weights_start_normal_with_the_variance_of_their_layer_and_biases_at_zero(
    wide: Network,
) -> None:
    weights = wide.init(KEY)
    fans = [(300, 200), (200, 100)]
    for layer, (n_in, n_out) in zip(weights.body, fans, strict=True):
        assert layer.matrix.shape == (n_in, n_out)
        n, variance = n_in * n_out, 4 / (n_in + n_out)
        assert np.var(layer.matrix) == pytest.approx(variance, rel=4 * math.sqrt(2 / n))
        assert abs(np.mean(layer.matrix)) < 4 * math.sqrt(variance / n)
        assert np.all(np.asarray(layer.bias) == 0.0)
    assert np.var(weights.omega) == pytest.approx(4 / 101, rel=4 * math.sqrt(2 / 100))
    assert np.linalg.norm(weights.z) == pytest.approx(1.0, rel=1e-6)
    assert {leaf.dtype for leaf in jax.tree.leaves(weights)} == {np.dtype(np.float32)}


def test_different_keys_give_different_weights_and_one_key_always_the_same(wide: Network) -> None:
    one, same, other = (wide.init(jax.random.key(seed)) for seed in (0, 0, 1))
    assert all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(same)))
    assert not np.allclose(one.omega, other.omega)
    assert not np.allclose(one.z, other.z)
    assert not any(
        np.allclose(a.matrix, b.matrix) for a, b in zip(one.body, other.body, strict=True)
    )


def test_every_seed_starts_at_the_weights_of_a_given_module() -> None:
    module = eqx.nn.MLP(5, 4, 6, 1, key=KEY)
    network = Network(FEATURES, module=module)
    assert (network.dim, network.layers) == (4, ())
    one, other = (network.init(jax.random.key(seed)) for seed in (0, 1))
    assert all(map(np.array_equal, jax.tree.leaves(one.body), jax.tree.leaves(other.body)))
    expected = [module(jnp.asarray(FEATURES[1, a], dtype=jnp.float32)) for a in range(3)]
    placed = network.at(one)
    np.testing.assert_allclose(placed.embed_single(1), expected, rtol=1e-5, atol=1e-6)
    rows = placed.embed_pairs(jnp.asarray([1, 1]), jnp.asarray([2, 0]))
    np.testing.assert_allclose(rows, [expected[2], expected[0]], rtol=1e-5, atol=1e-6)


def test_a_function_from_a_key_gives_every_seed_its_own_weights() -> None:
    network = Network(FEATURES, module=lambda key: eqx.nn.Linear(5, 4, key=key))
    one, same, other = (network.init(jax.random.key(seed)) for seed in (0, 0, 1))
    assert network.dim == 4
    assert np.array_equal(one.body.weight, same.body.weight)
    assert not np.allclose(one.body.weight, other.body.weight)
    expected = FEATURES[3] @ np.asarray(one.body.weight).T + np.asarray(one.body.bias)
    np.testing.assert_allclose(network.at(one).embed_single(3), expected, rtol=1e-5, atol=1e-5)


def test_a_function_from_a_key_makes_float32_weights_also_in_double_precision() -> None:
    network = Network(FEATURES, module=lambda key: eqx.nn.Linear(5, 4, key=key))
    with jax.enable_x64(True):
        weights = network.init(KEY)
        assert {leaf.dtype for leaf in jax.tree.leaves(weights)} == {np.dtype(np.float32)}
        assert network.at(weights).embed_single(0).dtype == np.float32


class Words(eqx.Module):
    def __call__(self, x: Any) -> Any:
        return "phi"


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            eqx.nn.Lambda(jnp.sum),
            r"module must return one vector per action, of shape \(dim,\), got shape \(\)",
        ),
        (
            eqx.nn.Lambda(lambda x: jnp.outer(x, x)),
            r"module must return one vector per action, of shape \(dim,\), got shape \(5, 5\)",
        ),
        (
            eqx.nn.Lambda(lambda x: (x, x)),
            r"module must return one vector per action, of shape \(dim,\), got shape None",
        ),
        (
            eqx.nn.Lambda(lambda x: (x.sum(), x.max())),
            r"module must return one vector per action, of shape \(dim,\), got shape None",
        ),
        (
            eqx.nn.Lambda(lambda x: x @ jnp.ones((9, 4))),
            r"module must take one input vector of shape \(5,\), got \w+Error",
        ),
        (Words(), r"module must take one input vector of shape \(5,\), got TypeError"),
    ],
    ids=["scalar", "matrix", "pair of vectors", "pair of numbers", "other inputs", "words"],
)
def test_a_module_that_makes_no_vector_is_refused_in_one_sentence(
    module: Any, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Network(FEATURES, module=module)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"layers": ()}, InvalidArgument, r"layers must name at least one width, got \(\)"),
        ({"layers": "wide"}, InvalidArgument, "layers must name at least one width, got 'wide'"),
        ({"layers": 7}, InvalidArgument, "layers must name at least one width, got 7"),
        ({"layers": (8, 0)}, InvalidArgument, "layers must be at least 1, got 0"),
        ({"layers": (8, 2.5)}, InvalidType, r"layers must be an integer, got 2\.5"),
        ({"activation": "step"}, InvalidArgument, "activation must be one of relu, leaky-relu"),
        ({"module": 3}, InvalidType, "module must be an Equinox module or a function .* got int"),
    ],
)
def test_bad_settings_are_refused_by_name(settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Network(FEATURES, **settings)


def test_a_candidate_of_a_problem_can_be_the_input() -> None:
    problem = banditsrl.make_problem("wheel", n_contexts=3)
    network = Network(problem.representations[0], layers=[4])
    assert (network.inputs.dim, network.layers, network.n_actions) == (7, (4,), 5)
