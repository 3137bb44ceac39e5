"""Does the certificate say what its definition says? Against a slow computation in NumPy."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ridge_statistics import random_statistics

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.certificate import Certificate, Facts, Verdict, known_or
from banditsrl.selection.conventions import CONVENTIONS

A, D, LAM, LEVEL = 5, 3, 0.7, 0.05
L, B, SIGMA = 2.5, 0.4, 0.3


def make(**settings: Any) -> Certificate:
    conventions = CONVENTIONS[settings.pop("conventions", "paper")]
    defaults: dict[str, Any] = {"scale": 1.0, "radius": "trace", "tie": 0.0}
    return Certificate(lam=LAM, conventions=conventions, **{**defaults, **settings})


@eqx.filter_jit
def _ask(certificate: Certificate, *args: Any) -> Verdict:
    return certificate.test(*args)


@in_float64
def ask(certificate: Certificate, ridge: Any, phi: Any, mask: Any = None) -> Verdict:
    facts = Facts(*[jnp.asarray(number) for number in (float(D), L, B, SIGMA)])
    mask = np.ones(len(phi), dtype=bool) if mask is None else np.asarray(mask)
    return _ask(certificate, ridge, jnp.asarray(phi), jnp.asarray(mask), facts, jnp.asarray(LEVEL))


class Slow(NamedTuple):
    """What the test should say, and whether the greedy action has a tie or a twin."""

    greedy: int
    glr: float
    tied: bool
    twin: bool


def slow_ratio(ridge: Any, phi: Any, mask: Any, tie: float) -> Slow:
    """The likelihood ratio by a loop over pairs of actions."""
    inverse = np.linalg.inv(np.asarray(ridge.V))
    theta = np.linalg.solve(np.asarray(ridge.V), np.asarray(ridge.b))
    available = [a for a in range(len(phi)) if mask[a]]
    greedy = max(available, key=lambda a: phi[a] @ theta)
    ratios, tied, twin = [math.inf], False, False
    for a in available:
        difference = phi[greedy] - phi[a]
        if a == greedy:
            continue
        if not difference.any():
            twin = True
            continue
        gap = float(difference @ theta)
        ratios.append(gap / math.sqrt(difference @ inverse @ difference))
        tied = tied or gap < tie
    return Slow(greedy, min(ratios), tied, twin)


def slow_radius(ridge: Any, radius: str, conventions: str) -> float:
    """The radius by its formula."""
    n = float(ridge.n)
    if radius == "determinant":
        _, log_det = np.linalg.slogdet(np.asarray(ridge.V) / LAM)
        growth = float(log_det)
    elif conventions == "paper":
        growth = D * math.log(1.0 + n * L**2 / (LAM * D))
    else:
        growth = D * math.log(1.0 + 2.0 * n * L / (LAM * D))
    return SIGMA * math.sqrt(2.0 * math.log(1.0 / LEVEL) + growth) + math.sqrt(LAM) * B


def random_context(rng: np.random.Generator) -> tuple[Any, Any]:
    """Embeddings, in every third case with a twin of some action, and available actions."""
    phi, mask = rng.normal(size=(A, D)), rng.random(A) < 0.7
    if rng.random() < 1 / 3:
        phi[rng.integers(A)] = phi[rng.integers(A)]
    mask[rng.integers(A)] = True
    return phi, mask


@pytest.mark.parametrize("conventions", ["paper", "authors"])
@pytest.mark.parametrize("radius", ["trace", "determinant"])
@pytest.mark.parametrize(
    ("scale", "tie", "refuses_twins"), [(0.3, 0.0, False), (0.1, 0.2, True), (1.0, 0.05, True)]
)
def test_the_verdict_is_that_of_a_loop_over_pairs_of_actions(
    conventions: str, radius: str, scale: float, tie: float, refuses_twins: bool
) -> None:
    certificate = make(
        conventions=conventions, radius=radius, scale=scale, tie=tie, refuses_twins=refuses_twins
    )
    factor = scale if conventions == "paper" else math.sqrt(2.0 * scale)
    outcomes = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        ridge = random_statistics(seed, n=int(rng.integers(1, 400)), dim=D, lam=LAM)
        phi, mask = random_context(rng)
        expected = slow_ratio(ridge, phi, mask, tie)
        threshold = factor * slow_radius(ridge, radius, conventions)
        passes = expected.glr > threshold and not expected.tied
        found = ask(certificate, ridge, phi, mask)
        assert phi[int(found.greedy)].tolist() == phi[expected.greedy].tolist()
        assert float(found.glr) == pytest.approx(expected.glr, rel=1e-8)
        assert float(found.threshold) == pytest.approx(threshold, rel=1e-12)
        assert bool(found.certified) == (passes and not (refuses_twins and expected.twin))
        outcomes.append(bool(found.certified))
    assert 0 < sum(outcomes) < len(outcomes)


@pytest.mark.parametrize("scale", [0, 0.0, None])
def test_a_scale_of_zero_or_none_switches_the_test_off(scale: float | None) -> None:
    ridge = random_statistics(0, n=300, dim=D, lam=LAM)
    phi = np.random.default_rng(1).normal(size=(A, D))
    expected = slow_ratio(ridge, phi, [True] * A, 0.0)
    for mask in (np.ones(A, dtype=bool), np.arange(A) == 2):
        found = ask(make(scale=scale), ridge, phi, mask)
        assert not found.certified
        assert np.isinf(found.threshold)
    assert int(ask(make(scale=scale), ridge, phi).greedy) == expected.greedy
    assert float(ask(make(scale=scale), ridge, phi).glr) == pytest.approx(expected.glr)


@pytest.mark.parametrize("refuses_twins", [False, True])
def test_a_single_available_action_is_certified_without_a_rival(refuses_twins: bool) -> None:
    ridge = random_statistics(0, n=1, dim=D, lam=LAM)
    phi = np.random.default_rng(1).normal(size=(A, D))
    found = ask(make(refuses_twins=refuses_twins), ridge, phi, np.arange(A) == 3)
    assert bool(found.certified)
    assert np.isinf(found.glr)
    assert int(found.greedy) == 3


def test_equal_embeddings_are_certified_unless_twins_are_refused() -> None:
    ridge, phi = random_statistics(0, n=50, dim=D, lam=LAM), np.ones((A, D))
    for refuses_twins in (False, True):
        found = ask(make(refuses_twins=refuses_twins), ridge, phi)
        assert np.isinf(found.glr)
        assert bool(found.certified) is not refuses_twins


def test_a_twin_of_another_action_than_the_greedy_one_does_not_matter() -> None:
    ridge = random_statistics(0, n=50, dim=D, lam=LAM)
    theta = np.asarray(ridge.theta)
    phi = np.outer([1.0, 3.0, 1.0, 0.0, 0.0], theta)  # action 1 is greedy
    certificate = make(refuses_twins=True, scale=1e-9)
    assert bool(ask(certificate, ridge, phi).certified)
    phi[4] = phi[1]
    assert not ask(certificate, ridge, phi).certified
    assert bool(ask(certificate, ridge, phi, np.arange(A) < 4).certified)


@pytest.mark.parametrize(("gap", "certified"), [(0.0099, False), (0.0101, True)])
def test_a_predicted_gap_below_the_tie_leaves_a_context_undecided(
    gap: float, certified: bool
) -> None:
    ridge = random_statistics(0, n=50, dim=D, lam=LAM)
    theta = np.asarray(ridge.theta)
    direction = theta / (theta @ theta)
    phi = np.outer([1.0, 1.0 - gap], direction)  # predicted rewards one and 1 - gap
    assert bool(ask(make(scale=1e-9, tie=0.01), ridge, phi).certified) is certified
    assert bool(ask(make(scale=1e-9, tie=0.0), ridge, phi).certified)


def test_the_determinant_gives_a_smaller_radius_where_norms_keep_their_bound() -> None:
    """det V <= (trace V / d)^d, and the trace is at most lam d + n L^2."""
    rng = np.random.default_rng(3)
    for seed in range(10):
        ridge = random_statistics(seed, n=200, dim=D, lam=LAM)
        largest = math.sqrt(np.trace(np.asarray(ridge.V) - LAM * np.eye(D)) / 200)
        assert largest < L
        phi = rng.normal(size=(A, D))
        by_trace, by_determinant = (
            float(ask(make(radius=radius), ridge, phi).threshold)
            for radius in ("trace", "determinant")
        )
        assert by_determinant < by_trace


@pytest.mark.parametrize("certified", [False, True])
@in_float64
def test_a_verdict_overrides_a_choice_only_where_it_is_certified(certified: bool) -> None:
    verdict = Verdict(*[jnp.asarray(value) for value in (2, certified, 7.5, 3.5)])
    choice = verdict.override(jnp.asarray(1), jnp.asarray([0.2, 0.5, 0.3]), jnp.asarray(4))
    assert int(choice.action) == (2 if certified else 1)
    assert choice.pmf.tolist() == ([0.0, 0.0, 1.0] if certified else [0.2, 0.5, 0.3])
    assert bool(choice.certified) is certified
    assert (float(choice.glr), float(choice.threshold)) == (7.5, 3.5)
    assert int(choice.representation) == 4
    assert choice.action.dtype == np.int32


@in_float64
def test_a_known_number_goes_before_its_estimate() -> None:
    assert float(known_or(0.5, jnp.asarray(2.0))) == 0.5
    assert float(known_or(None, jnp.asarray(2.0))) == 2.0
    assert known_or(1, jnp.asarray(2.0)).dtype == np.float64


def test_a_certificate_is_settings_alone_and_compares_by_them() -> None:
    assert jax.tree.leaves(make()) == []
    assert make() == make()
    assert make() != make(scale=2.0)
    assert make() != make(conventions="authors")
