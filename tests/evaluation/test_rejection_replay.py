"""A replay gives the life that the policy would have had, and its mean reward."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import BLOCK, append_round, empty_history
from banditsrl.core.phases import is_phase_end
from banditsrl.errors import InvalidArgument
from banditsrl.evaluation.rejection_replay import replay_by_rejection, replay_doubly_robust
from banditsrl.evaluation.replay_rounds import ACT_STREAM, COIN_STREAM, REDRAW_STREAM
from banditsrl.logs.log import Log
from banditsrl.serving.compiled import compiled

N_COLUMNS, N_ACTIONS = 3, 3


def draw_rounds(n: int, seed: int, *, even: bool = False) -> dict[str, Any]:
    """Return logged rounds of a policy that likes one action, more so where a column is large."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, N_COLUMNS))
    means = contexts @ np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [-0.5, -0.5, 0.5]]).T
    liked = 0.0 if even else 1.0
    score = np.exp(liked * contexts[:, :1] * np.array([1.0, -1.0, 0.0]))
    pmf = score / score.sum(axis=1, keepdims=True)
    pmf = 0.2 / N_ACTIONS + 0.8 * pmf
    actions = (pmf.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=N_ACTIONS - 1)
    rewards = means[np.arange(n), actions] + 0.3 * rng.normal(size=n)
    chosen = pmf[np.arange(n), actions]
    return {"contexts": contexts, "actions": actions, "rewards": rewards, "propensities": chosen}


def make_log(rounds: dict[str, Any]) -> Log:
    return Log.from_arrays(**rounds, n_actions=N_ACTIONS)


def replay_by_hand(
    policy: Any, rounds: dict[str, Any], seed: int, next_rate: Any
) -> tuple[list[int], Any, list[tuple[float, float, Any]]]:
    """Drive the policy round by round; `next_rate(accepted, ratios)` gives the rate of a row."""
    calls = compiled(policy)
    init_key, refresh_key, row_key = jax.random.split(jax.random.key(seed), 3)
    state, accepted, visited = policy.init(init_key), [], []
    history = empty_history(rounds["contexts"][0], BLOCK)
    ratios: list[float] = []
    rate = next_rate(False, ratios, None)
    for k in range(len(rounds["rewards"])):
        x, a, r, p = (
            rounds[name][k] for name in ("contexts", "actions", "rewards", "propensities")
        )
        key = jax.random.fold_in(row_key, k)
        pmf = calls.act(state, x, None, jax.random.fold_in(key, ACT_STREAM)).pmf
        with jax.enable_x64(True):
            coin = jax.random.uniform(jax.random.fold_in(key, COIN_STREAM), dtype=jnp.float64)
        ratios.append(float(pmf[a]) / p)
        visited.append((rate, ratios[-1], pmf))
        if not float(coin) < rate * ratios[-1]:
            continue
        again, choice = jax.random.fold_in(key, REDRAW_STREAM), None
        for attempt in range(10_000):
            choice = calls.act(state, x, None, jax.random.fold_in(again, attempt))
            if choice.action == a:
                break
        state = calls.watch(state, x, choice, r)
        state = calls.learn(state, x, a, r, choice.certified)
        history = append_round(history, x, a, r, choice.certified)
        accepted.append(k)
        rate = next_rate(True, ratios, rate)
        if is_phase_end(policy.phase_growth, len(accepted), policy.longest_phase):
            state = calls.refresh(state, history, jax.random.fold_in(refresh_key, len(accepted)))
    return accepted, state, visited


def same_state(found: Any, expected: Any) -> bool:
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    return all(
        np.allclose(np.asarray(a), np.asarray(b), rtol=1e-7, atol=1e-9, equal_nan=True)
        for a, b in pairs
    )


def fixed(rate: float) -> Any:
    return lambda *_: rate


ROUNDS = draw_rounds(500, seed=3)


@pytest.fixture(scope="module")
def policy() -> Any:
    return banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(N_COLUMNS, N_ACTIONS))


