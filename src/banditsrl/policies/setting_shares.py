"""Which part of a policy takes which setting? The first part that declares it.

A policy of the catalogue may be built from several parts: itself, a base, a network, training. All
settings are given together, by name, and are divided among the parts here.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from banditsrl.arguments import count
from banditsrl.core.problem import Task
from banditsrl.core.representation import Representation
from banditsrl.errors import InvalidArgument
from banditsrl.policies.presets import Settings
from banditsrl.registry import Registry
from banditsrl.representations.network import Network

NOT_SETTINGS = {"base", "representation", "representations", "network", "training", "wides"} | {
    "explorer",
    "learner",
    "trees",
    "networks",
    "tree_learner",
    "n_actions",
    "n_columns",
    "policy",
}
"""Fields that are parts of a policy, not settings."""


def share_out(
    settings: Settings,
    parts: Sequence[type[Any]],
    task: Task,
    preset: Settings | None = None,
    fixed: Settings | None = None,
) -> list[Settings]:
    """Return the settings of each part: every setting goes to the first part that has it.

    Settings in `fixed` cannot be changed. Settings of the preset, and the noise level of the task,
    are passed on if some part has them.
    """
    owners: dict[str, int] = {}
    for index, part in enumerate(parts):
        for name in setting_names(part):
            owners.setdefault(name, index)
    known: Registry[int] = Registry(f"setting of {parts[0].__name__}")
    for name, index in owners.items():
        if name not in (fixed or {}):
            known.add(name, index)
    for name in settings:
        known[name]  # raises for an unknown name, and suggests the nearest one
    merged = {"sigma": task.sigma or None, **(preset or {}), **settings, **(fixed or {})}
    shares: list[Settings] = [{} for _ in parts]
    for name, value in merged.items():
        if name in owners:
            shares[owners[name]][name] = value
    return shares


def setting_names(part: type[Any]) -> list[str]:
    """Return the names that can be set on one part."""
    if part is Network:
        return ["layers", "activation"]
    names = [field.name for field in dataclasses.fields(part)]
    return [name for name in names if not name.startswith("_") and name not in NOT_SETTINGS]


def pick_candidate(task: Task, representation: int) -> Representation:
    """Return one of the candidates of a task, by its index."""
    candidates = task.representations
    if not candidates:
        raise InvalidArgument("representations must hold at least one candidate, got an empty set.")
    if count("representation", representation, 0) >= len(candidates):
        raise InvalidArgument(
            f"representation must be below {len(candidates)}, got {representation}."
        )
    return candidates[representation]
