"""How does a loop of tiny steps run without a call per operation? As one machine function.

On a CPU, XLA calls each operation of a loop's body by itself, which for a step of a linear bandit
costs as much as the arithmetic. It can also emit a call as one function, and does so where it is
told that the call is small. Programs that need a library on the way (matrix products,
decompositions, sorting) are left as they are, and an XLA that does not know the mark ignores it.
"""

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import Jaxpr, jaxpr_as_fun, subjaxprs

from banditsrl.numerics.draws import unkeyed

SWITCH = "BANDITSRL_ONE_FUNCTION"
"""Set to `off` in the environment to leave every program as it is."""

MARK = {"xla_cpu_small_call": "true", "inlineable": "false"}

TESTED = ("0.10.",)
"""Versions of JAX whose compiler is known to take the mark well; with others nothing is marked."""

# fmt: off
EMITTED = frozenset({
    "abs", "add", "and", "argmax", "argmin", "bitcast_convert_type", "broadcast_in_dim", "clamp",
    "concatenate", "cond", "convert_element_type", "copy", "cos", "custom_vmap_call", "div",
    "dynamic_slice", "dynamic_update_slice", "eq", "erf_inv", "exp", "expand_dims", "expm1",
    "floor", "gather", "ge", "gt", "integer_pow", "iota", "is_finite", "jit", "layout_constraint",
    "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "pad",
    "pow", "random_bits", "random_fold_in", "random_seed", "random_split", "random_unwrap",
    "random_wrap", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_sum", "rem",
    "reshape", "round", "scan", "select_n", "shift_left", "shift_right_logical", "sign", "sin",
    "slice", "sqrt", "square", "squeeze", "stack", "stop_gradient", "sub", "tanh", "threefry2x32",
    "transpose", "while", "xla_metadata_value", "xor",
})
# fmt: on
"""The primitives of JAX that become plain machine code; with any other, nothing is marked."""


def one_function(function: Callable[..., Any]) -> Callable[..., tuple[Any, Array]]:
    """`function`, to be called under `jax.jit`, as one machine function if it can be.

    The caller gets the result and a number to which every input contributes, and has to keep both
    alive: XLA stops the process when an input of such a function turns out to be needless.
    """

    def called(*args: Any) -> tuple[Any, Array]:
        program, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        run, leaves = jaxpr_as_fun(program), jax.tree.leaves(args)
        if _may_mark() and is_plain(program.jaxpr):
            both = jax.jit(lambda *leaves: (run(*leaves), _witness([*program.consts, *leaves])))
            outputs, witness = set_xla_metadata(both(*leaves), **MARK)
        else:
            outputs, witness = run(*leaves), jnp.zeros(())
        return jax.tree.unflatten(jax.tree.structure(shapes), outputs), witness

    return called


def is_plain(program: Jaxpr) -> bool:
    """Whether a program, and all inside it, has operations of `EMITTED` on nonempty arrays only."""
    variables = [*program.invars, *program.constvars]
    for equation in program.eqns:
        if equation.primitive.name not in EMITTED:
            return False
        variables += equation.outvars
    if any(0 in getattr(variable.aval, "shape", ()) for variable in variables):
        return False
    return all(is_plain(inner) for inner in subjaxprs(program))


def _may_mark() -> bool:
    """On a CPU, with a compiler that is known, unless the environment says no."""
    known = jax.__version__.startswith(TESTED) and jax.default_backend() == "cpu"
    return known and os.environ.get(SWITCH, "on") != "off"


def _witness(inputs: list[Any]) -> Array:
    """The sum of the first elements."""
    firsts = [jnp.ravel(unkeyed(x))[0].astype(float) for x in inputs]
    return jnp.stack(firsts).sum()
