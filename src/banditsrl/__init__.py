"""Contextual bandits that learn their representation and know when to stop exploring."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from banditsrl import errors, policies, problems, representations, selection
from banditsrl.core.contract import check_policy
from banditsrl.core.policy import Choice, Policy
from banditsrl.core.problem import Problem, Task
from banditsrl.core.problem_contract import check_problem
from banditsrl.core.representation import Representation
from banditsrl.core.state_files import load_state, save_state
from banditsrl.linear.likelihood_ratio import glr
from banditsrl.policies import (
    GLRT,
    IGW,
    OFUL,
    BanditSRL,
    EpsilonGreedy,
    Greedy,
    Leader,
    LinTS,
    LinUCB,
    NeuralUCB,
    NNBanditSRL,
    Uniform,
    Watched,
    make_policy,
)
from banditsrl.problems import (
    Column,
    FiniteProblem,
    Stream,
    make_problem,
    make_situation,
    read_problem,
)
from banditsrl.representations import Fourier, Network
from banditsrl.selection.training import Training
from banditsrl.serving.agent import Agent
from banditsrl.serving.compiled import compiled
from banditsrl.serving.warm_start import warm_start
from banditsrl.simulation.measured_times import measured_times
from banditsrl.simulation.result import Result
from banditsrl.simulation.simulate import simulate
from banditsrl.theory.diagnosis import Diagnosis, diagnose
from banditsrl.theory.guarantees import theory
from banditsrl.version import VERSION

if TYPE_CHECKING:
    from banditsrl.live.live_loop import Loop
    from banditsrl.logs.log import Log
    from banditsrl.reports.evaluation_report import Evaluation, evaluate

__version__ = VERSION


LAZY = {
    "Evaluation": "banditsrl.reports.evaluation_report",
    "Log": "banditsrl.logs.log",
    "Loop": "banditsrl.live.live_loop",
    "evaluate": "banditsrl.reports.evaluation_report",
}
"""Where things are that are imported when they are first used: most programs need none of them."""


def __getattr__(name: str) -> Any:
    """Import something of `LAZY`."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LAZY[name]), name)


__all__ = [
    "GLRT",
    "IGW",
    "OFUL",
    "Agent",
    "BanditSRL",
    "Choice",
    "Column",
    "Diagnosis",
    "EpsilonGreedy",
    "Evaluation",
    "FiniteProblem",
    "Fourier",
    "Greedy",
    "Leader",
    "LinTS",
    "LinUCB",
    "Log",
    "Loop",
    "NNBanditSRL",
    "Network",
    "NeuralUCB",
    "Policy",
    "Problem",
    "Representation",
    "Result",
    "Stream",
    "Task",
    "Training",
    "Uniform",
    "Watched",
    "check_policy",
    "check_problem",
    "compiled",
    "diagnose",
    "errors",
    "evaluate",
    "glr",
    "load_state",
    "make_policy",
    "make_problem",
    "make_situation",
    "measured_times",
    "policies",
    "problems",
    "read_problem",
    "representations",
    "save_state",
    "selection",
    "simulate",
    "theory",
    "warm_start",
]
