"""Can the certificates be trusted? One policy and its references on every situation of the suite.

    python benchmarks/trust.py [--policy banditsrl-auto] [--set NAME=VALUE]... [--label NAME]
        [--families held-out] [--seeds 1000-1009] [--rounds 10000] [--jobs 2] [--quick]

Each run is appended to benchmarks/results/trust/LABEL.jsonl when it finishes, and a restart leaves
out what is there. `--again` forgets the earlier rows of the label. Where the best action changes at
half time, the policy is also run on the second half alone, as "LABEL fresh". Afterwards
trust_page.py writes the table and the picture. References are LinUCB with an intercept
(linucb-disjoint), epsilon-greedy LightGBM if it is installed, and the default policy of 0.2.0 (see
trust_reference.py).

Settings are chosen with `--families tuning` and seeds below 50. Seeds from 1000 on are reported.
"""

import argparse
import importlib.util
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from trust_page import fresh_label, write_page
from trust_rounds import append_row, read_rows, rounds_path, save_rounds
from trust_runs import Run, as_rounds, try_run

import banditsrl
from banditsrl.experiments.run_spec import parse_settings
from banditsrl.problems import FAMILIES, HELD_OUT, TUNING

REFERENCES = ("linucb-disjoint", "lightgbm")
LISTS = {"all": tuple(FAMILIES), "tuning": TUNING, "held-out": HELD_OUT}
OUT = "benchmarks/results/trust"
QUICK = {"families": ["xor", "swap", "delayed-rewards"], "seeds": ["1000"], "rounds": 300}
QUICK_OUT = "build/trust"
"""A trial must not replace the page of the whole suite, so its results have their own folder."""


def plan_runs(options: argparse.Namespace) -> list[Run]:
    """Return the runs that have no row yet, situations of one size next to each other."""
    settings = parse_settings(options.set)
    runners = [(options.label, options.policy, settings)]
    runners += [(name, name, {}) for name in options.references if name != options.label]
    if importlib.util.find_spec("lightgbm") is None and "lightgbm" in options.references:
        print("LightGBM is left out, since it is not installed.", flush=True)
        runners = [runner for runner in runners if runner[1] != "lightgbm"]
    shapes = {name: _shape(name) for name in options.families}
    by_shape = sorted(options.families, key=lambda name: shapes[name])
    runs = [
        Run(own, policy, chosen, family, seed, options.rounds)
        for own, policy, chosen in runners
        for family in by_shape
        for seed in options.seeds
    ]
    runs += [_start_afresh(run) for run in runs if run.label == options.label and _swaps(run)]
    return [run for run in runs if not _is_done(run, options)]


def _swaps(run: Run) -> bool:
    return FAMILIES[run.family].facts.change == "swap"


def _start_afresh(run: Run) -> Run:
    return run._replace(label=fresh_label(run.label), fresh=True)


def _is_done(run: Run, options: argparse.Namespace) -> bool:
    rows = read_rows(_file(options, run.label))
    known = {(row["family"], row["seed"], row["rounds"]) for row in rows}
    return (run.family, run.seed, run.rounds) in known


def _shape(name: str) -> tuple[int, int]:
    draft = FAMILIES[name].draw(np.random.default_rng(0), 100)
    return draft.columns.shape[1], draft.means.shape[1]


def _file(options: argparse.Namespace, label: str) -> Path:
    return Path(options.out) / f"{label}.jsonl"


def do_runs(runs: list[Run], jobs: int) -> Iterator[tuple[Run, dict[str, Any] | Exception]]:
    """Yield every run with its row, or its error, as it finishes."""
    if jobs == 1:
        yield from map(try_run, runs)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(try_run, run) for run in runs]):
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
    parser.add_argument("--seeds", nargs="+", default=["1000-1002"], help="Numbers or ranges.")
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
    options.seeds = [seed for words in options.seeds for seed in read_seeds(words)]
    listed = [LISTS.get(name, (name,)) for name in options.families]
    options.families = [name for names in listed for name in names]
    return options


def read_seeds(words: str) -> list[int]:
    """Return the seeds that a number or a range such as 1000-1009 names."""
    first, _, last = words.partition("-")
    return list(range(int(first), int(last or first) + 1))


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
        for label in (options.label, fresh_label(options.label)):
            _file(options, label).unlink(missing_ok=True)
    runs = plan_runs(options)
    n_failed = 0
    for n, (run, row) in enumerate(do_runs(runs, options.jobs), start=1):
        if isinstance(row, Exception):
            n_failed += 1
            print(f"{n}/{len(runs)} {run.label} {run.family} seed {run.seed} failed: {row!r}")
            continue
        append_row(_file(options, run.label), row)
        print(f"{n}/{len(runs)} {run.label} {describe_row(row)}", flush=True)
    write_page(Path(options.out), options.label, rounds=options.rounds)
    raise SystemExit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
