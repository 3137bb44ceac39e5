"""Do all policies with a test have the same certificate, and play by what it says?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import draw_rounds, history_of

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.numerics.precision import in_float64
from banditsrl.selection.certificate import Certificate, Verdict
from banditsrl.selection.conventions import CONVENTIONS

KEY = jax.random.key(2)
SIGMA, SETTINGS = 0.3, {"sigma": 0.3, "lam": 0.8, "delta": 0.03, "glrt_scale": 0.5}
N = 150


@pytest.fixture(scope="module")
def problem() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


def make(kind: str, problem: Any, **settings: Any) -> Any:
    """A policy of every kind, with the same settings of the test."""
    inputs, merged = problem.representations[0], {**SETTINGS, **settings}
    base = banditsrl.EpsilonGreedy()
    if kind == "glrt":
        return banditsrl.GLRT(base, representation=inputs, **merged)
    if kind == "banditsrl":
        return banditsrl.BanditSRL([inputs], base=base, **merged)
    network, training = banditsrl.Network(inputs, layers=(8, 4)), banditsrl.Training(batch=8)
    return banditsrl.NNBanditSRL(network, base=base, training=training, **merged)


KINDS = ["glrt", "banditsrl", "nn-banditsrl"]
kinds = pytest.mark.parametrize("kind", KINDS)


def teach(policy: Any, problem: Any) -> Any:
    """The state after random rounds, with a phase end in the middle."""
    _, learn, refresh = banditsrl.compiled(policy)[:3]
    rounds, state = draw_rounds(problem, N, seed=4), policy.init(KEY)
    for i, (x, a, y) in enumerate(zip(*rounds, strict=True), start=1):
        state = learn(state, int(x), int(a), float(y))
        if i == N // 2:
            first = tuple(column[:i] for column in rounds)
            state = refresh(state, history_of(first, capacity=N), KEY)
    return state


@in_float64
def ask_certificate(policy: Any, state: Any, context: int, mask: Any) -> Verdict:
    """The certificate's verdict on the statistics in a policy's state."""
    if isinstance(policy, banditsrl.GLRT):
        ridge, facts = state.ridge, policy.facts(state)
        phi = policy.embedding.embed(context)
    elif isinstance(policy, banditsrl.BanditSRL):
        ridge, facts = state.ridge, policy.facts(state)
        phi = policy.candidates.embed(context, state.representation)
    else:
        ridge, facts = state.network.ridge, policy.learner.facts(state.network, SIGMA)
        phi = policy.learner.embed(state.network, context)
    level = jnp.asarray(policy.effective.delta)
    return policy.certificate.test(ridge, phi, jnp.asarray(mask), facts, level)


@kinds
def test_a_policy_has_a_certificate_with_the_settings_of_its_test(
    kind: str, problem: banditsrl.FiniteProblem
) -> None:
    found = make(kind, problem, radius="determinant", conventions="authors").certificate
    assert isinstance(found, Certificate)
    assert (found.lam, found.scale, found.radius) == (0.8, 0.5, "determinant")
    assert found.conventions == CONVENTIONS["authors"]


def test_policies_on_a_fixed_embedding_have_one_certificate_and_those_on_networks_another(
    problem: banditsrl.FiniteProblem,
) -> None:
    for conventions in ("paper", "authors"):
        glrt, single, neural = (
            make(kind, problem, conventions=conventions).certificate for kind in KINDS
        )
        assert glrt == single
        differences = {
            name: (getattr(glrt, name), getattr(neural, name))
            for name in ("lam", "scale", "radius", "conventions", "tie", "refuses_twins")
            if getattr(glrt, name) != getattr(neural, name)
        }
        expected: dict[str, Any] = {"refuses_twins": (False, True)}
        if conventions == "authors":
            expected["tie"] = (0.01, 0.001)
        assert differences == expected


@kinds
def test_choices_are_certified_as_the_certificate_says_of_the_statistics(
    kind: str, problem: banditsrl.FiniteProblem
) -> None:
    """The state of a run serves every scale of the test, since rounds here are random."""
    state, outcomes = teach(make(kind, problem), problem), []
    for scale in (0.05, 0.5, 5.0):
        policy = make(kind, problem, glrt_scale=scale)
        act = banditsrl.compiled(policy).act
        for mask in (np.ones(5, dtype=bool), np.arange(5) != 2, np.arange(5) == 1):
            for x in range(10):
                choice = act(state, x, mask, jax.random.key(x))
                verdict = ask_certificate(policy, state, x, mask)
                assert float(choice.glr) == pytest.approx(float(verdict.glr), rel=1e-5)
                assert float(choice.threshold) == pytest.approx(float(verdict.threshold), rel=1e-6)
                certified, passed = bool(choice.certified), bool(verdict.certified)
                assert certified == passed
                if certified:
                    assert int(choice.action) == int(verdict.greedy)
                    assert float(choice.pmf[int(verdict.greedy)]) == 1.0
                outcomes.append(certified)
    assert 0 < sum(outcomes) < len(outcomes)


@kinds
def test_delta_falls_with_the_number_of_rounds_if_it_decays(
    kind: str, problem: banditsrl.FiniteProblem
) -> None:
    policy = make(kind, problem, delta_decay=1.5)
    with jax.enable_x64(True):
        found = [float(policy.delta_after(jnp.asarray(float(n)))) for n in (0, 3, 99)]
    assert found == pytest.approx([0.03, 0.03 / 4**1.5, 0.03 / 100**1.5])


# Which settings hold.


def test_settings_are_those_given_or_else_those_of_a_linear_base(
    problem: banditsrl.FiniteProblem,
) -> None:
    inputs = problem.representations[0]
    base = banditsrl.LinUCB(sigma=0.7, lam=2.0, delta=0.2, conventions="authors")
    policy = banditsrl.GLRT(base, representation=inputs)
    assert policy.effective == (0.7, 2.0, 0.2, "authors")
    policy = banditsrl.GLRT(base, representation=inputs, sigma=0.1, conventions="paper")
    assert policy.effective == (0.1, 2.0, 0.2, "paper")


def test_without_a_linear_base_the_defaults_are_those_of_the_paper(
    problem: banditsrl.FiniteProblem,
) -> None:
    leader = banditsrl.Leader(problem.representations, lam=3.0, delta=0.5)
    policy = banditsrl.GLRT(leader, representation=problem.representations[0])
    assert policy.effective == (None, 1.0, 0.01, "paper")


def test_the_number_of_draws_behind_a_pmf_is_that_of_the_base(
    problem: banditsrl.FiniteProblem,
) -> None:
    inputs = problem.representations[0]
    for base, draws in ((banditsrl.LinTS(draws=7), 7), (banditsrl.LinUCB(), 0)):
        assert banditsrl.GLRT(base, representation=inputs).pmf_draws == draws
        assert banditsrl.BanditSRL([inputs], base=base).pmf_draws == draws


@kinds
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sigma": 0.0}, r"sigma must be greater than 0, got 0\.0"),
        ({"lam": -1.0}, r"lam must be greater than 0, got -1\.0"),
        ({"delta": 1.0}, r"delta must lie strictly between 0 and 1, got 1\.0"),
        ({"delta_decay": -1.0}, r"delta_decay must be at least 0, got -1\.0"),
        ({"glrt_scale": -1.0}, r"glrt_scale must be at least 0, got -1\.0"),
        ({"radius": "r"}, "radius must be one of trace, determinant, got 'r'"),
        ({"conventions": "mine"}, "conventions must be one of paper, authors, got 'mine'"),
    ],
)
def test_settings_outside_their_range_are_refused(
    kind: str, problem: banditsrl.FiniteProblem, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make(kind, problem, **settings)


@kinds
def test_warm_start_is_true_or_false(kind: str, problem: banditsrl.FiniteProblem) -> None:
    with pytest.raises(InvalidType, match="warm_start must be True or False, got 'no'"):
        make(kind, problem, warm_start="no")
