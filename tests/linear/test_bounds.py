"""Are the widths the paper's? Each formula is written again with the `math` module."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.errors import UnknownName
from banditsrl.linear.bounds import (
    OFFSETS,
    alpha,
    authors_beta,
    beta,
    design_deviation,
    phase_level,
    tight_alpha,
    ucb_width,
)

RADIUS = {"dim": 4, "delta": 0.05, "sigma": 0.3, "lam": 2.0, "L": 1.7, "B": 0.8}
OFFSET = {"dim": 4, "n_candidates": 6, "delta": 0.05, "L": 1.7, "B": 0.8}
DESIGN = {"dim": 4, "n_candidates": 6, "delta": 0.05}


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("n", [0, 1, 37, 100_000])
def test_beta_is_the_radius_of_section_3(n: int) -> None:
    """sigma sqrt(2 log(1/delta) + d log(1 + n L^2/(lam d))) + sqrt(lam) B."""
    inside = 2 * math.log(1 / 0.05) + 4 * math.log(1 + n * 1.7**2 / (2.0 * 4))
    expected = 0.3 * math.sqrt(inside) + math.sqrt(2.0) * 0.8
    assert float(beta(n, **RADIUS)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("n", [0, 1, 37, 100_000])
def test_authors_beta_has_twice_the_norm_instead_of_its_square(n: int) -> None:
    inside = 2 * math.log(1 / 0.05) + 4 * math.log(1 + 2 * n * 1.7 / (2.0 * 4))
    expected = 0.3 * math.sqrt(inside) + math.sqrt(2.0) * 0.8
    assert float(authors_beta(n, **RADIUS)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("scale", [0.0, 1.0, 2.5])
def test_ucb_width_is_the_determinant_formula_with_the_scale_on_the_noise_only(
    scale: float,
) -> None:
    features = np.random.default_rng(0).standard_normal((9, 3))
    V = 2.0 * np.eye(3) + features.T @ features
    ratio = math.sqrt(np.linalg.det(V)) / math.sqrt(np.linalg.det(2.0 * np.eye(3)))
    expected = scale * 0.3 * math.sqrt(2 * math.log(ratio / 0.05)) + math.sqrt(2.0) * 0.8
    log_det = np.linalg.slogdet(V)[1] - 3 * math.log(2.0)
    found = ucb_width(log_det, delta=0.05, sigma=0.3, lam=2.0, B=0.8, scale=scale)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_ucb_width_never_exceeds_beta_when_the_scale_is_one() -> None:
    """The determinant is largest when the trace is spread evenly, which is beta's formula."""
    features = np.random.default_rng(1).uniform(-0.5, 0.5, (50, 4))
    V, L = 2.0 * np.eye(4) + features.T @ features, np.linalg.norm(features, axis=1).max()
    log_det = np.linalg.slogdet(V)[1] - 4 * math.log(2.0)
    common = {"delta": 0.05, "sigma": 0.3, "lam": 2.0, "B": 0.8}
    assert float(ucb_width(log_det, **common)) < float(beta(50, dim=4, L=L, **common))


