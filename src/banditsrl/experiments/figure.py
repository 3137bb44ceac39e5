"""What is a figure? Data: panels, each with a problem and policies to compare on it, and scales.

`figure_catalogue` reads figures from YAML; `planning` turns them into cells that can be run.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from banditsrl.registry import Registry


@dataclass(frozen=True)
class FigureCurve:
    """One line of a panel: a registered policy with settings.

    Attributes:
        label: Name of the curve in its panel.
        policy: Name of the policy. The setting `representation="worst"` stands for the realizable
            candidate on which the regret bound of LinUCB is largest (no HLS, largest dimension).
        settings: The settings that are given.
        preset: Where other settings come from ("paper", "default" or None).
        base: Label of the curve that this one is compared with, seed by seed.
        tuned: Name of a group of curves of which reports show only the best.
    """

    label: str
    policy: str
    settings: dict[str, Any] = field(default_factory=dict)
    preset: str | None = None
    base: str | None = None
    tuned: str | None = None


@dataclass(frozen=True)
class Scale:
    """The number of steps and of seeds."""

    horizon: int
    n_seeds: int


@dataclass(frozen=True)
class FigurePanel:
    """One problem and the policies that are compared on it.

    Attributes:
        title: Title of the panel.
        problem: Name of the problem, or a path.
        curves: The policies.
        settings: The settings of the problem.
        scales: Scales that replace those of the figure, by name.
    """

    title: str
    problem: str
    curves: tuple[FigureCurve, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    scales: dict[str, Scale] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, or one described in a file for `banditsrl sweep`."""

    name: str
    title: str
    panels: tuple[FigurePanel, ...]
    scales: dict[str, Scale]

    def select_panel(self, title: str) -> "Figure":
        """Return the same figure with only one of its panels."""
        panels: Registry[FigurePanel] = Registry(f"panel of {self.name}")
        for panel in self.panels:
            panels.add(panel.title, panel)
        return replace(self, panels=(panels[title],))

    def find_scale(self, name: str) -> Scale:
        """Return one of the scales by its name."""
        scales: Registry[Scale] = Registry(f"scale of {self.name}")
        for key, scale in self.scales.items():
            scales.add(key, scale)
        return scales[name]
