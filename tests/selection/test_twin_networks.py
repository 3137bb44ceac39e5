"""Does each twin know its own half of the rounds, and nothing of the other half?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.core.history import History, empty_history, write_rounds
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.coded import Coded
from banditsrl.representations.network import Network
from banditsrl.selection.network_learner import NetworkLearner, NetworkState
from banditsrl.selection.training import Training
from banditsrl.selection.twin_networks import TwinNetworks, split

KEY = jax.random.key(0)
N, A, LAM = 41, 3, 0.5


@pytest.fixture(scope="module")
def twins() -> TwinNetworks:
    network = Network(Coded(n_actions=A, code="blocks", n_columns=2), layers=(6, 4))
    return TwinNetworks(NetworkLearner(network, Training(passes=2, batch=8), lam=LAM))


@pytest.fixture(scope="module")
def rounds() -> tuple[Any, Any, Any]:
    """Contexts, actions and rewards."""
    rng = np.random.default_rng(2)
    contexts = rng.normal(size=(N, 2)).astype(np.float32)
    return contexts, rng.integers(A, size=N), rng.normal(size=N)


def as_history(contexts: Any, actions: Any, rewards: Any) -> History:
    empty = empty_history(contexts[0], N)
    return write_rounds(empty, 0, contexts, actions, rewards, np.zeros(N, dtype=bool))


def pick(state: NetworkState, k: int) -> NetworkState:
    """One of the twins."""
    one: NetworkState = jax.tree.map(lambda leaf: leaf[k], state)
    return one


def check_statistics(twins: TwinNetworks, state: NetworkState, rounds: Any) -> None:
    """The statistics of each twin are those of its half, summed up directly."""
    contexts, actions, rewards = rounds
    for k in range(2):
        one = pick(state, k)
        network = twins.learner.network.at(one.weights)
        mine = range(k, N, 2)
        phi = np.array([np.asarray(network.embed(contexts[t]))[actions[t]] for t in mine])
        phi = phi.astype(np.float64)
        V = LAM * np.eye(4) + phi.T @ phi
        theta = np.linalg.solve(V, phi.T @ rewards[k::2])
        np.testing.assert_allclose(one.ridge.V, V, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one.ridge.theta, theta, rtol=1e-3, atol=1e-5)
        assert float(one.ridge.n) == len(mine)


@in_float64
def test_a_round_is_learned_by_the_twin_of_its_half(twins: TwinNetworks, rounds: Any) -> None:
    state, embed, learn = twins.init(KEY), jax.jit(twins.embed), jax.jit(twins.learn)
    for context, action, reward in zip(*rounds, strict=True):
        state = learn(state, embed(state, context), action, reward, np.asarray(False))
    check_statistics(twins, state, rounds)
    np.testing.assert_array_equal(state.n_rounds, [N, N])


@in_float64
def test_after_training_the_statistics_are_those_of_the_halves(
    twins: TwinNetworks, rounds: Any
) -> None:
    before = twins.init(KEY)
    state = jax.jit(twins.train)(before, split(as_history(*rounds)), KEY)
    check_statistics(twins, state, rounds)
    for k in range(2):
        assert not np.array_equal(before.weights.omega[k], state.weights.omega[k])


@in_float64
@pytest.mark.parametrize("k", [0, 1])
def test_the_rewards_and_contexts_of_the_other_half_do_not_matter(
    twins: TwinNetworks, rounds: Any, k: int
) -> None:
    contexts, actions, rewards = (np.array(part) for part in rounds)
    train, state = jax.jit(twins.train), twins.init(KEY)
    one = train(state, split(as_history(contexts, actions, rewards)), KEY)
    contexts[1 - k :: 2] *= -3.0
    actions[1 - k :: 2] = 0
    rewards[1 - k :: 2] += 10.0
    other = train(state, split(as_history(contexts, actions, rewards)), KEY)
    for before, after in zip(
        jax.tree.leaves(pick(one, k)), jax.tree.leaves(pick(other, k)), strict=True
    ):
        np.testing.assert_array_equal(before, after)
    changed = pick(one, 1 - k).ridge.theta, pick(other, 1 - k).ridge.theta
    assert not np.allclose(*changed)


@in_float64
def test_the_twins_start_from_different_weights_and_predict_side_by_side(
    twins: TwinNetworks, rounds: Any
) -> None:
    state = twins.init(KEY)
    assert not np.array_equal(*state.weights.omega)
    theta = np.random.default_rng(4).normal(size=(2, 4))
    state = state._replace(ridge=state.ridge._replace(theta=jnp.asarray(theta)))
    phi = np.asarray(twins.embed(state, rounds[0][0]))
    assert phi.shape == (2, A, 4)
    predicted = np.asarray(twins.predict(state, jnp.asarray(phi)))
    for k in range(2):
        network = twins.learner.network.at(pick(state, k).weights)
        np.testing.assert_allclose(phi[k], network.embed(rounds[0][0]), rtol=1e-5)
        np.testing.assert_allclose(predicted[k], phi[k] @ theta[k], rtol=1e-6)


@in_float64
def test_a_split_history_has_the_halves_side_by_side(rounds: Any) -> None:
    halves = split(as_history(*rounds))
    np.testing.assert_array_equal(halves.n, [21, 20])
    for k in range(2):
        n = int(halves.n[k])
        np.testing.assert_array_equal(halves.contexts[k, :n], rounds[0][k::2])
        np.testing.assert_array_equal(halves.actions[k, :n], rounds[1][k::2])
        np.testing.assert_array_equal(halves.rewards[k, :n], rounds[2][k::2])


def test_there_are_as_many_actions_as_the_network_has(twins: TwinNetworks) -> None:
    assert twins.n_actions == A
