"""How is a program compiled that runs only now and then? Quickly, with less optimisation.

XLA takes longer to optimise what happens at the end of a phase than a whole run takes to compute.
Its older code generator, told to optimise less, takes less than half of the time, and for small
matrices the program is as fast.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax

QUICK: dict[str, Any] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
}


def jit_quickly(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile `function` as `jax.jit` does, but with less optimisation where XLA allows that."""
    usual = jax.jit(function, **options)
    quick = jax.jit(function, compiler_options=QUICK, **options)

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        return (quick if _can_be_quick() else usual)(*args)

    return run


def _can_be_quick() -> bool:
    """Whether this is a CPU, and JAX was not told to optimise even less."""
    config: Any = jax.config
    less = config.read("jax_disable_most_optimizations")
    return jax.default_backend() == "cpu" and not less and _knows_options()


@functools.cache
def _knows_options() -> bool:
    """Whether this version of XLA has the options."""
    try:
        jax.jit(lambda x: x, compiler_options=QUICK)(0.0)
    except jax.errors.JaxRuntimeError:
        return False
    return True
