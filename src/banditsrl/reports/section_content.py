"""What does a section of the report page get, and what does it give back?"""

from dataclasses import dataclass, field

from banditsrl.experiments.sweep import Sweep
from banditsrl.reports.colours import LineStyle
from banditsrl.reports.curves import ReportPanel
from banditsrl.reports.page_plots import Plot
from banditsrl.reports.theory_comparison import TheoryComparison


@dataclass(frozen=True)
class ReportData:
    """What the sections of the page are made of.

    Attributes:
        sweep: The sweep.
        panels: The panels that have a finished run.
        styles: Line style of every algorithm, by name.
        stems: Name of the figure files of every panel, without their ending, by title.
        theory: Promised and measured times of every panel, by title.
        candidates: Names of the candidates of every curve, by panel and curve.
    """

    sweep: Sweep
    panels: tuple[ReportPanel, ...]
    styles: dict[str, LineStyle]
    stems: dict[str, str]
    theory: dict[str, TheoryComparison]
    candidates: dict[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True)
class SectionContent:
    """HTML of a section (empty if there is nothing to show) and its plots, by key."""

    html: str
    plots: dict[str, Plot] = field(default_factory=dict)
