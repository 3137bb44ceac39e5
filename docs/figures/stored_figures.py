"""Which pictures are drawn from stored results and from the benchmarks? Nothing is trained here."""

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import polars as pl
from idea_figures import add_caption, draw_curve

import banditsrl
from banditsrl.display.intervals import BAND, margin_of_mean
from banditsrl.display.pictures import make_canvas
from banditsrl.policies.watched import Watched

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
N_SEEDS = 20
NOTE = f"scale quick: {N_SEEDS} seeds, 10,000 steps; {BAND}"


def read_linear() -> pl.DataFrame:
    """Return the curves of the linear figures at scale quick."""
    return pl.read_csv(RESULTS / "linear-quick.csv")


def draw_vardim(table: pl.DataFrame, ink: Any) -> Any:
    """Draw the four panels of main figure 1."""
    canvas = make_canvas(7.6, 6.2)
    names = ("realizable", "misspecified", "no-hls", "weak-hls")
    for axis, name in zip(canvas.subplots(2, 2).flat, names, strict=True):
        draw_problem(axis, table, f"vardim-{name}", ink)
    return add_caption(add_shared_legend(canvas), NOTE)


def draw_leader(table: pl.DataFrame, ink: Any) -> Any:
    """Draw the figure on mixing representations."""
    canvas = make_canvas(5.2, 3.2)
    axis = canvas.subplots()
    draw_problem(axis, table, "mixing", ink)
    axis.legend(fontsize=7)
    return add_caption(canvas, NOTE)


def draw_problem(axis: Any, table: pl.DataFrame, problem: str, ink: Any) -> None:
    """Draw all curves of one problem; an algorithm has one colour in all panels."""
    labels = list(dict.fromkeys(table["label"]))
    rows = table.filter(pl.col("problem") == problem)
    for label in dict.fromkeys(rows["label"]):
        curve = rows.filter(pl.col("label") == label)
        steps, mean, stderr = (curve[name].to_numpy() for name in ("step", "regret", "stderr"))
        colour = ink.lines[labels.index(label)]
        draw_curve(axis, steps, mean, stderr, colour, N_SEEDS)
        axis.plot([], [], color=colour, label=label)
    axis.set(xlabel="step", ylabel="cumulative regret", title=problem)
    axis.set_ylim(bottom=0)


def add_shared_legend(canvas: Any) -> Any:
    """Put one legend above all panels, where it hides no curve."""
    lines: dict[str, Any] = {}  # the first line of each name
    for axis in canvas.axes:
        for line, name in zip(*axis.get_legend_handles_labels(), strict=True):
            lines.setdefault(name, line)
    canvas.legend(lines.values(), lines, loc="outside upper center", ncols=3, fontsize=7.5)
    return canvas


def read_paper() -> dict[tuple[str, str], pl.DataFrame]:
    """Return the stored runs at the paper's horizon, by problem and policy."""
    found = {}
    for folder in sorted((RESULTS / "paper" / "runs").iterdir()):
        spec = json.loads((folder / "spec.json").read_text())
        table = pl.read_parquet(folder / "table.parquet")
        found[spec["problem"], spec["policy"]] = table
    return found


def draw_network_pair(runs: Any, ink: Any) -> Any:
    """Draw one network policy with and without the test, and its certified share."""
    canvas = make_canvas(7.6, 2.9)
    left, right = canvas.subplots(1, 2)
    for k, name in enumerate(("nn-banditsrl-egreedy", "neural-egreedy")):
        table = runs["mushroom", name]
        steps, certified = table["step"].to_numpy(), table["certified"].to_numpy()
        left.plot(steps / 1e3, table["regret"].to_numpy(), color=ink.lines[k], label=name)
        share = np.diff(certified, prepend=0.0) / np.diff(steps, prepend=0)
        right.plot(steps / 1e3, share, color=ink.lines[k], label=name)
    left.set(xlabel="thousand steps", ylabel="cumulative regret", title="mushroom")
    right.set(xlabel="thousand steps", title="certified share of rounds", ylim=(-0.02, 1.04))
    left.legend(fontsize=7)
    return add_caption(canvas, "one seed (seed 0), preset paper, 500,000 steps")


