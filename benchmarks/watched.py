"""What do audits cost, and how soon is a change noticed? Makes the two tables of docs/watched.md.

    python benchmarks/watched.py

Audits: `glrt-linucb` on vardim-realizable. Change: `glrt-linucb` on three actions whose mean
rewards are linear in four columns and are exchanged at half time.
"""

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import banditsrl
from banditsrl.core.phases import phase_ends
from banditsrl.policies.watched import Watched

N_COLUMNS, N_ACTIONS, NOISE, HORIZON = 4, 3, 0.3, 10_000
HALF = HORIZON // 2


def make_watched(problem: banditsrl.Task, audit: Any) -> Watched:
    """Return LinUCB with the test, audited at a rate."""
    return Watched(banditsrl.make_policy("glrt-linucb", problem), audit=audit)


def print_audits(n_seeds: int) -> None:
    """Print regret, number of audits and bound for several rates and horizons."""
    problem = banditsrl.make_problem("vardim-realizable")
    for audit in (0.0, "1/t", "10/t", 0.01):
        for horizon in (5_000, 20_000):
            policy = make_watched(problem, audit)
            result = banditsrl.simulate(problem, policy, horizon=horizon, seeds=n_seeds)
            states = [
                jax.tree.map(lambda leaf, i=i: leaf[..., i], result.state) for i in range(n_seeds)
            ]
            found = [policy.trust(state) for state in states]
            n_audits = np.mean([trust.n_audits for trust in found])
            bound = np.median([trust.bound for trust in found])
            withdrawn = sum(trust.withdrawn for trust in found)
            print(
                f"audit {audit}, {horizon} rounds: regret {result.mean[-1]:.1f}, "
                f"{n_audits:.0f} audits, median bound {bound:.2f}, "
                f"withdrawn in {withdrawn} seeds",
                flush=True,
            )


def play_change(policy: Any, n_seeds: int) -> tuple[Any, Any, Any]:
    """Return regret, wrong certificates and alarms of every round, (seeds, rounds)."""
    keys = jax.random.split(jax.random.key(11), n_seeds)

    def deal(key: Any) -> Any:
        k = jax.random.split(key, 5)
        theta = jax.random.normal(k[0], (N_ACTIONS, N_COLUMNS)) / np.sqrt(N_COLUMNS)
        columns = jax.random.normal(k[1], (HORIZON, N_COLUMNS))
        noises = NOISE * jax.random.normal(k[2], (HORIZON,))
        return theta, columns, noises, jax.random.split(k[3], HORIZON), policy.init(k[4])

    def play(theta: Any, state: Any, columns: Any, noises: Any, keys: Any, steps: Any) -> Any:
        def step(state: Any, now: Any) -> Any:
            x, noise, key, t = now
            means = theta @ x
            means = jnp.where(t < HALF, means, jnp.roll(means, 1))
            choice = policy.act(state, x, jnp.ones(N_ACTIONS, bool), key)
            y = means[choice.action] + noise
            state = policy.watch(state, x, choice, y)
            state = policy.learn(state, x, choice.action, y, choice.certified)
            regret = means.max() - means[choice.action]
            return state, (regret, choice.certified & (regret > 0), state.n_alarms)

        return jax.lax.scan(step, state, (columns, noises, keys, steps))

    play_all = jax.jit(jax.vmap(play, in_axes=(0, 0, 0, 0, 0, None)))
    refresh = jax.jit(jax.vmap(lambda state, key: policy.refresh(state, None, key)))
    theta, columns, noises, draws, state = jax.jit(jax.vmap(deal))(keys)
    found, done = [], 0
    for end in sorted({*phase_ends(policy.phase_growth, HORIZON, policy.longest_phase), HORIZON}):
        part = slice(done, end)
        state, out = play_all(
            theta, state, columns[:, part], noises[:, part], draws[:, part], jnp.arange(done, end)
        )
        found.append(jax.tree.map(np.asarray, out))
        state, done = refresh(state, keys), end
    regret, wrong, alarms = (np.concatenate(p, axis=1) for p in zip(*found, strict=True))
    return regret, wrong, alarms


def print_change(n_seeds: int) -> None:
    """Print the regret of both halves, wrong certificates and the delay of the alarm."""
    stream = banditsrl.Stream(n_columns=N_COLUMNS, n_actions=N_ACTIONS)
    for drift in (None, 1e5):
        inner = banditsrl.make_policy("glrt-linucb", stream, sigma=NOISE)
        policy = Watched(inner, drift=drift)
        with jax.enable_x64(True):
            regret, wrong, alarms = play_change(policy, n_seeds)
        raised = (alarms[:, HALF:] > alarms[:, HALF - 1 : HALF]).any(1)
        delay = np.argmax(alarms[:, HALF:] > 0, axis=1)[raised]
        when = f" after {np.median(delay):.0f} rounds (median)" if raised.any() else ""
        print(
            f"drift {drift}: regret {regret[:, :HALF].sum(1).mean():.1f} before and "
            f"{regret[:, HALF:].sum(1).mean():.1f} after the change, wrong certificates in "
            f"{wrong[:, HALF:].mean():.2%} of the rounds after it, "
            f"{int(alarms[:, HALF - 1].sum())} false alarms, found in {raised.sum()} seeds{when}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40, help="Number of seeds.")
    chosen = parser.parse_args()
    print_change(chosen.seeds)
    print_audits(chosen.seeds)
