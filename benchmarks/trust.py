"""Can the certificates be trusted? One policy and its references on every situation of the suite.

    python benchmarks/trust.py [--policy banditsrl-auto] [--set NAME=VALUE]... [--label NAME]
        [--families held-out] [--seeds 1000 1001 1002] [--rounds 10000] [--jobs 2] [--quick]

Each run is appended to benchmarks/results/trust/LABEL.jsonl when it finishes, and a restart leaves
out what is there. `--again` forgets the earlier rows of the label. Afterwards trust_page.py writes
the table and the picture. References are LinUCB with an intercept (linucb-disjoint), epsilon-greedy
LightGBM if it is installed, and the default policy of 0.2.0 (see trust_reference.py).

Settings are chosen with `--families tuning` and seeds below 50. Seeds from 1000 on are reported.
"""

import argparse
import importlib.util
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from trust_lightgbm import run_lightgbm
from trust_page import write_page
from trust_rounds import (
    Counts,
    Rounds,
    append_row,
    make_row,
    play,
    read_rows,
    recorded_steps,
    rounds_path,
    save_rounds,
)

import banditsrl
from banditsrl.experiments.run_spec import parse_settings
from banditsrl.problems import FAMILIES, HELD_OUT, TUNING, Situation

REFERENCES = ("linucb-disjoint", "lightgbm")
LISTS = {"all": tuple(FAMILIES), "tuning": TUNING, "held-out": HELD_OUT}
OUT = "benchmarks/results/trust"
QUICK = {"families": ["xor", "swap", "delayed-rewards"], "seeds": [1000], "rounds": 300}
QUICK_OUT = "build/trust"
"""A trial must not replace the page of the whole suite, so its results have their own folder."""


class Run(NamedTuple):
    """One policy on one situation."""

    label: str
    policy: str
    settings: dict[str, Any]
    family: str
    seed: int
    rounds: int


def do_run(run: Run) -> tuple[Run, dict[str, Any]]:
    """Return the run and its row."""
    started = time.perf_counter()
    situation = banditsrl.make_situation(run.family, rounds=run.rounds, seed=run.seed)
    counts = count_run(situation, run)
    row = make_row(run.family, run.seed, run.rounds, situation.random_loss, counts)
    facts = {"change": situation.facts.change, "easy": situation.easy}
    return run, {**row, **facts, "seconds": round(time.perf_counter() - started, 1)}


def count_run(situation: Situation, run: Run) -> Counts:
    """Play a run in the way that suits it."""
    if run.policy == "lightgbm":
        return run_lightgbm(as_rounds(situation), run.seed)
    policy = banditsrl.make_policy(run.policy, situation, **run.settings)
    if situation.facts.missing or situation.facts.delay:
        return play_live(situation, policy)
    steps = recorded_steps(run.rounds)
    result = banditsrl.simulate(
        situation, policy, horizon=run.rounds, seeds=[run.seed], steps=steps
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


def plan_runs(options: argparse.Namespace) -> list[Run]:
    """Return the runs that have no row yet, situations of one size next to each other."""
    settings = parse_settings(options.set)
    runners = [(options.label, options.policy, settings)]
    runners += [(name, name, {}) for name in options.references if name != options.label]
    if importlib.util.find_spec("lightgbm") is None and "lightgbm" in options.references:
        print("LightGBM is left out, since it is not installed.", flush=True)
        runners = [runner for runner in runners if runner[1] != "lightgbm"]
    shapes = {name: _shape(name) for name in options.families}
    runs = []
    for own, policy, chosen in runners:
        done = {(r["family"], r["seed"], r["rounds"]) for r in read_rows(_file(options, own))}
        runs += [
            Run(own, policy, chosen, family, seed, options.rounds)
            for family in sorted(options.families, key=lambda name: shapes[name])
            for seed in options.seeds
            if (family, seed, options.rounds) not in done
        ]
    return runs


def _shape(name: str) -> tuple[int, int]:
    draft = FAMILIES[name].draw(np.random.default_rng(0), 100)
    return draft.columns.shape[1], draft.means.shape[1]


def _file(options: argparse.Namespace, label: str) -> Path:
    return Path(options.out) / f"{label}.jsonl"


def do_runs(runs: list[Run], jobs: int) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Yield every run with its row as it finishes."""
    if jobs == 1:
        yield from map(do_run, runs)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(do_run, run) for run in runs]):
            yield future.result()


def export(options: argparse.Namespace) -> None:
    """Write the rounds of all situations for another environment."""
    for family in options.families:
        for seed in options.seeds:
            if not rounds_path(options.export, family, seed).exists():
                situation = banditsrl.make_situation(family, rounds=options.rounds, seed=seed)
                save_rounds(options.export, as_rounds(situation))


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policy", default="banditsrl-auto", help="Policy under test.")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--label", help="Name of the results; by default policy and settings.")
    parser.add_argument("--references", nargs="*", default=list(REFERENCES))
    parser.add_argument("--families", nargs="+", default=["all"], help="Names, or a list of them.")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1000, 1001, 1002])
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1, help="Number of processes.")
    parser.add_argument("--quick", action="store_true", help="Three families, few rounds.")
    parser.add_argument("--again", action="store_true", help="Forget earlier rows of the label.")
    parser.add_argument("--export", type=Path, help="Only write the rounds into this folder.")
    parser.add_argument("--out", help=f"Folder of results; {OUT}, or {QUICK_OUT} with --quick.")
    options = parser.parse_args()
    options.out = options.out or (QUICK_OUT if options.quick else OUT)
    options.label = options.label or " ".join([options.policy, *options.set])
    if options.quick:
        vars(options).update(QUICK)
    listed = [LISTS.get(name, (name,)) for name in options.families]
    options.families = [name for names in listed for name in names]
    return options


def describe_row(row: dict[str, Any]) -> str:
    """Return a line of progress."""
    loss = "none" if row["certificate_loss"] is None else f"{row['certificate_loss']:.4f}"
    return (
        f"{row['family']} seed {row['seed']}: regret {row['regret']:.4g}, "
        f"certified {row['certified']:.2f} (last fifth {row['certified_last_fifth']:.2f}), "
        f"wrong {row['wrong']:.3f}, certificate loss {loss}, {row['seconds']:.0f} s"
    )


def main() -> None:
    """Run what is missing, then write the page."""
    options = read_options()
    if options.export:
        export(options)
        return
    if options.again:
        _file(options, options.label).unlink(missing_ok=True)
    runs = plan_runs(options)
    for n, (run, row) in enumerate(do_runs(runs, options.jobs), start=1):
        append_row(_file(options, run.label), row)
        print(f"{n}/{len(runs)} {run.label} {describe_row(row)}", flush=True)
    write_page(Path(options.out), options.label, rounds=options.rounds)


if __name__ == "__main__":
    main()
