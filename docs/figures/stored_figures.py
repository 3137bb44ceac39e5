"""Which pictures are drawn from stored results and from the benchmarks? Nothing is trained here."""

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from idea_figures import add_caption, add_shared_legend, make_panels

import banditsrl
from banditsrl.display.intervals import BAND, margin_of_mean
from banditsrl.policies.watched import Watched

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
sys.path.insert(0, str(BENCHMARKS))  # the scripts that wrote the results also read them
from paper_curves import BASES, MIN_SEEDS, Curve, read_figure, read_long_runs  # noqa: E402
from trust_page import DEFAULT_LABEL, Line, count_kept, name_run, read_lines  # noqa: E402
from trust_picture import Look, draw  # noqa: E402

N_SEEDS = 20
"""Number of seeds of the network policies at 10,000 steps."""

TRUST_ROUNDS = 10_000
"""Number of rounds of the situations with known truth."""


def read_vardim() -> list[Curve]:
    """Return the curves of main figure 1."""
    return read_figure("vardim")


def read_weak_losses() -> list[Curve]:
    """Return the curves of the figure on the weak losses."""
    return read_figure("vardim-weak-losses")


def read_mixing() -> list[Curve]:
    """Return the curves of the figure on mixing representations."""
    return read_figure("mixing")


def draw_panels(curves: list[Curve], ink: Any) -> Any:
    """Draw the four panels of a figure on varying dimension."""
    canvas, panels = make_panels(ink, 7.6, 6.2, 2, rows=2)
    titles = list(dict.fromkeys(curve.panel for curve in curves))
    for axis, title in zip(panels, titles, strict=True):
        draw_panel(axis, curves, title, ink)
    return add_caption(add_shared_legend(canvas), describe_runs(curves))


def draw_leader(curves: list[Curve], ink: Any) -> Any:
    """Draw the figure on mixing representations."""
    canvas, (axis,) = make_panels(ink, 5.2, 3.2)
    draw_panel(axis, curves, "mixing", ink)
    return add_caption(add_shared_legend(canvas), describe_runs(curves))


def draw_panel(axis: Any, curves: list[Curve], title: str, ink: Any) -> None:
    """Draw the curves of one panel; an algorithm has one colour in all panels."""
    labels = list(dict.fromkeys(curve.label for curve in curves))
    for curve in (curve for curve in curves if curve.panel == title):
        colour = ink.lines[labels.index(curve.label)]
        draw_mean(axis, curve, colour)
        axis.plot([], [], color=colour, label=curve.label)
    axis.set(xlabel="thousand steps", ylabel="cumulative regret", title=title)
    axis.set_xlim(0)
    axis.set_ylim(bottom=0)


def draw_mean(axis: Any, curve: Curve, colour: str, dash: str = "-") -> None:
    """Draw the mean regret of the seeds of a curve, from step 0, with its band if there is one."""
    steps = np.concatenate([[0], curve.steps]) / 1e3
    regret = np.pad(curve.regret, ((0, 0), (1, 0)))  # (S, K + 1)
    axis.plot(steps, regret.mean(0), color=colour, ls=dash)
    if len(regret) >= MIN_SEEDS:
        half = margin_of_mean(regret)
        low, high = regret.mean(0) - half, regret.mean(0) + half
        axis.fill_between(steps, low, high, color=colour, alpha=0.2, lw=0)


def describe_runs(curves: list[Curve]) -> str:
    """Return the caption of a picture: the number of seeds, the horizon and the kind of band."""
    n_seeds, horizon = len(curves[0].seeds), curves[0].steps[-1]
    return f"{n_seeds} seeds, {horizon:,} steps; {BAND}"


def find_curve(curves: list[Curve], panel: str, label: str) -> Curve:
    """Return one curve of a figure."""
    return next(curve for curve in curves if (curve.panel, curve.label) == (panel, label))


def draw_network_pair(curves: list[Curve], ink: Any) -> Any:
    """Draw one network policy with and without the test, and its certified share."""
    canvas, (left, right) = make_panels(ink, 7.6, 2.9, 2)
    names = ("nn-banditsrl-egreedy", "neural-egreedy")
    pair = [find_curve(curves, "mushroom", name) for name in names]
    for k, curve in enumerate(pair):
        draw_mean(left, curve, ink.lines[k])
        left.plot([], [], color=ink.lines[k], label=curve.label)
        share = curve.counts.certified_shares.mean(0)
        right.plot(curve.steps / 1e3, share, color=ink.lines[k], label=curve.label)
    left.set(xlabel="thousand steps", ylabel="cumulative regret", title="mushroom")
    right.set(xlabel="thousand steps", title="certified share of rounds", ylim=(-0.02, 1.04))
    left.legend(fontsize=7)
    note = f"preset paper, {curves[0].steps[-1]:,} steps; {describe_sizes(pair)}"
    return add_caption(canvas, note)


