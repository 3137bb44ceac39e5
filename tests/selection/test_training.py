"""Training at the end of a phase, against forward and backward passes written out in NumPy."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from oracles import backprop

from banditsrl.core.history import History
from banditsrl.errors import InvalidArgument
from banditsrl.representations.network import Layer, Network, NetworkWeights
from banditsrl.selection.training import Training, _deal_batch, train

X, A, M, HIDDEN, D = 12, 3, 4, 5, 3
CAPACITY = 64
RATE, WEIGHT = 0.05, 0.7
FEATURES = np.random.default_rng(0).normal(size=(X, A, M))
NETWORK = Network(FEATURES, layers=(HIDDEN, D))
KEY = jax.random.key(5)
FLOAT32 = {"rtol": 1e-4, "atol": 2e-6}
"""Training is in float32, the answers here in float64."""

BATCH = 4
SGD: dict[str, Any] = {
    "optimizer": "sgd", "learning_rate": RATE, "loss_weight": WEIGHT, "batch": BATCH, "passes": 1,
}  # fmt: skip

program = eqx.filter_jit(train)


def run(
    training: Training, weights: NetworkWeights, history: History
) -> tuple[NetworkWeights, Any]:
    with jax.enable_x64(True):
        return program(training, NETWORK, weights, history, KEY)


def start(seed: int = 1) -> NetworkWeights:
    """NetworkWeights before training; no unit is dead, so that every gradient is at work."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.normal(size=shape), dtype=jnp.float32)

    z = np.array([1.0, 2.0, -2.0]) / 3.0
    body = (Layer(normal(M, HIDDEN), normal(HIDDEN) + 1.0), Layer(normal(HIDDEN, D), normal(D)))
    return NetworkWeights(body, normal(D), jnp.asarray(z, dtype=jnp.float32))


def rounds(n: int, certified: Any = (), seed: int = 2, **changes: Any) -> History:
    """n random rounds; `changes` overwrite what the certified ones hold."""
    rng = np.random.default_rng(seed)
    contexts, actions = rng.integers(X, size=CAPACITY), rng.integers(A, size=CAPACITY)
    columns = {"contexts": contexts, "actions": actions, "rewards": rng.normal(size=CAPACITY)}
    for name, value in changes.items():
        columns[name][list(certified)] = value
    marks = np.zeros(CAPACITY, dtype=bool)
    marks[list(certified)] = True
    with jax.enable_x64(True):
        return History(
            jnp.asarray(columns["contexts"], dtype=jnp.int32),
            jnp.asarray(columns["actions"], dtype=jnp.int32),
            jnp.asarray(columns["rewards"], dtype=jnp.float64),
            jnp.asarray(marks),
            jnp.asarray(n, dtype=jnp.int32),
        )


def flat(weights: NetworkWeights) -> list[Any]:
    """Matrices, biases and output layer in float64."""
    (one, two), omega = weights.body, weights.omega
    parts = (one.matrix, one.bias, two.matrix, two.bias, omega)
    return [np.array(part, dtype=float) for part in parts]


def forward(parts: Any, history: History, chosen: Any) -> tuple[Any, Any, Any]:
    """Inputs, hidden units and embeddings of some rounds."""
    W1, b1, W2, b2, _ = parts
    x = FEATURES[np.asarray(history.contexts)[chosen], np.asarray(history.actions)[chosen]]
    hidden = np.maximum(x @ W1 + b1, 0.0)
    return x, hidden, np.maximum(hidden @ W2 + b2, 0.0)


def gradients(parts: Any, z: Any, history: History, loss: str, explored: Any, every: Any) -> Any:
    """Of the objective of one batch, and its two losses."""
    x, hidden, phi = forward(parts, history, explored)
    error = phi @ parts[4] - np.asarray(history.rewards)[explored]
    found = backprop.backpropagate(parts, x, hidden, phi, 2.0 / len(x) * error[:, None] * parts[4])
    found[4] = 2.0 / len(x) * error @ phi
    x, hidden, of_all = forward(parts, history, every)
    value, slope = backprop.spectral_loss(loss, of_all, phi, z)
    regular = backprop.backpropagate(parts, x, hidden, of_all, WEIGHT * slope)
    return [a + b for a, b in zip(found, regular, strict=True)], ((error**2).mean(), value)


def descend_by_hand(z: Any, parts: Any, history: History, every: Any) -> Any:
    u, _ = backprop.normalise(forward(parts, history, every)[2])
    design = u.T @ u / len(u)
    moved = z - 0.2 * (design @ z - (z @ design @ z) * z)
    return moved / np.linalg.norm(moved)


