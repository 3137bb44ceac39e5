"""Whole runs of NN-BanditSRL: special cases, seeds, files, and networks of one's own."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import draw_rounds, history_of

import banditsrl
from banditsrl.core.state_files import describe
from banditsrl.errors import InvalidArgument
from banditsrl.representations import Table

pytestmark = pytest.mark.optimised

STEPS = [30, 60, 90]
KEY = jax.random.key(3)


def own(network: banditsrl.Network, **settings: Any) -> banditsrl.NNBanditSRL:
    """A policy on a network of one's own."""
    training = banditsrl.Training(batch=8, passes=2, learning_rate=0.01)
    base = settings.pop("base", banditsrl.EpsilonGreedy())
    return banditsrl.NNBanditSRL(network, base=base, training=training, sigma=0.2, **settings)


@pytest.fixture(scope="module")
def wheel() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


def linucb(wheel: Any, name: str = "neural-linucb", **settings: Any) -> Any:
    return banditsrl.make_policy(
        name, wheel, preset="paper", layers=(8, 4), batch=32, passes=2, **settings
    )


@pytest.fixture(scope="module")
def pair(wheel: banditsrl.FiniteProblem) -> banditsrl.Result:
    return banditsrl.simulate(wheel, linucb(wheel), horizon=90, seeds=[1, 3], steps=STEPS)


def test_neural_linucb_is_the_general_policy_with_its_switches_off(
    wheel: banditsrl.FiniteProblem, pair: banditsrl.Result
) -> None:
    general = linucb(wheel, "nn-banditsrl-linucb", loss="none", glrt_scale=None)
    other = banditsrl.simulate(wheel, general, horizon=90, seeds=[1, 3], steps=STEPS)
    assert np.array_equal(pair.regret, other.regret)
    by_hand = banditsrl.NNBanditSRL(
        banditsrl.Network(wheel.representations[0], layers=(8, 4)),
        base=banditsrl.LinUCB(),
        sigma=0.2,
        lam=1.0,
        delta=0.01,
        glrt_scale=None,
        training=banditsrl.Training(loss="none", batch=32, passes=2),
    )
    last = banditsrl.simulate(wheel, by_hand, horizon=90, seeds=[1, 3], steps=STEPS)
    assert np.array_equal(pair.regret, last.regret)
    assert not pair.certified.any()
    assert not pair.trivial.any()


def test_a_seed_gives_the_same_numbers_alone_and_among_others(
    wheel: banditsrl.FiniteProblem, pair: banditsrl.Result
) -> None:
    alone = banditsrl.simulate(wheel, linucb(wheel), horizon=90, seeds=[3], steps=STEPS)
    assert np.array_equal(alone.regret[0], pair.regret[1])
    assert not np.array_equal(pair.regret[0], pair.regret[1])
    for one, both in zip(jax.tree.leaves(alone.state), jax.tree.leaves(pair.state), strict=True):
        np.testing.assert_array_equal(one[..., 0], both[..., 1])
    assert alone.phases[-1] > 32
    weights = alone.state.network.weights
    assert float(jnp.abs(weights.body[0].bias).max()) > 0.0  # it was trained


def test_before_the_first_batch_it_is_linucb_on_the_fresh_embedding(
    wheel: banditsrl.FiniteProblem,
) -> None:
    """A horizon smaller than a batch runs, without training, and nothing else is different."""
    result = banditsrl.simulate(wheel, linucb(wheel), horizon=31, seeds=[3], steps=[10, 20, 31])
    weights = jax.tree.map(lambda leaf: leaf[..., 0], result.state.network.weights)
    assert all(np.all(np.asarray(layer.bias) == 0.0) for layer in weights.body)
    network = linucb(wheel).network.at(weights)
    phi = np.asarray([network.embed(x) for x in range(10)])
    table = banditsrl.LinUCB(Table(phi), sigma=0.2)
    plain = banditsrl.simulate(wheel, table, horizon=31, seeds=[3], steps=[10, 20, 31])
    assert np.array_equal(result.regret, plain.regret)
    np.testing.assert_allclose(
        result.state.network.ridge.theta[..., 0],
        plain.state.ridge.theta[..., 0],
        rtol=1e-6,
        atol=1e-9,
    )


