"""Are wrong propensities found, and right ones left alone, at the level that is stated?"""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.evaluation.calibration import (
    BIN_EDGES,
    LARGE_BETS,
    PLAYED_BETS,
    PlayedTally,
    PmfTally,
)
from banditsrl.logs.log import LogBatch

Floats = NDArray[np.float64]


def make_batch(
    laws: Floats,
    seed: int,
    *,
    stated: Floats | None = None,
    with_law: bool = True,
    available: NDArray[np.bool_] | None = None,
) -> LogBatch:
    """Play from `laws` and log `stated`."""
    rng = np.random.default_rng(seed)
    n = len(laws)
    actions = (laws.cumsum(1) < rng.random((n, 1))).sum(1).astype(np.int32)
    stated = laws if stated is None else stated
    return LogBatch(
        rows=np.arange(1, n + 1),
        contexts=np.zeros((n, 1)),
        actions=actions,
        rewards=np.zeros(n),
        propensities=stated[np.arange(n), actions],
        pmf=stated if with_law else None,
        available=available,
        certified=None,
        audited=None,
    )


def random_laws(n: int, n_actions: int, seed: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.ones(n_actions), size=n)


def no_groups(batch: LogBatch) -> NDArray[np.bool_]:
    return np.zeros((len(batch.actions), 0), dtype=bool)


def test_the_capital_of_logged_laws_equals_a_loop_over_rounds() -> None:
    laws = random_laws(40, 3, 1)
    batch = make_batch(laws, 2)
    members = np.arange(40)[:, None] % 2 == 0
    tally = PmfTally(3, ("even rows",))
    tally.add(batch, members)

    capitals = []
    for side in (1.0, -1.0):
        for group in range(len(BIN_EDGES) + 2):
            for k in range(3):
                surplus, variance = 0.0, 0.0
                for t in range(40):
                    p = laws[t, k]
                    own = sum(p >= edge for edge in BIN_EDGES)
                    inside = t % 2 == 0 if group == len(BIN_EDGES) + 1 else own == group
                    if inside:
                        surplus += (batch.actions[t] == k) - p
                        variance += p * (1 - p)
                bets = [
                    math.exp(b * side * surplus - variance * (math.exp(b) - 1 - b))
                    for b in LARGE_BETS
                ]
                capitals.append(sum(bets) / len(bets))
    assert tally.judge().log_evidence == pytest.approx(math.log(np.mean(capitals)), abs=1e-10)


def test_the_capital_of_played_propensities_equals_a_loop_over_rounds() -> None:
    laws = random_laws(60, 3, 3) * 0.7 + 0.1
    available = np.ones((60, 3), dtype=bool)
    batch = make_batch(laws, 4, with_law=False, available=available)
    tally = PlayedTally(3, ())
    tally.add(batch, no_groups(batch))

    capitals = []
    for side in (1.0, -1.0):
        for k in range(3):
            for bet in PLAYED_BETS:
                capital = 1.0
                for t in range(60):
                    z = 1.0 / batch.propensities[t] if batch.actions[t] == k else 0.0
                    capital *= max(1.0 + side * bet * (z - 1.0), 0.0)
                capitals.append(capital)
    assert tally.judge().log_evidence == pytest.approx(math.log(np.mean(capitals)), abs=1e-10)


@pytest.mark.parametrize("kind", [PmfTally, PlayedTally])
def test_right_propensities_are_rejected_at_most_at_the_level_at_any_time(
    kind: type[PmfTally] | type[PlayedTally],
) -> None:
    """With level 0.2 and 200 logs, 40 rejections are allowed on average; 60 has chance 1e-3."""
    n_rejected = 0
    for seed in range(200):
        laws = random_laws(300, 3, seed)
        tally = kind(3, ())
        ever = False
        for first in range(0, 300, 60):
            batch = make_batch(
                laws[first : first + 60], 1000 * seed + first, with_law=kind is PmfTally
            )
            tally.add(batch, no_groups(batch))
            ever |= tally.judge(0.2).rejected
        n_rejected += ever
    assert n_rejected <= 60


def test_a_law_that_is_not_played_is_rejected_and_the_action_is_named() -> None:
    truth = np.tile([0.5, 0.3, 0.2], (4000, 1))
    stated = np.tile([0.5, 0.2, 0.3], (4000, 1))
    batch = make_batch(truth, 5, stated=stated)
    tally = PmfTally(3, ())
    tally.add(batch, no_groups(batch))
    found = tally.judge()
    assert found.rejected
    assert found.p_value < 1e-6
    assert found.action in (1, 2)
    assert found.observed == (batch.actions == found.action).sum()


def test_constant_propensities_of_a_policy_that_depends_on_the_context_are_found_by_group() -> None:
    """The shares of all rounds fit; those of either half do not."""
    half = np.arange(4000) % 2 == 0
    truth = np.where(half[:, None], [0.8, 0.2], [0.2, 0.8])
    batch = make_batch(truth, 6, stated=np.full((4000, 2), 0.5), with_law=False)
    whole, grouped = PlayedTally(2, ()), PlayedTally(2, ("old", "young"))
    whole.add(batch, no_groups(batch))
    grouped.add(batch, np.stack([half, ~half], axis=1))
    assert not whole.judge().rejected
    found = grouped.judge()
    assert found.rejected
    assert found.group in ("old", "young")


def test_overstated_propensities_are_found_without_the_law() -> None:
    truth = np.full((2000, 3), 1.0 / 3.0)
    batch = make_batch(truth, 7, stated=np.full((2000, 3), 0.9), with_law=False)
    tally = PlayedTally(3, ())
    tally.add(batch, no_groups(batch))
    found = tally.judge()
    assert found.rejected
    assert found.observed < found.expected


def test_rounds_that_were_played_for_sure_contradict_nothing() -> None:
    truth = np.where((np.arange(2000) % 2 == 0)[:, None], [1.0, 0.0], [0.0, 1.0])
    batch = make_batch(truth, 8, with_law=False)
    tally = PlayedTally(2, ())
    tally.add(batch, no_groups(batch))
    assert not tally.judge().rejected
