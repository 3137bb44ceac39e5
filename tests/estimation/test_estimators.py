"""Are the estimators what their formulas say? Each is derived again, round by round in a loop."""

import math

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument, UnknownName
from banditsrl.estimation.always_intervals import KnownBounds
from banditsrl.estimation.estimator_formulas import ESTIMATORS, SWITCH_QUANTILES, choose_switch
from banditsrl.estimation.estimators import estimate, estimator_terms
from banditsrl.estimation.target_terms import TargetTerms, make_terms
from banditsrl.logs.log import LogBatch

N, A = 60, 4


def random_rounds(seed: int) -> tuple[LogBatch, np.ndarray, np.ndarray]:
    """Return rounds, the probabilities of a target, and predictions."""
    rng = np.random.default_rng(seed)
    logged, target = rng.dirichlet(np.ones(A), N), rng.dirichlet(np.full(A, 0.3), N)
    actions = np.array([rng.choice(A, p=p) for p in logged], dtype=np.int32)
    propensities = logged[np.arange(N), actions]
    rewards = rng.normal(1.0, 1.0, N)
    batch = LogBatch(
        np.arange(1, N + 1), rng.normal(size=(N, 2)), actions, rewards, propensities, None, None,
        None, None,
    )  # fmt: skip
    return batch, target, rng.normal(1.0, 0.5, (N, A))


def slow_estimate(name: str, batch: LogBatch, target: np.ndarray, q: np.ndarray, c: float) -> float:
    """Add up the published formula of an estimator, one round after the other."""
    total, corrections, weights = 0.0, 0.0, 0.0
    for i in range(N):
        a, r = int(batch.actions[i]), float(batch.rewards[i])
        w = float(target[i, a]) / float(batch.propensities[i])
        model = sum(float(target[i, b]) * float(q[i, b]) for b in range(A))
        weights += w
        corrections += w * (r - float(q[i, a]))
        total += {
            "ips": w * r,
            "clipped-ips": min(w, c) * r,
            "snips": w * r,
            "dm": model,
            "sndr": model,
            "switch-dr": model + (w * (r - float(q[i, a])) if w <= c else 0.0),
        }[name]
    if name == "sndr":
        return total / N + corrections / weights
    return total / (weights if name == "snips" else N)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "dr"])
@pytest.mark.parametrize("limit", [None, 1.5])
def test_an_estimate_is_the_sum_of_its_formula(name: str, seed: int, limit: float | None) -> None:
    batch, target, q = random_rounds(seed)
    terms = make_terms(batch, target, predictions=q)
    found = estimate(name, terms, limit=limit)
    chosen = math.sqrt(N) if name == "clipped-ips" else choose_switch(terms)
    expected = slow_estimate(name, batch, target, q, chosen if limit is None else limit)
    assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.n == N


def test_a_limit_changes_the_estimators_that_have_one_and_no_others() -> None:
    batch, target, q = random_rounds(0)
    terms = make_terms(batch, target, predictions=q)
    changed = {
        name for name in ESTIMATORS
        if estimate(name, terms).value != estimate(name, terms, limit=1.5).value
    }  # fmt: skip
    assert changed == {"clipped-ips", "switch-dr"}


def test_the_limit_of_a_switch_has_the_least_estimated_error() -> None:
    """All limits between two neighbouring weights are tried, with the error added up in a loop."""
    batch, target, q = random_rounds(4)
    terms = make_terms(batch, target, predictions=q)

    def error(c: float) -> float:
        kept = [w * e if w <= c else 0.0 for w, e in zip(terms.weights, residuals, strict=True)]
        dropped = [w * e if w > c else 0.0 for w, e in zip(terms.weights, residuals, strict=True)]
        bias = sum(dropped) / N
        return np.var(terms.predicted_target + kept) / N + max(bias**2 - np.var(dropped) / N, 0.0)

    residuals = terms.rewards - terms.predicted_played
    tried = [0.0, *np.quantile(terms.weights[terms.weights > 0], SWITCH_QUANTILES), math.inf]
    assert error(choose_switch(terms)) == pytest.approx(min(error(c) for c in tried))


def test_a_model_without_error_is_trusted_and_a_wrong_one_is_not() -> None:
    rng = np.random.default_rng(8)
    w = rng.choice([0.0, 1.0, 20.0], p=[0.45, 0.5, 0.05], size=4000)
    r = rng.normal(size=4000)
    terms = TargetTerms(w, r, 0.0 * r, 0.0 * r)
    assert choose_switch(terms) < 20.0
    assert choose_switch(terms._replace(rewards=r + 3.0 * (w == 20.0))) == math.inf


def test_doubly_robust_does_not_change_with_a_constant_in_its_model() -> None:
    batch, target, q = random_rounds(5)
    values = [
        estimate("dr", make_terms(batch, target, predictions=q + shift)) for shift in (0.0, 7.0)
    ]
    assert values[0].value == pytest.approx(values[1].value, rel=1e-9)
    assert values[0].low == pytest.approx(values[1].low, rel=1e-9)


def test_doubly_robust_with_a_guaranteed_interval_has_the_plain_correction() -> None:
    batch, target, q = random_rounds(5)
    terms = make_terms(batch, target, predictions=q)
    known = {"reward_range": (-9.0, 9.0), "least_propensity": 1e-9}
    found = estimate("dr", terms, interval="bernstein", **known)
    expected = slow_estimate("switch-dr", batch, target, q, math.inf)
    assert found.value == pytest.approx(expected, rel=1e-9)


