"""Do reward models predict rounds they have not seen, and only those?"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.estimation.estimators import estimate
from banditsrl.estimation.reward_models import fit_reward_model
from banditsrl.estimation.ridge_features import (
    N_HINGES,
    PRODUCT_FACTORS,
    FeatureMap,
    choose_features,
)
from banditsrl.estimation.ridge_sums import (
    COMMON_PENALTIES,
    OWN_PENALTIES,
    RidgeSums,
    Sums,
    fit_grid,
    squared_errors,
)
from banditsrl.estimation.row_folds import fold_of
from banditsrl.estimation.target_terms import make_terms
from banditsrl.estimation.term_collection import collect_terms
from banditsrl.logs.log import LogBatch, LogSchema

A = 3

FEW = FeatureMap(n_columns=2, n_products=3, n_hinges=2)
"""Eight features of two columns."""


class ArrayLog(NamedTuple):
    """A log in memory."""

    parts: list[LogBatch]

    @property
    def schema(self) -> LogSchema:
        columns = tuple(f"x{i}" for i in range(self.parts[0].contexts.shape[1]))
        return LogSchema(tuple(f"a{i}" for i in range(A)), columns)

    def batches(self) -> Iterator[LogBatch]:
        yield from self.parts


class Uniform:
    def pmf(self, batch: LogBatch) -> np.ndarray:
        return np.full((len(batch.rows), A), 1.0 / A)


def make_batch(x: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> LogBatch:
    n = len(x)
    third = np.full(n, 1.0 / A)
    return LogBatch(
        np.arange(1, n + 1), x, actions.astype(np.int32), rewards, third, None, None, None, None
    )


def split(batch: LogBatch, size: int) -> ArrayLog:
    """Return the same rounds in batches of this size."""
    starts = range(0, len(batch.rows), size)
    pieces = [[None if p is None else p[s : s + size] for p in batch] for s in starts]
    return ArrayLog([LogBatch(*piece) for piece in pieces])


def linear_batch(seed: int, n: int) -> LogBatch:
    rng = np.random.default_rng(seed)
    x, actions = rng.normal(5.0, 2.0, (n, 2)), rng.integers(0, A, n)
    theta = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    return make_batch(x, actions, (x * theta[actions]).sum(1) + 0.1 * rng.normal(size=n))


def test_folds_are_hashes_of_row_numbers_of_about_equal_size() -> None:
    rows = np.arange(1, 10_001)
    folds = fold_of(rows, 5)
    assert np.bincount(folds, minlength=5) == pytest.approx(np.full(5, 2000), abs=150)
    assert (fold_of(rows[::-1], 5)[::-1] == folds).all()
    changes = (folds[1:] != folds[:-1]).mean()
    assert changes == pytest.approx(0.8, abs=0.03)


def sum_rows(z: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> Sums:
    """Return the sums of rows, action by action."""
    parts = [(z[actions == a], rewards[actions == a]) for a in range(A)]
    return Sums(
        np.stack([some.T @ some for some, _ in parts]),
        np.stack([some.T @ earned for some, earned in parts]),
        np.stack([earned @ earned for _, earned in parts]),
    )


@pytest.mark.parametrize("n_hinges", [0, 2])
def test_a_fit_minimises_its_two_penalised_sums(n_hinges: int) -> None:
    """The coefficients are compared with least squares on rows to which penalties are appended."""
    batch, features = linear_batch(0, 90), FEW._replace(n_hinges=n_hinges)
    z, slopes = features.apply((batch.contexts - 5.0) / 2.0), 5 + n_hinges
    y = np.concatenate([np.ones((90, 1)), (z[:, 1:] - z[:, 1:].mean(0)) / z[:, 1:].std(0)], axis=1)
    grid = fit_grid(sum_rows(z, batch.actions, batch.rewards), features.penalty_shapes)
    factors = (1.0,) if n_hinges else PRODUCT_FACTORS
    assert grid.shape[:3] == (len(factors), len(COMMON_PENALTIES), len(OWN_PENALTIES))
    for at in np.ndindex(grid.shape[:3]):
        factor, lam_0, lam = factors[at[0]], COMMON_PENALTIES[at[1]], OWN_PENALTIES[at[2]]
        shape = np.sqrt([1.0, 1.0, 1.0, *[factor] * 3, *[1.0] * n_hinges])
        rows = np.concatenate([y, np.diag(np.sqrt(lam_0) * shape)[1:]])
        common = np.linalg.lstsq(rows, np.append(batch.rewards, np.zeros(slopes)), rcond=None)[0]
        for a in range(A):
            own = batch.actions == a
            penalty = np.diag(np.append(1.0, np.sqrt(lam) * shape[1:]))
            rest = np.append(batch.rewards[own] - y[own] @ common, np.zeros(slopes + 1))
            more = np.linalg.lstsq(np.concatenate([y[own], penalty]), rest, rcond=None)[0]
            assert z @ grid[at][a] == pytest.approx(y @ (common + more), abs=1e-6)


def test_squared_errors_are_those_of_the_rows() -> None:
    batch = linear_batch(0, 50)
    z = FEW.apply(batch.contexts)
    theta = np.random.default_rng(0).normal(size=(2, A, 8))
    found = squared_errors(sum_rows(z, batch.actions, batch.rewards), theta)
    for one, error in zip(theta, found, strict=True):
        direct = ((batch.rewards - (z * one[batch.actions]).sum(1)) ** 2).sum()
        assert error == pytest.approx(direct)


def test_sums_of_folds_are_those_of_their_rows() -> None:
    batch = linear_batch(0, 70)
    folds = fold_of(batch.rows, 3)
    sums = RidgeSums(3, A, 2)
    z = sums.features.apply(batch.contexts)
    sums.add(folds, batch.actions.astype(np.int64), z, batch.rewards)
    own = folds == 1
    plain = z[:, : sums.features.n_plain]
    for found, rows in ((sums.only(1), z), (sums.plain().only(1), plain)):
        for part, expected in zip(
            found, sum_rows(rows[own], batch.actions[own], batch.rewards[own]), strict=True
        ):
            assert part == pytest.approx(expected)


def test_features_are_columns_their_products_and_hinges() -> None:
    columns = np.array([[2.0, 3.0], [-1.0, 0.5], [0.0, 0.0]])
    found = FEW.apply(columns)
    assert found[0, :6].tolist() == [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
    hinges = FeatureMap(2, 0, 50).apply(columns)[:, 3:]
    assert hinges.min() == 0.0
    line = FeatureMap(2, 0, 50).apply(np.outer(np.linspace(-9.0, 9.0, 2001), [0.6, 0.8]))[:, 3:]
    slopes = np.diff(line, axis=0) / 0.009  # along a direction of length one
    assert np.abs(slopes).max() <= 1.0 + 1e-9
    bends = np.abs(np.diff(slopes, axis=0)) > 1e-6
    assert set(bends.sum(axis=0)) <= {0, 1, 2}  # one bend, which may lie between two points


def test_products_and_hinges_are_left_out_if_they_are_too_many() -> None:
    assert choose_features(5, 4, 12) == FeatureMap(12, 78, N_HINGES)
    assert choose_features(5, 4, 40) == FeatureMap(40, 0, N_HINGES)
    assert choose_features(5, 200, 12) == FeatureMap(12, 78, 0)
    assert choose_features(5, 5000, 12) == FeatureMap(12, 0, 0)
    assert choose_features(5, 4, 0) == FeatureMap(0, 0, 0)


def test_later_batches_of_any_size_give_the_same_model() -> None:
    """The first batch decides the units of the columns, so it is the same."""
    batch = linear_batch(1, 300)
    first, *rest = split(batch, 20).parts
    after = split(LogBatch(*(None if p is None else p[20:] for p in batch)), 280).parts
    whole, parts = (fit_reward_model(ArrayLog([first, *more])) for more in (after, rest))
    assert whole.predict(batch) == pytest.approx(parts.predict(batch), abs=1e-8)
    early = whole.predict_from_earlier(batch), parts.predict_from_earlier(batch)
    assert early[0] == pytest.approx(early[1], abs=1e-8)
    assert whole.last_rows == parts.last_rows == (32, 64, 128, 256)


@pytest.mark.parametrize("kind", ["ridge", "portfolio"])
def test_the_prediction_of_a_row_does_not_depend_on_rewards_of_its_fold(kind: str) -> None:
    batch = linear_batch(2, 400)
    folds = fold_of(batch.rows, 5)
    model = fit_reward_model(split(batch, 400), kind=kind)
    spoiled = batch._replace(rewards=np.where(folds == 2, 100.0, batch.rewards))
    other = fit_reward_model(split(spoiled, 400), kind=kind)
    same = model.predict(batch) == other.predict(batch)
    assert same[folds == 2].all()
    assert not same[folds != 2].all()


def test_an_earlier_prediction_does_not_depend_on_later_rewards() -> None:
    batch = linear_batch(3, 400)
    model = fit_reward_model(split(batch, 400))
    later = np.where(batch.rows > 128, 100.0, batch.rewards)
    other = fit_reward_model(split(batch._replace(rewards=later), 400))
    first, second = (m.predict_from_earlier(batch) for m in (model, other))
    assert (first[:256] == second[:256]).all()
    assert (first[:32] == 0.0).all()
    assert not (first[256:] == second[256:]).all()


def test_linear_rewards_are_predicted_almost_exactly() -> None:
    batch = linear_batch(4, 2000)
    found = fit_reward_model(split(batch, 700)).predict(batch)
    theta = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    assert np.abs(found - batch.contexts @ theta.T).mean() < 0.03


def test_bends_are_predicted_better_than_by_columns_and_products() -> None:
    """A wave along one direction, which no quadratic function follows."""
    rng = np.random.default_rng(11)
    x, actions = rng.normal(size=(3000, 3)), rng.integers(0, A, 3000)
    mean = np.sin(2.0 * x @ np.array([0.6, 0.8, 0.0])) * (actions - 1.0)
    batch = make_batch(x, actions, mean + 0.3 * rng.normal(size=3000))
    found = fit_reward_model(split(batch, 3000)).predict(batch)[np.arange(3000), actions]
    z, folds = FeatureMap(3, 6, 0).apply(x), fold_of(batch.rows, 5)
    quadratic = np.zeros(3000)
    for fold, a in np.ndindex(5, A):
        seen, judged = (folds != fold) & (actions == a), (folds == fold) & (actions == a)
        theta = np.linalg.lstsq(z[seen], batch.rewards[seen], rcond=None)[0]
        quadratic[judged] = z[judged] @ theta
    assert ((found - mean) ** 2).mean() < 0.5 * ((quadratic - mean) ** 2).mean()


def test_the_portfolio_predicts_what_a_line_cannot() -> None:
    rng = np.random.default_rng(5)
    x, actions = rng.normal(size=(1000, 2)), rng.integers(0, A, 1000)
    mean = np.where((x[:, 0] > 0) == (x[:, 1] > 0), 1.0, -1.0) * (actions - 1.0)
    log = split(make_batch(x, actions, mean + 0.3 * rng.normal(size=1000)), 1000)
    at = np.arange(1000), actions
    errors = [
        ((fit_reward_model(log, kind=kind).predict(log.parts[0])[at] - mean) ** 2).mean()
        for kind in ("ridge", "portfolio")
    ]
    assert errors[1] < 0.5 * errors[0]


def predict_seen(x: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """Return ridge predictions for rows by a model that has seen these rows, (n, A)."""
    z = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    found = []
    for a in range(A):
        own = actions == a
        gram = z[own].T @ z[own] + np.eye(z.shape[1])
        found.append(z @ np.linalg.solve(gram, z[own].T @ rewards[own]))
    return np.stack(found, axis=1)


def test_a_model_that_saw_its_rows_explains_noise_and_a_cross_fitted_one_does_not() -> None:
    """The variance of the rewards is one, and nothing in the forty columns explains it."""
    rng = np.random.default_rng(6)
    x, actions = rng.normal(size=(300, 40)), rng.integers(0, A, 300)
    batch, at = make_batch(x, actions, rng.normal(size=300)), (np.arange(300), actions)
    seen = predict_seen(x, actions, batch.rewards)[at]
    crossed = fit_reward_model(split(batch, 300)).predict(batch)[at]
    assert ((batch.rewards - seen) ** 2).mean() < 0.75
    assert ((batch.rewards - crossed) ** 2).mean() > 0.85


def test_the_direct_method_is_unbiased_only_if_cross_fitted() -> None:
    """Rewards are noise. The target plays again what was followed by a positive reward.

    The predictions for such rounds have the mean 0 if they have not seen them. A model that has
    seen them remembers that they were positive.
    """
    rng = np.random.default_rng(7)
    values = []
    for _ in range(20):
        x, actions = rng.normal(size=(200, 20)), rng.integers(0, A, 200)
        batch = make_batch(x, actions, rng.normal(size=200))
        pmf = np.where((batch.rewards > 0)[:, None], np.eye(A)[actions], 1.0 / A)
        both = (
            predict_seen(x, actions, batch.rewards),
            fit_reward_model(split(batch, 200)).predict(batch),
        )
        values.append([estimate("dm", make_terms(batch, pmf, predictions=q)).value for q in both])
    inside, outside = np.mean(values, axis=0)
    assert inside > 0.07
    assert abs(outside) < 0.03


def test_an_action_that_was_never_played_is_predicted_by_what_all_share() -> None:
    batch = linear_batch(8, 200)
    batch = batch._replace(actions=np.zeros(200, dtype=np.int32))
    found = fit_reward_model(split(batch, 200)).predict(batch)
    assert np.isfinite(found).all()
    assert found[:, 1] == pytest.approx(found[:, 2])


def test_predictions_stay_within_the_rewards_that_were_seen() -> None:
    batch = linear_batch(9, 300)
    model = fit_reward_model(split(batch, 300))
    far = batch._replace(contexts=1e6 * batch.contexts)
    found = model.predict(far)
    assert found.min() >= batch.rewards.min()
    assert found.max() <= batch.rewards.max()


def test_terms_of_a_log_are_those_of_its_batches_joined() -> None:
    batch = linear_batch(10, 100)
    log = split(batch, 30)
    model = fit_reward_model(log)
    (joined,) = collect_terms(log, [Uniform()], model=model)
    pmf = np.full((100, A), 1.0 / A)
    alone = make_terms(
        batch, pmf, predictions=model.predict(batch), earlier=model.predict_from_earlier(batch)
    )
    for found, expected in zip(joined, alone, strict=True):
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "forest"}, "kind must be one of ridge, portfolio, got 'forest'"),
        ({"folds": 2}, "folds must be at least 3, got 2"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        fit_reward_model(split(linear_batch(0, 20), 20), **settings)  # type: ignore[arg-type]


def test_too_many_columns_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="got 5 folds, 1000 actions and 300 columns"):
        RidgeSums(5, 1000, 300)
    assert isinstance(RidgeSums(3, 1, 1).only(0), Sums)
