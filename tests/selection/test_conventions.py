"""Does every difference between the paper and the authors' experiments show in behaviour?"""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import KEY, SIGMA, draw_rounds, end_phase
from ridge_statistics import random_statistics

import banditsrl
from banditsrl.errors import UnknownName
from banditsrl.numerics.precision import in_float64
from banditsrl.representations import Table
from banditsrl.selection.certificate import Certificate, Facts
from banditsrl.selection.conventions import CONVENTIONS, Conventions

PAPER, AUTHORS = CONVENTIONS["paper"], CONVENTIONS["authors"]
BOTH = ("paper", "authors")
D, LAM, LEVEL, L, B = 3, 0.7, 0.05, 1.7, 0.4

TESTED = {
    "radius", "squared_test", "tie_of_tables", "tie_of_networks", "waits_for_batch", "offset",
    "elimination_is_final", "fits_in_ball", "starts_with_first", "shares_delta",
    "scales_whole_width",
}  # fmt: skip
"""Fields that have a test below."""


def test_every_field_differs_and_has_a_test_here() -> None:
    names = {field.name for field in dataclasses.fields(Conventions)}
    assert names == TESTED
    assert [name for name in names if getattr(PAPER, name) == getattr(AUTHORS, name)] == []


def test_there_are_two_sets_of_conventions_and_a_near_name_is_suggested() -> None:
    assert tuple(CONVENTIONS) == BOTH
    with pytest.raises(UnknownName, match="no set of conventions named 'author'; did you mean"):
        CONVENTIONS["author"]


# The test.


@in_float64
def threshold(conventions: Conventions, scale: float, n: int) -> float:
    ridge = random_statistics(0, n=n, dim=D, lam=LAM)
    certificate = Certificate(
        lam=LAM, scale=scale, radius="trace", conventions=conventions, tie=0.0
    )
    facts = Facts(*[jnp.asarray(number) for number in (float(D), L, B, SIGMA)])
    phi, mask = jnp.eye(D), jnp.ones(D, dtype=bool)
    return float(certificate.test(ridge, phi, mask, facts, jnp.asarray(LEVEL)).threshold)


def slow_beta(inside: float) -> float:
    growth = D * math.log(1.0 + inside / (LAM * D))
    return SIGMA * math.sqrt(2.0 * math.log(1.0 / LEVEL) + growth) + math.sqrt(LAM) * B


def test_radius_grows_with_the_squared_norm_or_with_twice_the_norm() -> None:
    for n in (1, 50, 5000):
        of_paper = threshold(PAPER, 1.0, n)
        of_authors = threshold(dataclasses.replace(PAPER, radius=AUTHORS.radius), 1.0, n)
        assert of_paper == pytest.approx(slow_beta(n * L**2))
        assert of_authors == pytest.approx(slow_beta(2 * n * L))


@pytest.mark.parametrize("scale", [0.5, 1.0, 5.0])
def test_squared_test_puts_the_scale_inside_a_square_root(scale: float) -> None:
    """gap^2 / (2 norm^2) > s beta^2 is gap / norm > sqrt(2 s) beta."""
    beta = slow_beta(50 * L**2)
    assert threshold(PAPER, scale, 50) == pytest.approx(scale * beta)
    squared = threshold(dataclasses.replace(PAPER, squared_test=True), scale, 50)
    assert squared == pytest.approx(math.sqrt(2.0 * scale) * beta)
    for ratio in np.linspace(0.5, 20.0, 40):
        assert (ratio > squared) == (ratio**2 / 2.0 > scale * beta**2)


@pytest.mark.parametrize("conventions", BOTH)
@pytest.mark.parametrize("gap", [0.0099, 0.0101])
def test_tie_of_tables_leaves_gaps_below_a_hundredth_undecided(
    conventions: str, gap: float
) -> None:
    features = np.array([[[1.0, 0.0], [1.0 - gap, 0.0], [0.0, 1.0]]])
    policy = banditsrl.GLRT(banditsrl.Greedy(features, sigma=SIGMA), conventions=conventions)
    with jax.enable_x64(True):
        state = policy.init(KEY)
        ridge = state.ridge._replace(root=1e-6 * jnp.eye(2), theta=jnp.asarray([1.0, 0.0]))
    choice = policy.act(state._replace(ridge=ridge), 0, None, KEY)
    assert bool(choice.certified) == (conventions == "paper" or gap > 0.01)


def network_policy(features: Any, conventions: str) -> tuple[Any, Any]:
    """A network that copies its inputs, whose statistics are sure of theta = (1, 0)."""
    network = banditsrl.Network(np.asarray(features)[None], module=eqx.nn.Identity())
    policy = banditsrl.NNBanditSRL(
        network, base=banditsrl.Greedy(), sigma=SIGMA, conventions=conventions,
        training=banditsrl.Training(batch=8),
    )  # fmt: skip
    state = policy.init(KEY)
    with jax.enable_x64(True):
        ridge = state.network.ridge._replace(root=1e-6 * jnp.eye(2), theta=jnp.asarray([1.0, 0.0]))
        learned = state.network._replace(ridge=ridge, n_explored=jnp.asarray(8))
    return policy, state._replace(network=learned)


