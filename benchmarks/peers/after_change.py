"""How much of the best possible reward is earned, on a stable problem and after a change?

    python benchmarks/peers/after_change.py [--seeds 5] [--first-seed 100] [--rounds 20000]
        [--only banditsrl-auto linucb-disjoint vw]

There are two kinds of problems, stable or with tastes that are dealt anew at half time. *Articles*
is the simulation of Vowpal Wabbit's tutorial: two kinds of visitors, two times of the day and seven
articles, one of which is clicked. *Offers* has six normal columns and four offers; the probability
of a click is a logistic function of a linear one. A share is the expected reward of what was
played, divided by that of the best actions: over all rounds, and over the last tenth of them.

Our policies test for changes, with one false alarm in 100,000 rounds. Vowpal Wabbit runs with its
default exploration and with SquareCB; both interact columns with actions.
"""

import argparse
import importlib
import importlib.util
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from settings import FIRST

import banditsrl
from banditsrl.problems.reward_laws import RewardLaw
from banditsrl.problems.situations import Draft, Situation, SituationFacts

OURS = ("banditsrl-auto", "linucb-disjoint")
AVERAGE_RUN = 1e5
VW = {"default": FIRST, "SquareCB": f"--squarecb {FIRST}"}

Floats = NDArray[np.float64]


def draw_articles(rng: np.random.Generator, n: int, tastes: Floats) -> tuple[Floats, Floats]:
    """Draw visitors, times of the day, and whether each article would be clicked."""
    kinds = rng.integers(2, size=(n, 2))
    columns = np.eye(2)[kinds].reshape(n, 4)
    liked = (tastes[:4].argmax(axis=1))[2 * kinds[:, 0] + kinds[:, 1]]
    return columns, np.eye(7)[liked]


def draw_offers(rng: np.random.Generator, n: int, tastes: Floats) -> tuple[Floats, Floats]:
    """Draw columns and the probability of a click on each offer."""
    columns = rng.normal(size=(n, 6))
    return columns, 1.0 / (1.0 + np.exp(-columns @ tastes[:6, :4]))


PROBLEMS = {"articles": draw_articles, "offers": draw_offers}


def make_situation(name: str, *, changes: bool, rounds: int, seed: int) -> Situation:
    """Deal the rounds of a problem, in two halves; tastes are dealt anew if they change."""
    rng = np.random.default_rng([seed, *map(ord, name)])
    first, other = rng.normal(size=(2, 6, 7))
    tastes = (first, other if changes else first)
    halves = [PROBLEMS[name](rng, rounds // 2, taste) for taste in tastes]
    columns, means = (np.concatenate(parts) for parts in zip(*halves, strict=True))
    draft = Draft(columns, means, RewardLaw("bernoulli"))
    facts = SituationFacts(name, seed=seed, change="swap" if changes else "none")
    return Situation(draft, facts)


def play_ours(name: str, situation: Situation, seed: int) -> Floats:
    """Return the cumulative regret of every tenth of the rounds, (10,)."""
    policy = banditsrl.make_policy(name, situation, drift=AVERAGE_RUN)
    n = situation.n_rounds
    tenths = [n * k // 10 for k in range(1, 11)]
    result = banditsrl.simulate(situation, policy, horizon=n, seeds=[seed], steps=tenths)
    regret: Floats = np.asarray(result.regret[0])
    return regret


def play_vw(options: str, situation: Situation, seed: int) -> Floats:
    """Return the same for a workspace of Vowpal Wabbit."""
    vw = importlib.import_module("vw")  # needs Vowpal Wabbit

    means, rewards = np.asarray(situation.mean_rewards), situation.rewards(seed)
    n, n_actions = means.shape
    n_columns = situation.columns.shape[1]
    player = vw.Workspace(options, n_columns=n_columns, n_actions=n_actions, seed=seed)
    lost = np.zeros(n)
    for t, context in enumerate(situation.columns):
        action = player.act(context)
        player.learn(context, action, float(rewards[t, action]))
        lost[t] = means[t].max() - means[t, action]
    return np.cumsum(lost)[[n * k // 10 - 1 for k in range(1, 11)]]


def find_shares(situation: Situation, regret: Floats) -> tuple[float, float]:
    """Return the share of the best possible reward in all rounds and in the last tenth."""
    best = np.asarray(situation.mean_rewards).max(axis=1)
    late = best[situation.n_rounds * 9 // 10 :].sum()
    return 1.0 - regret[-1] / best.sum(), 1.0 - (regret[-1] - regret[-2]) / late


def list_players(only: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield names, and the options of Vowpal Wabbit or None for a policy of ours."""
    yield from ((name, None) for name in OURS if name in only)
    if "vw" not in only:
        return
    if importlib.util.find_spec("vowpalwabbit") is None:
        print("Vowpal Wabbit is left out, since it is not installed.", flush=True)
        return
    yield from ((f"Vowpal Wabbit, {name}", options) for name, options in VW.items())


def main() -> None:
    """Play all problems and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--only", nargs="+", default=[*OURS, "vw"])
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    print("| problem | policy | share of the best reward | in the last tenth |\n|---|---|---|---|")
    for name, changes in ((name, changes) for name in PROBLEMS for changes in (False, True)):
        for player, options in list_players(arguments.only):
            found = []
            for seed in seeds:
                kind = {"changes": changes, "rounds": arguments.rounds, "seed": seed}
                situation = make_situation(name, **kind)
                if options is None:
                    regret = play_ours(player, situation, seed)
                else:
                    regret = play_vw(options, situation, seed)
                found.append(find_shares(situation, regret))
            whole, late = np.mean(found, axis=0)
            title = f"{name}, {'changed at half time' if changes else 'stable'}"
            print(f"| {title} | {player} | {whole:.3f} | {late:.3f} |", flush=True)


if __name__ == "__main__":
    main()
