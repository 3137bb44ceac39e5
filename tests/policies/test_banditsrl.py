"""BanditSRL: its special cases, what its base sees and learns, and what it refuses."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import KEY, SIGMA, draw_rounds, end_phase, history_of

import banditsrl
from banditsrl.errors import InvalidArgument, UnknownName
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.representations import Mapped, Table


@pytest.fixture(scope="module")
def problem(three: banditsrl.FiniteProblem) -> banditsrl.FiniteProblem:
    """Three candidates are enough here."""
    return three


def test_the_level_is_shared_by_candidates_and_phases(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = BanditSRL(problem.representations, base=banditsrl.LinUCB(), delta=0.06)
    with jax.enable_x64(True):
        state = policy.init(KEY)._replace(phase=jnp.asarray(2))
        test, base = policy.levels(state)
    assert float(test) == pytest.approx(0.06 / 3)
    assert float(base) == pytest.approx(0.06 / (2 * 9) / 3)
    authors = BanditSRL(
        problem.representations, base=banditsrl.LinUCB(), delta=0.06, conventions="authors"
    )
    with jax.enable_x64(True):
        assert [float(level) for level in authors.levels(state)] == [0.06, 0.06]


def test_with_one_candidate_the_numbers_are_those_of_the_glrt(
    problem: banditsrl.FiniteProblem,
) -> None:
    single = problem.representations[:1]
    base = banditsrl.EpsilonGreedy()
    selecting = BanditSRL(single, base=base, sigma=SIGMA)
    testing = banditsrl.GLRT(base, representation=single[0], sigma=SIGMA)
    one, other = (
        banditsrl.simulate(problem, policy, horizon=1200, seeds=4)
        for policy in (selecting, testing)
    )
    assert np.array_equal(one.regret, other.regret)
    assert np.array_equal(one.certified, other.certified)


def test_without_a_test_the_numbers_are_those_of_the_base_alone(
    problem: banditsrl.FiniteProblem,
) -> None:
    base = banditsrl.EpsilonGreedy()
    off = BanditSRL(problem.representations[:1], base=base, sigma=SIGMA, glrt_scale=0)
    alone = banditsrl.EpsilonGreedy(problem.representations[0], sigma=SIGMA)
    one, other = (
        banditsrl.simulate(problem, policy, horizon=1200, seeds=4) for policy in (off, alone)
    )
    assert np.array_equal(one.regret, other.regret)
    assert one.certified.max() == 0


class Remembering:
    """A base with a state of its own: how many rounds it was fed, and the sum of rewards."""

    def __init__(self, replays: bool) -> None:
        self.replays = replays

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros(()), "phi": jnp.zeros(6)}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        return banditsrl.Choice.without_test(action, mask / mask.sum())

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": state["n"] + 1, "phi": state["phi"] + context[action]}


def test_a_base_with_its_own_state_learns_the_rounds_it_played_and_starts_anew_each_phase(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = BanditSRL(
        problem.representations[:2], base=Remembering(False), sigma=SIGMA, glrt_scale=0
    )
    result = banditsrl.simulate(problem, policy, horizon=600, seeds=3, steps=[600])
    assert np.array_equal(np.asarray(result.state.base["n"]), [600 - 512] * 3)


def test_a_base_that_replays_is_fed_all_rounds_in_the_new_embedding(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = BanditSRL(
        problem.representations[:2], base=Remembering(True), sigma=SIGMA, glrt_scale=0
    )
    rounds = draw_rounds(problem, 300)
    state = end_phase(policy, rounds)
    chosen = problem.representations[int(state.representation)]
    expected = np.zeros(6)
    expected[: chosen.dim] = chosen.features[rounds[0], rounds[1]].sum(axis=0)
    assert float(state.base["n"]) == 300
    assert np.allclose(np.asarray(state.base["phi"]), expected)


def test_without_warm_start_a_linear_base_forgets_at_each_phase(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = BanditSRL(
        problem.representations[:2], base=banditsrl.LinUCB(), sigma=SIGMA, warm_start=False,
        glrt_scale=0,
    )  # fmt: skip
    result = banditsrl.simulate(problem, policy, horizon=600, seeds=3, steps=[600])
    assert np.array_equal(np.asarray(result.state.base.n), [600 - 512] * 3)
    assert np.array_equal(np.asarray(result.state.ridge.n), [600] * 3)


def test_candidates_that_are_functions_give_the_same_numbers_as_tables(
    problem: banditsrl.FiniteProblem,
) -> None:
    tables = [
        Table(c.features, B=float(np.linalg.norm(claim.theta)))
        for c, claim in zip(problem.representations, problem.claims, strict=True)
    ]

    def mapped(table: Table) -> Mapped:
        features = np.asarray(table.features)
        return Mapped(
            lambda x: jnp.asarray(features)[x], n_actions=5, dim=table.dim, L=table.L, B=table.B
        )

    results = [
        banditsrl.simulate(
            problem,
            BanditSRL(candidates, base=banditsrl.LinUCB(), sigma=SIGMA, loss="weak"),
            horizon=500,
            seeds=3,
        )
        for candidates in (tables, [mapped(table) for table in tables])
    ]
    assert np.allclose(results[0].regret, results[1].regret)
    assert np.array_equal(
        results[0].reports["representation"], results[1].reports["representation"]
    )


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"gamma": 1.0}, InvalidArgument, "gamma must be greater than 1, got 1.0"),
        (
            {"loss": "eigen"},
            UnknownName,
            "no representation loss named 'eigen'; did you mean 'eig'",
        ),
        (
            {"offset": "papr"},
            UnknownName,
            "no elimination offset named 'papr'; did you mean 'paper'",
        ),
        ({"delta": 1.0}, InvalidArgument, "delta must lie strictly between 0 and 1, got 1.0"),
        ({"lam": 0}, InvalidArgument, "lam must be greater than 0, got 0"),
    ],
)
def test_bad_settings_are_refused_at_once(
    problem: banditsrl.FiniteProblem, settings: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        BanditSRL(problem.representations, base=banditsrl.LinUCB(), **settings)


def test_an_empty_set_of_candidates_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="representations must hold at least one candidate"):
        BanditSRL([], base=banditsrl.LinUCB())


def test_a_state_and_a_history_of_other_rounds_are_refused(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=SIGMA)
    message = "history must hold the 0 rounds that the state has learned, got 7"
    with jax.enable_x64(True), pytest.raises(InvalidArgument, match=message):
        policy.refresh(policy.init(KEY), history_of(draw_rounds(problem, 7)), KEY)
