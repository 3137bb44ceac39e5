"""Is the distribution of epsilon-greedy its formula, and which schedules are refused?"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from linear_rounds import SETTINGS, VALUES, A, N, pmf_of

import banditsrl
from banditsrl.errors import InvalidArgument


@pytest.mark.parametrize(
    ("epsilon", "rate"),
    [
        ("t^-1/3", (N + 1) ** (-1 / 3)),
        ("t^-1/2", (N + 1) ** (-1 / 2)),
        (0.2, 0.2),
        (lambda t: 1.0 / t, 1 / (N + 1)),
    ],
)
def test_epsilon_greedy_mixes_greedy_and_uniform(epsilon: Any, rate: float) -> None:
    found = pmf_of(banditsrl.EpsilonGreedy(epsilon=epsilon, **SETTINGS))
    greedy = np.arange(A) == VALUES.argmax()
    assert np.allclose(found, (1 - rate) * greedy + rate / A, atol=1e-12)


@pytest.mark.parametrize("epsilon", ["t^-2", 1.5, -0.1])
def test_an_unknown_epsilon_is_refused(epsilon: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"epsilon must be t\^-1/3, t\^-1/2, a number"):
        banditsrl.EpsilonGreedy(np.ones((2, 2, 1)), epsilon=epsilon)


@pytest.mark.parametrize("epsilon", [True, [0.1], 1.5, -0.1, "t^-1", None])
def test_anything_but_a_schedule_a_number_or_a_function_is_refused_as_epsilon(epsilon: Any) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be t\\^-1/3, t\\^-1/2, a number in"):
        banditsrl.EpsilonGreedy(epsilon=epsilon)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (lambda t: 0.1 if t < 5 else 0.01, "written with jax.numpy, got TracerBool"),
        (lambda t: np.power(float(t), -0.5), "written with jax.numpy, got Concretization"),
        (lambda t: jnp.ones(2) * t, r"epsilon must return one number, got shape \(2,\)"),
        (lambda t: t * jnp.nan, r"epsilon\(1\) must be finite, got nan"),
    ],
)
def test_a_function_for_epsilon_is_checked_when_it_is_given(epsilon: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        banditsrl.EpsilonGreedy(epsilon=epsilon)
