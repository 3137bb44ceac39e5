"""Is the sample of a log a fair one, and are counts those of the whole log?"""

import numpy as np
import pytest

import banditsrl
from banditsrl.doctor.log_sample import sample_log
from banditsrl.errors import InvalidArgument
from banditsrl.logs import log as log_module

N = 5000


def make_log(**given: object) -> "banditsrl.Log":
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, N)
    contexts = np.column_stack([np.arange(N), actions])
    parts = {"contexts": contexts, "actions": actions, "rewards": 2.0 * np.arange(N), **given}
    return banditsrl.Log.from_arrays(n_actions=3, **parts)


def test_a_short_log_is_kept_whole() -> None:
    found = sample_log(make_log())
    assert found.rounds.contexts[:, 0].tolist() == list(range(N))
    assert found.n == N
    assert np.isnan(found.least)
    assert found.n_missing == N


def test_a_long_log_is_sampled_evenly_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sample_log(make_log(), most_rows=600)
    rows = found.rounds.contexts[:, 0]
    assert len(rows) == 600
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(found.rounds.rewards, 2.0 * rows)
    np.testing.assert_array_equal(found.rounds.actions, found.rounds.contexts[:, 1])
    # 600 of 5,000 drawn at random: the mean place has a standard error of 1443 / sqrt(600) = 59
    assert abs(rows.mean() - N / 2) < 4 * 59
    assert (found.n, found.n_played.sum(), found.n_played[2]) == (N, N, 0)


def test_the_sample_does_not_depend_on_batches() -> None:
    one = sample_log(make_log(), most_rows=100)
    two = sample_log(make_log(), most_rows=100)
    np.testing.assert_array_equal(one.rounds.contexts, two.rounds.contexts)


def test_propensities_and_available_actions_are_read() -> None:
    propensities = np.full(N, 0.5)
    propensities[7], propensities[8] = 0.01, np.nan
    available = np.ones((N, 3), dtype=bool)
    available[:, 2] = np.arange(N) % 2 == 0
    found = sample_log(make_log(propensities=propensities, available=available), most_rows=50)
    assert (found.least, found.n_missing) == (0.01, 1)
    assert found.rounds.available is not None
    rows = found.rounds.contexts[:, 0]
    np.testing.assert_array_equal(found.rounds.available[:, 2], rows % 2 == 0)


def test_an_empty_log_is_refused() -> None:
    class Nothing:
        name = "nothing"
        schema = log_module.LogSchema(("a",), ("x",))

        def batches(self, skipped: log_module.SkippedRows) -> object:
            return iter(())

    with pytest.raises(InvalidArgument, match="nothing: must hold at least one round, got none"):
        sample_log(banditsrl.Log(Nothing()))  # type: ignore[arg-type]
