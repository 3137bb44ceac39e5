"""How is one policy run on one situation? Compiled where that is possible, else round by round."""

import time
from typing import Any, NamedTuple

import numpy as np
from trust_lightgbm import run_lightgbm
from trust_rounds import Counts, Rounds, make_row, play, recorded_steps

import banditsrl
from banditsrl.problems import Situation


class Run(NamedTuple):
    """One policy on one situation; a fresh run has only the rounds after half time."""

    label: str
    policy: str
    settings: dict[str, Any]
    family: str
    seed: int
    rounds: int
    fresh: bool = False


def try_run(run: Run) -> tuple[Run, dict[str, Any] | Exception]:
    """Return the run with its row, or with its error, so that other runs go on."""
    try:
        return run, do_run(run)
    except Exception as error:
        return run, error


def do_run(run: Run) -> dict[str, Any]:
    """Return the row of a run; its number of rounds is that of the whole situation."""
    started = time.perf_counter()
    situation = banditsrl.make_situation(run.family, rounds=run.rounds, seed=run.seed)
    if run.fresh:
        situation = situation.since(run.rounds // 2)
    counts = count_run(situation, run)
    n = situation.n_rounds
    row = make_row(run.family, run.seed, n, situation.random_loss, counts)
    return {**row, "rounds": run.rounds, "seconds": round(time.perf_counter() - started, 1)}


def count_run(situation: Situation, run: Run) -> Counts:
    """Play a run in the way that suits it."""
    if run.policy == "lightgbm":
        return run_lightgbm(as_rounds(situation), run.seed)
    policy = banditsrl.make_policy(run.policy, situation, **run.settings)
    if situation.facts.missing or situation.facts.delay:
        return play_live(situation, policy)
    n = situation.n_rounds
    result = banditsrl.simulate(
        situation, policy, horizon=n, seeds=[run.seed], steps=recorded_steps(n)
    )
    certified = result.certified + result.trivial
    return Counts(result.regret[0], certified[0], result.wrong[0], result.wrong_regret[0])


def play_live(situation: Situation, policy: Any) -> Counts:
    """Play with an `Agent`, since rewards come late or never."""
    agent = banditsrl.Agent(policy, seed=situation.facts.seed)

    def act(context: Any) -> tuple[int, bool, Any]:
        choice = agent.act(context)
        return int(choice.action), bool(choice.certified), choice

    rounds = as_rounds(situation)
    return play(rounds._replace(contexts=np.asarray(situation.dealt)), act, agent.learn)


def as_rounds(situation: Situation) -> Rounds:
    """Return the rounds of a situation as arrays, with rewards drawn for every action."""
    facts = situation.facts
    seen = np.random.default_rng([facts.seed, 3]).random(situation.n_rounds) >= facts.missing
    return Rounds(
        contexts=situation.columns,
        means=np.asarray(situation.mean_rewards),
        rewards=situation.rewards(facts.seed),
        seen=seen,
        delay=facts.delay,
        family=facts.family,
        seed=facts.seed,
    )
