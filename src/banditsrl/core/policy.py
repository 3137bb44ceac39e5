"""What is a policy? A frozen object of settings with `init`, `act`, `learn` and `refresh`.

A policy keeps nothing: its state is a pytree that `learn` and `refresh` take and return, so that
the same code is compiled, mapped over seeds, saved, loaded, replayed and tested.

    state  = policy.init(key)
    choice = policy.act(state, context, mask, key)
    state  = policy.learn(state, context, choice.action, reward)
    state  = policy.refresh(state, history, key)        # at the end of a phase

`init`, `act` and `learn` are enough for outside authors; they need not inherit from anything.
"""

import inspect
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.arguments import above, count, finite_value, one_index
from banditsrl.core.history import History
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.seed_axis import indices
from banditsrl.representations.table import Representation

CONVENTIONS = ("paper", "authors")


class Choice(NamedTuple):
    """What a policy decided in one round, and on what grounds."""

    action: Array  # ()    index of the action
    pmf: Array  # (A,)  the distribution the action was drawn from
    certified: Array  # ()    the data prove this action best for this context
    glr: Array  # ()    likelihood ratio; nan when the policy has no test
    threshold: Array  # ()    what glr must exceed; infinite when the policy has no test
    representation: Array  # ()    index of the representation used


def setting(default: Any, help: str) -> Any:  # noqa: A002  (the word users see in tables)
    """A setting (after `_: KW_ONLY`): its default and one line of help, in one place."""
    return eqx.field(static=True, default=default, metadata={"help": help})


