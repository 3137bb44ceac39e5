"""How is a program compiled that runs only now and then? In a hurry.

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


def briefly(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit(function, **options)` that compiles in a hurry where XLA can."""
    usual = jax.jit(function, **options)
    quick = jax.jit(function, compiler_options=QUICK, **options)

    @functools.wraps(function)
    def called(*args: Any) -> Any:
        return (quick if _helps() else usual)(*args)

    return called


def _helps() -> bool:
    """On a CPU, unless JAX is told to optimise even less."""
    config: Any = jax.config
    less = config.read("jax_disable_most_optimizations")
    return jax.default_backend() == "cpu" and not less and _is_known()


@functools.cache
def _is_known() -> bool:
    """Whether this XLA has the options."""
    try:
        jax.jit(lambda x: x, compiler_options=QUICK)(0.0)
    except jax.errors.JaxRuntimeError:
        return False
    return True
