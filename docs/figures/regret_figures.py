"""Which pictures compare the regret of policies? Simulations of a few seconds on one problem."""

from typing import Any

from idea_figures import PHONE_WIDTH, add_caption, draw_curve, make_panels

import banditsrl
from banditsrl.display.intervals import BAND
from banditsrl.display.palette import LIGHT

SEEDS = 20


def run_banditsrl() -> Any:
    """Return results of ε-greedy with and without BanditSRL on six candidates."""
    problem = banditsrl.make_problem("vardim-realizable", seed=0)
    found = [
        banditsrl.simulate(
            problem, banditsrl.make_policy(name, problem), horizon=5_000, seeds=SEEDS
        )
        for name in ("banditsrl-egreedy", "egreedy")
    ]
    return found, [claim.name for claim in problem.claims]


def draw_banditsrl(data: Any, ink: Any) -> Any:
    """Draw regret, and the share of seeds in which each candidate is in use."""
    (ours, base), _ = data
    canvas, (left, right) = make_panels(ink, 7.6, 2.9, 2)
    for k, result in enumerate((ours, base)):
        draw_curve(left, result.steps, result.mean, result.stderr, ink.lines[k], SEEDS)
        name = ("BanditSRL with ε-greedy", "ε-greedy on the HLS candidate")[k]
        left.plot([], [], color=ink.lines[k], label=name)
    left.set(xlabel="step", ylabel="cumulative regret", title="regret stops growing")
    left.legend(fontsize=7)
    chosen = ours.reports["representation"]  # (seeds, phases + 1)
    times = [1, *ours.phases]
    best = (chosen == 0).mean(0)
    right.step(times, best, where="post", color=ink.lines[0], label="seeds with the HLS candidate")
    share = ours.certified_share.mean(0)
    right.plot(ours.steps, share, color=ink.lines[2], label="certified rounds")
    right.set(
        xlabel="step",
        ylabel="share",
        xscale="log",
        ylim=(-0.02, 1.04),
        title="the good candidate is found",
    )
    right.set_xlim(8, 5_000)
    right.legend(fontsize=7, loc="lower right")
    return add_caption(canvas, f"mean of {SEEDS} seeds; {BAND}")


def run_linear() -> Any:
    """Return results of the four bases on one embedding."""
    problem = banditsrl.make_problem("vardim-realizable", seed=0)
    return [
        banditsrl.simulate(
            problem, banditsrl.make_policy(name, problem), horizon=3_000, seeds=SEEDS
        )
        for name in ("linucb", "lints", "egreedy", "igw")
    ]


def draw_linear(results: Any, ink: Any) -> Any:
    """Draw the regret of the four bases."""
    canvas, (axis,) = make_panels(ink, 5.2, 3.1)
    for k, (name, result) in enumerate(
        zip(("LinUCB", "LinTS", "ε-greedy", "IGW"), results, strict=True)
    ):
        draw_curve(axis, result.steps, result.mean, result.stderr, ink.lines[k], SEEDS)
        axis.plot([], [], color=ink.lines[k], label=name)
    axis.set(xlabel="step", ylabel="cumulative regret", title="four rules, one embedding")
    axis.legend(fontsize=8)
    return add_caption(canvas, f"mean of {SEEDS} seeds; {BAND}")


def run_compared() -> Any:
    """Return the comparison of the first page."""
    problem = banditsrl.make_problem("vardim-realizable")
    told = [banditsrl.make_policy("linucb", problem, representation=k) for k in (0, 5)]
    return banditsrl.compare(problem, [*told, "banditsrl-linucb"], horizon=5_000, seeds=10)


def draw_compared(comparison: Any, ink: Any) -> Any:
    """Draw it as `comparison.plot()` does, in the colours of a page."""
    canvas = comparison.plot().figure
    if ink.narrow:
        canvas.set_size_inches(PHONE_WIDTH, 3.7)
        foot = canvas.axes[-1]
        foot.set_xlabel(foot.get_xlabel().replace("; ", ";\n"))
    colours = dict(zip(LIGHT, ink.lines, strict=True))
    for axis in canvas.axes:
        for line in axis.lines:
            line.set_color(colours[line.get_color()])
        for band, line in zip(axis.collections, axis.lines, strict=False):
            band.set_facecolor(line.get_color())
        if axis.get_legend():
            axis.legend()
    return canvas


FIGURES = {
    "banditsrl": (run_banditsrl, draw_banditsrl),
    "linear": (run_linear, draw_linear),
    "certificates-compared": (run_compared, draw_compared),
}
