"""Phases end where the recursion says, whatever floating point makes of a product."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from banditsrl.core.phases import is_phase_end, next_phase_end, phase_ends
from banditsrl.errors import InvalidArgument


@pytest.mark.parametrize("growth", [1.01, 1.2, 1.5, 2.0, 3.7])
def test_phases_follow_the_recursion(growth: float) -> None:
    ends = phase_ends(growth, 5000)
    step = 1
    for end in ends:
        step = int(np.ceil(growth * step))
        assert end == step
    assert np.ceil(growth * ends[-1]) > 5000


def test_a_growth_of_one_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="gamma must be greater than 1, got 1"):
        phase_ends(1.0, 10)


def test_phases_do_not_stumble_over_rounding() -> None:
    """1.1 * 170 is 187, and a little more in floating point."""
    ends = phase_ends(1.1, 200)
    exact = [2]
    while -(-11 * exact[-1] // 10) <= 200:
        exact.append(-(-11 * exact[-1] // 10))
    assert ends == exact


@pytest.mark.parametrize("growth", ["1.1", "1.2", "1.3", "1.7", "2.5"])
def test_the_next_phase_end_is_the_exact_ceiling_and_at_least_one_step_later(growth: str) -> None:
    for step in range(1, 2000):
        exact = max(ceil(Fraction(growth) * step), step + 1)
        assert next_phase_end(float(growth), step) == exact


def test_a_short_horizon_has_no_phase_end() -> None:
    assert phase_ends(2.0, 1) == []
    assert phase_ends(2.0, 0) == []
    assert phase_ends(2.0, 2) == [2]


@pytest.mark.parametrize("longest", [1, 7, 250])
@pytest.mark.parametrize("growth", [1.1, 1.2, 2.0])
def test_a_limit_cuts_long_phases_only(growth: float, longest: int) -> None:
    ends = phase_ends(growth, 2000, longest)
    free = phase_ends(growth, 2000)
    assert max(np.diff(ends)) <= longest
    short = [end for end in free if next_phase_end(growth, end) - end <= longest]
    assert ends[: len(short)] == short
    assert set(np.diff(ends[len(short) :])) <= {longest}


@pytest.mark.parametrize("longest", [None, 1, 7, 250])
@pytest.mark.parametrize("growth", [1.1, 1.2, 2.0])
def test_one_step_is_asked_about_without_a_list(growth: float, longest: int | None) -> None:
    found = [step for step in range(1, 2001) if is_phase_end(growth, step, longest)]
    assert found == phase_ends(growth, 2000, longest)
