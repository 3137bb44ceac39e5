"""Which policy is recommended for which errors? Errors are made up, so the answer is known."""

from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl.doctor.policy_advice import advise_policy, list_as_good
from banditsrl.theory.column_diagnosis import ColumnDiagnosis
from banditsrl.theory.log_diagnosis import LoggedDiagnosis

NAMES = ("constant", "columns", "waves", "steps", "products", "leaves")
NOTHING = np.zeros(0)


def diagnose(*errors: float, n: int = 400, spread: float = 0.01) -> dict[str, ColumnDiagnosis]:
    """Return candidates with these mean squared errors, whose rounds vary independently."""
    rng = np.random.default_rng(0)
    found = {}
    for name, error in zip(NAMES, errors, strict=True):
        terms = rng.normal(size=n)
        squares = error + spread * (terms - terms.mean())
        logged = LoggedDiagnosis(
            dim=1,
            rank=1,
            error=error,
            error_stderr=spread / n**0.5,
            n_rounds=n,
            excess=0.0,
            excess_stderr=1.0,
            realizable=True,
            played=NOTHING,
            greedy=NOTHING,
            played_rank=1,
            greedy_rank=1,
            L=1.0,
            B=1.0,
        )
        found[name] = ColumnDiagnosis(logged, squares, None)
    return found


@pytest.mark.parametrize(
    ("errors", "candidate", "policy", "settings"),
    [
        ((1.0, 1.0, 1.1, 1.1, 1.1, 1.2), "constant", "linucb-disjoint", {}),
        ((2.0, 1.0, 1.1, 1.1, 1.0, 1.2), "columns", "linucb-disjoint", {}),
        ((2.0, 1.5, 1.0, 1.1, 1.0, 1.2), "waves", "linucb-disjoint", {"n_features": 128}),
        ((2.0, 1.5, 1.5, 1.0, 1.2, 1.2), "steps", "banditsrl-auto", {"sigma": 0.5, "audit": 0.01}),
        (
            (2.0, 1.5, 1.5, 1.5, 1.0, 1.2),
            "products",
            "banditsrl-auto",
            {"sigma": 0.5, "audit": 0.01},
        ),
        ((2.0, 1.5, 1.5, 1.5, 1.5, 1.0), "leaves", "tree-linucb", {}),
    ],
)
def test_the_simplest_candidate_that_is_as_good_decides(
    errors: tuple[float, ...], candidate: str, policy: str, settings: dict[str, Any]
) -> None:
    found = advise_policy(diagnose(*errors), n_columns=3, n_actions=2, variance=0.25)
    assert (found.candidate, found.policy) == (candidate, policy)
    assert dict(found.settings) == settings
    assert found.sigma == 0.5
    stream = banditsrl.Stream(n_columns=3, n_actions=2, sigma=found.sigma)
    assert banditsrl.make_policy(found.policy, stream, **found.settings).n_actions == 2


def test_a_candidate_may_miss_a_twentieth_of_what_the_best_one_explains() -> None:
    """The best one explains 1.0 beyond the constant, so that 0.05 more may be missed."""
    inside = diagnose(2.0, 1.04, 1.0, 1.2, 1.2, 1.2, spread=1e-6)
    outside = diagnose(2.0, 1.06, 1.0, 1.2, 1.2, 1.2, spread=1e-6)
    assert list_as_good(inside) == ["columns", "waves"]
    assert list_as_good(outside) == ["waves"]


def test_a_difference_within_one_standard_error_counts_as_none() -> None:
    """Differences have a standard deviation of about sqrt(2), so a standard error of 0.07."""
    near = diagnose(1.01, 1.06, 1.0, 1.3, 1.3, 1.3, spread=1.0)
    assert list_as_good(near) == ["constant", "columns", "waves"]
    far = diagnose(1.2, 1.1, 1.0, 1.3, 1.3, 1.3, spread=1.0)
    assert list_as_good(far) == ["waves"]


def test_the_advice_can_be_copied() -> None:
    words = "'my rounds.csv' --reward clicks"
    found = advise_policy(
        diagnose(2.0, 1.5, 1.5, 1.5, 1.0, 1.2), n_columns=3, n_actions=2, variance=0.09, words=words
    )
    assert found.python == (
        'banditsrl.make_policy("banditsrl-auto", '
        "banditsrl.Stream(n_columns=3, n_actions=2, sigma=0.3), sigma=0.3, audit=0.01)"
    )
    assert found.command == (
        "banditsrl evaluate 'my rounds.csv' --reward clicks "
        "--target learned:banditsrl-auto,sigma=0.3,audit=0.01"
    )
    assert 'policy: "banditsrl-auto", settings: {"sigma": 0.3}, audit: 0.01' in found.text()
    assert found.as_dict()["settings"] == {"sigma": 0.3, "audit": 0.01}


def test_an_unknown_noise_level_is_left_to_the_policy() -> None:
    found = advise_policy(
        diagnose(2.0, 1.5, 1.5, 1.0, 1.2, 1.2), n_columns=3, n_actions=2, variance=float("nan")
    )
    assert found.sigma is None
    assert dict(found.settings) == {"audit": 0.01}
    assert "sigma" not in found.python
    assert found.command == ""
