"""Is a log worth more than nothing, and are weights worth their rounds? Makes the table of docs.

    python benchmarks/warm_start.py
    python benchmarks/warm_start.py --frozen
    python benchmarks/warm_start.py --quick

For each situation and each logging policy, `warm_start` learns from logged rounds in several ways,
and the policy then plays the next rounds. The table shows the regret of these rounds, on average
over seeds, next to that of a policy that starts from scratch. Logging policies:

- even: every action is equally likely.
- habit: a random linear score of the columns decides, whatever rewards are; every action has at
  least a fiftieth of the probability of even play.
- expert: the action of largest mean reward in 9 of 10 rounds, and an even draw in the others.
- insider: as the expert, but by the reward that the action will really pay in this round. Contexts
  do not contain what the insider knows, so rewards in the log are too good to be true.
"""

import argparse
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import banditsrl
from banditsrl.evaluation.policy_replay import AcceptedRounds
from banditsrl.evaluation.policy_targets import PolicyTarget
from banditsrl.live.fold import next_end_after
from banditsrl.logs.log import Log
from banditsrl.numerics.partition import partition
from banditsrl.serving.compiled import compiled

Floats = NDArray[np.float64]

SITUATIONS = ("linear-boundary", "interactions", "steps", "offers")
LOGGERS = ("even", "habit", "expert", "insider")
WAYS = ("scratch", "none", "ips", "thinned")
FIRST_SEED = 1000


def log_pmf(logger: str, situation: Any, rewards: Floats, rng: np.random.Generator) -> Floats:
    """Return the law of a logging policy in every round, (T, A)."""
    means, n_actions = np.asarray(situation.mean_rewards), situation.n_actions
    even = np.full(means.shape, 1.0 / n_actions)
    if logger == "even":
        return even
    if logger == "habit":
        columns = np.asarray(situation.columns, dtype=np.float64)
        scaled = (columns - columns.mean(0)) / np.maximum(columns.std(0), 1e-9)
        scores = 2.0 * scaled @ rng.normal(size=(columns.shape[1], n_actions))
        scores = np.exp(scores / np.sqrt(columns.shape[1]))
        return np.asarray(0.02 * even + 0.98 * scores / scores.sum(1, keepdims=True))
    known = means if logger == "expert" else rewards
    best = known >= known.max(1, keepdims=True)
    return np.asarray(0.1 * even + 0.9 * best / best.sum(1, keepdims=True))


def draw_log(logger: str, situation: Any, rewards: Floats, n: int, seed: int) -> dict[str, Any]:
    """Return the first n rounds as a log."""
    rng = np.random.default_rng([seed, LOGGERS.index(logger)])
    pmf = log_pmf(logger, situation, rewards, rng)[:n]
    drawn = (pmf.cumsum(1) < rng.random((n, 1))).sum(1)
    actions = np.minimum(drawn, pmf.shape[1] - 1)
    at = np.arange(n), actions
    contexts = np.asarray(situation.columns, dtype=np.float64)[:n]
    return {
        "contexts": contexts,
        "actions": actions,
        "rewards": rewards[at],
        "propensities": pmf[at],
    }


class Rounds(NamedTuple):
    """What comes next: contexts, and what every action pays and pays on average."""

    contexts: Any  # (n, m)
    rewards: Any  # (n, A)
    means: Any  # (n, A)


@jax.jit
def play_rounds(parts: Any, state: Any, rounds: Rounds, span: Any, key: Any) -> Any:
    """Play the rounds span[0] .. span[1] - 1; return the state, actions and certificates."""
    policy, n = parts.combine(), len(rounds.means)

    def play(t: Any, carry: Any) -> Any:
        state, actions, certified = carry
        context, act_key = rounds.contexts[t], jax.random.fold_in(key, t)
        choice = policy.act(state, context, None, act_key)
        reward = rounds.rewards[t, choice.action]
        state = policy.watch(state, context, choice, reward)
        state = policy.learn(state, context, choice.action, reward, choice.certified)
        return state, actions.at[t].set(choice.action), certified.at[t].set(choice.certified)

    start = (state, jnp.zeros(n, jnp.int32), jnp.zeros(n, bool))
    return jax.lax.fori_loop(span[0], span[1], play, start)