def test_a_state_with_its_network_survives_a_file(
    wheel: banditsrl.FiniteProblem, pair: banditsrl.Result, tmp_path: Path
) -> None:
    policy = linucb(wheel)
    with jax.enable_x64(True):
        state = jax.tree.map(lambda leaf: leaf[..., 0], pair.state)
    banditsrl.save_state(tmp_path / "state", policy, state)
    loaded = banditsrl.load_state(tmp_path / "state", policy)
    assert jax.tree.structure(loaded) == jax.tree.structure(state)
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(loaded), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    wider = linucb(wheel, activation="tanh")
    with pytest.raises(
        banditsrl.errors.StateFileError, match="network: activation is not the same"
    ):
        banditsrl.load_state(tmp_path / "state", wider)


# Networks and bases of one's own.


class Always:
    """A base of one's own that always plays the second action: regret shows the contexts."""

    def init(self, key: Any) -> Any:
        return jnp.zeros(())

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return banditsrl.Choice.without_test(jnp.asarray(1), 1.0 * (jnp.arange(5) == 1))

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return state + reward


def test_contexts_and_noise_are_the_same_whatever_policy_plays(
    wheel: banditsrl.FiniteProblem,
) -> None:
    """A network that trains, on a module and with a base of one's own, changes neither."""
    network = banditsrl.Network(
        wheel.representations[0], module=eqx.nn.Linear(7, 4, key=jax.random.key(0))
    )
    policy = own(network, base=Always(), glrt_scale=None)
    one, other = (
        banditsrl.simulate(wheel, p, horizon=60, seeds=[2], steps=range(1, 61))
        for p in (policy, Always())
    )
    assert np.array_equal(one.regret, other.regret)
    assert np.array_equal(one.largest_reward, other.largest_reward)
    weights = one.state.network.weights
    assert not np.allclose(weights.body.weight[..., 0], network.template.weight)
    assert float(one.state.base[0]) != float(other.state[0])  # the base starts anew each phase


def test_a_function_from_a_key_can_be_trained(wheel: banditsrl.FiniteProblem) -> None:
    network = banditsrl.Network(
        wheel.representations[0], module=lambda key: eqx.nn.Linear(7, 4, key=key)
    )
    policy, rounds = own(network), draw_rounds(wheel, 200)
    with jax.enable_x64(True):
        before, other = policy.init(KEY), policy.init(jax.random.key(4))
        after = eqx.filter_jit(policy.refresh)(before, history_of(rounds), KEY)
    contexts, actions, rewards = rounds
    inputs = wheel.representations[0].features[contexts, actions]  # (200, 7)

    def error(weights: Any) -> float:
        phi = inputs @ np.asarray(weights.body.weight).T + np.asarray(weights.body.bias)
        return float(np.mean((phi @ np.asarray(weights.omega) - rewards) ** 2))

    assert error(after.network.weights) < 0.9 * error(before.network.weights)
    first, second = (state.network.weights.body.weight for state in (before, other))
    assert not np.allclose(first, second)  # every key draws weights of its own


def test_a_policy_with_a_module_can_be_described() -> None:
    """As every state file does."""
    module = eqx.nn.MLP(4, 3, 5, 1, key=KEY)
    features = np.random.default_rng(0).normal(size=(9, 3, 4))
    one, other = (describe(banditsrl.Network(features, module=module)) for _ in range(2))
    assert one == other


def test_a_function_is_described_alike_in_every_process() -> None:
    """Optax transformations are such functions; their states must load after a restart."""
    source = "def halves(t):\n    return (lambda s: 0.5 / s)(t)\n"
    described = []
    for _ in range(2):
        names: dict[str, Any] = {}
        exec(source, names)  # noqa: S102
        described.append((describe(names["halves"]), names))
    assert described[0][0] == described[1][0]


def test_a_network_for_another_problem_is_refused(wheel: banditsrl.FiniteProblem) -> None:
    other = banditsrl.make_problem("wheel", n_contexts=11)
    with pytest.raises(InvalidArgument, match="must have the problem's n_contexts 11, got 10"):
        banditsrl.simulate(other, linucb(wheel), horizon=1, seeds=[3])
