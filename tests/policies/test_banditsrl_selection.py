"""BanditSRL at the end of a phase: which candidate is selected, against the slow way."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import KEY, SIGMA, draw_rounds, end_phase, history_of
from scipy.optimize import minimize

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.representations import Table


@pytest.fixture(scope="module")
def problem(three: banditsrl.FiniteProblem) -> banditsrl.FiniteProblem:
    """Three candidates are enough here."""
    return three


def slow_error(phi: Any, rewards: Any, radius: float) -> float:
    """Mean squared error of the best theta in the ball, by a generic solver."""

    def loss(theta: Any) -> Any:
        residual = phi @ theta - rewards
        return residual @ residual / len(rewards), 2 * phi.T @ residual / len(rewards)

    inside = {"type": "ineq", "fun": lambda t: radius**2 - t @ t, "jac": lambda t: -2 * t}
    start = np.zeros(phi.shape[1])
    found = minimize(loss, start, jac=True, constraints=[inside], method="SLSQP",
                     options={"ftol": 1e-14, "maxiter": 500})  # fmt: skip
    return float(found.fun)


def slow_offset(kind: str, t: int, m: int, d: int, L: float, B: float) -> float:
    if kind == "paper":
        inner = math.log(8 * m**2 * t**3 / 0.01) + d * math.log(12 * L * B * t)
        return 40 / t * inner + 2 / t
    inner = 24 * math.log(2 * t) + 8 * math.log(m**2 / 0.01) + 8 * d * math.log(12 * L * B * t)
    return (inner + 1) / t


@pytest.fixture(scope="module")
def misspecified() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("vardim-misspecified", seed=1)


@pytest.mark.parametrize("offset", ["paper", "tight"])
@pytest.mark.parametrize("n", [700, 9000])
def test_the_active_set_is_the_one_of_the_definition(
    misspecified: banditsrl.FiniteProblem, offset: str, n: int
) -> None:
    rounds = draw_rounds(misspecified, n)
    policy = BanditSRL(
        misspecified.representations, base=banditsrl.LinUCB(), sigma=SIGMA, offset=offset
    )
    state = end_phase(policy, rounds)
    contexts, actions, rewards = rounds
    errors, slack = [], []
    for candidate, claim in zip(misspecified.representations, misspecified.claims, strict=True):
        phi = candidate.features[contexts, actions]
        L, B = np.linalg.norm(candidate.features, axis=-1).max(), np.linalg.norm(claim.theta)
        errors.append(slow_error(phi, rewards, float(B)))
        slack.append(slow_offset(offset, n, 13, candidate.dim, float(L), float(B)))
    bound = (np.array(errors) + slack).min()
    assert np.array_equal(np.asarray(state.active), np.array(errors) <= bound)
    if offset == "tight" and n == 9000:
        realizable = [claim.realizable for claim in misspecified.claims]
        assert np.array_equal(np.asarray(state.active), realizable)


@pytest.mark.parametrize("loss", ["eig", "weak", "weak-normalised", "span"])
def test_the_candidate_of_smallest_loss_in_the_active_set_is_selected(
    problem: banditsrl.FiniteProblem, loss: str
) -> None:
    rounds = draw_rounds(problem, 400, seed=3)
    policy = BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=SIGMA, loss=loss)
    state = end_phase(policy, rounds)
    values = []
    for candidate in problem.representations:
        phi = candidate.features[rounds[0], rounds[1]]
        gram = phi.T @ phi
        L2 = (candidate.features**2).sum(-1).max()
        forms = np.einsum("si,ij,sj->s", phi, gram, phi)
        values.append({
            "eig": -np.linalg.eigvalsh(gram)[0] / L2,
            "weak": -forms.min() / L2,
            "weak-normalised": -(forms / (phi**2).sum(1)).min(),
            "span": (phi * np.linalg.solve(np.eye(candidate.dim) + gram, phi.T).T).sum(1).max(),
        }[loss])  # fmt: skip
    assert bool(np.asarray(state.active).all())
    assert int(state.representation) == int(np.argmin(values))


def test_the_statistics_are_rebuilt_from_all_rounds_and_padded(
    problem: banditsrl.FiniteProblem,
) -> None:
    rounds = draw_rounds(problem, 400, seed=3)
    policy = BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=SIGMA, loss="weak")
    state = end_phase(policy, rounds)
    chosen = problem.representations[int(state.representation)]
    phi = chosen.features[rounds[0], rounds[1]]
    V = np.eye(6)
    V[: chosen.dim, : chosen.dim] += phi.T @ phi
    b = np.zeros(6)
    b[: chosen.dim] = phi.T @ rounds[2]
    root = np.asarray(state.ridge.root)
    assert state.ridge.V is None  # V itself is not kept: the history is, and V^-1 is below
    assert np.allclose(root @ root.T, np.linalg.inv(V), rtol=1e-9, atol=1e-12)
    assert np.allclose(np.asarray(state.ridge.theta), np.linalg.solve(V, b), atol=1e-10)
    assert float(state.ridge.log_det) == pytest.approx(np.linalg.slogdet(V)[1], rel=1e-10)
    assert float(state.ridge.n) == 400
    assert int(state.phase) == 1


def test_with_the_authors_conventions_the_first_candidate_starts_and_none_comes_back(
    misspecified: banditsrl.FiniteProblem,
) -> None:
    candidates = [misspecified.representations[k] for k in (0, 2, 6, 8)]
    policy = BanditSRL(candidates, base=banditsrl.LinUCB(), sigma=SIGMA, conventions="authors")
    assert int(policy.init(jax.random.key(5)).representation) == 0
    assert int(policy.init(jax.random.key(6)).representation) == 0
    result = banditsrl.simulate(misspecified, policy, horizon=5000, seeds=5, steps=[5000])
    active = result.reports["active"].astype(int)
    assert (np.diff(active, axis=1) <= 0).all()
    assert active[:, -1].sum(axis=1).max() < 4


def test_best_in_class_takes_the_regret_bound_of_the_base_and_needs_one(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=SIGMA, loss="bic")
    state = end_phase(policy, draw_rounds(problem, 400))
    # far from having seen an HLS spectrum, the smallest regret bound wins: the smallest dimension
    assert int(state.representation) == 1
    with pytest.raises(InvalidArgument, match="loss bic needs a regret bound: the base must"):
        BanditSRL(problem.representations, base=banditsrl.IGW(), sigma=SIGMA, loss="bic")


def test_no_loss_prefers_a_representation_whose_embeddings_are_all_zero(
    problem: banditsrl.FiniteProblem,
) -> None:
    """The paper's normalised form has no value there."""
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


def test_elimination_uses_the_level_after_its_decay(problem: banditsrl.FiniteProblem) -> None:
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


def test_epsilon_greedy_has_a_regret_bound_for_the_schedule_of_the_paper_only(
    problem: banditsrl.FiniteProblem,
) -> None:
    for epsilon in ("t^-1/2", 0.5):
        base = banditsrl.EpsilonGreedy(epsilon=epsilon)
        with pytest.raises(InvalidArgument, match="loss bic needs a regret bound"):
            BanditSRL(problem.representations, base=base, loss="bic")