@pytest.fixture(scope="module")
def by_hand(policy: Any) -> tuple[list[int], Any]:
    """Return the rows of ROUNDS that are accepted with seed 5, and the state after them."""
    accepted, state, _ = replay_by_hand(policy, ROUNDS, 5, fixed(ROUNDS["propensities"].min()))
    return accepted, state


def test_a_replay_is_the_life_of_a_policy_that_is_driven_by_hand(
    policy: Any, by_hand: tuple[list[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("banditsrl.evaluation.policy_replay.CHUNK_ROWS", 128)  # so there are four
    found = replay_by_rejection(policy, make_log(ROUNDS), seed=5)
    accepted, state = by_hand
    assert found.n_accepted == len(accepted) > 20
    assert found.value == pytest.approx(ROUNDS["rewards"][accepted].mean(), abs=1e-12)
    assert same_state(found.state, state)
    assert found.cut_share == 0.0


def test_certified_and_audited_rounds_are_learned_as_in_life() -> None:
    stream = banditsrl.Stream(N_COLUMNS, N_ACTIONS)
    audited = banditsrl.make_policy("glrt-linucb", stream, audit=0.2, glrt_scale=0.01)
    rounds = draw_rounds(500, seed=3)
    found = replay_by_rejection(audited, make_log(rounds), seed=5)
    accepted, state, _ = replay_by_hand(audited, rounds, 5, fixed(rounds["propensities"].min()))
    assert found.n_accepted == len(accepted) > 20
    assert same_state(found.state, state)
    assert float(state.audits.n_certified) > 5
    assert float(state.audits.n_audits) > 0


def test_on_an_even_log_rows_are_accepted_where_the_policy_plays_what_was_logged(
    policy: Any,
) -> None:
    rounds = draw_rounds(300, seed=4, even=True)
    found = replay_by_rejection(policy, make_log(rounds), seed=1)
    assert found.rate == pytest.approx(1 / N_ACTIONS)
    _, _, visited = replay_by_hand(policy, rounds, 1, fixed(found.rate))
    certain = [k for k, (_, ratio, pmf) in enumerate(visited) if pmf.max() > 0.999]
    agrees = sum(visited[k][1] > 0 for k in certain)
    unsure = len(visited) - len(certain)  # ties, before anything is learned
    assert len(certain) > 250
    assert agrees <= found.n_accepted <= agrees + unsure


def test_the_doubly_robust_form_is_its_formula(policy: Any) -> None:
    rounds = draw_rounds(400, seed=6)

    class Guess:
        def predict(self, batch: Any) -> Any:
            return batch.contexts * 0.7 + 0.1

    def next_rate(accepted: bool, ratios: list[float], rate: Any) -> float:
        """Return the quantile of p / pi over all rows so far, rounded down to its bin."""
        if not accepted:
            return 1.0
        values = sorted(1.0 / ratio if ratio > 0 else np.inf for ratio in ratios)
        exact = min(values[int(0.1 * len(values))], 1.0)
        edge = 2.0 ** (np.floor(np.log2(exact) * 64 + 1e-9) / 64)
        assert 0.98 * exact < edge <= exact * (1 + 1e-9)
        return float(edge)

    found = replay_doubly_robust(policy, make_log(rounds), model=Guess(), quantile=0.1, seed=2)
    accepted, state, visited = replay_by_hand(policy, rounds, 2, next_rate)
    top = bottom = 0.0
    for k, (rate, ratio, pmf) in enumerate(visited):
        guess = rounds["contexts"][k] * 0.7 + 0.1
        miss = rounds["rewards"][k] - guess[rounds["actions"][k]]
        top += rate * (sum(pmf * guess) + ratio * miss)
        bottom += rate
    assert found.n_accepted == len(accepted) > 60
    assert found.value == pytest.approx(top / bottom, abs=1e-9)
    assert found.low < found.value < found.high
    assert same_state(found.state, state)


def live_rewards(policy: Any, n_rounds: int, n_lives: int) -> Any:
    """Return the rewards of lives of the policy in the world of `draw_rounds`, (lives, rounds)."""
    weights = jnp.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [-0.5, -0.5, 0.5]])

    def live(key: Any) -> Any:
        def play(state: Any, key: Any) -> Any:
            context_key, noise_key, act_key = jax.random.split(key, 3)
            x = jax.random.normal(context_key, (N_COLUMNS,))
            choice = policy.act(state, x, None, act_key)
            reward = (weights @ x)[choice.action] + 0.3 * jax.random.normal(noise_key)
            return policy.learn(state, x, choice.action, reward), reward

        first, rest = jax.random.split(key)
        return jax.lax.scan(play, policy.init(first), jax.random.split(rest, n_rounds))[1]

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(live))(jax.random.split(jax.random.key(0), n_lives)))