@pytest.mark.parametrize("conventions", BOTH)
@pytest.mark.parametrize("gap", [0.0009, 0.0011])
def test_tie_of_networks_leaves_gaps_below_a_thousandth_undecided(
    conventions: str, gap: float
) -> None:
    policy, state = network_policy([[1.0, 0.0], [1.0 - gap, 0.0], [0.0, 1.0]], conventions)
    choice = policy.act(state, 0, None, KEY)
    assert bool(choice.certified) == (conventions == "paper" or gap > 0.001)


@pytest.mark.parametrize("conventions", BOTH)
@pytest.mark.parametrize("n_explored", [7, 8])
def test_waits_for_batch_delays_the_test_of_a_network(conventions: str, n_explored: int) -> None:
    policy, state = network_policy([[1.0, 0.0], [0.2, -0.3]], conventions)
    waiting = state._replace(network=state.network._replace(n_explored=jnp.asarray(n_explored)))
    choice = policy.act(waiting, 0, None, KEY)
    assert bool(choice.certified) == (conventions == "paper" or n_explored == 8)


# The candidates.


def select(three: Any, candidates: Any, conventions: str, **changes: Any) -> list[bool]:
    """Phi_t after two thousand rounds; what is not named here is the same for both."""
    policy = banditsrl.BanditSRL(
        candidates, base=banditsrl.LinUCB(), sigma=SIGMA, conventions=conventions,
        offset=changes.pop("offset", "tight"),
    )  # fmt: skip
    state = end_phase(policy, draw_rounds(three, 2000), **changes)
    return list(state.active.tolist())


def test_offset_eliminates_early_or_late(three: banditsrl.FiniteProblem) -> None:
    first = three.representations[0]
    candidates = [first, first.features[..., :4]]  # the second lacks columns that matter
    found = {name: select(three, candidates, name, offset=None) for name in BOTH}
    assert found == {"paper": [True, True], "authors": [True, False]}


def test_elimination_is_final_or_a_candidate_may_come_back(three: banditsrl.FiniteProblem) -> None:
    candidates = three.representations[:2]  # both fit
    found = {name: select(three, candidates, name, active=[False, True]) for name in BOTH}
    assert found == {"paper": [True, True], "authors": [False, True]}


def test_fits_in_ball_makes_a_bound_on_the_parameter_count(three: banditsrl.FiniteProblem) -> None:
    first = three.representations[0]
    candidates = [first, Table(first.features, B=0.01)]  # no parameter that short can fit
    found = {name: select(three, candidates, name) for name in BOTH}
    assert found == {"paper": [True, False], "authors": [True, True]}


@pytest.mark.parametrize("conventions", BOTH)
def test_starts_with_first_or_with_a_random_candidate(
    three: banditsrl.FiniteProblem, conventions: str
) -> None:
    policy = banditsrl.BanditSRL(
        three.representations, base=banditsrl.LinUCB(), conventions=conventions
    )
    first = {int(policy.init(key).representation) for key in jax.random.split(KEY, 20)}
    assert first == ({0, 1, 2} if conventions == "paper" else {0})


# Levels and widths.


@pytest.mark.parametrize("conventions", BOTH)
def test_shares_delta_over_candidates_and_phases_or_not_at_all(
    three: banditsrl.FiniteProblem, conventions: str
) -> None:
    policy = banditsrl.BanditSRL(
        three.representations, base=banditsrl.LinUCB(), delta=0.06, sigma=SIGMA,
        conventions=conventions,
    )  # fmt: skip
    with jax.enable_x64(True):
        state = policy.init(KEY)._replace(phase=jnp.asarray(2))
        levels = [float(level) for level in policy.levels(state)]
        m = int(state.representation)
        claim, shared = three.claims[m], conventions == "paper"
    assert levels == pytest.approx([0.06 / 3, 0.06 / (2 * 9) / 3] if shared else [0.06, 0.06])
    found = float(policy.act(state, 0, None, KEY).threshold)
    beta = SIGMA * math.sqrt(2 * math.log(1 / levels[0])) + np.linalg.norm(claim.theta)
    assert found == pytest.approx(beta if shared else math.sqrt(2) * beta)  # no rounds yet


@in_float64
def test_scales_whole_width_or_its_noise_term_only() -> None:
    numbers: dict[str, Any] = {"delta": LEVEL, "sigma": SIGMA, "lam": LAM, "B": B}
    noise = SIGMA * math.sqrt(4.2 + 2 * math.log(1 / LEVEL))
    bias = math.sqrt(LAM) * B
    for scale in (0.0, 0.5, 3.0):
        of_paper = float(PAPER.ucb_width(4.2, scale=scale, **numbers))
        of_authors = float(AUTHORS.ucb_width(4.2, scale=scale, **numbers))
        assert of_paper == pytest.approx(scale * noise + bias)
        assert of_authors == pytest.approx(scale * (noise + bias))
