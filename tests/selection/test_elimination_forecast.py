"""When a misspecified candidate leaves the set: the forecast, the warning, and what it costs."""

import math
from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl.errors import TooFewSteps
from banditsrl.selection.elimination_forecast import (
    describe_late_elimination,
    forecast_elimination,
)

HORIZON = 5_000
SIGMA = 0.3


def make_nested(seed: int) -> banditsrl.FiniteProblem:
    """Return a realizable candidate beside its own first three columns."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(50, 5, 6))
    means = phi @ rng.normal(size=6)
    return banditsrl.FiniteProblem(means, [phi, phi[..., :3]], noise_std=SIGMA)


def make_policy(problem: banditsrl.FiniteProblem, **settings: Any) -> banditsrl.BanditSRL:
    return banditsrl.BanditSRL(
        problem.representations, base=banditsrl.LinUCB(), sigma=SIGMA, **settings
    )


def slow_forecast(problem: banditsrl.FiniteProblem, offset: str) -> float:
    """The first power of two at which the lack of fit under its own greedy play is above alpha."""
    full, part = (table.features for table in problem.representations)
    theta = np.linalg.lstsq(part.reshape(-1, 3), problem.mean_rewards.ravel(), rcond=None)[0]
    for _ in range(10):
        chosen = [int(np.argmax(part[x] @ theta)) for x in range(50)]
        rows = np.array([part[x, a] for x, a in enumerate(chosen)])
        means = np.array([problem.mean_rewards[x, a] for x, a in enumerate(chosen)])
        theta = np.linalg.lstsq(rows, means, rcond=None)[0]
    lack = float(((rows @ theta - means) ** 2).mean())
    fit = np.linalg.lstsq(full.reshape(-1, 6), problem.mean_rewards.ravel(), rcond=None)[0]
    size = np.linalg.norm(full, axis=-1).max() * np.linalg.norm(fit)
    for log_t in range(1, 60):
        t = 2.0**log_t
        cover = 6 * math.log(12 * size * t)
        paper = 40 * (math.log(8 * 4 / 0.01) + 3 * math.log(t) + cover) + 2
        tight = 24 * math.log(2 * t) + 8 * math.log(4 / 0.01) + 8 * cover + 1
        if {"paper": paper, "tight": tight}[offset] / t < lack:
            return t
    return math.inf


@pytest.mark.parametrize("offset", ["paper", "tight"])
@pytest.mark.parametrize("seed", range(4))
def test_the_forecast_is_the_step_at_which_the_offset_falls_below_the_lack_of_fit(
    seed: int, offset: str
) -> None:
    problem = make_nested(seed)
    found = forecast_elimination(problem, problem.representations, delta=0.01, offset=offset)
    assert found == {1: slow_forecast(problem, offset)}


def test_the_default_offset_eliminates_and_that_of_the_paper_warns_that_it_will_not() -> None:
    problem = make_nested(4)
    sooner = banditsrl.simulate(problem, make_policy(problem), horizon=HORIZON, seeds=5)
    with pytest.warns(TooFewSteps, match=r"1 of 1 misspecified .* within 5000 steps .*step 8192"):
        late = banditsrl.simulate(
            problem, make_policy(problem, offset="paper"), horizon=HORIZON, seeds=5
        )
    assert not sooner.reports["active"][:, -1, 1].any()
    assert late.reports["active"][:, -1, 1].all()
    assert sooner.mean[-1] < 0.5 * late.mean[-1]
    assert sooner.wrong[:, -1].mean() < 0.5 * late.wrong[:, -1].mean()


def test_an_early_elimination_saves_most_of_the_regret() -> None:
    problem = make_nested(3)
    paper, tight = (
        banditsrl.simulate(problem, make_policy(problem, offset=name), horizon=HORIZON, seeds=5)
        for name in ("paper", "tight")
    )
    assert paper.mean[-1] > 2_000
    assert paper.wrong[:, -1].mean() > 1_000
    assert tight.mean[-1] < 500
    assert tight.wrong[:, -1].mean() < 300


def test_elimination_happens_when_the_forecast_says_so() -> None:
    for seed in range(3):
        problem = make_nested(seed)
        policy = make_policy(problem)
        expected = forecast_elimination(
            problem, problem.representations, delta=0.01, offset="tight"
        )[1]
        result = banditsrl.simulate(problem, policy, horizon=4_096, seeds=5)
        active = result.reports["active"][:, 1:, 1]  # (S, J)
        steps = np.array([result.phases[int(np.argmin(one))] for one in active])
        assert not active.all(axis=1).any()
        assert (np.abs(np.log2(steps / expected)) <= 1).all()  # at most one phase off


def test_nothing_is_said_where_nothing_is_known() -> None:
    problem = make_nested(0)
    part = problem.representations[1]
    ask: dict[str, Any] = {"delta": 0.01, "offset": "tight"}
    assert forecast_elimination(problem, problem.representations[:1], **ask) == {}
    assert forecast_elimination(problem, [part, part], **ask) == {}  # none is realizable
    realizable = banditsrl.make_problem("vardim-realizable")
    assert forecast_elimination(realizable, realizable.representations, **ask) == {}
    wheel = banditsrl.make_problem("wheel")
    assert forecast_elimination(wheel, problem.representations, **ask) == {}
    assert forecast_elimination(realizable, problem.representations, **ask) == {}


def test_the_sentence_names_the_last_candidate_and_says_what_helps() -> None:
    expected = {1: 64.0, 2: 256.0, 4: math.inf}
    (sentence,) = describe_late_elimination(expected, 100, "paper")
    assert sentence.startswith("With offset='paper', 2 of 3 misspecified candidates will not be")
    assert "(candidate 4: never)" in sentence
    assert sentence.endswith("; offset='tight' eliminates sooner.")
    assert describe_late_elimination({1: 64.0}, 64, "tight") == ()
