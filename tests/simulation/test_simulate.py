"""A simulation gives each seed its own numbers, and records and refuses what it should."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.adapters import as_policy
from banditsrl.errors import BoundExceeded, ContractViolation, InvalidArgument, InvalidType
from banditsrl.simulation.dealing import name_keys
from banditsrl.simulation.run_plan import seeds_side_by_side

TWICE = r"^seeds must differ, got 1 more than once\.$"


@pytest.fixture(scope="module")
def policy(problem: banditsrl.FiniteProblem) -> Any:
    return banditsrl.BanditSRL(problem.representations, base=banditsrl.EpsilonGreedy(), sigma=0.3)


@pytest.fixture(scope="module")
def forty(problem: banditsrl.FiniteProblem, policy: Any) -> banditsrl.Result:
    return banditsrl.simulate(problem, policy, horizon=1500, seeds=40)


@pytest.mark.parametrize("seeds", [[7], [3, 39, 0], list(range(39, -1, -1))])
def test_a_seed_gives_the_same_numbers_alone_in_a_batch_and_in_any_order(
    problem: banditsrl.FiniteProblem, policy: Any, forty: banditsrl.Result, seeds: list[int]
) -> None:
    result = banditsrl.simulate(problem, policy, horizon=1500, seeds=seeds)
    assert np.array_equal(result.regret, forty.regret[seeds])
    assert np.array_equal(result.certified, forty.certified[seeds])
    assert np.array_equal(result.reports["representation"], forty.reports["representation"][seeds])


def test_more_seeds_than_run_side_by_side_run_in_batches(
    problem: banditsrl.FiniteProblem, policy: Any, forty: banditsrl.Result
) -> None:
    seeds = [*range(45)]
    result = banditsrl.simulate(problem, policy, horizon=1500, seeds=seeds)
    assert result.regret.shape[0] == 45
    assert np.array_equal(result.regret[:40], forty.regret)
    assert result.state.ridge.n.shape == (45,)


def test_seeds_run_side_by_side_unless_embeddings_are_large(
    problem: banditsrl.FiniteProblem, policy: Any
) -> None:
    wheel = banditsrl.make_problem("wheel")
    assert seeds_side_by_side(policy) == 40
    assert seeds_side_by_side(as_policy(Recording(0))) == 40
    assert seeds_side_by_side(banditsrl.make_policy("rff-linucb", wheel, rff_dim=64)) == 40
    assert seeds_side_by_side(banditsrl.make_policy("rff-linucb", wheel, rff_dim=65)) == 1
    assert seeds_side_by_side(banditsrl.make_policy("glrt-linucb", problem)) == 40
    assert seeds_side_by_side(banditsrl.make_policy("neuralucb", wheel)) == 1


class Recording:
    """Plays one action and remembers the contexts dealt and the rewards paid."""

    def __init__(self, action: int) -> None:
        self.action = action

    def init(self, key: Any) -> Any:
        return {"x": jnp.zeros(64, dtype=jnp.int32), "y": jnp.zeros(64), "t": jnp.zeros((), int)}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        action = jnp.asarray(self.action)
        return banditsrl.Choice.without_test(action, 1.0 * (jnp.arange(5) == action))

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        t = state["t"]
        return {
            "x": state["x"].at[t].set(context), "y": state["y"].at[t].set(reward), "t": t + 1,
        }  # fmt: skip


def test_changing_the_policy_changes_neither_contexts_nor_noise(
    problem: banditsrl.FiniteProblem,
) -> None:
    first, second = (
        banditsrl.simulate(problem, Recording(action), horizon=64, seeds=[5, 6])
        for action in (0, 3)
    )
    contexts = np.asarray(first.state["x"])  # (steps, seeds)
    assert np.array_equal(contexts, np.asarray(second.state["x"]))
    noise = [
        np.asarray(result.state["y"]) - problem.mean_rewards[contexts, action]
        for result, action in ((first, 0), (second, 3))
    ]
    assert np.allclose(noise[0], noise[1], atol=1e-12)
    assert noise[0].std() == pytest.approx(0.3, rel=0.25)
    assert not np.array_equal(contexts[:, 0], contexts[:, 1])


def test_regret_is_the_sum_of_expected_gaps(problem: banditsrl.FiniteProblem) -> None:
    result = banditsrl.simulate(problem, Recording(2), horizon=64, seeds=3, steps=[1, 10, 64])
    contexts = np.asarray(result.state["x"])
    gaps = problem.mean_rewards.max(axis=1) - problem.mean_rewards[:, 2]
    expected = np.cumsum(gaps[contexts], axis=0)[[0, 9, 63]].T
    assert np.allclose(result.regret, expected, atol=1e-12)
    positive = gaps[contexts] > 0
    last = [int(np.flatnonzero(positive[:, s])[-1]) + 1 for s in range(3)]
    assert result.last_regret.tolist() == last
    assert result.last_uncertified.tolist() == [64] * 3


def test_only_the_chosen_steps_are_recorded(
    problem: banditsrl.FiniteProblem, policy: Any, forty: banditsrl.Result
) -> None:
    steps = [1, 2, 3, 1023, 1024, 1025, 1500]
    result = banditsrl.simulate(problem, policy, horizon=1500, seeds=3, steps=steps)
    assert result.steps.tolist() == steps
    assert np.array_equal(result.regret[:, -1], forty.regret[:3, -1])
    assert (np.diff(result.regret, axis=1) >= 0).all()
    assert (
        result.regret_between(1024, 1500).tolist()
        == (result.regret[:, -1] - result.regret[:, 4]).tolist()
    )


@pytest.mark.parametrize("n", [127, 128, 300])
def test_any_number_of_steps_can_be_recorded(problem: banditsrl.FiniteProblem, n: int) -> None:
    every = banditsrl.simulate(problem, Recording(2), horizon=n, seeds=3, steps=range(1, n + 1))
    assert every.steps.tolist() == list(range(1, n + 1))
    contexts = np.asarray(every.state["x"])
    some = banditsrl.simulate(problem, Recording(2), horizon=n, seeds=3, steps=[1, 100, n])
    assert np.array_equal(every.regret[:, [0, 99, n - 1]], some.regret)
    gaps = problem.gaps[contexts[:64], 2]  # the first that `Recording` remembers
    np.testing.assert_allclose(every.regret[:, :64].T, np.cumsum(gaps, axis=0))


def test_the_active_set_and_choice_are_reported_per_phase(forty: banditsrl.Result) -> None:
    assert forty.phases.tolist() == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert forty.reports["representation"].shape == (40, 11)
    assert forty.reports["active"].shape == (40, 11, 6)
    assert forty.final_representation.shape == (40,)


def test_masks_of_the_problem_are_obeyed_and_regret_is_to_the_best_available() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6, 4, 3))
    available = rng.random((6, 4)) > 0.4
    available[:, 1] = True
    available[0] = [False, True, False, False]
    means = features @ np.array([1.0, -0.5, 0.2])
    problem = banditsrl.FiniteProblem(means, noise="none", available=available)
    policy = banditsrl.GLRT(banditsrl.EpsilonGreedy(features, sigma=0.1))
    result = banditsrl.simulate(problem, policy, horizon=3000, seeds=3)
    assert (np.diff(result.regret, axis=1) >= 0).all()
    assert (result.trivial[:, -1] > 300).all()  # context 0 offers one action
    assert result.regret_between(2400, 3000).max() == 0.0
    assert result.wrong[:, -1].max() == 0


def test_wrong_certificates_are_counted_with_their_cost() -> None:
    means = np.array([[1.0, 0.0], [0.0, 1.0]])
    misleading = np.array([[[1.0], [0.0]], [[1.0], [0.0]]])  # cannot tell the contexts apart
    problem = banditsrl.FiniteProblem(means, rho=[0.8, 0.2], noise_std=0.1)
    policy = banditsrl.GLRT(banditsrl.EpsilonGreedy(misleading, sigma=0.1))
    result = banditsrl.simulate(problem, policy, horizon=2000, seeds=4, steps=[1000, 2000])
    assert (result.wrong[:, -1] > 100).all()
    assert np.allclose(result.wrong, result.wrong_regret)  # every wrong round costs one
    late = np.diff([result.wrong, result.certified, result.trivial], axis=2)[:, :, 0]
    assert (result.wrong_share[:, -1] == late[0] / (late[1] + late[2])).all()


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli", "none"])
def test_every_kind_of_noise_runs(noise: str) -> None:
    features = np.eye(2)[None].repeat(3, axis=0)
    means = np.array([[0.9, 0.1]] * 3)
    problem = banditsrl.FiniteProblem(means, noise=noise, noise_std=0.2)
    policy = banditsrl.LinUCB(features, sigma=0.5)
    result = banditsrl.simulate(problem, policy, horizon=400, seeds=3)
    assert result.mean[-1] < 60
    assert result.largest_reward.max() <= (1.0 if noise != "gaussian" else 2.0)


def test_progress_is_reported_in_steps(problem: banditsrl.FiniteProblem, policy: Any) -> None:
    told: list[tuple[int, int]] = []
    banditsrl.simulate(
        problem,
        policy,
        horizon=1500,
        seeds=3,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (4500, 4500)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_reward_beyond_a_given_bound_is_warned_of(problem: banditsrl.FiniteProblem) -> None:
    policy = banditsrl.Uniform(problem.representations[0])
    with pytest.warns(BoundExceeded, match="reward_bound = 1 was given but a reward of"):
        banditsrl.simulate(problem, policy, horizon=50, seeds=2, reward_bound=1.0)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"horizon": 0}, InvalidArgument, "horizon must be at least 1, got 0"),
        ({"horizon": 10.5}, InvalidType, "horizon must be an integer, got 10.5"),
        ({"horizon": 10, "seeds": 0}, InvalidArgument, "seeds must be at least 1, got 0"),
        ({"horizon": 10, "seeds": []}, InvalidArgument, "seeds must name at least one seed"),
        ({"horizon": 10, "seeds": [-1]}, InvalidArgument, "seeds must be at least 0, got -1"),
        ({"horizon": 10, "seeds": [0, 1, 2, 1]}, InvalidArgument, TWICE),
        ({"horizon": 10, "steps": [5, 3]}, InvalidArgument, "steps must increase within 1 and the"),
        ({"horizon": 10, "steps": [11]}, InvalidArgument, "steps must increase within 1 and the"),
    ],
)
def test_bad_input_is_refused(
    problem: banditsrl.FiniteProblem, policy: Any, settings: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        banditsrl.simulate(problem, policy, **settings)


def test_keys_are_split_by_name() -> None:
    with jax.enable_x64(True):
        keys = name_keys(np.arange(3))
        data = [np.asarray(jax.random.key_data(key)) for key in keys.values()]
    assert len({bytes(row) for block in data for row in block}) == 3 * len(keys)


@pytest.mark.parametrize("base", [banditsrl.LinTS(draws=2), banditsrl.LinUCB()])
@pytest.mark.parametrize("loss", ["eig", "weak", "span"])
def test_no_bit_of_a_state_depends_on_the_place_it_ran_in(base: Any, loss: str) -> None:
    """From 13 dimensions on, a product that joins the seeds would round places differently."""
    rng = np.random.default_rng(3)
    features, theta = rng.standard_normal((20, 5, 13)), rng.standard_normal(13) / 13
    rotation, _ = np.linalg.qr(rng.standard_normal((13, 13)))
    problem = banditsrl.FiniteProblem(features @ theta, [features, features @ rotation])
    policy = banditsrl.BanditSRL(problem.representations, base=base, sigma=0.3, loss=loss)
    together = banditsrl.simulate(problem, policy, horizon=40, seeds=40)
    for seed in (7, 39):
        alone = banditsrl.simulate(problem, policy, horizon=40, seeds=[seed])
        for one, other in zip(
            jax.tree.leaves(alone.state), jax.tree.leaves(together.state), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(one)[..., 0], np.asarray(other)[..., seed])


class Stubborn:
    """Plays one action, whatever is offered."""

    def __init__(self, action: int) -> None:
        self.action = action

    def init(self, key: Any) -> Any:
        return ()

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return banditsrl.Choice.without_test(jnp.asarray(self.action), jnp.asarray([1.0, 0.0]))

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return state


@pytest.mark.parametrize("action", [1, 2, -1])
def test_an_action_that_was_not_offered_ends_in_an_error(action: int) -> None:
    problem = banditsrl.FiniteProblem(
        [[1.0, 2.0], [0.5, 0.0]], available=[[True, False], [True, True]], noise="none"
    )
    with pytest.raises(ContractViolation, match="Stubborn must choose available actions, got one"):
        banditsrl.simulate(problem, Stubborn(action), horizon=30, seeds=2)
    assert banditsrl.simulate(problem, Stubborn(0), horizon=30, seeds=2).mean[-1] == 0.0


class Stateless(Stubborn):
    """Keeps nothing, has phases, and reports the same for every seed."""

    phase_growth = 2.0

    def report(self, state: Any) -> Any:
        return {"representation": jnp.asarray(self.action)}


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_policy_whose_state_holds_no_arrays_runs_and_reports(seeds: int) -> None:
    problem = banditsrl.FiniteProblem([[1.0, 2.0], [0.5, 0.0]], noise="none")
    result = banditsrl.simulate(problem, Stateless(1), horizon=10, seeds=seeds)
    assert result.state == ()
    np.testing.assert_array_equal(result.reports["representation"], np.ones((seeds, 4)))


def test_an_embedding_beyond_its_bound_is_warned_of(problem: banditsrl.FiniteProblem) -> None:
    features = jnp.asarray(problem.representations[0].features)
    short = banditsrl.representations.Mapped(lambda x: features[x], n_actions=5, dim=6, L=0.5)
    policy = banditsrl.GLRT(banditsrl.LinUCB(short, sigma=0.3))
    with pytest.warns(BoundExceeded, match=r"L = 0.5 was given but an embedding of norm \d"):
        banditsrl.simulate(problem, policy, horizon=20, seeds=2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"problem": None}, "problem must have name, n_actions, .*, got NoneType without name"),
        ({"policy": 3}, "policy must have init, act, learn, got int without init"),
        ({"policy": banditsrl.LinUCB}, "policy must be an object, got the class LinUCB itself"),
        ({"steps": 4}, "steps must be a sequence of steps, got 4"),
        ({"seeds": [2**70]}, r"seeds must be at most 2\^63 - 1"),
        ({"horizon": 2**40}, "horizon must be at most 2147483647, got"),
        ({"reward_bound": -1.0}, "reward_bound must be greater than 0, got -1"),
        ({"progress": 3}, "progress must be True, False or a function, got 3"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(
    problem: banditsrl.FiniteProblem, changed: dict[str, Any], message: str
) -> None:
    policy = banditsrl.Greedy(problem.representations[0])
    arguments = {"problem": problem, "policy": policy, "horizon": 10, "seeds": 1, **changed}
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        banditsrl.simulate(**arguments)
