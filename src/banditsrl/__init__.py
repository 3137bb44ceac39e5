"""Contextual bandits that learn their representation and know when to stop exploring.

Every public name is here, and is imported when it is first used: `import banditsrl` itself takes no
time, and a program pays only for what it uses.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from banditsrl.version import VERSION

if TYPE_CHECKING:
    from banditsrl import errors, policies, problems, representations, selection
    from banditsrl.core.actions import draw_action, draw_best, maximisers, uniform_over
    from banditsrl.core.history import History
    from banditsrl.core.policy import Choice, Policy
    from banditsrl.core.problem import Problem, Task
    from banditsrl.core.problem_contract import check_problem
    from banditsrl.core.representation import Representation, TrainableRepresentation
    from banditsrl.core.state_files import load_state, save_state
    from banditsrl.datasets.uci import fetch
    from banditsrl.display.pictures import Picture
    from banditsrl.display.summaries import Summary
    from banditsrl.doctor.doctor import Examination, examine
    from banditsrl.linear.likelihood_ratio import glr
    from banditsrl.live.live_loop import Loop
    from banditsrl.live_store.records import Decision, Settlement
    from banditsrl.logs.log import Log
    from banditsrl.policies import (
        GLRT,
        IGW,
        OFUL,
        POLICIES,
        PRESETS,
        BanditSRL,
        BanditSRLAuto,
        EpsilonGreedy,
        Greedy,
        Leader,
        LinearPolicy,
        LinTS,
        LinUCB,
        NeuralUCB,
        NNBanditSRL,
        RidgePolicy,
        Uniform,
        View,
        Watched,
        WideUCB,
        make_policy,
    )
    from banditsrl.problems import (
        PROBLEMS,
        Claim,
        Column,
        FiniteProblem,
        Situation,
        Stream,
        TableProblem,
        Wheel,
        dataset,
        make_problem,
        make_situation,
        mixing,
        read_problem,
        read_table,
        vardim,
        wheel,
        write_problem,
    )
    from banditsrl.reports.evaluation_findings import Evaluation
    from banditsrl.reports.evaluation_report import evaluate
    from banditsrl.reports.page import write_report
    from banditsrl.representations import Coded, Fourier, Given, Mapped, Network, Table
    from banditsrl.selection import (
        LOSSES,
        BestInClass,
        Eig,
        Evidence,
        Loss,
        Span,
        Weak,
        WeakNormalised,
    )
    from banditsrl.selection.training import Training
    from banditsrl.selection.trust import Trust
    from banditsrl.serving.agent import Agent
    from banditsrl.serving.compiled import compiled
    from banditsrl.serving.warm_start import warm_start
    from banditsrl.simulation.comparison import Comparison, compare
    from banditsrl.simulation.measured_times import measured_times
    from banditsrl.simulation.policy_check import check_policy
    from banditsrl.simulation.result import Result
    from banditsrl.simulation.simulate import simulate
    from banditsrl.theory.diagnosis import Diagnosis, diagnose
    from banditsrl.theory.guarantees import Theory, theory
    from banditsrl.theory.log_diagnosis import diagnose_log

__version__ = VERSION

ROOMS = ("errors", "policies", "problems", "representations", "selection")
"""Modules that are public as a whole."""

HOMES = {
    "banditsrl.core.actions": "draw_action draw_best maximisers uniform_over",
    "banditsrl.core.history": "History",
    "banditsrl.core.policy": "Choice Policy",
    "banditsrl.core.problem": "Problem Task",
    "banditsrl.core.problem_contract": "check_problem",
    "banditsrl.core.representation": "Representation TrainableRepresentation",
    "banditsrl.core.state_files": "load_state save_state",
    "banditsrl.datasets.uci": "fetch",
    "banditsrl.display.pictures": "Picture",
    "banditsrl.display.summaries": "Summary",
    "banditsrl.linear.likelihood_ratio": "glr",
    "banditsrl.live.live_loop": "Loop",
    "banditsrl.live_store.records": "Decision Settlement",
    "banditsrl.logs.log": "Log",
    "banditsrl.policies": (
        "BanditSRL BanditSRLAuto EpsilonGreedy GLRT Greedy IGW Leader LinTS LinUCB "
        "LinearPolicy NNBanditSRL NeuralUCB OFUL POLICIES PRESETS RidgePolicy Uniform View "
        "Watched WideUCB make_policy"
    ),
    "banditsrl.problems": (
        "Claim Column FiniteProblem PROBLEMS Situation Stream TableProblem Wheel dataset "
        "make_problem make_situation mixing read_problem read_table vardim wheel "
        "write_problem"
    ),
    "banditsrl.doctor.doctor": "Examination examine",
    "banditsrl.reports.evaluation_findings": "Evaluation",
    "banditsrl.reports.evaluation_report": "evaluate",
    "banditsrl.reports.page": "write_report",
    "banditsrl.representations": "Coded Fourier Given Mapped Network Table",
    "banditsrl.selection": "BestInClass Eig Evidence LOSSES Loss Span Weak WeakNormalised",
    "banditsrl.selection.training": "Training",
    "banditsrl.selection.trust": "Trust",
    "banditsrl.serving.agent": "Agent",
    "banditsrl.serving.compiled": "compiled",
    "banditsrl.serving.warm_start": "warm_start",
    "banditsrl.simulation.comparison": "Comparison compare",
    "banditsrl.simulation.measured_times": "measured_times",
    "banditsrl.simulation.policy_check": "check_policy",
    "banditsrl.simulation.result": "Result",
    "banditsrl.simulation.simulate": "simulate",
    "banditsrl.theory.diagnosis": "Diagnosis diagnose",
    "banditsrl.theory.guarantees": "Theory theory",
    "banditsrl.theory.log_diagnosis": "diagnose_log",
}
"""Which names each module has, separated by spaces."""

WHERE = {name: module for module, names in HOMES.items() for name in names.split()}


class _Package(ModuleType):
    """This package as a module, in which `theory` is the function and not the room of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Whoever imports a file of the room `theory` makes Python bind the room to that name.
        if name != "theory" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let functions that use this package be sent to other processes."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:  # type checkers know all names, so that they find misspelt ones

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name in ROOMS:
            return import_module(f"{__name__}.{name}")
        if name not in WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(WHERE[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the public names, whether or not they were used, and what every module has."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


__all__ = [
    "GLRT",
    "IGW",
    "LOSSES",
    "OFUL",
    "POLICIES",
    "PRESETS",
    "PROBLEMS",
    "Agent",
    "BanditSRL",
    "BanditSRLAuto",
    "BestInClass",
    "Choice",
    "Claim",
    "Coded",
    "Column",
    "Comparison",
    "Decision",
    "Diagnosis",
    "Eig",
    "EpsilonGreedy",
    "Evaluation",
    "Evidence",
    "Examination",
    "FiniteProblem",
    "Fourier",
    "Given",
    "Greedy",
    "History",
    "Leader",
    "LinTS",
    "LinUCB",
    "LinearPolicy",
    "Log",
    "Loop",
    "Loss",
    "Mapped",
    "NNBanditSRL",
    "Network",
    "NeuralUCB",
    "Picture",
    "Policy",
    "Problem",
    "Representation",
    "Result",
    "RidgePolicy",
    "Settlement",
    "Situation",
    "Span",
    "Stream",
    "Summary",
    "Table",
    "TableProblem",
    "Task",
    "Theory",
    "TrainableRepresentation",
    "Training",
    "Trust",
    "Uniform",
    "View",
    "Watched",
    "Weak",
    "WeakNormalised",
    "Wheel",
    "WideUCB",
    "check_policy",
    "check_problem",
    "compare",
    "compiled",
    "dataset",
    "diagnose",
    "diagnose_log",
    "draw_action",
    "draw_best",
    "errors",
    "evaluate",
    "examine",
    "fetch",
    "glr",
    "load_state",
    "make_policy",
    "make_problem",
    "make_situation",
    "maximisers",
    "measured_times",
    "mixing",
    "policies",
    "problems",
    "read_problem",
    "read_table",
    "representations",
    "save_state",
    "selection",
    "simulate",
    "theory",
    "uniform_over",
    "vardim",
    "warm_start",
    "wheel",
    "write_problem",
    "write_report",
]
