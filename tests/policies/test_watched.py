"""A watched policy plays as the policy inside, but for audits and after a change."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import banditsrl
from banditsrl.core.history import History, append_round, empty_history
from banditsrl.core.policy import Choice, Policy
from banditsrl.errors import InvalidArgument
from banditsrl.policies.watched import Watched
from banditsrl.selection.audits import empty_record
from banditsrl.selection.trust import make_trust

PROBLEM = banditsrl.make_problem("vardim-realizable")


class Sums(NamedTuple):
    """State of `Averages`."""

    n: Array  # (A,)
    total: Array  # (A,)
    seen: Array  # (2,) number and sum of the rounds at the last refresh


class Averages(Policy[Sums]):
    """Certifies the action of largest mean reward once every action was played ten times."""

    rivals: tuple[int, ...] = ()

    def init(self, key: Array) -> Sums:
        del key
        return Sums(jnp.zeros(3), jnp.zeros(3), jnp.zeros(2))

    def act(self, state: Sums, context: Any, mask: Any, key: Array) -> Choice:
        least = jnp.argmin(jnp.where(mask, state.n, jnp.inf)).astype(jnp.int32)
        best = jnp.argmax(jnp.where(mask, self.predict(state, context), -jnp.inf))
        certified = jnp.where(mask, state.n, jnp.inf).min() >= 10
        action = jnp.where(certified, best.astype(jnp.int32), least)
        choice = Choice.without_test(action, (jnp.arange(3) == action) * 1.0)
        return choice._replace(certified=certified)

    def learn(
        self, state: Sums, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> Sums:
        own = jnp.arange(3) == action
        return state._replace(n=state.n + own, total=state.total + own * reward)

    def predict(self, state: Sums, context: Any) -> Array:
        return state.total / jnp.maximum(state.n, 1.0)

    def refresh(self, state: Sums, history: History, key: Array) -> Sums:
        valid = jnp.arange(history.capacity) < history.n
        total = jnp.where(valid, history.rewards, 0.0).sum()
        return state._replace(seen=jnp.stack([history.n * 1.0, total]))

    @property
    def n_actions(self) -> int:
        return 3

    @property
    def phase_growth(self) -> float:
        return 1.5

    @property
    def uses_history(self) -> bool:
        return True

    @property
    def n_challengers(self) -> int:
        return len(self.rivals)

    def challengers(self, state: Sums, context: Any) -> Array:
        return jnp.asarray(self.rivals, dtype=jnp.int32)


class Played(NamedTuple):
    """What happened in every round of every run, (runs, rounds), and the last states."""

    choices: Choice
    rewards: Array
    alarms: Array
    state: Any


def play(policy: Watched, means: np.ndarray, n_runs: int, noise: float = 0.2) -> Played:
    """Play rounds whose mean rewards (rounds, A) are given, ending phases every 250 rounds."""

    def one(key: Array) -> Any:
        keys = jax.random.split(key, len(means) + 1)

        def step(carry: Any, now: Any) -> Any:
            state, history = carry
            mean, key, t = now
            choice = policy.act(state, jnp.zeros(1), jnp.ones(3, bool), key)
            y = mean[choice.action] + noise * jax.random.normal(jax.random.fold_in(key, 9))
            state = policy.watch(state, jnp.zeros(1), choice, y)
            state = policy.learn(state, jnp.zeros(1), choice.action, y, choice.certified)
            history = append_round(history, jnp.zeros(1), choice.action, y, choice.certified)
            state = jax.lax.cond(
                (t + 1) % 250 == 0, lambda: policy.refresh(state, history, key), lambda: state
            )
            return (state, history), (choice, y, state.n_alarms)

        start = (policy.init(keys[-1]), empty_history(jnp.zeros(1), len(means)))
        steps = (jnp.asarray(means), keys[:-1], jnp.arange(len(means)))
        (state, _), out = jax.lax.scan(step, start, steps)
        return Played(*out, state)

    with jax.enable_x64(True):
        played: Played = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(4), n_runs))
    return played


STEADY = np.tile([0.2, 0.8, 0.5], (2000, 1))


def test_without_audits_and_drift_nothing_changes() -> None:
    inner = banditsrl.make_policy("glrt-egreedy", PROBLEM)
    plain = banditsrl.simulate(PROBLEM, inner, horizon=600, seeds=3)
    watched = banditsrl.simulate(PROBLEM, Watched(inner), horizon=600, seeds=3)
    for name in ("regret", "certified", "trivial", "wrong", "last_uncertified"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(watched, name))


@pytest.mark.parametrize("settings", [{"audit": 0.1, "drift": 1e4}, {"audit": "3/t"}])
def test_the_contract_holds(settings: dict[str, Any]) -> None:
    inner = banditsrl.make_policy("glrt-linucb", PROBLEM)
    assert banditsrl.check_policy(Watched(inner, **settings), PROBLEM)


def test_actions_follow_the_pmf() -> None:
    policy = Watched(Averages(rivals=(0,)), audit=0.2, audit_disputed=0.4)
    with jax.enable_x64(True):
        fresh = policy.init(jax.random.key(0))
        state = fresh._replace(inner=Sums(jnp.full(3, 20.0), jnp.array([4.0, 16.0, 10.0]), None))
        keys = jax.random.split(jax.random.key(1), 20_000)
        act = jax.vmap(lambda key: policy.act(state, jnp.zeros(1), jnp.ones(3, bool), key))
        choice = jax.jit(act)(keys)
    np.testing.assert_allclose(np.asarray(choice.pmf)[0], [0.3, 0.6, 0.1])
    shares = np.bincount(np.asarray(choice.action), minlength=3) / 20_000
    np.testing.assert_allclose(shares, [0.3, 0.6, 0.1], atol=4 * np.sqrt(0.25 / 20_000))
    np.testing.assert_array_equal(choice.certified, np.asarray(choice.action) == 1)
    np.testing.assert_array_equal(choice.audited, np.asarray(choice.action) != 1)


def test_audits_of_good_certificates_prove_that_they_gain() -> None:
    policy = Watched(Averages(), audit=0.2, reward_range=(-1.0, 2.0))
    played = play(policy, STEADY, 20)
    audited = np.asarray(played.choices.audited)
    assert not (audited & np.asarray(played.choices.certified)).any()
    assert audited.mean() == pytest.approx(0.2, abs=0.01)
    trust = policy.trust(jax.tree.map(lambda leaf: leaf[0], played.state))
    assert -0.3 < trust.bound < 0.2  # the truth is -0.3, against action 2
    assert trust.n_audits == audited[0].sum()
    assert not trust.withdrawn
    assert trust.informative
    assert trust.cost == pytest.approx(0.45 * trust.n_audits, rel=0.1)
    assert str(trust).startswith(f"Certified rounds lose at most {trust.bound:.3g} per round")


def test_a_decreasing_rate_needs_few_audits() -> None:
    played = play(Watched(Averages(), audit="5/t"), STEADY, 20)
    expected = sum(min(0.25, 5 / t) for t in range(1, 1971))
    mean = np.asarray(played.choices.audited).sum(1).mean()
    assert mean == pytest.approx(expected, abs=4 * np.sqrt(expected / 20))


class Stubborn(Averages):
    """Certifies action 0, whatever happens."""

    def predict(self, state: Sums, context: Any) -> Array:
        return jnp.array([1.0, 0.5, 0.5])


def test_wrong_certificates_are_withdrawn_for_a_reason() -> None:
    policy = Watched(Stubborn(), audit=0.2, reward_range=(0.0, 1.0))
    played = play(policy, np.tile([0.2, 0.9, 0.2], (900, 1)), 4, noise=0.05)
    state = jax.tree.map(lambda leaf: leaf[0], played.state)
    trust = policy.trust(state)
    assert trust.withdrawn
    assert trust.reason == "they lose against always playing action 1"
    named = policy.trust(state, {0: "red", 1: "blue"})
    assert named.reason == "they lose against always playing action 'blue'"
    late = jax.tree.map(lambda leaf: np.asarray(leaf)[:, -100:], played.choices)
    assert not late.certified.any()
    assert (late.action == 1).mean() == pytest.approx(0.5, abs=0.1)


def last_due(since: int, alarm: int) -> int:
    """Return how many rounds counted at the last phase end that was due, with a growth of 1.5."""
    last = 0
    for end in range(250, 2001, 250):
        if end > alarm and end - since >= 1.5 * last:
            last = end - since
    return last


SWAP = np.concatenate([np.tile([0.2, 0.8, 0.5], (1000, 1)), np.tile([0.9, 0.1, 0.5], (1000, 1))])


def test_after_a_change_the_policy_forgets_and_certifies_anew() -> None:
    policy = Watched(Averages(), drift=1e5)
    played = play(policy, SWAP, 40)
    alarms = np.asarray(played.alarms)
    assert (alarms[:, 999] == 0).all()
    assert (alarms[:, -1] == 1).all()
    delay = np.argmax(alarms > 0, axis=1) - 1000
    assert np.median(delay) < 20
    actions, certified = np.asarray(played.choices.action), np.asarray(played.choices.certified)
    assert (actions[:, 1100:] == 0).mean() > 0.95
    assert (certified & (actions != 0))[:, 1000:].mean() < 0.02
    since = np.asarray(played.state.since)
    assert np.abs(since - 1000).max() <= 20
    # At the last phase end that was due, the policy saw the rounds since the change only.
    n, total = np.asarray(played.state.inner.seen).T
    rewards = np.asarray(played.rewards)
    for run in range(40):
        rounds = rewards[run, since[run] : since[run] + int(n[run])]
        assert n[run] == last_due(since[run], np.argmax(alarms[run] > 0))
        assert total[run] == pytest.approx(rounds.sum())
    trust = policy.trust(jax.tree.map(lambda leaf: leaf[0], played.state))
    assert trust.reason == f"rewards changed near round {since[0]:,}"


def test_a_whole_number_of_any_size_is_a_run_length() -> None:
    whole, real = (play(Watched(Averages(), drift=drift), SWAP, 2) for drift in (10**30, 1e30))
    np.testing.assert_array_equal(whole.choices.action, real.choices.action)
    np.testing.assert_array_equal(whole.alarms, real.alarms)


def test_a_policy_that_does_not_predict_is_refused() -> None:
    policy = Watched(banditsrl.LinUCB(PROBLEM.representations[0]), drift=1e5)
    with pytest.raises(InvalidArgument, match="policy must predict rewards for drift, got LinUCB"):
        banditsrl.simulate(PROBLEM, policy, horizon=10, seeds=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"audit": 0.5}, r"audit must be a number in \[0, 0.5\) or a text such as 1/t, got 0.5"),
        ({"audit": "t"}, "audit must be a number in .* got 't'"),
        ({"audit_disputed": -1.0}, "audit_disputed must be a number in"),
        ({"drift": 5.0}, "drift must be at least 100, got 5.0"),
        ({"reward_range": (1.0, 0.0)}, "reward_range must be two numbers, the smaller one first"),
        ({"tolerance_loss": -0.1}, "tolerance_loss must be at least 0"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Watched(Averages(), **settings)


def test_the_catalogue_wraps_policies_with_a_certificate_only() -> None:
    watched = banditsrl.make_policy("glrt-linucb", PROBLEM, audit=0.01, sigma=0.4)
    assert isinstance(watched, Watched)
    assert watched.inner.sigma == 0.4
    with pytest.raises(InvalidArgument, match="audit must be set on a policy with a certificate"):
        banditsrl.make_policy("linucb", PROBLEM, audit=0.01)


def test_an_agent_says_what_audits_showed_and_survives_a_restart(tmp_path: Path) -> None:
    policy = Watched(Averages(), audit=0.3, drift=1e4)
    agent, rng = banditsrl.Agent(policy), np.random.default_rng(0)

    def play_rounds(agent: banditsrl.Agent, n: int, rng: Any) -> list[int]:
        actions = []
        for _ in range(n):
            choice = agent.act([0.0])
            actions.append(int(choice.action))
            reward = (0.2, 0.8, 0.5)[actions[-1]] + 0.1 * rng.normal()
            agent.learn([0.0], choice, reward)
        return actions

    play_rounds(agent, 120, rng)
    trust = agent.trust()
    assert trust.n_certified == 90
    assert trust.n_audits > 0
    agent.save(tmp_path / "agent")
    again = banditsrl.Agent.load(tmp_path / "agent", policy)
    assert again.trust() == trust
    ahead = play_rounds(agent, 40, np.random.default_rng(1))
    assert play_rounds(again, 40, np.random.default_rng(1)) == ahead
    assert again.trust() == agent.trust()


def test_an_agent_without_audits_has_no_trust() -> None:
    agent = banditsrl.Agent(banditsrl.make_policy("glrt-linucb", PROBLEM))
    with pytest.raises(InvalidArgument, match=r"policy must be watched for trust\(\), .*got GLRT"):
        agent.trust()


def test_a_bound_as_wide_as_the_range_of_rewards_is_said_to_say_nothing() -> None:
    facts: dict[str, Any] = {"level": 0.01, "n_actions": 2, "since": 7, "n_alarms": 0}
    record = empty_record(2, 0, jnp.ones(()))._replace(
        n_audits=jnp.asarray(3.0), n_certified=jnp.asarray(40.0)
    )
    vague = make_trust(record, bound=0.3, largest=0.3, **facts)
    assert not vague.informative
    assert str(vague) == (
        "Too few certified rounds have been audited to say what they lose: 3 of 40 since round 7."
    )
    assert make_trust(record, bound=0.29, largest=0.3, **facts).informative


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"audit": 0.01}, "GLRT, audited"),
        ({"drift": 1e5}, "GLRT, watched for changes"),
        ({"audit": 0.01, "drift": 1e5}, "GLRT, audited and watched for changes"),
        ({"sigma": 1.0}, "GLRT"),
    ],
)
def test_what_watches_a_policy_is_said_after_its_name(settings: dict[str, Any], said: str) -> None:
    assert banditsrl.make_policy("glrt-linucb", PROBLEM, **settings).display_name == said


def test_the_default_policy_for_live_use_is_watched() -> None:
    policy = banditsrl.make_policy("banditsrl-auto", banditsrl.Stream(n_columns=3, n_actions=2))
    expected = "Agent(banditsrl-auto, watched for changes, 0 rounds learned)"
    assert repr(banditsrl.Agent(policy)) == expected
