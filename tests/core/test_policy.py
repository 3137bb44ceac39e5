"""Drawing from a pmf, phases, and what learn is told."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.core.actions import draw_action
from banditsrl.core.phases import phase_ends
from banditsrl.core.policy import learned, untested
from banditsrl.errors import InvalidArgument


def test_a_quantile_picks_the_action_that_the_cumulative_pmf_says() -> None:
    pmf = np.array([0.0, 0.25, 0.5, 0.0, 0.25, 0.0])
    for u in np.linspace(0.0, 0.999, 40):
        expected = int(np.searchsorted(np.cumsum(pmf), u, side="right"))
        assert int(draw_action(jnp.asarray(pmf), jnp.asarray(u))) == expected
        assert pmf[expected] > 0


def test_an_action_of_probability_zero_is_never_drawn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        pmf = rng.random(5) * (rng.random(5) > 0.5)
        if pmf.sum() == 0:
            continue
        for u in (0.0, 0.5, 1.0 - 2.0**-24):
            assert pmf[int(draw_action(jnp.asarray(pmf), jnp.asarray(u)))] > 0


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


def test_learn_is_told_of_certificates_only_if_it_asks() -> None:
    class Asks:
        def learn(self, state: Any, context: Any, action: Any, reward: Any, certified: Any) -> Any:
            return certified

    class DoesNot:
        def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
            return "plain"

    assert learned(Asks(), 0, 0, 0, 0.0, "yes") == "yes"
    assert learned(DoesNot(), 0, 0, 0, 0.0, "yes") == "plain"


def test_a_policy_without_a_test_is_never_certified() -> None:
    choice = untested(jnp.asarray(1), jnp.asarray([0.0, 1.0]))
    assert not choice.certified
    assert np.isnan(choice.glr)
    assert np.isinf(choice.threshold)


def test_importing_changes_no_global_setting() -> None:
    assert not jax.config.jax_enable_x64
    assert jnp.zeros(1).dtype == jnp.float32


def test_phases_do_not_stumble_over_rounding() -> None:
    """1.1 * 170 is 187, and a little more in floating point."""
    ends = phase_ends(1.1, 200)
    exact = [2]
    while -(-11 * exact[-1] // 10) <= 200:
        exact.append(-(-11 * exact[-1] // 10))
    assert ends == exact
