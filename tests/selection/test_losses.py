"""Are the losses the paper's? Each one computed slowly, round by round, from a history."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.errors import ContractViolation, InvalidArgument, InvalidType, UnknownName
from banditsrl.linear.regret import linucb_worst_case
from banditsrl.policies import EpsilonGreedy, LinTS, LinUCB, Uniform
from banditsrl.selection.evidence import Evidence
from banditsrl.selection.losses import (
    LOSS_TIE,
    LOSSES,
    BestInClass,
    Eig,
    Span,
    Weak,
    WeakNormalised,
    as_loss,
    select_candidate,
)

Floats = NDArray[np.float64]

DELTA, LEVEL, LAM, SIGMA, B = 0.05, 0.0125, 1.5, 0.3, 0.9


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


class Candidate(NamedTuple):
    """The features played, (t, d), and a bound on their norm."""

    played: Floats
    L: float

    @property
    def gram(self) -> Floats:
        return np.einsum("si,sj->ij", self.played, self.played)

    @property
    def dim(self) -> int:
        return len(self.played[0])

    @property
    def lambda_min(self) -> float:
        return float(np.linalg.eigvalsh(self.gram)[0])

    @property
    def forms(self) -> Floats:
        """phi_s^T G phi_s of every round."""
        return np.einsum("si,ij,sj->s", self.played, self.gram, self.played)


def history(t: int = 40) -> list[Candidate]:
    """Three candidates: well spread, nearly flat, and long."""
    rng = np.random.default_rng(0)
    plain, flat = rng.standard_normal((t, 2)), rng.standard_normal((t, 3))
    flat[:, 2] *= 1e-3
    tables = [plain, flat, 7.0 * rng.standard_normal((t, 4))]
    return [Candidate(table, 1.1 * float(np.linalg.norm(table, axis=1).max())) for table in tables]


def uncertainty(candidate: Candidate) -> float:
    """The largest squared V^-1 norm of a played feature, one solve at a time."""
    V = LAM * np.eye(candidate.dim) + candidate.played.T @ candidate.played
    return max(float(phi @ np.linalg.solve(V, phi)) for phi in candidate.played)


def evidence(candidates: list[Candidate], **changes: Any) -> Evidence:
    t = len(candidates[0].played)
    found = Evidence(
        t=jnp.asarray(float(t)),
        lambda_min=jnp.asarray([c.lambda_min for c in candidates]),
        weak=jnp.asarray([c.forms.min() for c in candidates]),
        weak_normalised=jnp.asarray(
            [(c.forms / (c.played**2).sum(axis=1)).min() for c in candidates]
        ),
        uncertainty=jnp.asarray([uncertainty(c) for c in candidates]),
        dim=jnp.asarray([float(c.dim) for c in candidates]),
        L=jnp.asarray([c.L for c in candidates]),
        B=jnp.full(len(candidates), B),
        active=jnp.ones(len(candidates), dtype=bool),
        sigma=jnp.full(len(candidates), SIGMA),
        lam=LAM,
        delta=DELTA,
        level=jnp.asarray(LEVEL),
        n_actions=5,
    )
    return found._replace(**changes)


def span_loss(optimal: Floats, rare: Floats, n: int) -> float:
    """The loss after n optimal rounds and one other."""
    played = np.concatenate([np.repeat(optimal, n // len(optimal), axis=0), rare[None]])
    V = LAM * np.eye(played.shape[1]) + played.T @ played
    largest = max(float(phi @ np.linalg.solve(V, phi)) for phi in (*optimal, rare))
    found = evidence(history()[:1])._replace(
        t=jnp.asarray(float(n)), uncertainty=jnp.asarray([largest])
    )
    return float(Span()(found)[0])


def test_span_is_bounded_exactly_when_the_played_features_lie_in_the_optimal_span() -> None:
    rng = np.random.default_rng(5)
    optimal = np.concatenate([rng.standard_normal((4, 2)), np.zeros((4, 1))], axis=1)
    inside, outside = np.array([1.0, -1.0, 0.0]), np.array([1.0, -1.0, 0.3])
    growth = [
        span_loss(optimal, rare, 100_000) / span_loss(optimal, rare, 1_000)
        for rare in (inside, outside)
    ]
    assert growth[0] == pytest.approx(1.0, abs=0.05)
    assert growth[1] > 50


def test_eig_is_minus_the_smallest_eigenvalue_over_the_squared_norm() -> None:
    candidates = history()
    expected = [-(np.linalg.svd(c.played, compute_uv=False)[-1] ** 2) / c.L**2 for c in candidates]
    losses = Eig()(evidence(candidates))
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    assert int(losses.argmin()) == 0  # well spread, whatever the length of the features


def test_weak_is_minus_the_smallest_form_over_the_squared_norm() -> None:
    candidates = history()
    expected = []
    for c in candidates:
        V = LAM * np.eye(c.dim)
        for phi in c.played:
            V += np.outer(phi, phi)
        forms = [phi @ (V - LAM * np.eye(c.dim)) @ phi / c.L**2 for phi in c.played]
        expected.append(-min(forms))
    np.testing.assert_allclose(Weak()(evidence(candidates)), expected, rtol=1e-9)


def test_weak_normalised_is_minus_the_smallest_form_of_the_unit_features() -> None:
    candidates = history()
    expected = []
    for c in candidates:
        units = [phi / np.linalg.norm(phi) for phi in c.played]
        expected.append(-min(float(sum((u @ phi) ** 2 for phi in c.played)) for u in units))
    np.testing.assert_allclose(WeakNormalised()(evidence(candidates)), expected, rtol=1e-9)


def test_eig_does_not_change_if_the_features_and_their_bound_are_scaled() -> None:
    candidates = history()
    scaled = [Candidate(5.0 * c.played, 5.0 * c.L) for c in candidates]
    np.testing.assert_allclose(Eig()(evidence(candidates)), Eig()(evidence(scaled)), rtol=1e-9)


def test_only_some_losses_need_costly_evidence() -> None:
    assert [n for n in LOSSES if LOSSES[n]().needs_forms] == ["weak", "weak-normalised"]
    assert [n for n in LOSSES if LOSSES[n]().needs_uncertainty] == ["span"]


def regret(t: Any, *, n_actions: Any, dim: Any, delta: Any, **facts: Any) -> Any:
    """A bound whose every argument can be told from its value."""
    known = facts["sigma"] + facts["lam"] + facts["L"] + facts["B"]
    return dim * jnp.sqrt(t) * jnp.log(1.0 / delta) * 1e-3 + 1e-3 * n_actions + 1e-4 * known


def slow_regret(t: int, candidate: Candidate) -> float:
    known = SIGMA + LAM + candidate.L + B
    bound = candidate.dim * math.sqrt(t) * math.log(1 / LEVEL) * 1e-3
    return bound + 1e-3 * 5 + 1e-4 * known


def slow_bic(
    candidates: list[Candidate], *, gap: float, tau_elim: float, active: list[bool]
) -> list[float]:
    """R-bar - [lambda_min / L^2 - g - 8 sqrt(t log(4 d |Phi| t / delta))]_+, one by one."""
    t = len(candidates[0].played)
    bounds = [slow_regret(t, c) for c in candidates]
    worst = max(bound for bound, kept in zip(bounds, active, strict=True) if kept)
    g = 2 * tau_elim / gap + worst * math.log2(t) / gap
    losses = []
    for c, bound in zip(candidates, bounds, strict=True):
        deviation = 8 * math.sqrt(t * math.log(4 * c.dim * len(candidates) * t / DELTA))
        losses.append(bound - max(c.lambda_min / c.L**2 - g - deviation, 0.0))
    return losses


def long_history() -> list[Candidate]:
    """Enough rounds for the spectral bonus of some candidates to exceed its deviation."""
    t = 20_000
    angles = np.linspace(0.0, 2 * math.pi, t, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    line = np.column_stack([np.ones(t), np.full(t, 0.5)])
    return [Candidate(circle, 1.0), Candidate(line, 1.2), Candidate(circle * [1.0, 0.95], 1.0)]


@pytest.mark.parametrize("active", [[True, True, True], [True, False, True]])
@pytest.mark.parametrize("tau_elim", [0.0, 16.0])
def test_bic_with_a_known_gap_is_the_bound_less_the_bonus(
    tau_elim: float, active: list[bool]
) -> None:
    candidates = long_history()
    loss = BestInClass(regret=regret, gap=0.5, tau_elim=tau_elim)
    found = loss(evidence(candidates, active=jnp.asarray(active)))
    expected = slow_bic(candidates, gap=0.5, tau_elim=tau_elim, active=active)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    bonus = slow_regret(20_000, candidates[0]) - float(found[0])
    assert bonus > 1000.0  # the HLS candidate earns it
    assert float(found[1]) == pytest.approx(slow_regret(20_000, candidates[1]))  # a line does not


@pytest.mark.parametrize("exponent", [0.25, 0.1])
def test_bic_without_a_gap_guesses_it_by_the_schedule(exponent: float) -> None:
    candidates = long_history()
    found = BestInClass(regret=regret, exponent=exponent, tau_elim=4.0)(evidence(candidates))
    expected = slow_bic(candidates, gap=20_000**-exponent, tau_elim=4.0, active=[True] * 3)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert int(found.argmin()) == 0


def test_the_schedule_of_bic_is_the_fourth_root_unless_given() -> None:
    candidates = long_history()
    default = BestInClass(regret=regret)(evidence(candidates))
    expected = slow_bic(candidates, gap=20_000**-0.25, tau_elim=0.0, active=[True] * 3)
    np.testing.assert_allclose(default, expected, rtol=1e-9)


def test_before_the_bonus_bic_prefers_the_smallest_regret_bound() -> None:
    candidates = history()
    losses = BestInClass(regret=regret, gap=0.5)(evidence(candidates))
    bounds = [slow_regret(40, c) for c in candidates]
    np.testing.assert_allclose(losses, bounds, rtol=1e-12)


def test_bic_without_a_bound_says_what_is_missing() -> None:
    message = (
        "regret must be given to the loss bic when the base has no worst_case_regret, got None"
    )
    with pytest.raises(InvalidArgument, match=message):
        BestInClass()(evidence(history()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gap": 0.0}, r"gap must be greater than 0, got 0\.0"),
        ({"exponent": -1.0}, r"exponent must be greater than 0, got -1\.0"),
        ({"tau_elim": -1.0}, r"tau_elim must be at least 0, got -1\.0"),
    ],
)
def test_bic_refuses_a_bad_setting_by_name(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        BestInClass(**settings)  # type: ignore[arg-type]


def test_a_loss_is_found_by_its_name() -> None:
    kinds = {
        "eig": Eig, "weak": Weak, "weak-normalised": WeakNormalised, "span": Span,
        "bic": BestInClass,
    }  # fmt: skip
    for name, kind in kinds.items():
        assert isinstance(as_loss(name, None), kind)


def test_an_unknown_loss_is_refused_with_the_nearest_name() -> None:
    message = "no representation loss named 'weak-normalized'; did you mean 'weak-normalised'"
    with pytest.raises(UnknownName, match=message):
        as_loss("weak-normalized", LinUCB().worst_case_regret)


def test_an_object_that_is_a_loss_is_taken_as_it_is() -> None:
    loss = Eig()
    assert as_loss(loss, LinUCB().worst_case_regret) is loss
    own = BestInClass(regret=regret, gap=0.5)
    assert as_loss(own, LinUCB().worst_case_regret) is own


def test_a_plain_function_is_a_loss_and_sees_all_evidence() -> None:
    candidates = history()
    loss = as_loss(lambda found: found.t * found.uncertainty - found.weak, None)
    found = evidence(candidates)
    expected = [len(c.played) * uncertainty(c) - c.forms.min() for c in candidates]
    assert np.asarray(loss(found)) == pytest.approx(expected)
    assert loss.needs_forms
    assert loss.needs_uncertainty


def test_a_function_that_returns_another_shape_is_refused() -> None:
    with pytest.raises(ContractViolation, match=r"one number per candidate, shape \(3,\), got"):
        as_loss(lambda found: found.lambda_min.sum(), None)(evidence(history()))


def test_anything_but_a_name_or_a_loss_is_refused() -> None:
    with pytest.raises(InvalidType, match=r"loss must be a name, a Loss or a function, got 3\."):
        as_loss(3, None)  # type: ignore[arg-type]


def test_bic_takes_the_regret_bound_of_its_base_and_keeps_its_settings() -> None:
    candidates = long_history()
    loss = as_loss(BestInClass(gap=0.5, exponent=0.1, tau_elim=3.0), LinUCB().worst_case_regret)
    assert isinstance(loss, BestInClass)
    assert (loss.gap, loss.exponent, loss.tau_elim) == (0.5, 0.1, 3.0)
    expected = [
        float(linucb_worst_case(20_000.0, dim=c.dim, delta=LEVEL, sigma=SIGMA, lam=LAM, L=c.L, B=B))
        for c in candidates
    ]
    np.testing.assert_allclose(loss.bound(evidence(candidates)), expected, rtol=1e-12)


def test_bic_works_with_the_bound_of_epsilon_greedy_and_not_with_a_base_without_a_bound() -> None:
    found = evidence(history())
    greedy, uniform = (
        as_loss("bic", EpsilonGreedy().worst_case_regret),
        as_loss("bic", Uniform().worst_case_regret),
    )
    assert np.isfinite(greedy(found)).all()
    with pytest.raises(InvalidArgument, match="base has no worst_case_regret"):
        uniform(found)
    with pytest.raises(InvalidArgument, match="base has no worst_case_regret"):
        as_loss("bic", LinTS().worst_case_regret)(found)


# The candidate that is selected.


def chosen(losses: Any, found: Evidence, loss: Any = None, n: int = 200) -> set[int]:
    """The candidates selected over many keys."""
    keys = jax.random.split(jax.random.key(0), n)
    pick = jax.vmap(lambda key: select_candidate(loss or Eig(), jnp.asarray(losses), found, key))
    return set(np.asarray(pick(keys)).tolist())


def test_the_active_candidate_of_smallest_loss_is_selected() -> None:
    found = evidence(history())
    assert chosen([3.0, 1.0, 2.0], found) == {1}
    left = found._replace(active=jnp.asarray([True, False, True]))
    assert chosen([3.0, 1.0, 2.0], left) == {2}
    alone = found._replace(active=jnp.asarray([True, False, False]))
    assert chosen([3.0, -jnp.inf, jnp.nan], alone) == {0}


def test_a_loss_that_is_not_a_number_counts_as_the_largest() -> None:
    found = evidence(history())
    assert chosen([jnp.nan, 1.0, 2.0], found) == {1}
    left = found._replace(active=jnp.asarray([False, True, True]))
    assert chosen([jnp.nan] * 3, left) == {1, 2}


def test_losses_that_differ_by_rounding_are_ties_and_the_key_breaks_them() -> None:
    found = evidence(history())  # t = 40
    noise = 1e-13 * np.arange(3.0)
    assert chosen(noise, found) == {0, 1, 2}
    inside, outside = 0.99 * LOSS_TIE * 40, 1.01 * LOSS_TIE * 40
    assert chosen([0.0, inside, outside], found) == {0, 1}


def test_ties_of_a_loss_with_a_scale_are_relative_to_the_largest_active_scale() -> None:
    found = evidence(history(), L=jnp.asarray([2.0, 3.0, 100.0]))
    tie = LOSS_TIE * 40 * 3.0**2
    losses = [0.0, 0.99 * tie, 1.01 * tie]
    assert chosen(losses, found._replace(active=jnp.asarray([True, True, False])), Weak()) == {0, 1}
    assert chosen(losses, found, Weak()) == {0, 1, 2}  # the third has a scale of 100^2


@pytest.mark.parametrize("name", ["eig", "weak", "weak-normalised", "span", "bic"])
def test_a_loss_compiles_and_maps(name: str) -> None:
    loss, found = as_loss(name, LinUCB().worst_case_regret), evidence(history())
    fixed = {"lam": LAM, "delta": DELTA, "n_actions": 5}

    def of_arrays(arrays: dict[str, Any]) -> Any:
        return loss(Evidence(**arrays, **fixed))

    arrays = {k: v for k, v in found._asdict().items() if k not in fixed}
    twice = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), arrays)
    mapped = jax.jit(jax.vmap(of_arrays))(twice)
    for row in mapped:
        np.testing.assert_allclose(row, loss(found), rtol=1e-12)