def draw_nonlinear(curves: list[Curve], ink: Any) -> Any:
    """Draw what is stored of main figure 2; the base of a pair is dashed."""
    problems = list(dict.fromkeys(curve.panel for curve in curves))
    canvas, panels = make_panels(ink, 7.6, 3.3, len(problems))
    for axis, problem in zip(panels, problems, strict=True):
        for curve in (curve for curve in curves if curve.panel == problem):
            pairs = [(f"nn-banditsrl-{base}", alone) for base, alone in BASES.items()]
            k = [curve.label in pair for pair in pairs].index(True)
            dash = "-" if curve.label.startswith("nn-") else "--"
            draw_mean(axis, curve, ink.lines[k], dash)
            axis.plot([], [], color=ink.lines[k], ls=dash, label=curve.label)
        axis.set(xlabel="thousand steps", title=problem)
        axis.set_xlim(0)
        axis.set_ylim(bottom=0)
    canvas.axes[0].set(ylabel="cumulative regret")
    legend = add_shared_legend(canvas, len(BASES))  # a column per base
    return add_caption(legend, f"preset paper; {describe_sizes(curves)}")


def describe_sizes(curves: list[Curve]) -> str:
    """Return the number of seeds of some curves, and the kind of band if one is drawn."""
    sizes = sorted({len(curve.seeds) for curve in curves})
    if sizes[-1] < MIN_SEEDS:
        return "mean of at most 2 seeds" if sizes[-1] > 1 else "one seed per curve"
    several = f"{sizes[0]} to {sizes[-1]} seeds; {BAND}, from {MIN_SEEDS} seeds on"
    return several if len(sizes) > 1 else f"{sizes[0]} seeds; {BAND}"


def read_networks() -> list[dict[str, Any]]:
    """Return the stored runs of network policies at 10,000 steps."""
    return [json.loads(line) for line in (RESULTS / "networks.jsonl").read_text().splitlines()]


def draw_baselines(runs: Any, ink: Any) -> Any:
    """Draw the final regret of the network policies on two problems."""
    labels = ("Neural-ε-greedy", "Neural-LinUCB", "Neural-LinTS", "IGW-REF")
    canvas, panels = make_panels(ink, 7.6, 2.6, 2, sharey=True)
    for axis, problem in zip(panels, ("wheel", "mushroom"), strict=True):
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
        axis.locator_params(axis="x", nbins=5)
    return add_caption(
        canvas, f"preset paper; mean of {N_SEEDS} seeds; {BAND.replace('band', 'whiskers')}"
    )


def play_change() -> Any:
    """Return the cumulative regret without and with a test for drift, (seeds, rounds) each."""
    import watched  # noqa: PLC0415 - only this picture needs it

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
    canvas, (axis,) = make_panels(ink, 5.2, 3.1)
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


def read_trust() -> list[Line]:
    """Return what `banditsrl-auto` certified in each family of situations."""
    return read_lines(RESULTS / "trust", DEFAULT_LABEL, TRUST_ROUNDS)


def draw_trust(lines: list[Line], ink: Any) -> Any:
    """Draw the limits of the certificates; the picture says in its description what was kept."""
    look = Look(*ink.lines[:2], grey=ink.lines[-1], narrow=ink.narrow)
    canvas = draw(lines, title=name_run(DEFAULT_LABEL, TRUST_ROUNDS), look=look)
    canvas.set_label(count_kept(lines))
    return canvas


FIGURES = {
    "vardim": (read_vardim, draw_panels),
    "vardim-weak-losses": (read_weak_losses, draw_panels),
    "leader": (read_mixing, draw_leader),
    "nn-banditsrl": (read_long_runs, draw_network_pair),
    "nonlinear": (read_long_runs, draw_nonlinear),
    "baselines": (read_networks, draw_baselines),
    "watched": (play_change, draw_watched),
    "trust": (read_trust, draw_trust),
}
