"""Are the regret bounds the paper's? Each formula is written again with the `math` module."""

import inspect
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.linear import regret

KNOWN = {"dim": 3, "delta": 0.02, "sigma": 0.4, "lam": 2.0, "L": 1.5, "B": 0.7}
EXTRA = {"gap": 0.25, "gamma": 0.9, "n_actions": 5}
BOUNDS = [
    regret.linucb_regret,
    regret.egreedy_regret,
    regret.linucb_worst_case,
    regret.egreedy_worst_case,
]


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def settings_of(bound, **changes):
    names = inspect.signature(bound).parameters
    every = {**KNOWN, **EXTRA, **changes}
    return {name: value for name, value in every.items() if name in names}


def radius(T, delta):
    noise = 2 * math.log(1 / delta) + 3 * math.log(1 + T * 2.25 / 6)
    return 0.4 * math.sqrt(noise) + math.sqrt(2.0) * 0.7


def test_linucb_regret_is_the_theorem_of_the_paper():
    T = 1000
    bracket = 2 * math.log(50) + 3 * math.log(1 + T * 2.25 / 6)
    expected = 128 * 2.0 * 0.49 * 0.16 * bracket**2 / 0.25
    bound = regret.linucb_regret(T, **settings_of(regret.linucb_regret))
    assert float(bound) == pytest.approx(expected, rel=1e-12)


def test_egreedy_regret_is_the_theorem_of_the_paper():
    T = 1000
    burn_in = (128 * 2.25 * 5 * math.sqrt(math.log(36 / 0.02)) / 0.9) ** 8
    bracket = 1.5 / math.sqrt(2) * burn_in + 3 / math.sqrt(2)
    bracket += 4.5 * math.sqrt(5) * 1000 ** (2 / 3) / math.sqrt(0.9)
    expected = 2 * radius(T, 0.02 / 3) * bracket
    expected += 2 * math.sqrt(T * math.log(6 * T / 0.02)) + 3 * 1000 ** (2 / 3)
    bound = regret.egreedy_regret(T, **settings_of(regret.egreedy_regret))
    assert float(bound) == pytest.approx(expected, rel=1e-12)


def test_egreedy_regret_has_the_right_small_terms_once_the_burn_in_is_gone():
    """With a huge Gamma the eighth power vanishes and the rest is seen."""
    T, gamma = 50.0, 1e9
    expected = (
        2 * radius(T, 0.02 / 3) * (3 / math.sqrt(2) + 4.5 * math.sqrt(5 / 1e9) * 50 ** (2 / 3))
    )
    expected += 2 * math.sqrt(T * math.log(6 * T / 0.02)) + 3 * 50 ** (2 / 3)
    bound = regret.egreedy_regret(T, **settings_of(regret.egreedy_regret, gamma=gamma))
    assert float(bound) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("lam", "L"), [(2.0, 1.5), (4.0, 1.0)])
def test_linucb_worst_case_is_cauchy_schwarz_on_the_widths(lam, L):
    T = 200
    potential = 3 * math.log(1 + T * L**2 / (3 * lam))
    noise = 2 * math.log(50) + potential
    beta = 0.4 * math.sqrt(noise) + math.sqrt(lam) * 0.7
    expected = 2 * beta * math.sqrt(2 * T * max(1.0, L**2 / lam) * potential)
    bound = regret.linucb_worst_case(T, **settings_of(regret.linucb_worst_case, lam=lam, L=L))
    assert float(bound) == pytest.approx(expected, rel=1e-12)


def test_linucb_worst_case_exceeds_the_largest_possible_sum_of_widths():
    """The elliptical potential, summed directly along the direction played all the time."""
    T, L, lam = 300, 1.5, 2.0
    widths = sum(L / math.sqrt(lam + n * L**2) for n in range(T))
    bound = regret.linucb_worst_case(T, **settings_of(regret.linucb_worst_case, dim=1))
    noise = 2 * math.log(50) + math.log(1 + T * L**2 / lam)
    assert float(bound) >= 2 * (0.4 * math.sqrt(noise) + math.sqrt(lam) * 0.7) * widths


def test_egreedy_worst_case_is_the_theorem_with_gamma_as_L_squared_and_no_burn_in():
    T = 1000
    expected = 2 * radius(T, 0.02 / 3) * 3 * math.sqrt(5) * 1000 ** (2 / 3)
    expected += 2 * math.sqrt(T * math.log(6 * T / 0.02)) + 3 * 1000 ** (2 / 3)
    bound = regret.egreedy_worst_case(T, **settings_of(regret.egreedy_worst_case))
    assert float(bound) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_bound_grows_with_the_horizon_and_with_confidence(bound):
    horizons = np.arange(1, 400)
    growing = np.asarray(bound(horizons, **settings_of(bound)))
    levels = np.geomspace(0.5, 1e-12, 50)
    stricter = np.asarray(bound(100, **settings_of(bound, delta=levels)))
    assert (np.diff(growing) >= 0).all()
    assert (np.diff(stricter) > 0).all()


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_bound_is_finite_and_not_negative_before_the_first_step(bound):
    assert 0.0 <= float(bound(0, **settings_of(bound))) < math.inf


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_bound_is_elementwise_and_compiles(bound):
    T, dims = jnp.array([10.0, 100.0]), jnp.array([2.0, 6.0])
    together = jax.jit(lambda t, d: bound(t, **settings_of(bound, dim=d)))(T, dims)
    alone = [float(bound(t, **settings_of(bound, dim=d))) for t, d in [(10, 2), (100, 6)]]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_worst_cases_ask_for_known_quantities_only():
    for bound in (regret.linucb_worst_case, regret.egreedy_worst_case):
        assert not {"gap", "gamma"} & set(inspect.signature(bound).parameters)
