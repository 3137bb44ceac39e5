"""Write a base algorithm for BanditSRL: Boltzmann exploration in twenty lines.

    python examples/own_base.py

A base needs `init`, `act` and `learn`. Its context is the current embedding (n_actions, dim). It
learns from the rounds in which it chose the action, and starts again in each phase. Because it is
written with `jax.numpy`, it runs compiled and mapped over seeds like the built-in algorithms.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

import banditsrl

State = dict[str, Array]


class Boltzmann:
    """Play action a with probability proportional to exp(sqrt(t) * estimated reward of a)."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def init(self, key: Array) -> State:
        return {"V": jnp.eye(self.dim), "b": jnp.zeros(self.dim), "t": jnp.ones(())}

    def act(self, state: State, context: Array, mask: Array, key: Array) -> banditsrl.Choice:
        values = context @ jnp.linalg.solve(state["V"], state["b"])
        logits = jnp.where(mask, jnp.sqrt(state["t"]) * values, -jnp.inf)
        action = jax.random.categorical(key, logits)
        return banditsrl.Choice.without_test(action, jax.nn.softmax(logits))

    def learn(self, state: State, context: Array, action: Any, reward: Any) -> State:
        phi = context[action]
        return {
            "V": state["V"] + jnp.outer(phi, phi),
            "b": state["b"] + reward * phi,
            "t": state["t"] + 1.0,
        }


def main(horizon: int = 20_000, n_seeds: int = 40) -> banditsrl.Result:
    problem = banditsrl.make_problem("vardim-realizable")
    base = Boltzmann(dim=max(c.dim for c in problem.representations))
    banditsrl.check_policy(base, problem, representation=0)
    policy = banditsrl.BanditSRL(problem.representations, base=base, sigma=problem.sigma)
    result = banditsrl.simulate(problem, policy, horizon=horizon, seeds=n_seeds)
    half = result.regret_between(horizon // 2, horizon)
    print(f"regret {result.mean[-1]:.1f} ± {result.stderr[-1]:.1f}")
    print(f"added in the second half: {half.mean():.2f}")
    print(f"certified at the end: {result.certified_share[:, -1].mean():.0%}")
    return result


if __name__ == "__main__":
    main()
