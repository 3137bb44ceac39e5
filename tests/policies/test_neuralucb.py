"""Is the bonus of NeuralUCB that of gradients computed one parameter at a time?"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import empty_history
from banditsrl.errors import InvalidArgument
from banditsrl.policies.neuralucb import NeuralUCBState
from banditsrl.representations.network import Layer, NetworkWeights

KEY = jax.random.key(1)
X, A, M, HIDDEN, D = 6, 4, 3, 5, 2
LAM, SCALE = 0.5, 0.8
BATCH, RATE = 8, 0.1
FEATURES = np.random.default_rng(0).normal(size=(X, A, M))
NETWORK = banditsrl.Network(FEATURES, layers=(HIDDEN, D), activation="tanh")
TRAINING = banditsrl.Training(loss="none", batch=BATCH, passes=1, learning_rate=RATE)
POLICY = banditsrl.NeuralUCB(NETWORK, lam=LAM, ucb_scale=SCALE, training=TRAINING)
SHAPES = [(M, HIDDEN), (HIDDEN,), (HIDDEN, D), (D,), (D,)]
act, learn, refresh = banditsrl.compiled(POLICY)[:3]


def parameters(seed: int = 2) -> Any:
    """All trained numbers in one float64 vector."""
    size = sum(math.prod(shape) for shape in SHAPES)
    return np.random.default_rng(seed).normal(size=size).astype(np.float32).astype(float)


def split(vector: Any) -> list[Any]:
    ends = np.cumsum([math.prod(shape) for shape in SHAPES])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(vector, ends), SHAPES, strict=True)]


def pair_of(vector: Any) -> Any:
    """The vector as the pair (body, omega)."""
    W1, b1, W2, b2, omega = split(vector)
    return ((Layer(W1, b1), Layer(W2, b2)), omega)


def state_of(vector: Any, diagonal: Any) -> NeuralUCBState:
    with jax.enable_x64(True):
        body, omega = jax.tree.map(lambda w: jnp.asarray(w, jnp.float32), pair_of(vector))
        Z = jax.tree.map(lambda z: jnp.asarray(z, jnp.float64), pair_of(diagonal))
        return NeuralUCBState(NetworkWeights(body, omega, jnp.asarray([1.0, 0.0], jnp.float32)), Z)


def predict_by_hand(vector: Any, x: Any) -> float:
    W1, b1, W2, b2, omega = split(vector)
    return float(np.tanh(np.tanh(x @ W1 + b1) @ W2 + b2) @ omega)


def squares(vector: Any, x: Any) -> Any:
    """The squared derivative in each parameter, by a central difference."""
    found = np.zeros_like(vector)
    for i in range(len(vector)):
        step = np.zeros_like(vector)
        step[i] = 1e-6
        found[i] = (predict_by_hand(vector + step, x) - predict_by_hand(vector - step, x)) / 2e-6
    return found**2


def index(vector: Any, diagonal: Any, context: int) -> Any:
    values = [predict_by_hand(vector, x) for x in FEATURES[context]]
    bonuses = [math.sqrt((squares(vector, x) / diagonal).sum()) for x in FEATURES[context]]
    return np.array(values) + SCALE * np.array(bonuses)


def test_it_plays_the_largest_prediction_plus_bonus() -> None:
    rng = np.random.default_rng(3)
    greedy = []
    for seed in range(3):
        vector = parameters(seed)
        diagonal = LAM + rng.exponential(size=len(vector))
        state = state_of(vector, diagonal)
        for x in range(X):
            expected = index(vector, diagonal, x)
            choice = act(state, x, None, KEY)
            best = int(expected.argmax())
            assert np.array_equal(choice.pmf, np.arange(A) == best)
            assert int(choice.action) == best
            mask = np.arange(A) != best
            assert int(act(state, x, mask, KEY).action) == int(
                np.where(mask, expected, -9).argmax()
            )
            assert not choice.certified
            values = [predict_by_hand(vector, row) for row in FEATURES[x]]
            greedy.append(int(np.argmax(values)) == best)
    assert 0 < sum(greedy) < len(greedy)  # the bonus matters, and not it alone


def test_gradients_are_those_of_every_parameter_one_by_one() -> None:
    vector = parameters()
    state = state_of(vector, np.ones_like(vector))
    with jax.enable_x64(True):
        values, found = eqx.filter_jit(POLICY._squared_gradients)(state.weights, 4)
    for a, x in enumerate(FEATURES[4]):
        assert float(values[a]) == pytest.approx(predict_by_hand(vector, x), rel=1e-5, abs=1e-6)
        one = np.concatenate([np.asarray(leaf[a]).ravel() for leaf in jax.tree.leaves(found)])
        np.testing.assert_allclose(one, squares(vector, x), rtol=1e-4, atol=1e-7)


def test_learning_adds_the_squared_gradient_of_the_played_action() -> None:
    vector, total = parameters(), LAM * np.ones(len(parameters()))
    state = state_of(vector, total)
    for x, action, reward in [(0, 1, 5.0), (3, 3, -2.0), (0, 1, 0.0)]:
        state = learn(state, x, action, reward)
        total = total + squares(vector, FEATURES[x, action])
    found = np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(state.Z)])
    np.testing.assert_allclose(found, total, rtol=1e-4)
    assert {leaf.dtype for leaf in jax.tree.leaves(state.Z)} == {np.dtype(np.float64)}
    for part, leaf in zip(split(vector), jax.tree.leaves(state.weights), strict=False):
        np.testing.assert_allclose(leaf, part)  # weights wait for the end of the phase


def test_the_diagonal_starts_at_lambda() -> None:
    state = eqx.filter_jit(POLICY.init)(KEY)
    assert all(np.all(np.asarray(leaf) == LAM) for leaf in jax.tree.leaves(state.Z))
    for z, w in zip(
        jax.tree.leaves(state.Z),
        jax.tree.leaves((state.weights.body, state.weights.omega)),
        strict=True,
    ):
        assert z.shape == w.shape


def test_a_phase_trains_the_network_and_leaves_the_diagonal() -> None:
    rng, vector = np.random.default_rng(4), parameters()
    state = state_of(vector, LAM + rng.exponential(size=len(vector)))
    contexts, rewards = rng.integers(X, size=BATCH), rng.normal(size=BATCH)
    empty = empty_history(np.int32(0), BATCH)
    with jax.enable_x64(True):
        padding = (0, empty.capacity - BATCH)
        history = empty._replace(
            contexts=jnp.asarray(np.pad(contexts, padding), dtype=jnp.int32),
            rewards=jnp.asarray(np.pad(rewards, padding)),
            n=jnp.asarray(BATCH, dtype=jnp.int32),
        )
    after = refresh(state, history, KEY)
    for one, other in zip(jax.tree.leaves(after.Z), jax.tree.leaves(state.Z), strict=True):
        np.testing.assert_array_equal(one, other)
    W1, b1, W2, b2, omega = split(vector)
    phi = np.tanh(np.tanh(FEATURES[contexts, 0] @ W1 + b1) @ W2 + b2)
    slope = 2 / BATCH * (phi @ omega - rewards) @ phi
    np.testing.assert_allclose(after.weights.omega, omega - RATE * slope, rtol=1e-5)
    assert not np.allclose(after.weights.body[0].matrix, W1, rtol=1e-6)


def test_settings_are_checked_and_nothing_is_certified() -> None:
    for settings, message in [
        ({"gamma": 1.0}, r"gamma must be greater than 1, got 1\.0"),
        ({"lam": 0.0}, r"lam must be greater than 0, got 0\.0"),
        ({"ucb_scale": -1.0}, r"ucb_scale must be at least 0, got -1\.0"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            banditsrl.NeuralUCB(NETWORK, **settings)  # type: ignore[arg-type]
    state = state_of(parameters(), np.ones(len(parameters())))
    choice = act(state, 0, np.arange(A) == 2, KEY)
    assert (int(choice.action), bool(choice.certified)) == (2, False)
    assert np.isnan(choice.glr)
    with pytest.raises(InvalidArgument, match="reward must be finite, got nan"):
        learn(state, 0, 0, float("nan"))
