"""How does an outside object enter the package? Through an adapter that knows every member.

People may hand over any object with `init`, `act` and `learn`, or any object that deals contexts
and pays rewards, without inheriting from our classes. The functions here turn such an object into
a `Policy` or a `Problem` where it enters; only they and `outside_policy` ask what an object can do.
"""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from banditsrl.core.outside_policy import OutsidePolicy
from banditsrl.core.policy import AnyPolicy, Policy
from banditsrl.core.problem import AnyProblem, Problem, ProblemLike, Task
from banditsrl.core.representation import Context, Representation
from banditsrl.errors import InvalidType

POLICY_MEMBERS = ("init", "act", "learn")
PROBLEM_MEMBERS = ("name", "n_actions", "contexts", "noises", "means", "mask", "reward")
"""What an outside object must have."""


def as_policy(thing: AnyPolicy, name: str = "policy") -> Policy[Any]:
    """Return a policy as it is, and any object with `init`, `act` and `learn` adapted to one.

    Args:
        thing: A policy or an outside object.
        name: The argument that is named if the object is refused.
    """
    if isinstance(thing, Policy):
        return thing
    _require_members(thing, name, POLICY_MEMBERS)
    return OutsidePolicy(thing)


def as_problem(thing: AnyProblem) -> Problem:
    """Return a problem as it is, and any object with the members of one adapted to one."""
    if isinstance(thing, Problem):
        return thing
    _require_members(thing, "problem", PROBLEM_MEMBERS)
    return OutsideProblem(thing)


def as_task(thing: Task | ProblemLike) -> Task:
    """Return a task as it is, and an outside problem adapted to one."""
    return thing if isinstance(thing, Task) else as_problem(thing)


class Progress(Protocol):
    """A function that reports the progress of a simulation."""

    def __call__(self, done: int, total: int, regret: float) -> None:
        """Take the steps done, the steps in all, and the mean regret so far."""


def as_progress(function: Callable[..., None] | None) -> Progress | None:
    """Return a progress function that takes the regret too, even if it does not use it."""
    if function is None:
        return None
    if not callable(function):
        raise InvalidType(f"progress must be True, False or a function, got {function!r}.")
    if "regret" in inspect.signature(function).parameters:
        return function
    return lambda done, total, regret: function(done, total)  # noqa: ARG005 - not used


class OutsideProblem(Problem):
    """A problem around an outside object with the members of `Problem`.

    `sigma`, `representations` and `n_contexts` may be missing.
    """

    inner: Any
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    sigma: float | None = eqx.field(static=True)
    representations: tuple[Representation, ...]

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name, self.n_actions = str(inner.name), int(inner.n_actions)
        self.sigma = getattr(inner, "sigma", None)
        self.representations = tuple(getattr(inner, "representations", ()))

    @property
    def n_contexts(self) -> int | None:
        """The object's number of contexts, if it says."""
        return getattr(self.inner, "n_contexts", None)

    def contexts(self, key: Array, n: int) -> Context:
        """Deal n contexts."""
        return self.inner.contexts(key, n)

    def noises(self, key: Array, n: int) -> Array:
        """Draw the randomness of n rewards."""
        return jnp.asarray(self.inner.noises(key, n))

    def means(self, context: Context) -> Array:
        """Return the mean rewards of a context."""
        return jnp.asarray(self.inner.means(context))

    def mask(self, context: Context) -> Array:
        """Return which actions are available."""
        return jnp.asarray(self.inner.mask(context))

    def reward(self, mean: Array, noise: Array) -> Array:
        """Return the reward of an action with this mean."""
        return jnp.asarray(self.inner.reward(mean, noise))


def missing_members(thing: Any, members: tuple[str, ...]) -> list[str]:
    """Return which of these members an outside object does not have."""
    return [member for member in members if not hasattr(thing, member)]


def _require_members(thing: Any, name: str, members: tuple[str, ...]) -> None:
    if isinstance(thing, type):
        raise InvalidType(f"{name} must be an object, got the class {thing.__name__} itself.")
    if missing := missing_members(thing, members):
        raise InvalidType(
            f"{name} must have {', '.join(members)}, "
            f"got {type(thing).__name__} without {', '.join(missing)}."
        )
