"""Does Open Bandit Pipeline say the same of the same rounds? Needs the package `obp`."""

import numpy as np
import pytest

from banditsrl.estimation.estimators import estimate
from banditsrl.estimation.target_terms import make_terms
from banditsrl.logs.log import LogBatch

ope = pytest.importorskip("obp.ope", exc_type=ImportError)

N, A, LIMIT = 5000, 6, 3.0
KNOWN = {"reward_range": (-20.0, 20.0), "least_propensity": 1e-12}

PAIRS = {
    "ips": (ope.InverseProbabilityWeighting, {}, {}),
    "snips": (ope.SelfNormalizedInverseProbabilityWeighting, {}, {}),
    "dm": (ope.DirectMethod, {}, {}),
    "sndr": (ope.SelfNormalizedDoublyRobust, {}, {}),
    "dr, plain": (ope.DoublyRobust, {}, {"interval": "bernstein", **KNOWN}),
    "switch-dr": (ope.SwitchDoublyRobust, {"tau": LIMIT}, {"limit": LIMIT}),
}
"""Our name: their estimator, its settings, and our settings."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", list(PAIRS))
def test_both_give_the_same_value(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logged, target = rng.dirichlet(np.ones(A), N), rng.dirichlet(np.full(A, 0.3), N)
    actions = (logged.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(max=A - 1)
    propensities, rewards = logged[np.arange(N), actions], rng.normal(1.0, 1.0, N)
    q = rng.normal(1.0, 0.5, (N, A))
    make, theirs, ours = PAIRS[name]
    expected = make(**theirs).estimate_policy_value(
        reward=rewards,
        action=actions,
        pscore=propensities,
        action_dist=target[:, :, None],
        position=np.zeros(N, dtype=int),
        estimated_rewards_by_reg_model=q[:, :, None],
    )
    batch = LogBatch(
        np.arange(1, N + 1), np.zeros((N, 1)), actions.astype(np.int32), rewards, propensities,
        None, None, None, None,
    )  # fmt: skip
    found = estimate(name.partition(",")[0], make_terms(batch, target, predictions=q), **ours)
    assert found.value == pytest.approx(expected, rel=0.0, abs=1e-12)
