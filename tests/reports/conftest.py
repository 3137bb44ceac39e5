"""A small store of runs for the tests of reports: made-up tables whose answers are known."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

STEPS = np.unique(np.geomspace(1, 4096, 60).round().astype(int))

ENVIRONMENT = {"versions": {"banditsrl": "0.1.0", "jax": "0.10.1"}, "machine": "x86_64"}


def table(seed: int, *, slope: float, stop: int, reports: bool, wrong: bool) -> pl.DataFrame:
    """One seed: regret grows until `stop`; every later round is certified."""
    noise = np.random.default_rng(1000 * stop + seed).uniform(0.8, 1.2)
    certified = np.maximum(STEPS - stop, 0).astype(float)
    errors = np.minimum(np.maximum(STEPS - stop, 0), 20) if wrong else np.zeros(len(STEPS))
    columns: dict[str, Any] = {
        "seed": [seed] * len(STEPS),
        "step": STEPS,
        "regret": slope * noise * np.minimum(STEPS, stop),
        "certified": certified,
        "trivial": np.zeros(len(STEPS)),
        "wrong": errors.astype(float),
        "wrong_regret": 0.5 * errors,
        "seconds": [1.5] * len(STEPS),
    }
    if reports:
        columns["representation"] = np.where(256 * (seed % 2 + 1) <= STEPS, 0, seed % 4)
        columns["active"] = [[True, True, step < 512, True] for step in STEPS.tolist()]
    return pl.DataFrame(columns)


CELLS = (
    # label, base, tuned, policy, settings, slope, stop, wrong
    ("BanditSRL-LinUCB", "LinUCB", None, "banditsrl-linucb", {"loss": "eig"}, 0.05, 1000, False),
    ("LinUCB", None, None, "linucb", {"representation": 2}, 0.06, 4096, False),
    ("BanditSRL-ε-greedy", None, None, "banditsrl-egreedy", {"loss": "eig"}, 0.08, 2000, True),
    ("LEADER", None, None, "leader", {}, 0.04, 4096, False),
    ("IGW 1", None, "IGW", "igw", {"gamma1": 1.0}, 0.09, 4096, False),
    ("IGW 10", None, "IGW", "igw", {"gamma1": 10.0}, 0.07, 4096, False),
)

PANELS = {"realizable": "vardim-realizable", "wheel & <co>": "wheel"}


def build(folder: Path, *, seeds: int = 4, skip: Callable[[str], bool] = lambda run: False) -> Path:
    """Write a store of every cell in every panel; runs for which `skip` is true are unfinished."""
    cells = []
    for panel, problem in PANELS.items():
        for label, base, tuned, policy, settings, slope, stop, wrong in CELLS:
            runs = [f"{len(cells):02d}{seed:02d}" for seed in range(seeds)]
            cells.append(
                {
                    "panel": panel,
                    "label": label,
                    "base": base,
                    "tuned": tuned,
                    "problem": problem,
                    "policy": policy,
                    "preset": "paper",
                    "settings": settings,
                    "horizon": 4096,
                    "seeds": list(range(seeds)),
                    "runs": runs,
                }
            )
            for seed, run in enumerate(runs):
                place = folder / "runs" / run
                place.mkdir(parents=True)
                (place / "spec.json").write_text(json.dumps({"problem": problem}))
                (place / "environment.json").write_text(json.dumps(ENVIRONMENT))
                if not skip(run):
                    reports = policy.startswith("banditsrl")
                    made = table(seed, slope=slope, stop=stop, reports=reports, wrong=wrong)
                    made.write_parquet(place / "table.parquet")
    plan = {"schema": 1, "title": "Varying dimension", "figure": "vardim", "cells": cells}
    plan["command"] = "banditsrl reproduce vardim --scale quick"
    (folder / "sweep.json").write_text(json.dumps(plan))
    return folder


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished store."""
    return build(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def make_store() -> Callable[..., Path]:
    """The function that writes one, for stores that are not finished."""
    return build
