"""Experiments repeat a policy on a problem and keep what came of it."""

from banditsrl.experiments.result import Result
from banditsrl.experiments.simulate import simulate
from banditsrl.experiments.theory import Theory, theory
from banditsrl.experiments.times import MeasuredTimes, measured_times

__all__ = ["MeasuredTimes", "Result", "Theory", "measured_times", "simulate", "theory"]
