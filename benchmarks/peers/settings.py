"""Which settings are run? The settings of every library, by name, in the order of the table.

They are in one file, apart from the code that uses them, because planning the runs must not import
every library. The module of each library explains its settings.
"""

from typing import Any

FIRST = "--interactions ca"
SECOND = "--interactions ca --interactions cca"

VW = {
    "squarecb, first order": f"--squarecb {FIRST}",
    "squarecb, second order": f"--squarecb {SECOND}",
    "epsilon 0.1, first order": f"--epsilon 0.1 {FIRST}",
    "epsilon 0.1, second order": f"--epsilon 0.1 {SECOND}",
    "epsilon 0.02, first order": f"--epsilon 0.02 {FIRST}",
    "epsilon 0.02, second order": f"--epsilon 0.02 {SECOND}",
}
"""Command-line options."""

MABWISER = {
    "alpha 0.1": (0.1, False),
    "alpha 1": (1.0, False),
    "alpha 0.1, intercept": (0.1, True),
    "alpha 1, intercept": (1.0, True),
}
"""Alpha, and whether a constant column is added."""

OURS: dict[str, tuple[str, str | None]] = {
    "banditsrl-auto": ("banditsrl-auto", None),
    "nn-banditsrl-egreedy, default": ("nn-banditsrl-egreedy", "default"),
    "nn-banditsrl-egreedy, paper": ("nn-banditsrl-egreedy", "paper"),
    "linucb-disjoint": ("linucb-disjoint", None),
}
"""Policy and preset."""

CALVERA: dict[str, dict[str, Any]] = {
    "NeuralLinear": {"learning_rate": 1e-4},
    "NeuralLinear, lazy, rate 1e-3": {"learning_rate": 1e-3, "lazy_uncertainty_update": True},
    "NeuralUCB": {"learning_rate": 1e-4},
    "NeuralUCB, rate 1e-3": {"learning_rate": 1e-3},
}
"""Settings that complete or change the documented ones."""

LIGHTGBM: dict[str, dict[str, Any]] = {
    "100 trees of 15 leaves": {"n_estimators": 100, "num_leaves": 15},
}
"""Settings of the regressor."""

FOREST = {"alpha 0.5": 0.5, "alpha 1": 1.0}
"""The factor alpha of the spread of the trees."""

SETTINGS: dict[str, dict[str, Any]] = {
    "vw": dict(VW),
    "mabwiser": dict(MABWISER),
    "ours": dict(OURS),
    "lightgbm": dict(LIGHTGBM),
    "forest": dict(FOREST),
    "calvera": dict(CALVERA),
}

TITLES = {
    "vw": "Vowpal Wabbit",
    "mabwiser": "MABWiser LinUCB",
    "ours": "banditsrl",
    "lightgbm": "LightGBM epsilon-greedy",
    "forest": "random forest UCB",
    "calvera": "calvera",
}
