"""A target's law is the one that its policy would draw from, for every row of a log."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument, NotFound, StateFileError, UnknownName
from banditsrl.estimation.row_folds import fold_of
from banditsrl.evaluation.learned_targets import learn_target
from banditsrl.evaluation.policy_targets import BLOCK_ROWS, PolicyTarget
from banditsrl.evaluation.targets import (
    ConstantTarget,
    LoggedTarget,
    UniformTarget,
    make_target,
)
from banditsrl.logs.log import Log
from banditsrl.serving.compiled import compiled

N_COLUMNS, N_ACTIONS, N = 3, 3, BLOCK_ROWS + 50
STREAM = banditsrl.Stream(N_COLUMNS, N_ACTIONS)


def draw_rounds(n: int = N, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, N_COLUMNS))
    actions = rng.integers(N_ACTIONS, size=n)
    rewards = contexts[np.arange(n), actions] + 0.3 * rng.normal(size=n)
    return {"contexts": contexts, "actions": actions, "rewards": rewards}


def draw_masks(n: int = N, seed: int = 1) -> Any:
    masks = np.random.default_rng(seed).random((n, N_ACTIONS)) < 0.6
    masks[:, 0] |= ~masks.any(axis=1)
    return masks


@pytest.fixture(scope="module")
def log() -> Log:
    rounds = draw_rounds()
    masks = draw_masks()
    masks[np.arange(N), rounds["actions"]] = True
    pmf = masks / masks.sum(axis=1, keepdims=True)
    names = ["red", "green", "blue"]
    return Log.from_arrays(**rounds, pmf=pmf, available=masks, action_names=names)


@pytest.fixture(scope="module")
def agent() -> banditsrl.Agent:
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    return banditsrl.Agent.from_log(policy, **draw_rounds(200, seed=7))


def test_even_play_and_one_action_respect_what_is_available(log: Log) -> None:
    batch = log.collect()
    even = UniformTarget(N_ACTIONS).pmf(batch)
    always = ConstantTarget(1, N_ACTIONS).pmf(batch)
    for mask, law, fixed in zip(batch.available, even, always, strict=True):
        n = sum(mask)
        assert law.tolist() == [1 / n if offered else 0.0 for offered in mask]
        assert fixed.tolist() == ([0.0, 1.0, 0.0] if mask[1] else law.tolist())
    assert np.array_equal(LoggedTarget().pmf(batch), batch.pmf)


def test_the_law_of_a_policy_is_that_of_single_calls_of_act(log: Log) -> None:
    policy = banditsrl.make_policy("glrt-linucb", STREAM, audit=0.2, glrt_scale=0.01)
    state = banditsrl.Agent.from_log(policy, **draw_rounds(200, seed=7)).state
    batch = log.collect()
    laws = PolicyTarget(policy, state).pmf(batch)
    assert laws.shape == (N, N_ACTIONS)
    act, key = compiled(policy).act, jax.random.key(9)
    for i in [*range(40), *range(N - 40, N)]:  # both blocks
        single = act(state, batch.contexts[i], batch.available[i], key)
        assert np.allclose(laws[i], single.pmf, atol=1e-12)
    assert ((laws > 0) & (laws < 0.2)).any()  # audits are part of the law
    assert (laws.max(axis=1) == 1.0).any()  # and not every round is certified
    share = PolicyTarget(policy, state, even_share=0.3).pmf(batch)
    even = batch.available / batch.available.sum(axis=1, keepdims=True)
    sure = laws.max(axis=1) < 1.0
    assert np.allclose(share[sure], laws[sure])
    assert np.allclose(share[~sure], 0.7 * laws[~sure] + 0.3 * even[~sure])


def test_the_greedy_law_plays_the_largest_prediction(log: Log, agent: banditsrl.Agent) -> None:
    batch = log.collect()
    laws = PolicyTarget(agent.policy, agent.state, greedy=True).pmf(batch)
    for i in range(60):
        predicted = np.asarray(agent._policy.predict(agent.state, batch.contexts[i]))
        best = np.argmax(np.where(batch.available[i], predicted, -np.inf))
        assert laws[i].tolist() == np.eye(N_ACTIONS)[best].tolist()


def test_spare_actions_of_a_policy_are_never_played() -> None:
    policy = banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(N_COLUMNS, N_ACTIONS + 2))
    batch = Log.from_arrays(**draw_rounds(30), n_actions=N_ACTIONS).collect()
    start = policy.init(jax.random.key(0))  # all actions are equal, spare ones too
    laws = PolicyTarget(policy, start, n_actions=N_ACTIONS).pmf(batch)
    assert np.allclose(laws, np.full((30, N_ACTIONS), 1 / N_ACTIONS))
    with pytest.raises(InvalidArgument, match="at least the 9 actions of the log, got 5"):
        PolicyTarget(policy, start, n_actions=9)


def test_no_round_is_judged_by_a_policy_that_has_seen_it() -> None:
    """The law of a fold does not depend on the rewards of that fold, and others do."""
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    rounds = draw_rounds(240, seed=2)
    folds = fold_of(np.arange(1, 241), 3)
    laws = learn_target(policy, Log.from_arrays(**rounds)).pmf(Log.from_arrays(**rounds).collect())
    assert np.allclose(laws.sum(axis=1), 1.0)
    other = {**rounds, "rewards": np.where(folds == 1, -rounds["rewards"], rounds["rewards"])}
    changed = Log.from_arrays(**other)
    again = learn_target(policy, changed).pmf(changed.collect())
    assert np.array_equal(again[folds == 1], laws[folds == 1])
    assert (again[folds == 0] != laws[folds == 0]).any()


def test_each_fold_has_the_law_of_a_policy_that_learned_from_the_others() -> None:
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    rounds = draw_rounds(240, seed=2)
    folds = fold_of(np.arange(1, 241), 3)
    log = Log.from_arrays(**rounds)
    laws = learn_target(policy, log, greedy=False).pmf(log.collect())
    for fold in range(3):
        others = {name: values[folds != fold] for name, values in rounds.items()}
        state, _ = banditsrl.warm_start(policy, jax.random.key(4), **others)
        for i in np.flatnonzero(folds == fold)[:20]:
            single = compiled(policy).act(state, rounds["contexts"][i], None, jax.random.key(0))
            assert np.allclose(laws[i], single.pmf)


def test_of_a_long_log_an_even_part_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, learned = banditsrl.make_policy("linucb-disjoint", STREAM), []

    def warm_start(*args: Any, **log: Any) -> Any:
        learned.append(len(log["rewards"]))
        return banditsrl.warm_start(*args, **log)

    monkeypatch.setattr("banditsrl.evaluation.learned_targets.warm_start", warm_start)
    learn_target(policy, Log.from_arrays(**draw_rounds(600, seed=3)), most_learned=100)
    assert len(learned) == 3
    assert all(60 < n < 140 for n in learned)


def test_words_name_targets(log: Log, agent: banditsrl.Agent, tmp_path: Path) -> None:
    batch = log.collect()
    assert np.array_equal(make_target("uniform", log).pmf(batch), batch.pmf)
    assert make_target("always:green", log).pmf(batch)[:, 1].max() == 1.0
    assert np.array_equal(make_target("logged", log).pmf(batch), batch.pmf)
    learned = make_target("learned:linucb-disjoint,ucb_scale=0.1", log)
    assert learned.name == "learned:linucb-disjoint,ucb_scale=0.1"
    assert learned.pmf(batch).max() == 1.0
    agent.save(tmp_path / "agent.npz")
    saved = make_target(f"state:linucb-disjoint:{tmp_path / 'agent.npz'}", log)
    assert np.array_equal(saved.pmf(batch), PolicyTarget(agent.policy, agent.state).pmf(batch))


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        ("unifrom", UnknownName, "no target named 'unifrom'; did you mean 'uniform'"),
        ("always:gren", UnknownName, "no action in the log named 'gren'; did you mean 'green'"),
        ("uniform:3", InvalidArgument, "target 'uniform' must stand alone, got 'uniform:3'"),
        ("learned:", InvalidArgument, "policy must be the name of a policy, got an empty text"),
        ("learned:linucb,9", InvalidArgument, "settings must be name=value after commas"),
        ("learned:linucub", UnknownName, "no policy named 'linucub'; did you mean 'linucb'"),
        ("state:linucb", InvalidArgument, "target 'state' must be state:POLICY:FILE"),
        ("state:linucb:no.npz", StateFileError, "no.npz: cannot be read"),
        ("version:new", InvalidArgument, "target 'version' must be version:N, got 'version:new'"),
    ],
)
def test_words_that_name_no_target_are_refused(
    log: Log, words: str, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        make_target(words, log)


def test_what_a_log_or_policy_does_not_have_is_named() -> None:
    batch = Log.from_arrays(**draw_rounds(10)).collect()
    with pytest.raises(InvalidArgument, match="must have the probability of every action in the"):
        LoggedTarget().pmf(batch)
    policy = banditsrl.make_policy("uniform", STREAM)
    target = PolicyTarget(policy, policy.init(jax.random.key(0)), greedy=True)
    with pytest.raises(InvalidArgument, match="must predict rewards to be judged as greedy"):
        target.pmf(batch)


@pytest.mark.usefixtures("without_training")
def test_a_model_version_has_the_law_that_the_loop_plays(tmp_path: Path) -> None:
    config = {
        "name": "offers",
        "actions": ["red", "green", "blue"],
        "columns": {"age": "number"},
        "policy": "linucb-disjoint",
        "settings": {},
    }
    url = str(tmp_path / "offers.db")
    with banditsrl.Loop.create(url, config) as loop:
        first = loop.decide({"age": 0.3})
        loop.reward(first.id, 1.0)
        second = loop.decide({"age": 0.5}, available=["red", "blue"])
        loop.reward(second.id, 0.0)
    log = Log.read(url)
    target = make_target("version:0", log)
    assert target.name == "version:0"
    laws = target.pmf(log.collect())
    assert laws[0].tolist() == pytest.approx([first.pmf[name] for name in log.schema.actions])
    assert laws[1].tolist() == [0.5, 0.0, 0.5]  # version 0 has learned nothing
    with pytest.raises(NotFound, match="There is no model version 4"):
        make_target("version:4", log, store=url, loop="offers")
