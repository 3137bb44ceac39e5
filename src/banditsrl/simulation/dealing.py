"""Where does randomness come from? From one seed, split into named keys and dealt in blocks.

Contexts, noise and the policy have keys of their own, so that changing the policy changes neither
the contexts nor the noise. Randomness is drawn for a block of steps at once.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.core.history import BLOCK
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context
from banditsrl.numerics import draws
from banditsrl.numerics.compiling import jit_quickly
from banditsrl.numerics.partition import Partitioned
from banditsrl.numerics.seed_axis import map_over_seeds

PURPOSES = ("contexts", "noise", "policy", "refresh", "init")


class Deal(NamedTuple):
    """The randomness of one block of steps; seeds are the last axis."""

    contexts: Context  # (BLOCK, ..., seeds)
    noises: Array  # (BLOCK, seeds)
    keys: Array  # (BLOCK, seeds)


@jit_quickly
def name_keys(seeds: ArrayLike) -> dict[str, Array]:
    """Return one key per purpose and seed."""

    def split(seed: Array) -> dict[str, Array]:
        keys = jax.random.split(jax.random.key(seed), len(PURPOSES))
        return dict(zip(PURPOSES, keys, strict=True))

    return jax.vmap(split)(jnp.asarray(seeds))


@jax.jit
def deal_block(problem: Partitioned[Problem], keys: dict[str, Array], block: ArrayLike) -> Deal:
    """Draw the randomness of the steps of one block."""
    whole = problem.combine()

    def deal(keys: dict[str, Array]) -> Deal:
        folded = {name: jax.random.fold_in(key, block) for name, key in keys.items()}
        return Deal(
            whole.contexts_from(folded["contexts"], BLOCK, block * BLOCK),
            whole.noises(folded["noise"], BLOCK),
            draws.keys(folded["policy"], BLOCK),
        )

    dealt: Deal = map_over_seeds(deal)(keys)
    return dealt
