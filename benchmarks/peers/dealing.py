"""How are the rounds of a stream drawn? Exactly as `banditsrl.simulate` draws them for that seed.

    python benchmarks/peers/dealing.py PROBLEM SEED STEPS FOLDER

To check this, `simulate` runs our LinUCB inside a policy that records every round. The contexts,
rewards and regret of these rounds must be those of the stream.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from streams import Stream, regret_curve, save, stream_path

import banditsrl
from banditsrl.core.history import BLOCK
from banditsrl.numerics.partition import partition
from banditsrl.numerics.precision import in_float64
from banditsrl.representations import Coded
from banditsrl.simulation.dealing import deal_block, name_keys

N_CHECKED = BLOCK + 256
"""Steps of the check; randomness is drawn in blocks, so these are more than one block."""

ROUNDING = 1e-12
"""Largest difference of a reward or regret: XLA fuses a product and a sum in some programs only."""


class Dealt(NamedTuple):
    """The rounds of one seed, with contexts as indices of the problem."""

    indices: NDArray[np.int64]  # (n,)
    stream: Stream


@in_float64
def deal(problem: Any, seed: int, steps: int) -> Dealt:
    """Return the first `steps` rounds of a seed."""
    keys = name_keys(np.asarray([seed]))
    parts, n_blocks = partition(problem), -(-steps // BLOCK)
    blocks = [deal_block(parts, keys, np.asarray(block)) for block in range(n_blocks)]
    indices = jnp.concatenate([block.contexts[:, 0] for block in blocks])[:steps]
    noises = jnp.concatenate([block.noises[:, 0] for block in blocks])[:steps]
    means = jax.vmap(problem.means)(indices)  # (n, A)
    rewards = jax.vmap(problem.reward)(means, noises)  # (n, A)
    vectors = context_vectors(problem)[np.asarray(indices)]
    stream = Stream(vectors, np.asarray(means), np.asarray(rewards))
    return Dealt(np.asarray(indices, dtype=np.int64), stream)


def context_vectors(problem: Any) -> NDArray[np.float32]:
    """Return the vectors of all contexts without the code of an action, (n_contexts, n_columns)."""
    inputs = problem.representations[0]
    if isinstance(inputs, Coded):
        return np.asarray(inputs.table, dtype=np.float32)
    n_columns = inputs.features.shape[2] - problem.n_actions  # the one-hot code comes last
    return np.asarray(inputs.features[:, 0, :n_columns], dtype=np.float32)


class Notes(NamedTuple):
    """The rounds that a policy played, one entry per step."""

    n: Array
    contexts: Array
    actions: Array
    rewards: Array


class Notebook(eqx.Module):
    """A policy that acts and learns as its base does, and records every round."""

    base: Any
    horizon: int = eqx.field(static=True)
    seeds_at_once: int = eqx.field(static=True, default=1)

    def init(self, key: Array) -> tuple[Any, Notes]:
        """Return the state of the base, and empty notes."""
        whole, real = jnp.zeros(self.horizon, jnp.int32), jnp.zeros(self.horizon, jnp.float64)
        return self.base.init(key), Notes(jnp.zeros((), jnp.int32), whole, whole, real)

    def act(self, state: tuple[Any, Notes], context: Any, mask: Any, key: Array) -> Any:
        """Return the choice of the base."""
        return self.base.act(state[0], context, mask, key)

    def learn(
        self, state: tuple[Any, Notes], context: Any, action: Any, reward: Any
    ) -> tuple[Any, Notes]:
        """Let the base learn, and record the round."""
        base, notes = state
        written = Notes(
            notes.n + 1,
            notes.contexts.at[notes.n].set(context),
            notes.actions.at[notes.n].set(action),
            notes.rewards.at[notes.n].set(reward),
        )
        return self.base.learn(base, context, action, reward), written


def check(problem: Any, seed: int, dealt: Dealt) -> None:
    """Raise an error if the stream differs from the rounds of `simulate`."""
    n = min(N_CHECKED, len(dealt.indices))
    policy = Notebook(banditsrl.make_policy("linucb", problem), horizon=n)
    result = banditsrl.simulate(problem, policy, horizon=n, seeds=[seed], steps=[n])
    notes = jax.tree.map(lambda leaf: np.asarray(leaf)[..., 0], result.state[1])
    actions = notes.actions.astype(np.int64)
    paid = dealt.stream.rewards[np.arange(n), actions]
    replayed = regret_curve(dealt.stream, actions)[-1]
    same = {
        "contexts": np.array_equal(notes.contexts, dealt.indices[:n]),
        "rewards": np.abs(notes.rewards - paid).max() < ROUNDING,
        "regret": abs(replayed - result.regret[0, -1]) < ROUNDING * n,
    }
    for what, agrees in same.items():
        if not agrees:
            raise RuntimeError(
                f"{problem.name}, seed {seed}: the stream and the simulation differ in {what}."
            )


def make_problem(name: str) -> Any:
    """Return the problem with this name, with default settings."""
    return banditsrl.make_problem(name)


def main() -> None:
    """Draw one stream, check it and write it."""
    parser = argparse.ArgumentParser(description="Write the stream of one problem and seed.")
    parser.add_argument("problem")
    parser.add_argument("seed", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    problem = make_problem(arguments.problem)
    dealt = deal(problem, arguments.seed, arguments.steps)
    check(problem, arguments.seed, dealt)
    path = stream_path(arguments.folder, arguments.problem, arguments.seed, arguments.steps)
    save(path, dealt.stream)


if __name__ == "__main__":
    main()
