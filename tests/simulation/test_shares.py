"""Shares of certified and wrong rounds: derived round by round, and the same wherever shown."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl.experiments.cell_results import result_to_json
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.run_tables import make_table
from banditsrl.experiments.store import Store
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.reports.curves import build_panels
from banditsrl.reports.measurements import measure_sweep
from banditsrl.simulation.final_numbers import measure_result
from banditsrl.simulation.shares import CertificateCounts, increase_after

HORIZON = 2_000
STEPS = (*range(100, HORIZON, 100), HORIZON)


@pytest.fixture(scope="module")
def result() -> banditsrl.Result:
    """Contexts 0 and 1 cannot be told apart, and context 2 offers a single action."""
    means = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]])
    misleading = np.array([[[1.0], [0.0]]] * 3)
    available = np.array([[True, True], [True, True], [False, True]])
    problem = banditsrl.FiniteProblem(
        means, rho=[0.6, 0.2, 0.2], noise_std=0.1, available=available
    )
    policy = banditsrl.GLRT(banditsrl.EpsilonGreedy(misleading, sigma=0.1))
    return banditsrl.simulate(problem, policy, horizon=HORIZON, seeds=3, steps=list(STEPS))


def count_by_hand(result: banditsrl.Result, first: int) -> tuple[float, float, float]:
    """Rounds, certified rounds and wrong rounds of all seeds after a recorded step, in a loop."""
    start = STEPS.index(first) if first else None
    rounds = certified = wrong = 0.0
    for seed in range(result.n_seeds):
        for counts in (result.certified, result.trivial):
            certified += counts[seed, -1] - (counts[seed, start] if start is not None else 0.0)
        wrong += result.wrong[seed, -1] - (result.wrong[seed, start] if start is not None else 0.0)
        rounds += HORIZON - first
    return rounds, certified, wrong


def test_rounds_with_nothing_to_decide_are_certified_rounds(result: banditsrl.Result) -> None:
    assert (result.trivial[:, -1] > 100).all()
    rounds, certified, _ = count_by_hand(result, 1_800)
    assert result.certificates.certified_in_last_tenth == pytest.approx(certified / rounds)
    whole = result.certified[:, -1] + result.trivial[:, -1]
    widths = np.diff([0, *STEPS])
    assert (result.certified_share * widths).sum(axis=1) == pytest.approx(whole)


def test_wrong_rounds_are_a_share_of_certified_rounds(result: banditsrl.Result) -> None:
    _, certified, wrong = count_by_hand(result, 0)
    assert 0.0 < wrong < certified
    assert result.certificates.wrong_overall == pytest.approx(wrong / certified)
    _, certified, wrong = count_by_hand(result, 1_800)
    assert result.certificates.wrong_in_last_tenth == pytest.approx(wrong / certified)
    assert ((result.wrong_share >= 0.0) & (result.wrong_share <= 1.0)).all()


def test_shares_are_zero_where_nothing_was_certified() -> None:
    nothing = np.zeros((2, 3))
    counts = CertificateCounts(30, np.array([10, 20, 30]), nothing, nothing, nothing)
    assert counts.wrong_overall == counts.wrong_in_last_tenth == 0.0
    assert counts.certified_in_last_tenth == 0.0
    assert not counts.wrong_shares.any()


@pytest.mark.parametrize(
    ("steps", "start"),
    [((50, 90, 100), 90), ((50, 89, 95, 100), 89), ((95, 100), 0), ((100,), 0)],
)
def test_the_last_tenth_begins_at_or_before_nine_tenths(steps: tuple[int, ...], start: int) -> None:
    recorded = np.array(steps)
    assert increase_after(0.9, recorded.astype(float), recorded, horizon=100) == 100 - start


def test_console_json_and_report_show_the_same_shares(
    result: banditsrl.Result, tmp_path: Path
) -> None:
    spec = RunSpec("mixing", "greedy", HORIZON, (0, 1, 2), STEPS)
    store = Store(tmp_path)
    store.begin(spec)
    store.finish(spec, make_table(result))
    cell = {"panel": "p", "label": "l", "problem": "mixing", "policy": "greedy"}
    cell |= {"horizon": HORIZON, "seeds": [0, 1, 2], "runs": [spec.hash]}
    (tmp_path / "sweep.json").write_text(json.dumps({"schema": 1, "cells": [cell]}))
    sweep = read_sweep(tmp_path)
    (panel,) = build_panels(sweep, measure_sweep(sweep))
    page = panel.curves[0].certificates
    row = measure_result(result)
    planned: Any = SimpleNamespace(spec=spec)
    shown = result_to_json(planned, result)["certified"]
    assert shown["last_decile"] == row.certified == pytest.approx(page.certified_in_last_tenth)
    assert shown["wrong"] == row.wrong == pytest.approx(page.wrong_overall)
    assert row.second_half == pytest.approx(panel.curves[0].per_seed("second_half").mean())
