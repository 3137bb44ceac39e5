"""How is a figure of the paper run? Panel by panel, curve by curve, with progress."""

from collections.abc import Callable
from typing import Any, NamedTuple

from banditsrl.experiments.paper import Curve, Figure, Panel, Scale
from banditsrl.experiments.result import Result
from banditsrl.experiments.simulate import simulate
from banditsrl.policies.catalogue import make_policy
from banditsrl.problems.catalogue import make_problem
from banditsrl.representations.spectrum import diagnose

Watch = Callable[[str, int, int], None]


class PanelResult(NamedTuple):
    """The curves of one panel."""

    title: str
    results: list[Result]


def reproduce(
    figure: Figure, scale: Scale, *, problem_seed: int = 0, watch: Watch | None = None
) -> list[PanelResult]:
    """Run every curve of a figure; `watch(label, done, total)` is told how far each one is."""
    panels = []
    for panel in figure.panels:
        problem = make_problem(panel.problem, seed=problem_seed)
        results = [_run(problem, panel, curve, scale, watch) for curve in panel.curves]
        panels.append(PanelResult(panel.title, results))
    return panels


def n_steps(figure: Figure, scale: Scale) -> int:
    """Steps in all, over curves and seeds."""
    return sum(len(panel.curves) for panel in figure.panels) * scale.horizon * scale.n_seeds


def worst_candidate(problem: Any) -> int:
    """The realizable candidate without HLS of largest dimension, or else the last realizable."""
    found = [diagnose(problem, k) for k in range(len(problem.representations))]
    realizable = [k for k, d in enumerate(found) if d.realizable]
    bent = [k for k in realizable if not found[k].hls] or realizable
    return max(bent, key=lambda k: found[k].dim)


def _run(problem: Any, panel: Panel, curve: Curve, scale: Scale, watch: Watch | None) -> Result:
    settings = dict(curve.settings)
    if settings.get("representation") == "worst":
        settings["representation"] = worst_candidate(problem)
    label = f"{panel.title}: {curve.label}"
    return simulate(
        problem,
        make_policy(curve.policy, problem, **settings),
        horizon=scale.horizon,
        seeds=scale.n_seeds,
        name=curve.label,
        progress=None if watch is None else lambda done, total: watch(label, done, total),
    )