class Policy(eqx.Module):
    """Base of the policies in this package; `refresh` does nothing unless overridden."""

    def init(self, key: Array) -> Any:
        """The state before the first round."""
        raise NotImplementedError

    def act(self, state: Any, context: Any, mask: Any, key: Array) -> Choice:
        """Choose an action; `mask` (A,) says which are available, None means all."""
        raise NotImplementedError

    def learn(
        self, state: Any, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> Any:
        """The state after a reward; `certified` is what the choice said of itself."""
        raise NotImplementedError

    def refresh(self, state: Any, history: History, key: Array) -> Any:
        """The state at the start of the next phase, given everything seen so far."""
        del history, key
        return state

    def report(self, state: Any) -> dict[str, Array]:
        """What is worth recording at the end of a phase."""
        del state
        return {}

    def narrowed(self, report: dict[str, Any], n_steps: int) -> "Policy":
        """A cheaper policy for the phase that begins, of `n_steps` steps, with the same choices.

        `report` holds what `report` said of every seed. By default there is none cheaper.
        """
        del report, n_steps
        return self

    def moved(self, state: Any, other: "Policy") -> Any:
        """`state` of this policy as a state of `other`, which `narrowed` gave (or the reverse)."""
        del other
        return state

    @property
    def phase_growth(self) -> float | None:
        """Gamma of the phases t_{j+1} = ceil(gamma t_j), or None without phases."""
        return None

    @property
    def uses_history(self) -> bool:
        """Whether `refresh` looks at the history; if not, none is kept."""
        return False

    @property
    def pmf_draws(self) -> int:
        """Number of Monte-Carlo draws behind `Choice.pmf`; zero means that it is exact."""
        return 0


def unmapped_lanes() -> int:
    """Lanes of a policy whose one seed fills a core: on a CPU seeds run one by one, unmapped."""
    return 1 if jax.default_backend() == "cpu" else 20


def learned(policy: Any, state: Any, context: Any, action: Any, reward: Any, certified: Any) -> Any:
    """`policy.learn`, telling it whether the round was certified if it wants to know."""
    if "certified" in inspect.signature(policy.learn).parameters:
        return policy.learn(state, context, action, reward, certified=certified)
    return policy.learn(state, context, action, reward)


def keeps_history(policy: Any) -> bool:
    """Whether a policy looks back at the end of a phase; an outside one does unless it says no."""
    phased = getattr(policy, "phase_growth", None) is not None
    return phased and bool(getattr(policy, "uses_history", True))


def phase_ends(growth: float, horizon: int) -> list[int]:
    """The steps t_{j+1} = ceil(growth t_j), from t_0 = 1, that do not exceed the horizon.

    Example:
        >>> phase_ends(2.0, 20)
        [2, 4, 8, 16]
    """
    above("gamma", growth, 1.0)
    ends, step = [], _next(growth, 1)
    while step <= count("horizon", horizon, 0):
        ends.append(step)
        step = _next(growth, step)
    return ends


def _next(growth: float, step: int) -> int:
    """ceil(growth step), where a product such as 1.1 * 170 is 187 and not a rounding error more."""
    product = growth * step
    return max(math.ceil(product * (1.0 - 1e-12)), step + 1)


def checked_reward(reward: Any) -> Any:
    """`reward` as a float64 scalar; NaN and infinity are refused when known."""
    if np.shape(reward) != ():
        raise InvalidArgument(f"reward must be one number, got shape {np.shape(reward)}.")
    finite_value("reward", reward)
    known = not isinstance(reward, jax.core.Tracer)
    return np.float64(reward) if known else reward.astype(jnp.float64)


def checked_action(action: Any, n_actions: int) -> Any:
    """`action` as it is; what is known not to be an index of an action is refused."""
    one_index("action", action, n_actions)
    return action


def quantile(key: Array) -> Array:
    """A uniform number in [0, 1), from the bits of a key that is used for nothing else.

    A generator's full pass per step would cost a tenth of the whole loop. The bits of a key that
    came from splitting are random already; the mixing (MurmurHash3's finalizer) makes up for keys
    made from small integers.
    """
    mixed = jnp.zeros((), dtype=jnp.uint32)
    for word in jax.random.key_data(key).astype(jnp.uint32).ravel():
        mixed = (mixed ^ word) + jnp.uint32(0x9E3779B9)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            mixed = (mixed ^ (mixed >> shift)) * jnp.uint32(factor)
        mixed = mixed ^ (mixed >> 16)
    return (mixed >> 8).astype(jnp.float64) * 2.0**-24


def drawn(pmf: Array, u: Array) -> Array:
    """The action at quantile u in [0, 1) of pmf (A, ...); never one of probability zero."""
    n = pmf.shape[0]
    up_to = jnp.tri(n, dtype=pmf.dtype).reshape(n, n, *[1] * (pmf.ndim - 1))
    cumulative = (up_to * pmf[None]).sum(1)  # (A, ...)
    action = (cumulative[:-1] <= u * cumulative[-1]).sum(0, dtype=jnp.int32)
    return jnp.minimum(action, _last_possible(pmf))


def _last_possible(pmf: Array) -> Array:
    return jnp.where(pmf > 0, indices(pmf.shape[0], pmf), 0).max(0).astype(jnp.int32)


def uniform_over(chosen: Array) -> Array:
    """Equal probability on every True of chosen (A, ...)."""
    return chosen / chosen.sum(0)


def untested(action: Array, pmf: Array, representation: Any = 0) -> Choice:
    """The choice of a policy that has no test: never certified."""
    return Choice(
        action=action,
        pmf=pmf,
        certified=jnp.zeros((), dtype=bool),
        glr=jnp.full((), jnp.nan),
        threshold=jnp.full((), jnp.inf),
        representation=jnp.asarray(representation, dtype=jnp.int32),
    )


def embeddings(policy: Any) -> tuple[Representation, ...]:
    """The representations that a policy of ours works with; none if it does not say."""
    several = getattr(policy, "representations", ())
    single = getattr(policy, "embedding", None) or getattr(policy, "representation", None)
    network = getattr(getattr(policy, "certifier", policy), "network", None)
    found = several or (single, getattr(network, "inputs", None))
    return tuple(r for r in found if isinstance(r, Representation))