def play_on(policy: Any, state: Any, lived: AcceptedRounds, rounds: Rounds, seed: int) -> float:
    """Return the regret of a policy in the next rounds; its phases end as in life."""
    parts, refresh, first, regret = partition(policy), compiled(policy).refresh, 0, 0.0
    before, n, key = lived.n, len(rounds.means), jax.random.key(seed)
    while first < n:
        end = next_end_after(policy.phase_growth, before + first, policy.longest_phase)
        last = min(end - before, n)
        state, actions, certified = play_rounds(
            parts, state, rounds, np.asarray([first, last]), key
        )
        some, played = np.arange(first, last), np.asarray(actions)[first:last]
        earned, flags = rounds.rewards[some, played], np.asarray(certified)[first:last]
        lived.add(rounds.contexts[some], played, earned, flags)
        regret += float((rounds.means[some].max(1) - rounds.means[some, played]).sum())
        if last == end - before:
            state = refresh(state, lived.history(), jax.random.fold_in(key, last))
        first = last
    return regret


def play_frozen(policy: Any, state: Any, rounds: Rounds) -> float:
    """Return the regret of playing what is predicted to be best, without learning any more."""
    n = len(rounds.means)
    log = Log.from_arrays(
        contexts=rounds.contexts,
        actions=np.zeros(n, dtype=int),
        rewards=np.zeros(n),
        n_actions=rounds.means.shape[1],
    )
    pmf = PolicyTarget(policy, state, greedy=True).pmf(log.collect())
    return float((rounds.means.max(1) - (pmf * rounds.means).sum(1)).sum())


def measure(
    policy: str,
    name: str,
    logger: str,
    *,
    ways: tuple[str, ...],
    options: argparse.Namespace,
    seed: int,
) -> dict[str, float]:
    """Return the regret of the next rounds for every way to start."""
    n_logged, n_next = options.logged, options.next
    situation = banditsrl.make_situation(name, rounds=n_logged + n_next, seed=seed)
    rewards, means = np.asarray(situation.rewards(seed)), np.asarray(situation.mean_rewards)
    log = draw_log(logger, situation, rewards, n_logged, seed)
    contexts = np.asarray(situation.columns, dtype=np.float64)
    rounds = Rounds(contexts[n_logged:], rewards[n_logged:], means[n_logged:])
    stream = banditsrl.Stream(contexts.shape[1], situation.n_actions, sigma=None)
    built, found = banditsrl.make_policy(policy, stream), {}
    for way in ways:
        lived, key = AcceptedRounds(n_logged + n_next), jax.random.key(seed)
        if way == "scratch":
            state = built.init(key)
        else:
            state, past = banditsrl.warm_start(built, key, **log, weighting=way, capacity=n_next)
            n = int(past.n)
            lived.add(*(np.asarray(part)[:n] for part in past[:-1]))
        if options.frozen:
            found[way] = play_frozen(built, state, rounds)
        else:
            found[way] = play_on(built, state, lived, rounds, seed)
    return found


def print_table(options: argparse.Namespace) -> None:
    """Measure everything, and print one line per situation and logging policy."""
    print("| policy | situation | log | " + " | ".join(WAYS) + " |")
    print("|---" * (3 + len(WAYS)) + "|")
    for policy in options.policies:
        for name in options.situations:
            scratch: dict[int, float] = {}
            for logger in LOGGERS:
                rows = []
                for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
                    ways = WAYS if seed not in scratch else WAYS[1:]
                    found = measure(policy, name, logger, ways=ways, options=options, seed=seed)
                    scratch.setdefault(seed, found.get("scratch", np.nan))
                    rows.append([{"scratch": scratch[seed], **found}[way] for way in WAYS])
                table = np.asarray(rows)
                error = table.std(0) / np.sqrt(len(rows))
                cells = [f"{m:.0f} ± {e:.0f}" for m, e in zip(table.mean(0), error, strict=True)]
                print(f"| {policy} | {name} | {logger} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=["linucb-disjoint"])
    parser.add_argument("--situations", nargs="+", default=list(SITUATIONS))
    parser.add_argument("--logged", type=int, default=3000, help="Rounds of the log.")
    parser.add_argument("--next", type=int, default=2000, help="Rounds that are played next.")
    parser.add_argument("--seeds", type=int, default=4, help="Number of seeds.")
    parser.add_argument("--quick", action="store_true", help="One situation, one seed, few rounds.")
    parser.add_argument("--frozen", action="store_true", help="Learn nothing after the log.")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.policies, chosen.situations = chosen.policies[:1], chosen.situations[:1]
        chosen.logged, chosen.next, chosen.seeds = 300, 100, 1
    began = time.monotonic()
    with jax.enable_x64(True):
        print_table(chosen)
    print(f"{time.monotonic() - began:.0f} seconds")
