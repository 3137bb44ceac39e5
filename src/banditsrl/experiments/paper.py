"""What did the paper run? Its linear figures as data: panels, policies and horizons by scale."""

from dataclasses import dataclass, field, replace
from typing import Any

from banditsrl.registry import Registry


@dataclass(frozen=True)
class Curve:
    """One line of a panel: a registered policy with settings.

    `representation="worst"` stands for the realizable candidate on which LinUCB's regret bound is
    largest (no HLS, largest dimension).
    """

    label: str
    policy: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """One problem and the policies compared on it."""

    title: str
    problem: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Scale:
    """How long and how often."""

    horizon: int
    n_seeds: int


@dataclass(frozen=True)
class Figure:
    """A figure of the paper."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    scales: dict[str, Scale]

    def only(self, title: str) -> "Figure":
        """The same figure with one of its panels."""
        panels: Registry[Panel] = Registry(f"panel of {self.name}")
        for panel in self.panels:
            panels.add(panel.title, panel)
        return replace(self, panels=(panels[title],))

    def scale(self, name: str) -> Scale:
        """One of its scales."""
        scales: Registry[Scale] = Registry(f"scale of {self.name}")
        for key, scale in self.scales.items():
            scales.add(key, scale)
        return scales[name]


LINEAR_SCALES = {
    "quick": Scale(10_000, 20),
    "standard": Scale(50_000, 40),
    "full": Scale(100_000, 40),
}


def _base_curves(loss: str = "eig", **settings: Any) -> tuple[Curve, ...]:
    return (
        Curve("BanditSRL-LinUCB", "banditsrl-linucb", {"loss": loss, **settings}),
        Curve("BanditSRL-ε-greedy", "banditsrl-egreedy", {"loss": loss, **settings}),
    )


WORST = Curve("LinUCB, worst candidate", "linucb", {"representation": "worst"})
LEADER = Curve("LEADER", "leader")

FIGURES: Registry[Figure] = Registry("figure")
FIGURES.add(
    "vardim",
    Figure(
        "vardim",
        "Varying dimension",
        (
            Panel("realizable", "vardim-realizable", (*_base_curves(), WORST, LEADER)),
            Panel(
                "misspecified",
                "vardim-misspecified",
                (
                    *_base_curves(offset="tight"),
                    Curve("LEADER", "leader", {"offset": "tight"}),
                ),
            ),
            Panel("without HLS", "vardim-no-hls", (*_base_curves(), WORST, LEADER)),
            Panel(
                "weak HLS",
                "vardim-weak-hls",
                (
                    *_base_curves("weak"),
                    Curve("BanditSRL-LinUCB, eig loss", "banditsrl-linucb", {"loss": "eig"}),
                    LEADER,
                ),
            ),
        ),
        LINEAR_SCALES,
    ),
)
FIGURES.add(
    "vardim-weak-losses",
    Figure(
        "vardim-weak-losses",
        "Varying dimension: the weak loss and its normalised form",
        tuple(
            Panel(
                title,
                problem,
                (
                    Curve("LinUCB, weak", "banditsrl-linucb", {"loss": "weak", **offset}),
                    Curve(
                        "LinUCB, normalised",
                        "banditsrl-linucb",
                        {"loss": "weak-normalised", **offset},
                    ),
                    Curve("ε-greedy, weak", "banditsrl-egreedy", {"loss": "weak", **offset}),
                    Curve(
                        "ε-greedy, normalised",
                        "banditsrl-egreedy",
                        {"loss": "weak-normalised", **offset},
                    ),
                ),
            )
            for title, problem, offset in (
                ("realizable", "vardim-realizable", {}),
                ("misspecified", "vardim-misspecified", {"offset": "tight"}),
                ("without HLS", "vardim-no-hls", {}),
                ("weak HLS", "vardim-weak-hls", {}),
            )
        ),
        LINEAR_SCALES,
    ),
)
FIGURES.add(
    "mixing",
    Figure(
        "mixing",
        "Mixing representations",
        (Panel("mixing", "mixing", (*_base_curves(), LEADER)),),
        LINEAR_SCALES,
    ),
)