def test_over_many_logs_a_replay_earns_what_the_policy_earns_in_life() -> None:
    """An even log would show nothing: this one prefers bad actions in some contexts."""
    n_rounds, n_logs = 25, 250
    stream = banditsrl.Stream(N_COLUMNS, N_ACTIONS)
    policy = banditsrl.make_policy("egreedy", stream)  # its phases only undo rounding
    lived = live_rewards(policy, n_rounds, 3000).mean(axis=1)
    replayed, logged = [], []
    for seed in range(n_logs):
        rounds = draw_rounds(512, seed=1000 + seed)
        rate = 0.2 / N_ACTIONS  # known: every action has at least this probability
        found = replay_by_rejection(policy, make_log(rounds), rate=rate, seed=seed)
        curve = found.curve
        if n_rounds <= found.n_accepted:
            replayed.append(np.interp(n_rounds, curve.rounds, curve.mean))
        logged.append(rounds["rewards"].mean())
    error = np.std(replayed) / np.sqrt(len(replayed)) + lived.std() / np.sqrt(len(lived))
    assert len(replayed) > n_logs / 4
    assert abs(np.mean(replayed) - lived.mean()) < 3 * error
    assert abs(np.mean(logged) - lived.mean()) > 6 * error


def test_the_range_of_rewards_gives_an_interval_that_holds_at_all_rows(policy: Any) -> None:
    rounds = {**ROUNDS, "rewards": (ROUNDS["rewards"] > 0).astype(float)}
    plain = replay_by_rejection(policy, make_log(rounds))
    assert (plain.always_low, plain.always_high) == (-np.inf, np.inf)
    found = replay_by_rejection(policy, make_log(rounds), reward_range=(0.0, 1.0))
    assert 0.0 <= found.always_low < found.low < found.value < found.high < found.always_high <= 1


def test_a_learning_curve_holds_the_mean_reward_of_the_first_rounds(
    policy: Any, by_hand: tuple[list[int], Any]
) -> None:
    found = replay_by_rejection(policy, make_log(ROUNDS), seed=5)
    accepted, _ = by_hand
    earned = ROUNDS["rewards"][accepted]
    before = 0
    for n, mean, recent in zip(*found.curve, strict=True):
        assert mean == pytest.approx(earned[:n].mean())
        assert recent == pytest.approx(earned[before:n].mean())
        before = n
    assert before == len(accepted)


def test_a_log_that_cannot_be_replayed_is_refused_with_the_row(policy: Any) -> None:
    rounds = draw_rounds(50, seed=3)
    unknown = Log.from_arrays(**{**rounds, "propensities": None}, n_actions=N_ACTIONS)
    with pytest.raises(InvalidArgument, match="to replay a log, got nan in row 1"):
        replay_by_rejection(policy, unknown)
    with pytest.raises(InvalidArgument, match=r"rate must be above 0 and at most 1, got 1\.5"):
        replay_by_rejection(policy, make_log(rounds), rate=1.5)
    with pytest.raises(InvalidArgument, match="quantile must be at least 0 and below 1, got 1"):
        replay_doubly_robust(policy, make_log(rounds), quantile=1.0)
    few = banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(N_COLUMNS, 2))
    with pytest.raises(InvalidArgument, match="at least the 3 actions of the log, got 2"):
        replay_by_rejection(few, make_log(rounds))
    table = banditsrl.make_problem("vardim-realizable")
    indexed = banditsrl.make_policy("linucb", table)
    with pytest.raises(InvalidArgument, match="must take vectors as contexts"):
        replay_by_rejection(indexed, make_log(rounds))
