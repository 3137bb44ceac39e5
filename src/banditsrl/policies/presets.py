"""Which settings belong together? Named presets of the policies with networks.

`paper` has the settings of the table in the paper's appendix. `default` is one set of settings for
every problem. It was chosen by hand from a dozen, for low regret in ten thousand steps of wheel
and magic with epsilon-greedy, on seeds 0 to 5. Settings that are given by name override a preset.
Linear policies have no presets; their defaults are those of the paper.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from banditsrl.core.problem import Task
from banditsrl.registry import Registry

Settings: TypeAlias = dict[str, Any]
"""Settings by name."""

PRESETS: Registry[Callable[[Task], Settings]] = Registry("preset")


def paper(task: Task) -> Settings:
    """Return the settings of the paper, which has a smaller step size on Covertype."""
    return {
        "layers": (50, 50, 50, 50, 10),
        "activation": "relu",
        "gamma": 1.2,
        "delta": 0.01,
        "lam": 1.0,
        "glrt_scale": 5.0,
        "loss": "weak",
        "loss_weight": 1.0,
        "optimizer": "sgd",
        "learning_rate": 1e-4 if task.name == "covertype" else 1e-3,
        "schedule": "constant",
        "batch": 128,
        "passes": 30,
        "max_updates": None,
        "ucb_scale": 1.0,
        "epsilon": "t^-1/3",
    }


def default(task: Task) -> Settings:
    """Return one set of settings for every problem, chosen for low regret in few steps."""
    return {
        **paper(task),
        "layers": (100, 100, 16),
        "glrt_scale": 2.0,
        "optimizer": "adam",
        "learning_rate": 2e-3,
        "schedule": "cosine",
        "batch": 32,
        "passes": 8,
        "epsilon": "t^-1/2",
        "guarded": True,
        "held_out": True,
    }


PORTFOLIO: Settings = {
    "held_out": False,
    "decay": 10.0,
    "every_weight": 3.0,
    "passes_over": "explored",
}
"""Settings of `banditsrl-auto` that apply with every preset.

They were chosen by hand on wheel, magic and generated tables, on seeds below 20.
"""

PRESETS.add("paper", paper)
PRESETS.add("default", default)
