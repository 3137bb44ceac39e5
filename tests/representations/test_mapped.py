"""Do contexts that are vectors or are mapped by a function embed as they should?"""

import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.representations.mapped import Given, Mapped

FEATURES = np.random.default_rng(0).standard_normal((4, 3, 2))


def test_given_embeds_the_context_itself_in_float64() -> None:
    given = Given(n_actions=3, dim=2)
    phi = given.embed(FEATURES[1].tolist())
    assert phi.dtype == jnp.float64
    np.testing.assert_array_equal(phi, FEATURES[1])
    assert (given.n_actions, given.dim, given.L, given.B) == (3, 2, None, None)


def test_mapped_embeds_by_its_function_in_float64() -> None:
    mapped = Mapped(lambda x: jnp.outer(jnp.arange(3.0), x), n_actions=3, dim=2)
    phi = mapped.embed(jnp.asarray([0.5, -2.0]))
    assert phi.dtype == jnp.float64
    np.testing.assert_array_equal(phi, [[0.0, 0.0], [0.5, -2.0], [1.0, -4.0]])


def test_mapped_refuses_a_function_of_another_shape() -> None:
    mapped = Mapped(lambda x: x, n_actions=3, dim=2)
    message = r"function must return an array of shape \(3, 2\), got shape \(2,\)"
    with pytest.raises(InvalidArgument, match=message):
        mapped.embed(jnp.ones(2))
