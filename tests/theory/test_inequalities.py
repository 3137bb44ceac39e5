"""Do the solvers find the right time? Compared with a scan of every integer."""

import math

import numpy as np
import pytest

from banditsrl.theory.inequalities import MAX_LOG2, find_first_power, find_first_time


def scan(holds, upto=5000):
    """Return the first integer from which on `holds` is always true."""
    failing = [t for t in range(1, upto) if not holds(float(t))]
    return failing[-1] + 1 if failing else 1


@pytest.mark.parametrize("scale", [1.5, 3.0, 17.0, 40.0])
def test_the_first_time_is_found_to_the_integer(scale):
    def holds(t):
        return t >= scale * np.log2(t) ** 1.5 + scale

    t = scan(holds)
    assert find_first_time(holds) == t
    assert holds(t)
    assert not holds(t - 1.0)


@pytest.mark.parametrize("scale", [1.5, 3.0, 17.0, 40.0])
def test_the_first_power_is_the_power_of_two_after_it(scale):
    def holds(t):
        return t >= scale * np.log2(t) ** 1.5 + scale

    assert find_first_power(holds) == 2 ** math.ceil(math.log2(scan(holds)))


def test_a_small_time_that_holds_by_accident_does_not_count():
    def holds(t):
        return (t < 7) | (t >= 1000)

    assert find_first_power(holds) == 1024
    assert find_first_time(holds) == 1000


def test_what_always_holds_holds_from_two_on():
    assert find_first_power(lambda t: t > 0) == 2.0
    assert find_first_time(lambda t: t > 0) == 2.0


def test_what_never_holds_has_no_time():
    assert find_first_power(lambda t: t < 0) == math.inf
    assert find_first_time(lambda t: t < 0) == math.inf


def test_what_can_not_be_compared_does_not_hold():
    assert find_first_time(lambda t: t > np.nan * t) == math.inf


def test_times_far_beyond_the_integers_are_found_as_floats():
    threshold = 1.234567e200
    assert find_first_time(lambda t: t >= threshold) == threshold
    assert find_first_power(lambda t: t >= threshold) == 2.0 ** math.ceil(math.log2(threshold))
    assert find_first_time(lambda t: t >= 2.0 ** (MAX_LOG2 + 1)) == math.inf
