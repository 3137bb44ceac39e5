"""Is Phi_t the set of the paper's definition? Candidate by candidate, in Python's numbers."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.errors import UnknownName
from banditsrl.numerics.precision import in_float64
from banditsrl.selection.elimination import compatible_candidates

M, DELTA = 5, 0.05


def slow_offset(kind: str, t: float, d: int, L: float, B: float) -> float:
    """Alpha of the paper, and the smaller one of the authors' experiments."""
    cover = d * math.log(max(12 * L * B * t, 1.0))
    if kind == "paper":
        return (40 * (math.log(8 * M**2 * t**3 / DELTA) + cover) + 2) / t
    return (24 * math.log(2 * t) + 8 * math.log(M**2 / DELTA) + 8 * cover + 1) / t


def random_candidates(seed: int) -> tuple[Any, list[int], Any, Any]:
    """Errors, dimensions and bounds; some errors are close to the best one."""
    rng = np.random.default_rng(seed)
    errors = 0.1 + rng.exponential(0.05, size=M)
    return errors, rng.integers(1, 9, size=M).tolist(), rng.uniform(0.5, 3, M), rng.uniform(0, 2, M)


@in_float64
def ask(errors: Any, t: float, dims: Any, L: Any, B: Any, **settings: Any) -> list[bool]:
    found = compatible_candidates(
        jnp.asarray(errors), jnp.asarray(t), dim=jnp.asarray(dims, dtype=jnp.float64),
        L=jnp.asarray(L), B=jnp.asarray(B), delta=DELTA, **settings,
    )  # fmt: skip
    return list(np.asarray(found).tolist())


@pytest.mark.parametrize("offset", ["paper", "tight"])
@pytest.mark.parametrize("final", [False, True])
def test_the_set_is_that_of_the_definition(offset: str, final: bool) -> None:
    sizes = set()
    for seed in range(20):
        errors, dims, L, B = random_candidates(seed)
        among = np.random.default_rng(seed + 100).random(M) < 0.6 if final else np.ones(M, bool)
        among[seed % M] = True
        for t in (300.0, 20_000.0, 200_000.0):
            bounds = [
                errors[m] + slow_offset(offset, t, dims[m], L[m], B[m])
                for m in range(M)
                if among[m]
            ]
            expected = [bool(among[m]) and bool(errors[m] <= min(bounds)) for m in range(M)]
            given = {"among": jnp.asarray(among)} if final else {}
            assert ask(errors, t, dims, L, B, offset=offset, **given) == expected
            sizes.add(sum(expected))
    assert len(sizes) > 2  # the set is neither always full nor always a single candidate


def test_a_candidate_that_has_left_for_good_eliminates_no_other() -> None:
    errors, ones = [1.0, 9.0, 9.5], np.ones(3)
    all_there = ask(errors, 1e6, ones, ones, ones, offset="tight")
    among = jnp.asarray([False, True, True])
    without_first = ask(errors, 1e6, ones, ones, ones, offset="tight", among=among)
    assert all_there == [True, False, False]
    assert without_first == [False, True, False]


def test_the_candidate_of_smallest_error_always_stays() -> None:
    for seed in range(20):
        errors, dims, L, B = random_candidates(seed)
        assert ask(errors, 1e9, dims, L, B, offset="tight")[int(np.argmin(errors))]


@in_float64
def test_a_smaller_level_keeps_more_candidates() -> None:
    ones, errors = jnp.ones(2), jnp.asarray([0.1, 0.106])
    kept = [
        compatible_candidates(
            errors, jnp.asarray(1e5), dim=ones, L=ones, B=ones, delta=delta, offset="tight"
        ).tolist()
        for delta in (0.5, 1e-50)
    ]
    assert kept == [[True, False], [True, True]]


def test_an_unknown_offset_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no elimination offset named 'tigt'; did you mean"):
        ask([0.1], 10.0, [1], [1.0], [1.0], offset="tigt")