def draw_nonlinear(runs: Any, ink: Any) -> Any:
    """Draw what is stored of main figure 2; the base of a pair is dashed."""
    canvas = make_canvas(7.6, 3.6)
    bases = ("egreedy", "linucb", "lints", "igw")
    for axis, problem in zip(canvas.subplots(1, 2), ("wheel", "mushroom"), strict=True):
        for (where, name), table in runs.items():
            if where == problem:
                k = [name.endswith(base) for base in bases].index(True)
                dash = "-" if name.startswith("nn-") else "--"
                x, y = table["step"].to_numpy() / 1e3, table["regret"].to_numpy()
                axis.plot(x, y, color=ink.lines[k], ls=dash, label=name)
        axis.set(xlabel="thousand steps", ylabel="cumulative regret", title=problem)
    return add_caption(
        add_shared_legend(canvas), "one seed (seed 0) of two of the five problems, preset paper"
    )


def read_networks() -> list[dict[str, Any]]:
    """Return the stored runs of network policies at 10,000 steps."""
    return [json.loads(line) for line in (RESULTS / "networks.jsonl").read_text().splitlines()]


def draw_baselines(runs: Any, ink: Any) -> Any:
    """Draw the final regret of the network policies on two problems."""
    labels = ("Neural-ε-greedy", "Neural-LinUCB", "Neural-LinTS", "IGW-REF")
    canvas = make_canvas(7.6, 2.6)
    for axis, problem in zip(
        canvas.subplots(1, 2, sharey=True), ("wheel", "mushroom"), strict=True
    ):
        for k, label in enumerate(labels):
            final = next(
                np.array(run["final"])
                for run in runs
                if (run["problem"], run["label"]) == (problem, label)
            )
            half = float(margin_of_mean(final))
            axis.barh(k, final.mean(), xerr=half, color=ink.lines[k], ecolor=ink.text, height=0.6)
        axis.set(xlabel="regret at 10,000 steps", title=problem)
        axis.set_yticks(range(len(labels)), labels)
        axis.invert_yaxis()
    return add_caption(
        canvas, f"preset paper; mean of {N_SEEDS} seeds; {BAND.replace('band', 'whiskers')}"
    )


def play_change() -> Any:
    """Return the cumulative regret without and with a test for drift, (seeds, rounds) each."""
    sys.path.insert(0, str(BENCHMARKS))
    import watched  # noqa: PLC0415  (its folder must join the path first)

    stream = banditsrl.Stream(n_columns=watched.N_COLUMNS, n_actions=watched.N_ACTIONS)
    found = []
    for drift in (None, 1e5):
        inner = banditsrl.make_policy("glrt-linucb", stream, sigma=watched.NOISE)
        with jax.enable_x64(True):
            regret, _, _ = watched.play_change(Watched(inner, drift=drift), 10)
        found.append(regret.cumsum(1))
    return found


def draw_watched(found: Any, ink: Any) -> Any:
    """Draw regret before and after a change of the rewards."""
    canvas = make_canvas(5.2, 3.1)
    axis = canvas.subplots()
    rounds = np.arange(0, 10_000, 50)
    for k, (regret, name) in enumerate(zip(found, ("no test", "drift=1e5"), strict=True)):
        for line in regret:
            axis.plot(rounds, line[rounds], color=ink.lines[1 - k], lw=0.5, alpha=0.35)
        axis.plot(rounds, regret.mean(0)[rounds], color=ink.lines[1 - k], label=name)
    axis.axvline(5_000, color=ink.text, lw=0.8, ls=":")
    axis.set(xlabel="round", ylabel="cumulative regret", yscale="log", ylim=(1, None))
    axis.set_title("the rewards are exchanged at round 5,000")
    axis.legend(fontsize=8, loc="upper left")
    return add_caption(canvas, "10 seeds (thin) and their mean; glrt-linucb")


FIGURES = {
    "vardim": (read_linear, draw_vardim),
    "leader": (read_linear, draw_leader),
    "nn-banditsrl": (read_paper, draw_network_pair),
    "nonlinear": (read_paper, draw_nonlinear),
    "baselines": (read_networks, draw_baselines),
    "watched": (play_change, draw_watched),
}
