"""Does the examination of a log count what is there, and say what follows from it?"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.evaluation.log_quality import examine_log
from banditsrl.evaluation.segments import choose_segments, divide_column, head_of
from banditsrl.evaluation.target_overlap import find_unsupported
from banditsrl.logs.log import Log, LogBatch

Floats = NDArray[np.float64]


class FixedTarget:
    """Plays one law in every round."""

    def __init__(self, law: list[float], name: str = "candidate") -> None:
        self.name, self._law = name, np.asarray(law)

    def pmf(self, batch: LogBatch) -> Floats:
        return np.tile(self._law, (len(batch.actions), 1))


def make_log(n: int = 2000, seed: int = 0, **changes: Any) -> Log:
    """Three actions; red is never tried on old people, whose age is above 0.5."""
    rng = np.random.default_rng(seed)
    contexts = np.stack([rng.random(n), rng.integers(2, size=n).astype(float)], axis=1)
    old = contexts[:, 0] > 0.5
    laws = np.where(old[:, None], [0.0, 0.5, 0.5], [0.4, 0.3, 0.3])
    actions = (laws.cumsum(1) < rng.random((n, 1))).sum(1)
    arrays: dict[str, Any] = {
        "contexts": contexts,
        "actions": actions,
        "rewards": rng.random(n),
        "pmf": laws,
        "action_names": ["red", "green", "blue"],
        "columns": ["age", "member"],
        **changes,
    }
    return Log.from_arrays(**arrays)


def deterministic(n: int = 400, **changes: Any) -> Log:
    """Green for the young, blue for the old, always."""
    old = np.linspace(0, 1, n) > 0.5
    laws = np.where(old[:, None], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    contexts = np.stack([np.linspace(0, 1, n), np.zeros(n)], axis=1)
    where = {"contexts": contexts, "actions": old + 1, "rewards": np.zeros(n), "pmf": laws}
    return make_log(n, **{**where, **changes})


def test_plays_are_counted_by_action_and_segment() -> None:
    log = make_log()
    found, rounds = examine_log(log), log.collect()
    assert found.counts == tuple((rounds.actions == k).sum() for k in range(3))
    assert [segment.column for segment in found.segments].count("age") == 4
    for segment, counts in zip(found.segments, found.segment_counts, strict=True):
        values = rounds.contexts[:, segment.index]
        inside = [segment.low <= value < segment.high for value in values]
        assert counts == tuple((rounds.actions[inside] == k).sum() for k in range(3))
    assert found.smallest == (0.4, 0.3, 0.3)


def test_the_column_that_separates_most_comes_first() -> None:
    log = make_log()
    batch = next(log.batches())
    segments = choose_segments(batch, log.schema)
    assert [segment.column for segment in segments] == ["age"] * 4 + ["member"] * 2
    assert head_of(batch) == 500


def test_a_column_is_divided_by_values_or_by_quarters() -> None:
    labels = [s.label for s in divide_column(np.array([0.0, 2.0, 2.0]), "city", 0)]
    assert labels == ["city = 0", "city = 2"]
    quarters = divide_column(np.arange(100.0), "age", 0)
    assert quarters[0].label == "age < 24.8"
    sizes = [s.holds(np.arange(100.0)[:, None]).sum() for s in quarters]
    assert sizes == [25, 25, 25, 25]
    assert divide_column(np.ones(5), "constant", 0) == ()


def test_what_a_target_wants_and_was_never_tried_is_found() -> None:
    log = make_log()
    found = examine_log(log, FixedTarget([0.5, 0.25, 0.25]))
    rounds = log.collect()
    old = rounds.contexts[:, 0] > 0.5
    overlap = found.overlap
    assert overlap is not None
    assert overlap.unsupported == pytest.approx(0.5 * old.mean())
    assert "red where" in overlap.never_tried_where
    assert overlap.never_tried > 0.2
    assert not overlap.supported
    assert found.refusal is not None
    assert found.refusal.startswith("candidate plays what could not be played in 2")
    assert any(sentence.startswith("Never played: red where") for sentence in found.problems)


def test_weights_are_summed_as_by_hand() -> None:
    log = make_log()
    found = examine_log(log, FixedTarget([0.0, 0.9, 0.1])).overlap
    assert found is not None
    rounds = log.collect()
    law = np.array([0.0, 0.9, 0.1])
    weights = law[rounds.actions] / rounds.propensities
    assert found.effective_n == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert found.largest_weight == pytest.approx(weights.max()) == pytest.approx(3.0)
    assert found.mean_weight == pytest.approx(weights.mean())
    assert found.heavy_share == pytest.approx(np.sort(weights)[-20:].sum() / weights.sum())
    assert found.wanted == pytest.approx((0.0, 0.9, 0.1))
    assert found.unsupported == 0.0


def test_a_log_without_propensities_offers_only_the_direct_method() -> None:
    found = examine_log(make_log(pmf=None), FixedTarget([0.0, 0.5, 0.5]))
    assert found.n_missing == found.n == 2000
    assert found.fit.tested == "nothing"
    assert found.refusal is not None
    assert "no propensities, so only the direct method" in found.refusal


def test_some_missing_propensities_are_named_by_row() -> None:
    propensities = np.full(2000, 0.4)
    propensities[[6, 9]] = np.nan
    found = examine_log(make_log(pmf=None, propensities=propensities))
    assert (found.n_missing, found.first_missing) == (2, 7)
    assert "2 of 2,000 rounds have no propensity (the first is row 7)" in str(found.refusal)


def test_a_deterministic_log_is_refused() -> None:
    found = examine_log(deterministic())
    assert found.refusal == (
        "Every round was played with probability one, so the log shows nothing about any other "
        "action."
    )
    assert not found.fit.rejected


def test_a_deterministic_log_judges_a_target_that_agrees_with_it() -> None:
    log = deterministic(
        contexts=np.zeros((400, 2)),
        actions=np.ones(400, dtype=int),
        pmf=np.tile([0.0, 1.0, 0.0], (400, 1)),
    )
    assert examine_log(log, FixedTarget([0.0, 1.0, 0.0])).refusal is None
    refusal = examine_log(log, FixedTarget([0.0, 0.9, 0.1])).refusal
    assert refusal is not None
    assert "in 10.0% of the rounds" in refusal


def test_certificates_without_audits_are_recognised_and_explained() -> None:
    n = 400
    certified = np.arange(n) < 300
    found = examine_log(
        deterministic(n, certified=certified, audited=np.zeros(n, dtype=bool)),
        FixedTarget([0.2, 0.4, 0.4]),
    )
    assert (found.n_certified, found.n_unaudited, found.n_audited) == (300, 300, 0)
    assert "75.0% of the rounds were decided by a certificate without audits" in str(found.refusal)
    assert "`audit`" in str(found.refusal)


def test_propensities_that_do_not_fit_are_described() -> None:
    rng = np.random.default_rng(1)
    stated = np.full((2000, 3), 1 / 3)
    found = examine_log(make_log(pmf=stated, actions=rng.choice(3, 2000, p=[0.5, 0.3, 0.2])))
    assert found.fit.rejected
    (sentence,) = [s for s in found.problems if s.startswith("The propensities do not fit")]
    assert "should have been played" in sentence
    assert "with probability at most" in sentence


def test_right_propensities_are_not_blamed() -> None:
    found = examine_log(make_log(seed=5))
    assert not found.fit.rejected
    assert not any("do not fit" in sentence for sentence in found.problems)


def test_a_dictionary_of_the_quality_is_plain_json() -> None:
    import json

    found = examine_log(make_log(), FixedTarget([0.0, 0.5, 0.5]))
    document = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert document["counts"]["red"] == found.counts[0]
    assert document["overlap"]["supported"] is True


def test_without_a_law_only_rounds_of_probability_one_are_known_to_lack_support() -> None:
    batch = make_log(4, propensities=[1.0, 0.5, 1.0, 0.2], pmf=None, actions=[0, 0, 1, 2]).collect()
    law = np.tile([0.7, 0.2, 0.1], (4, 1))
    assert find_unsupported(batch, law) == pytest.approx([0.3, 0.0, 0.8, 0.0])


def test_without_laws_an_action_that_was_never_played_cannot_be_judged() -> None:
    rng = np.random.default_rng(2)
    two = {"actions": rng.integers(2, size=2000), "propensities": np.full(2000, 0.5), "pmf": None}
    found = examine_log(make_log(**two), FixedTarget([0.45, 0.45, 0.1]))
    assert found.overlap is not None
    assert found.overlap.unsupported == pytest.approx(0.1)
    assert "could not be played in 10.0% of the rounds" in str(found.refusal)
    known = np.tile([0.5, 0.5 - 1e-9, 1e-9], (2000, 1))
    tried = examine_log(make_log(**{**two, "pmf": known}), FixedTarget([0.45, 0.45, 0.1]))
    assert tried.overlap is not None
    assert tried.overlap.unsupported == 0.0
