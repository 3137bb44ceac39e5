"""Is the truth of a situation what its family says, and do policies see only what they may?"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from numpy.typing import NDArray
from scipy import optimize

import banditsrl
from banditsrl.core.history import BLOCK
from banditsrl.core.policy import Choice, Policy
from banditsrl.errors import InvalidArgument, UnknownName
from banditsrl.numerics.partition import partition
from banditsrl.problems import FAMILIES, HELD_OUT, TUNING, Situation, make_situation
from banditsrl.problems.reward_laws import RewardLaw
from banditsrl.problems.situations import CHANGES, MOST_ROUNDS, Draft, SituationFacts

Row = NDArray[np.float32]


class Stubborn(Policy[Array]):
    """Always plays one action; its state is the sum of all rewards."""

    action: int

    def init(self, key: Array) -> Array:
        return jnp.zeros(())

    def act(self, state: Array, context: Any, mask: Any, key: Array) -> Choice:
        return Choice.without_test(jnp.asarray(self.action), jnp.ones(2))

    def learn(
        self, state: Array, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> Array:
        return state + reward


def best_actions(situation: Situation) -> list[int]:
    return np.asarray(situation.mean_rewards).argmax(axis=1).tolist()


# The truth, against what the family says.

FIXED_RULES: dict[str, Callable[[Row, float], bool]] = {
    "xor": lambda x, _: (x[0] > 0) == (x[1] > 0),
    "moving-contexts": lambda x, _: (x[0] > 0) == (x[1] > 0),
    "parity": lambda x, _: sum(value < 0 for value in x[:3]) % 2 == 0,
    "late-column": lambda x, _: x[1] > -2 * x[0],
    "slow-drift": lambda x, part: float(np.dot(x[:2], (np.cos(part), np.sin(part)))) > 0,
}
"""Whether the second action is the best one, by the columns and by the angle of the drift."""


@pytest.mark.parametrize("name", FIXED_RULES)
def test_the_best_action_follows_the_rule_of_the_family(name: str) -> None:
    situation = make_situation(name, rounds=900, seed=4)
    rule = FIXED_RULES[name]
    wanted = [int(rule(x, np.pi * t / 900)) for t, x in enumerate(situation.columns)]
    assert best_actions(situation) == wanted
    assert sorted({*np.asarray(situation.mean_rewards).ravel().tolist()}) == [0.2, 0.8]


def test_new_categories_come_after_half_time_and_have_one_best_action_each() -> None:
    situation = make_situation("new-category", rounds=4_000, seed=4)
    codes, best = situation.columns[:, 0], np.array(best_actions(situation))
    early, late = set(codes[:2_000]), set(codes[2_000:])
    assert (len(early), len(late)) == (9, 12)
    assert all(len(set(best[codes == code])) == 1 for code in late)


@pytest.mark.parametrize(
    ("name", "early", "late"), [("growing-segment", 0.01, 1 / 3), ("new-combination", 0.0, 0.25)]
)
def test_a_segment_that_reverses_the_plane_grows_at_half_time(
    name: str, early: float, late: float
) -> None:
    situation = make_situation(name, rounds=8_000, seed=4)
    n_flags = 1 if name == "growing-segment" else 2
    inside = situation.columns[:, :n_flags].all(axis=1)
    shares = inside[:4_000].mean(), inside[4_000:].mean()
    np.testing.assert_allclose(shares, (early, late), atol=0.03)
    x, best = situation.columns[:, n_flags:], np.array(best_actions(situation))
    assert has_linear_rule(x[:400], (best ^ inside)[:400])
    assert has_linear_rule(x[-400:], (best ^ inside)[-400:])


def has_linear_rule(x: Row, best: NDArray[np.int64]) -> bool:
    """Return whether one linear score per action, without intercepts, has these best actions."""
    scaled = x / np.linalg.norm(x, axis=1, keepdims=True)
    codes = np.eye(best.max() + 1)
    rows = [
        np.kron(codes[other] - codes[own], one)
        for one, own in zip(scaled, best, strict=True)
        for other in range(len(codes))
        if other != own
    ]
    ones, free = -np.ones(len(rows)), (None, None)
    return optimize.linprog(np.zeros(len(rows[0])), rows, ones, bounds=free).status == 0


@pytest.mark.parametrize("name", ["linear-boundary", "linear-regions", "heavy-columns"])
def test_linear_scores_decide(name: str) -> None:
    situation = make_situation(name, rounds=300, seed=1)
    assert has_linear_rule(situation.columns, np.array(best_actions(situation)))


@pytest.mark.parametrize("name", ["swap", "rotation"])
def test_a_swap_moves_every_best_action_at_half_time(name: str) -> None:
    situation = make_situation(name, rounds=300, seed=3)
    best = np.array(best_actions(situation))
    before = (best - (np.arange(300) >= 150)) % situation.n_actions
    assert has_linear_rule(situation.columns, before)
    assert not has_linear_rule(situation.columns, best)


@pytest.mark.parametrize(
    ("name", "n_columns"), [("categories-10x10", 2), ("category-50", 1), ("flags", 3)]
)
def test_codes_alone_decide(name: str, n_columns: int) -> None:
    situation = make_situation(name, rounds=3000, seed=2)
    rule: dict[tuple[float, ...], int] = {}
    for x, best in zip(situation.columns, best_actions(situation), strict=True):
        codes = tuple(x[:n_columns].tolist())
        assert rule.setdefault(codes, best) == best
        assert all(code == int(code) for code in codes)
    assert len(set(rule.values())) > 1


def test_a_rare_action_is_best_in_three_rounds_out_of_a_hundred() -> None:
    best = np.array(best_actions(make_situation("rare-action", rounds=2000, seed=5)))
    assert (best == 3).sum() == 60


def test_a_late_column_is_constant_in_the_first_500_rounds() -> None:
    column = make_situation("late-column", rounds=1500, seed=0).columns[:, 0]
    assert (column[:500] == 0).all()
    assert column[500:].std() > 0.8


def test_an_action_rises_from_worst_to_best() -> None:
    means = np.asarray(make_situation("rising-action", rounds=800, seed=0).mean_rewards)
    assert (means[:400].argmin(axis=1) == 2).all()
    assert (means[600:].argmax(axis=1) == 2).all()
    assert (np.diff(means[:, 2]) >= 0).all()


@pytest.mark.parametrize("name", ["shifted-1000", "scaled-100", "scaled-0.01", "shifted-minus-10"])
def test_shifted_and_scaled_rewards_have_two_values(name: str) -> None:
    values = {
        "shifted-1000": [1000.0, 1001.0],
        "scaled-100": [0.0, 100.0],
        "scaled-0.01": [0.0, 0.01],
        "shifted-minus-10": [-10.0, -9.0],
    }
    situation = make_situation(name, rounds=300, seed=0)
    assert sorted({*situation.rewards(seed=0).ravel().tolist()}) == values[name]


@pytest.mark.parametrize("name", ["no-signal", "no-signal-clicks"])
def test_without_signal_nothing_can_be_lost(name: str) -> None:
    situation = make_situation(name, rounds=200, seed=0)
    assert situation.random_loss == 0.0
    assert situation.rewards(seed=0).std() > 0.4


def test_click_rates_lie_between_one_and_three_in_a_hundred() -> None:
    means = np.asarray(make_situation("rare-clicks", rounds=500, seed=0).mean_rewards)
    assert means.min() >= 0.01
    assert means.max() <= 0.03


@pytest.mark.parametrize("name", FAMILIES)
def test_rewards_average_to_the_means(name: str) -> None:
    situation = make_situation(name, rounds=4000, seed=6)
    means, rewards = np.asarray(situation.mean_rewards), situation.rewards(seed=6)
    error = (rewards - means)[:, 0]
    assert abs(error.mean()) < 4.5 * error.std() / np.sqrt(4000) + 1e-12
    assert np.isfinite(rewards).all()
    assert np.isfinite(situation.columns).all()


def test_random_loss_is_what_random_play_loses() -> None:
    situation = make_situation("noise-1", rounds=50, seed=0)
    means = np.asarray(situation.mean_rewards).tolist()
    losses = [max(row) - row[action] for row in means for action in range(4)]
    assert situation.random_loss == pytest.approx(sum(losses) / len(losses))


# Seeds, names and lists.


@pytest.mark.parametrize("name", FAMILIES)
def test_a_seed_gives_the_same_rounds_and_another_one_others(name: str) -> None:
    first, again, other = (make_situation(name, rounds=60, seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.columns, again.columns)
    np.testing.assert_array_equal(first.mean_rewards, again.mean_rewards)
    assert (first.columns != other.columns).any()


def test_families_do_not_share_their_contexts() -> None:
    a, b = (make_situation(name, rounds=20, seed=0) for name in ("xor", "parity"))
    assert (a.columns != b.columns).all()


def test_the_two_lists_are_disjoint_and_complete() -> None:
    assert len(FAMILIES) >= 24
    assert sorted(TUNING + HELD_OUT) == sorted(FAMILIES)
    for facts in (FAMILIES[name].facts for name in FAMILIES):
        assert facts.change in CHANGES
    for part in (TUNING, HELD_OUT):
        assert {FAMILIES[name].facts.change for name in part} == set(CHANGES)
        assert any(FAMILIES[name].facts.easy for name in part)


def test_only_changes_of_the_contexts_are_stationary() -> None:
    stationary = {make_situation(n, rounds=10).stationary for n in ("xor", "moving-contexts")}
    changing = {make_situation(n, rounds=10).stationary for n in ("swap", "slow-drift")}
    assert (stationary, changing) == ({True}, {False})


def test_an_unknown_family_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="no situation named 'xorr'; did you mean 'xor'"):
        make_situation("xorr")


def test_rounds_and_seeds_are_checked() -> None:
    with pytest.raises(InvalidArgument, match=r"rounds must be .*, got 0"):
        make_situation("xor", rounds=0)
    with pytest.raises(InvalidArgument, match=r"seed must be .*, got -1"):
        make_situation("xor", seed=-1)
    draft = Draft(np.zeros((3, 1)), np.zeros((2, 2)), RewardLaw("bernoulli"))
    with pytest.raises(InvalidArgument, match=f"between 1 and {MOST_ROUNDS} rounds .* got 3 and 2"):
        Situation(draft, SituationFacts())


# Dealing.


def test_the_number_of_the_round_is_exact_up_to_the_largest_number_of_rounds() -> None:
    last = np.arange(MOST_ROUNDS - 3, MOST_ROUNDS + 1)
    assert last.astype(np.float32).astype(np.int64).tolist() == last.tolist()


@pytest.mark.parametrize("name", ["swap", "nearest-30", "counts"])
def test_a_simulation_plays_the_rounds_in_order(name: str) -> None:
    rounds = 2 * BLOCK + 100
    situation = make_situation(name, rounds=rounds, seed=9)
    steps = [1, 10, BLOCK, BLOCK + 1, rounds // 2, rounds]
    policy, seeds = Stubborn(1), [5, 6, 7]
    result = banditsrl.simulate(situation, policy, horizon=rounds, seeds=seeds, steps=steps)
    means = np.asarray(situation.mean_rewards)
    regret = np.cumsum([max(row) - row[1] for row in means.tolist()])
    for own in result.regret:
        np.testing.assert_allclose(own, regret[np.array(steps) - 1], rtol=1e-9)
    errors = np.asarray(result.state) - means[:, 1].sum()
    assert (np.abs(errors) < 5.0 * np.sqrt(rounds) * situation.rewards(0).std()).all()
    assert len({*errors.tolist()}) > 1


def test_after_the_last_round_the_first_follows_again() -> None:
    situation = make_situation("xor", rounds=7, seed=0)
    dealt = np.asarray(situation.contexts_from(jax.random.key(0), 10, 5))
    assert dealt[:, -1].tolist() == [5, 6, 0, 1, 2, 3, 4, 5, 6, 0]
    np.testing.assert_array_equal(dealt[:, :-1], situation.columns[dealt[:, -1].astype(int)])


def test_a_situation_can_start_later() -> None:
    situation = make_situation("swap", rounds=10, seed=0)
    later = situation.since(6)
    np.testing.assert_array_equal(later.columns, situation.columns[6:])
    np.testing.assert_array_equal(later.mean_rewards, np.asarray(situation.mean_rewards)[6:])
    assert np.asarray(later.dealt)[:, -1].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["xor", "offers"])
def test_the_hidden_column_reaches_no_embedding(name: str) -> None:
    situation = make_situation(name, rounds=5, seed=0)
    (representation,) = situation.representations
    wanted = np.kron(np.eye(situation.n_actions), situation.columns[3])
    for hidden in (0.0, 3.0, 12345.0):
        context = np.append(situation.columns[3], np.float32(hidden))
        np.testing.assert_array_equal(representation.vector(context), situation.columns[3])
        np.testing.assert_array_equal(representation.embed(context), wanted)


def test_the_numbers_of_the_rounds_do_not_change_what_a_policy_plays() -> None:
    situation = make_situation("noise-1", rounds=40, seed=0)
    policy = banditsrl.make_policy("linucb-disjoint", situation)
    played = []
    for hidden in (np.arange(40), np.full(40, 1e6)):
        agent, actions = banditsrl.Agent(policy), []
        for x, number, rewards in zip(situation.columns, hidden, situation.rewards(0), strict=True):
            context = np.append(x, np.float32(number))
            choice = agent.act(context)
            agent.learn(context, choice, float(rewards[int(choice.action)]))
            actions.append(int(choice.action))
        played.append(actions)
    assert played[0] == played[1]
    assert len(set(played[0])) > 1


def test_situations_of_one_size_share_their_programs() -> None:
    names = ("noise-1", "counts", "revenue", "better-action", "smooth", "heavy-rewards")
    parts = [partition(make_situation(n, rounds=20, seed=1).anonymous()) for n in names]
    assert len({part.static for part in parts}) == 1
    shapes = {tuple((leaf.shape, leaf.dtype) for leaf in part.arrays) for part in parts}
    assert len(shapes) == 1


# A small version of the suite.


@pytest.mark.parametrize("name", ["linear-boundary", "heavy-columns", "duplicates", "swap", "xor"])
def test_linear_optimism_learns_what_is_linear_and_stays(name: str) -> None:
    situation = make_situation(name, rounds=1500, seed=11)
    policy = banditsrl.make_policy("linucb-disjoint", situation)
    result = banditsrl.simulate(situation, policy, horizon=1500, seeds=[11], steps=[750, 1500])
    late = (result.regret[0, 1] - result.regret[0, 0]) / (750 * situation.random_loss)
    if name in ("swap", "xor"):
        assert late > 0.5
    else:
        assert late < 0.35