def test_self_normalised_doubly_robust_without_a_model_is_snips() -> None:
    batch, target, _ = random_rounds(1)
    terms = make_terms(batch, target)
    assert estimate("sndr", terms).value == estimate("snips", terms).value


def test_doubly_robust_without_any_weight_is_its_model() -> None:
    batch, target, q = random_rounds(1)
    terms = make_terms(batch, target, predictions=q)._replace(weights=np.zeros(N))
    assert estimate("dr", terms).value == estimate("dm", terms).value


def test_the_standard_error_of_a_ratio_is_close_to_that_of_many_logs() -> None:
    """The linearised standard error is compared with the spread of the ratio over new logs."""
    rng = np.random.default_rng(3)
    ratios, errors = [], []
    for _ in range(400):
        w = rng.choice([0.0, 0.5, 4.0], p=[0.5, 0.3, 0.2], size=500)
        r = 3.0 + 0.2 * w + rng.normal(size=500)
        found = estimate("snips", TargetTerms(w, r, 0.0 * r, 0.0 * r))
        ratios.append(found.value)
        errors.append(found.stderr)
    assert np.mean(errors) == pytest.approx(np.std(ratios), rel=0.1)


def test_the_effective_size_is_that_of_kish() -> None:
    w = np.array([1.0, 1.0, 2.0, 0.0])
    terms = TargetTerms(w, np.arange(4.0), np.zeros(4), np.zeros(4))
    assert estimate("ips", terms).effective_n == pytest.approx(16.0 / 6.0)


def test_an_interval_ends_within_the_range_of_rewards() -> None:
    w = np.array([0.0, 9.0, 0.0, 1.0, 2.0])
    terms = TargetTerms(w, np.array([0.0, 1.0, 0.0, 1.0, 0.0]), np.zeros(5), np.zeros(5))
    found = estimate("ips", terms, reward_range=(0.0, 1.0))
    assert (found.low, found.high) == (0.0, 1.0)
    assert 0.0 <= found.always_low <= found.always_high <= 1.0


def test_without_a_range_the_anytime_interval_is_infinite() -> None:
    batch, target, q = random_rounds(2)
    found = estimate("dr", make_terms(batch, target, predictions=q))
    assert (found.always_low, found.always_high) == (-math.inf, math.inf)


def test_bernstein_bounds_hold_for_every_term_that_can_occur() -> None:
    rng = np.random.default_rng(5)
    ends = {"reward_range": (-1.0, 2.0), "least_propensity": 0.1}
    known, limit = KnownBounds(-1.0, 2.0, 0.1), 4.0
    for name in ("ips", "clipped-ips", "dm", "dr", "switch-dr"):
        w = rng.choice([0.0, 3.0, 4.0, 10.0], 2000)
        r, q, q_pi = (rng.choice([-1.0, 2.0], 2000) for _ in range(3))
        terms = TargetTerms(w, r, q, q_pi)
        values = estimator_terms(name, terms, limit=limit, interval="bernstein")
        low, high = ESTIMATORS[name].bounds(known, limit)
        assert (values.min(), values.max()) == pytest.approx((low, high))
        found = estimate(name, terms, limit=limit, interval="bernstein", **ends)
        assert found.low <= np.clip(found.value, -1.0, 2.0) <= found.high


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"interval": "bernstein"}, "reward_range and least_propensity must be given"),
        ({"interval": "normal"}, "interval must be one of student, bernstein, got 'normal'"),
        ({"level": 1.0}, "level must lie strictly between 0 and 1, got 1.0"),
        ({"limit": 0.0}, "limit must be greater than 0, got 0.0"),
        ({"reward_range": (0.0, 0.5)}, r"must hold every reward, got \(0, 0.5\) and a reward of"),
        ({"reward_range": (5.0, -5.0)}, "reward range must be LOW HIGH with LOW < HIGH, got 5 -5"),
        (
            {"reward_range": (-9.0, 9.0), "least_propensity": 1.0},
            "least_propensity must be at most one over every weight, got 1 and a weight of",
        ),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, object], message: str) -> None:
    batch, target, q = random_rounds(0)
    with pytest.raises(InvalidArgument, match=message):
        estimate("dr", make_terms(batch, target, predictions=q), **settings)  # type: ignore[arg-type]


def test_an_unknown_estimator_suggests_a_known_one() -> None:
    batch, target, _ = random_rounds(0)
    with pytest.raises(UnknownName, match="no estimator named 'snip'; did you mean 'snips'"):
        estimate("snip", make_terms(batch, target))


def test_a_ratio_has_no_bernstein_interval() -> None:
    batch, target, _ = random_rounds(0)
    with pytest.raises(InvalidArgument, match="interval must be student for snips"):
        estimate(
            "snips", make_terms(batch, target), interval="bernstein",
            reward_range=(-9.0, 9.0), least_propensity=1e-9,
        )  # fmt: skip


def test_a_missing_propensity_is_refused_with_its_row() -> None:
    batch, target, _ = random_rounds(0)
    propensities = batch.propensities.copy()
    propensities[6] = np.nan
    with pytest.raises(InvalidArgument, match="at most 1, got nan in row 7"):
        make_terms(batch._replace(propensities=propensities), target)