@pytest.mark.parametrize("t", [1, 2, 500])
def test_alpha_is_the_offset_of_section_3_with_constant_40(t: int) -> None:
    """40/t log(8 |Phi|^2 (12 L B t)^d t^3 / delta) + 2/t, from the product itself."""
    product = 8 * 6**2 * (12 * 1.7 * 0.8 * t) ** 4 * t**3 / 0.05
    expected = 40 / t * math.log(product) + 2 / t
    assert float(alpha(t, **OFFSET)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("t", [1, 2, 500])
def test_tight_alpha_is_the_offset_of_the_authors_experiments(t: int) -> None:
    logs = 24 * math.log(2 * t) + 8 * math.log(6**2 / 0.05)
    expected = (logs + 8 * 4 * math.log(12 * 1.7 * 0.8 * t) + 1) / t
    assert float(tight_alpha(t, **OFFSET)) == pytest.approx(expected, rel=1e-12)


def test_tight_alpha_is_tighter() -> None:
    t = np.arange(1, 10_000)
    assert (np.asarray(tight_alpha(t, **OFFSET)) < np.asarray(alpha(t, **OFFSET))).all()


def test_phase_levels_are_delta_over_twice_the_square_and_add_up_to_less_than_delta() -> None:
    levels = [float(phase_level(j, 0.05)) for j in range(1000)]
    assert levels[:3] == pytest.approx([0.05 / 2, 0.05 / 8, 0.05 / 18], rel=1e-14)
    assert sum(levels) == pytest.approx(0.05 * math.pi**2 / 12, rel=1e-2)
    assert sum(levels) < 0.05


@pytest.mark.parametrize("t", [1, 64, 10**6])
def test_design_deviation_is_that_of_the_good_event(t: int) -> None:
    """8 sqrt(t log(4 d |Phi| t / delta))."""
    expected = 8 * math.sqrt(t * math.log(4 * 4 * 6 * t / 0.05))
    assert float(design_deviation(t, **DESIGN)) == pytest.approx(expected, rel=1e-13)


Bound = Callable[..., Any]

GROWING: list[tuple[Bound, dict[str, Any], str, int]] = [
    *[(b, RADIUS, name, 1) for b in (beta, authors_beta) for name in ("n", "sigma", "L", "B")],
    *[
        (b, RADIUS, name, s)
        for b in (beta, authors_beta)
        for name, s in [("dim", 1), ("delta", -1)]
    ],
    *[
        (b, OFFSET, name, s)
        for b in (alpha, tight_alpha)
        for name, s in [("t", -1), ("dim", 1), ("n_candidates", 1), ("delta", -1)]
    ],
    *[(b, OFFSET, name, 1) for b in (alpha, tight_alpha) for name in ("L", "B")],
    *[(design_deviation, DESIGN, name, 1) for name in ("t", "dim", "n_candidates")],
    (design_deviation, DESIGN, "delta", -1),
]


@pytest.mark.parametrize(("bound", "common", "name", "sign"), GROWING)
def test_a_bound_moves_one_way_in_each_argument(
    bound: Bound, common: dict[str, Any], name: str, sign: int
) -> None:
    counts = name in ("n", "t", "dim", "n_candidates")
    values = np.arange(2.0, 60.0) if counts else np.linspace(0.2, 0.9, 60)
    first = values if name in ("n", "t") else 100
    settings = {key: values if key == name else value for key, value in common.items()}
    assert (sign * np.diff(np.asarray(bound(first, **settings))) > 0).all()


def test_ucb_width_grows_with_the_determinant_and_with_confidence() -> None:
    common = {"sigma": 0.3, "lam": 2.0, "B": 0.8}
    grown = np.asarray(ucb_width(np.linspace(0, 20, 50), delta=0.05, **common))
    stricter = np.asarray(ucb_width(3.0, delta=np.geomspace(0.5, 1e-9, 50), **common))
    assert (np.diff(grown) > 0).all()
    assert (np.diff(stricter) > 0).all()


@pytest.mark.parametrize(
    ("bound", "common"),
    [
        (beta, RADIUS),
        (authors_beta, RADIUS),
        (alpha, OFFSET),
        (tight_alpha, OFFSET),
        (design_deviation, DESIGN),
    ],
)
def test_a_bound_is_elementwise_and_compiles(bound: Bound, common: dict[str, Any]) -> None:
    steps, dims = jnp.array([10.0, 100.0]), jnp.array([2.0, 6.0])
    together = jax.jit(lambda t, d: bound(t, **{**common, "dim": d}))(steps, dims)
    alone = [float(bound(t, **{**common, "dim": d})) for t, d in [(10, 2), (100, 6)]]
    np.testing.assert_allclose(together, alone, rtol=1e-13)


def test_the_offsets_have_names_and_an_unknown_one_gives_the_nearest() -> None:
    assert OFFSETS["paper"] is alpha
    assert OFFSETS["tight"] is tight_alpha
    with pytest.raises(UnknownName, match=r"no elimination offset named 'thigt'.*'tight'"):
        OFFSETS["thigt"]