def assert_close(weights: NetworkWeights, parts: Any) -> None:
    for found, expected in zip(flat(weights), parts, strict=True):
        np.testing.assert_allclose(found, expected, **FLOAT32)


def assert_same(one: NetworkWeights, other: NetworkWeights) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


# One step, and many.


@pytest.mark.parametrize("loss", ["none", "weak", "rayleigh"])
def test_a_step_is_that_of_back_propagation_by_hand(loss: str) -> None:
    weights, history, whole = start(), rounds(BATCH), np.arange(BATCH)
    after, losses = run(Training(loss=loss, **SGD), weights, history)
    parts, z = flat(weights), np.asarray(weights.z, dtype=float)
    slopes, expected = gradients(parts, z, history, loss, whole, whole)
    assert all(np.abs(slope).max() > 1e-3 for slope in slopes)
    assert_close(after, [p - RATE * g for p, g in zip(parts, slopes, strict=True)])
    np.testing.assert_allclose(losses, expected, **FLOAT32)
    expected_z = descend_by_hand(z, parts, history, whole) if loss == "rayleigh" else z
    np.testing.assert_allclose(after.z, expected_z, **FLOAT32)


def batches_of(training: Training, history: History) -> list[Any]:
    """The batches of one training."""
    n, marks = int(history.n), np.asarray(history.certified)
    explored = np.flatnonzero(~marks[:n]).astype(np.int32)
    padded = np.zeros(CAPACITY, dtype=np.int32)
    padded[: len(explored)] = explored
    salt = jax.random.bits(KEY, (), dtype=jnp.uint32)
    sizes = (jnp.asarray(len(explored), jnp.int32), jnp.asarray(n, jnp.int32))
    steps = range(training.passes * -(-n // training.batch))
    return [
        jax.tree.map(
            np.asarray,
            deal_batch(training, jnp.asarray(i, jnp.int32), jnp.asarray(padded), *sizes, salt),
        )
        for i in steps
    ]


deal_batch = eqx.filter_jit(_deal_batch)


@pytest.mark.parametrize("loss", ["none", "weak", "rayleigh"])
def test_a_pass_with_certified_rounds_and_an_incomplete_batch_is_that_by_hand(
    loss: str,
) -> None:
    training, weights = Training(loss=loss, **SGD), start()
    history = rounds(10, certified=[0, 3, 4, 8])
    after, losses = run(training, weights, history)
    parts, z = flat(weights), np.asarray(weights.z, dtype=float)
    batches = batches_of(training, history)
    assert [batch.valid.sum() for batch in batches] == [4, 4, 2]
    for batch in batches:
        explored, every = (side[batch.valid > 0] for side in (batch.explored, batch.every))
        slopes, expected = gradients(parts, z, history, loss, explored, every)
        if loss == "rayleigh":
            z = descend_by_hand(z, parts, history, every)
        parts = [p - RATE * g for p, g in zip(parts, slopes, strict=True)]
    assert_close(after, parts)
    np.testing.assert_allclose(after.z, z, **FLOAT32)
    np.testing.assert_allclose(losses, expected, **FLOAT32)


def test_weights_carry_over_from_phase_to_phase() -> None:
    training, history, whole = Training(loss="weak", **SGD), rounds(BATCH), np.arange(BATCH)
    weights = start()
    parts, z = flat(weights), np.asarray(weights.z, dtype=float)
    for _ in range(3):
        weights, _ = run(training, weights, history)
        slopes, _ = gradients(parts, z, history, "weak", whole, whole)
        parts = [p - RATE * g for p, g in zip(parts, slopes, strict=True)]
    assert_close(weights, parts)


def test_adam_takes_the_steps_of_its_formula() -> None:
    settings = {**SGD, "optimizer": "adam", "learning_rate": 0.01, "passes": 3}
    weights, history, whole = start(), rounds(BATCH), np.arange(BATCH)
    after, _ = run(Training(loss="none", **settings), weights, history)
    parts, z = flat(weights), np.asarray(weights.z, dtype=float)
    first, second = ([np.zeros_like(p) for p in parts] for _ in range(2))
    for t in range(1, 4):
        slopes, _ = gradients(parts, z, history, "none", whole, whole)
        first = [0.9 * m + 0.1 * g for m, g in zip(first, slopes, strict=True)]
        second = [0.999 * v + 0.001 * g**2 for v, g in zip(second, slopes, strict=True)]
        parts = [
            p - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            for p, m, v in zip(parts, first, second, strict=True)
        ]
    assert_close(after, parts)


def test_the_squared_error_of_all_rounds_is_added_with_its_weight() -> None:
    training, weights = Training(loss="none", every_weight=0.5, **SGD), start()
    history = rounds(8, certified=[1, 2, 5, 7])
    after, _ = run(training, weights, history)
    parts, z = flat(weights), np.zeros(D)
    for batch in batches_of(training, history):
        of_explored, _ = gradients(parts, z, history, "none", batch.explored, batch.every)
        of_all, _ = gradients(parts, z, history, "none", batch.every, batch.every)
        slopes = [a + 0.5 * b for a, b in zip(of_explored, of_all, strict=True)]
        parts = [p - RATE * g for p, g in zip(parts, slopes, strict=True)]
    assert_close(after, parts)


def test_weights_decay_by_a_share_that_falls_with_the_root_of_the_samples() -> None:
    training = Training(loss="none", decay=3.0, **SGD)
    weights, history, whole = start(), rounds(BATCH), np.arange(BATCH)
    after, _ = run(training, weights, history)
    parts = flat(weights)
    slopes, _ = gradients(parts, np.zeros(D), history, "none", whole, whole)
    share = 3.0 / math.sqrt(BATCH)
    assert_close(after, [p - RATE * (g + share * p) for p, g in zip(parts, slopes, strict=True)])


# What training looks at.


def test_the_squared_error_never_sees_a_certified_round() -> None:
    training, weights, certified = Training(loss="none", **SGD), start(), [1, 2, 5, 7]
    expected, _ = run(training, weights, rounds(8, certified))
    for changes in ({"rewards": np.nan}, {"rewards": 1e30}, {"contexts": 0, "actions": 2}):
        found, _ = run(training, weights, rounds(8, certified, **changes))
        assert_same(found, expected)
    parts, z, history = flat(weights), np.zeros(D), rounds(8, certified)
    for _ in range(2):  # a pass over eight rounds repeats the four explored ones
        slopes, _ = gradients(parts, z, history, "none", [0, 3, 4, 6], [0])
        parts = [p - RATE * g for p, g in zip(parts, slopes, strict=True)]
    assert_close(expected, parts)


def test_the_spectral_loss_sees_certified_rounds_but_not_their_rewards() -> None:
    training, weights, certified = Training(loss="weak", **SGD), start(), [1, 2, 5, 7]
    expected, _ = run(training, weights, rounds(8, certified))
    found, _ = run(training, weights, rounds(8, certified, rewards=np.nan))
    assert_same(found, expected)
    for changes in ({"contexts": 0}, {"actions": [1, 2, 0, 1]}):
        found, _ = run(training, weights, rounds(8, certified, **changes))
        assert not np.allclose(found.body[0].matrix, expected.body[0].matrix, rtol=1e-3)


def test_training_does_not_look_beyond_the_last_round() -> None:
    training, weights, history = Training(loss="weak", **SGD), start(), rounds(6)
    expected, _ = run(training, weights, history)
    with jax.enable_x64(True):
        rewards = jnp.where(jnp.arange(CAPACITY) < 6, history.rewards, jnp.nan)
    found, _ = run(training, weights, history._replace(rewards=rewards))
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("n", "certified"), [(0, []), (3, []), (8, [0, 1, 2, 3, 4]), (8, range(8))]
)
def test_without_one_batch_of_explored_rounds_nothing_is_trained(n: int, certified: Any) -> None:
    weights = start()
    for loss in ("none", "rayleigh"):
        after, losses = run(Training(loss=loss, **SGD), weights, rounds(n, certified))
        assert_same(after, weights)
        assert np.isnan([float(value) for value in losses]).all()


def test_every_pass_visits_every_round_once_and_explored_ones_in_turn() -> None:
    training, certified = Training(batch=4, passes=3), [0, 3, 4, 8]
    batches = batches_of(training, rounds(10, certified))
    assert len(batches) == 9
    orders = []
    for at in range(3):
        one = batches[3 * at : 3 * at + 3]
        orders.append(np.concatenate([b.every[b.valid > 0] for b in one]))
        assert sorted(orders[-1]) == list(range(10))
    assert len({tuple(order) for order in orders}) == 3
    explored = np.concatenate([b.explored[b.valid > 0] for b in batches])
    visits = np.bincount(explored, minlength=10)
    assert np.all(visits[certified] == 0)
    assert sorted(visits[visits > 0]) == [5] * 6  # 3 passes of 10, shared by 6
    for turn in range(5):
        assert sorted(explored[6 * turn : 6 * turn + 6]) == [1, 2, 5, 6, 7, 9]


def test_a_pass_may_be_as_long_as_the_explored_rounds() -> None:
    training, certified = Training(batch=4, passes=5, passes_over="explored"), [0, 3, 4, 8]
    history = rounds(10, certified)
    n, n_explored = jnp.asarray(10), jnp.asarray(6)
    assert int(training.n_updates(n, n_explored)) == 10  # 5 passes over 6 in steps of 4
    batches = batches_of(training, history)[:10]
    for at in range(5):
        seen = [b.explored[b.valid > 0] for b in batches[2 * at : 2 * at + 2]]
        assert sorted(np.concatenate(seen)) == [1, 2, 5, 6, 7, 9]
    every = np.concatenate([b.every[b.valid > 0] for b in batches])
    for turn in range(3):
        assert sorted(every[10 * turn : 10 * turn + 10]) == list(range(10))
    assert int(training.pass_length(jnp.asarray(40), jnp.asarray(11))) == 11
    assert int(training.pass_length(jnp.asarray(40), jnp.asarray(9))) == 10  # a quarter of all


# How many steps, and how large.


def ones_instead(updates: Any, state: Any, params: Any = None) -> Any:
    return jax.tree.map(jnp.ones_like, updates), state


TICKING = optax.GradientTransformation(lambda params: optax.EmptyState(), ones_instead)
"""Adds one to every weight in every step: the weights count the steps."""


def ticks(training: Training, n: int, certified: Any = ()) -> float:
    weights = start()
    after, _ = run(training, weights, rounds(n, certified))
    moved = [np.asarray(a) - b for a, b in zip(flat(after), flat(weights), strict=True)]
    assert max(m.max() for m in moved) == pytest.approx(min(m.min() for m in moved), abs=1e-4)
    return float(moved[0].mean())


def test_a_phase_takes_its_passes_in_steps_of_a_batch() -> None:
    training = Training(loss="none", optimizer=TICKING, batch=4, passes=3)
    for n, certified, expected in [
        (3, [], 0), (4, [], 3), (5, [], 6), (8, [], 6), (9, [0, 1, 2, 3, 4], 9), (9, range(6), 0),
    ]:  # fmt: skip
        assert ticks(training, n, certified) == pytest.approx(expected, abs=1e-4)
        explored = n - len(certified)
        assert int(training.n_updates(jnp.asarray(n), jnp.asarray(explored))) == expected


def test_the_cosine_schedule_falls_to_zero_over_the_steps_that_are_taken() -> None:
    """Including when the number of steps is capped."""
    training = Training(
        loss="none", optimizer=TICKING, batch=4, passes=3, schedule="cosine", max_updates=5
    )
    for n, steps in [(4, 3), (8, 5), (40, 5)]:
        expected = sum(0.5 * (1 + math.cos(math.pi * i / steps)) for i in range(steps))
        assert ticks(training, n) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("passes", [1, 30])
@pytest.mark.parametrize("limit", [None, 1, 100])
def test_the_number_of_steps_is_passes_times_batches_up_to_the_limit(
    passes: int, limit: int | None
) -> None:
    training = Training(batch=128, passes=passes, max_updates=limit)
    for n in (1, 127, 128, 129, 256, 10_000):
        steps = passes * math.ceil(n / 128)
        expected = min(steps, limit or steps) if n >= 128 else 0
        assert int(training.n_updates(jnp.asarray(n), jnp.asarray(n))) == expected
    assert int(training.n_updates(jnp.asarray(10_000), jnp.asarray(127))) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "eig"}, "loss must be one of none, weak, rayleigh, got 'eig'"),
        ({"loss_weight": -1.0}, r"loss_weight must be at least 0, got -1\.0"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of sgd, adam, got 'lbfgs'"),
        ({"optimizer": 3}, "optimizer must be sgd, adam or an Optax transformation, got 3"),
        ({"learning_rate": 0.0}, r"learning_rate must be greater than 0, got 0\.0"),
        ({"schedule": "linear"}, "schedule must be one of constant, cosine, got 'linear'"),
        ({"decay": -1.0}, r"decay must be at least 0, got -1\.0"),
        ({"every_weight": -1.0}, r"every_weight must be at least 0, got -1\.0"),
        ({"passes_over": "some"}, "passes_over must be one of all, explored, got 'some'"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"passes": 0}, "passes must be at least 1, got 0"),
        ({"max_updates": 0}, "max_updates must be at least 1, got 0"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Training(**settings)
