"""Epsilon-greedy: play greedily, but at random with a probability that shrinks."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Real
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import finite_value
from banditsrl.core.actions import maximisers, uniform_over
from banditsrl.core.policy import RegretBound
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.linear.regret import egreedy_worst_case
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.linear_policy import LinearPolicy, View

SCHEDULES: dict[str, float] = {"t^-1/3": -1.0 / 3.0, "t^-1/2": -1.0 / 2.0}

Epsilon: TypeAlias = str | float | Callable[[Array], Array]
"""A schedule by name, a constant, or a function of the step."""


class EpsilonGreedy(LinearPolicy):
    r"""Explore uniformly with probability $\varepsilon_t$, else play greedily.

    `epsilon` is `"t^-1/3"` (the paper's), `"t^-1/2"`, a constant in [0, 1], or a function of the
    step t = 1, 2, ... written with `jax.numpy`. t counts all rounds, certified ones included.
    """

    _: KW_ONLY
    epsilon: Epsilon = setting(
        "t^-1/3", "Probability of a random action: t^-1/3, t^-1/2, a constant, or a function of t."
    )

    def __check_init__(self) -> None:
        check_epsilon(self.epsilon)

    def rate(self, step: Array) -> Array:
        """Return epsilon_t."""
        return exploration_rate(self.epsilon, step)

    def pmf(self, view: View) -> Array:
        """Return 1 - epsilon on the greedy actions, and epsilon spread over the available ones."""
        epsilon = self.rate(view.step)
        greedy = uniform_over(maximisers(view.available(view.values)))
        return (1.0 - epsilon) * greedy + epsilon * uniform_over(view.mask)

    @property
    def worst_case_regret(self) -> RegretBound | None:
        """The order of the regret for epsilon_t = t^-1/3, and None for other schedules."""
        return egreedy_worst_case if self.epsilon == "t^-1/3" else None


def exploration_rate(epsilon: Epsilon, step: Array) -> Array:
    """Return epsilon_t at a step t = 1, 2, ..."""
    if isinstance(epsilon, str):
        return step ** SCHEDULES[epsilon]
    if callable(epsilon):
        return jnp.clip(epsilon(step), 0.0, 1.0)
    return jnp.full_like(step, epsilon)


def check_epsilon(epsilon: Epsilon) -> None:
    """Refuse anything but a known schedule, a number in [0, 1] or a function of the step."""
    if callable(epsilon):
        _check_function(epsilon)
        return
    if isinstance(epsilon, str) and epsilon in SCHEDULES:
        return
    number = isinstance(epsilon, Real) and not isinstance(epsilon, bool)
    if not number or not 0.0 <= float(epsilon) <= 1.0:
        raise InvalidArgument(
            f"epsilon must be {', '.join(SCHEDULES)}, a number in [0, 1] or a function, "
            f"got {epsilon!r}."
        )


@in_float64
def _check_function(epsilon: Callable[[Array], Array]) -> None:
    """Refuse a function that cannot be compiled, or that returns anything but one number."""
    step = jnp.ones((), dtype=jnp.float64)
    try:
        shape = jax.eval_shape(lambda t: jnp.asarray(epsilon(t)), step).shape
        finite_value("epsilon(1)", epsilon(step))
    except (TypeError, jax.errors.JAXTypeError) as error:
        raise InvalidArgument(
            "epsilon must be a function of the step that is written with jax.numpy, got "
            f"{type(error).__name__} from {epsilon!r}."
        ) from error
    if shape != ():
        raise InvalidArgument(f"epsilon must return one number, got shape {shape}.")
