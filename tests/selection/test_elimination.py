"""Which candidate comes next: who stays, who wins, and what must not matter."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import KEY, SIGMA, draw_rounds, end_phase, history_of

import banditsrl
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.representations import Table
from banditsrl.selection.elimination import compatible


@pytest.fixture(scope="module")
def problem(three: banditsrl.FiniteProblem) -> banditsrl.FiniteProblem:
    """Three candidates will do here."""
    return three


def test_no_loss_prefers_a_representation_that_says_nothing(
    problem: banditsrl.FiniteProblem,
) -> None:
    """All embeddings are zero: the paper's normalised form has no value there."""
    empty = np.zeros((20, 5, 2))
    for loss in ("eig", "weak", "weak-normalised"):
        policy = BanditSRL(
            [*problem.representations, empty], base=banditsrl.LinUCB(), sigma=SIGMA, loss=loss
        )
        assert int(end_phase(policy, draw_rounds(problem, 300)).representation) != 3


@pytest.mark.parametrize("loss", ["eig", "weak", "weak-normalised", "span"])
def test_the_choice_does_not_depend_on_the_unit_of_the_features(loss: str) -> None:
    problem = banditsrl.make_problem("vardim-realizable", seed=0)
    rounds = draw_rounds(problem, 500)
    chosen = []
    for unit in (1.0, 1e-5):
        tables = [
            Table(unit * c.features, B=float(np.linalg.norm(claim.theta)) / unit)
            for c, claim in zip(problem.representations, problem.claims, strict=True)
        ]
        base = banditsrl.LinUCB(lam=unit**2)
        policy = BanditSRL(tables, base=base, sigma=SIGMA, loss=loss)
        chosen.append(int(end_phase(policy, rounds).representation))
    assert chosen[0] == chosen[1]


def test_who_has_left_for_good_sends_nobody_else_away() -> None:
    facts: dict[str, Any] = {"dim": np.ones(3), "L": np.ones(3), "B": np.ones(3), "delta": 0.1}
    errors, t = jnp.asarray([1.0, 9.0, 9.5]), jnp.asarray(1e6)
    among = jnp.asarray([False, True, True])
    everybody = compatible(errors, t, None, offset="tight", **facts)
    rest = compatible(errors, t, among, offset="tight", **facts)
    assert everybody.tolist() == [True, False, False]
    assert rest.tolist() == [False, True, False]


def test_elimination_follows_the_schedule_of_delta(problem: banditsrl.FiniteProblem) -> None:
    """A smaller delta eliminates later: the offset grows with log(1 / delta)."""
    candidates = [problem.representations[0], problem.representations[0].features[..., :4]]
    rounds = draw_rounds(problem, 2_000)
    active = []
    for decay in (0.0, 20.0):
        policy = BanditSRL(
            candidates, base=banditsrl.LinUCB(), sigma=SIGMA, offset="tight", delta_decay=decay
        )
        with jax.enable_x64(True):
            state = policy.init(KEY)
            state = state._replace(ridge=state.ridge._replace(n=jnp.asarray(2_000.0)))
            history = history_of(rounds)
            active.append(policy.refresh(state, history, KEY).active.tolist())
    assert active == [[True, False], [True, True]]
