"""Is the largest norm tracked where it is not known, and are given bounds left alone?"""

import math

import jax.numpy as jnp
import numpy as np

from banditsrl.numerics.precision import in_float64
from banditsrl.representations.mapped import Given
from banditsrl.representations.table import Table
from banditsrl.selection.norms import known_or_seen, largest_norm, update_largest_norm

PHI = np.array([[3.0, 4.0], [1.0, -1.0], [0.0, 0.0]])


@in_float64
def test_the_largest_norm_is_that_of_a_loop_over_rows() -> None:
    rows = np.random.default_rng(0).normal(size=(6, 4))
    slow = max(math.sqrt(sum(x * x for x in row)) for row in rows)
    assert math.isclose(float(largest_norm(jnp.asarray(rows))), slow, rel_tol=1e-14)
    assert float(largest_norm(jnp.asarray(PHI))) == 5.0


@in_float64
def test_the_largest_norm_seen_never_falls() -> None:
    given = Given(n_actions=3, dim=2)
    first = update_largest_norm(given, jnp.asarray(PHI), jnp.zeros(()))
    second = update_largest_norm(given, jnp.asarray(0.1 * PHI), first)
    assert (float(first), float(second)) == (5.0, 5.0)


@in_float64
def test_a_bound_that_was_given_does_not_stop_the_tracking() -> None:
    """The norms are compared with the bound after a run, see `warn_of_exceeded_bounds`."""
    given = Given(n_actions=3, dim=2, L=1.0)
    assert float(update_largest_norm(given, jnp.asarray(PHI), jnp.zeros(()))) == 5.0


@in_float64
def test_norms_of_a_table_are_known_and_not_tracked() -> None:
    so_far = jnp.asarray(0.5)
    assert update_largest_norm(Table(PHI[None]), jnp.asarray(PHI), so_far) is so_far


@in_float64
def test_what_is_missing_is_estimated_and_what_is_given_is_kept() -> None:
    estimates = jnp.asarray([1.0, 2.0, 3.0])
    found = known_or_seen([None, 0.5, 7], estimates)
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 0.5, 7.0]
    assert known_or_seen([0.0, None, None], estimates).tolist() == [0.0, 2.0, 3.0]
