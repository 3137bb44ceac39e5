"""The expected time of a sweep: width of the network, horizon, and what was measured."""

from dataclasses import replace
from pathlib import Path

import pytest

import banditsrl
from banditsrl.experiments.figure_catalogue import FIGURES
from banditsrl.experiments.planning import list_cells, plan_sweep
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.run_times import RunTimes, guess_step_seconds
from banditsrl.experiments.store import Store

MEASURED_SECONDS = 25 * 60
"""Processor time that the panel [1000] needed at least, with three seeds of 4,000 steps."""


def test_a_wide_network_is_announced_as_what_it_costs(tmp_path: Path) -> None:
    figure = FIGURES["wheel-networks"]
    wide = plan_sweep(list_cells(figure.select_panel("wheel, [1000]"), "quick"), Store(tmp_path))
    thin = plan_sweep(
        list_cells(figure.select_panel("wheel, [50, 50, 10]"), "quick"), Store(tmp_path)
    )
    assert wide.seconds(1) >= MEASURED_SECONDS
    assert wide.seconds(1) > 10 * thin.seconds(1) - 20 * 10 * 6
    assert wide.seconds(2) == pytest.approx(wide.seconds(1) / 2)


def test_the_paper_s_network_takes_four_to_eight_minutes_at_the_paper_s_horizon() -> None:
    stream = banditsrl.make_problem("wheel")
    policy = banditsrl.make_policy("nn-banditsrl-linucb", stream, preset="paper")
    assert 240 < 500_000 * guess_step_seconds(policy, 1) < 480


def test_a_finished_run_of_another_width_is_no_measurement(tmp_path: Path) -> None:
    problem = banditsrl.make_problem("wheel")
    policy = banditsrl.make_policy("neural-linucb", problem)
    spec = RunSpec("wheel", "neural-linucb", 100, (0,), (100,))
    times = RunTimes(Store(tmp_path), [])
    assert times.estimate(spec, policy, 1) == pytest.approx(100 * guess_step_seconds(policy, 1))
    other = replace(spec, settings=(("layers", (1000,)),))
    wide = banditsrl.make_policy("neural-linucb", problem, layers=(1000,))
    assert times.estimate(other, wide, 1) > 5 * times.estimate(spec, policy, 1)
    longer = replace(spec, horizon=1000, seeds=(3,))
    assert times.estimate(longer, policy, 1) == pytest.approx(10 * times.estimate(spec, policy, 1))
