"""Experiments repeat a policy on a problem and keep what came of it."""

from banditsrl.experiments.result import Result
from banditsrl.experiments.simulate import simulate

__all__ = ["Result", "simulate"]
