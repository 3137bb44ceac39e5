"""BanditSRL at the end of a phase, against the slow way; and how it treats its base."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import KEY, SIGMA, draw_rounds, end_phase, history_of
from scipy.optimize import minimize

import banditsrl
from banditsrl.errors import InvalidArgument, UnknownName
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.representations import Mapped, Table


@pytest.fixture(scope="module")
def problem(three: banditsrl.FiniteProblem) -> banditsrl.FiniteProblem:
    """Three candidates will do here."""
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
        claims = [claim.realizable for claim in misspecified.claims]
        assert np.array_equal(np.asarray(state.active), claims)


@pytest.mark.parametrize("loss", ["eig", "weak", "weak-normalised", "span"])
def test_the_smallest_loss_among_the_active_wins(
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
    assert np.allclose(np.asarray(state.ridge.V), V, rtol=1e-12)
    assert np.allclose(root @ root.T, np.linalg.inv(V), rtol=1e-9, atol=1e-12)
    assert np.allclose(np.asarray(state.ridge.theta), np.linalg.solve(V, b), atol=1e-10)
    assert float(state.ridge.log_det) == pytest.approx(np.linalg.slogdet(V)[1], rel=1e-10)
    assert float(state.ridge.n) == 400
    assert int(state.phase) == 1


def test_levels_are_shared_out_over_candidates_and_phases(
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


def test_one_candidate_is_the_glrt_number_for_number(problem: banditsrl.FiniteProblem) -> None:
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


def test_without_a_test_it_is_the_base_on_the_chosen_representation(
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


def test_ties_of_the_loss_are_broken_by_the_key() -> None:
    weak = banditsrl.make_problem("vardim-weak-hls", seed=0)
    rounds = draw_rounds(weak, 300)
    policy = BanditSRL(weak.representations, base=banditsrl.LinUCB(), sigma=SIGMA, loss="eig")
    with jax.enable_x64(True):
        from banditsrl.selection.elimination import smallest
        from banditsrl.selection.losses import Eig, Evidence

        zeros = jnp.zeros(6)
        evidence = Evidence(jnp.asarray(300.0), *[zeros] * 7, jnp.ones(6, dtype=bool), zeros,
                            1.0, 0.01, jnp.asarray(0.01), 5)  # fmt: skip
        noise = 1e-13 * jnp.arange(6.0)
        chosen = {int(smallest(noise, Eig(), evidence, key)) for key in jax.random.split(KEY, 200)}
    assert chosen == set(range(6))
    assert int(end_phase(policy, rounds).representation) in range(6)


def test_the_authors_begin_with_the_first_candidate_and_never_take_one_back(
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


class Remembering:
    """A base with a state of its own: how many rounds it was fed, and the sum of rewards."""

    def __init__(self, replays: bool) -> None:
        self.replays = replays

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros(()), "phi": jnp.zeros(6)}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        return banditsrl.policies.untested(action, mask / mask.sum())

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": state["n"] + 1, "phi": state["phi"] + context[action]}


def test_a_base_of_its_own_sees_embeddings_is_reset_and_fed_its_own_rounds(
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
    few = zip(problem.representations[:3], problem.claims, strict=False)
    tables = [Table(c.features, B=float(np.linalg.norm(claim.theta))) for c, claim in few]

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


def test_best_in_class_needs_a_bound_and_finds_the_base_s(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=SIGMA, loss="bic")
    state = end_phase(policy, draw_rounds(problem, 400))
    # far from having seen an HLS spectrum, the smallest regret bound wins: the smallest dimension
    assert int(state.representation) == 1
    with pytest.raises(InvalidArgument, match="loss bic needs a regret bound, and the base must"):
        BanditSRL(problem.representations, base=banditsrl.IGW(), sigma=SIGMA, loss="bic")


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


def test_a_regret_bound_is_known_for_the_schedule_of_the_paper_only(
    problem: banditsrl.FiniteProblem,
) -> None:
    for epsilon in ("t^-1/2", 0.5):
        base = banditsrl.EpsilonGreedy(epsilon=epsilon)
        with pytest.raises(InvalidArgument, match="loss bic needs a regret bound"):
            BanditSRL(problem.representations, base=base, loss="bic")
