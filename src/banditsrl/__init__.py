"""Contextual bandits that learn their representation and know when to stop exploring."""

from banditsrl import errors, policies, problems, representations
from banditsrl.experiments.result import Result
from banditsrl.experiments.simulate import simulate
from banditsrl.experiments.theory import theory
from banditsrl.experiments.times import measured_times
from banditsrl.linear.glrt import glr
from banditsrl.policies import (
    GLRT,
    IGW,
    OFUL,
    Agent,
    BanditSRL,
    Choice,
    EpsilonGreedy,
    Greedy,
    Leader,
    LinTS,
    LinUCB,
    NeuralUCB,
    NNBanditSRL,
    Policy,
    Training,
    Uniform,
    check_policy,
    compiled,
    load_state,
    make_policy,
    save_state,
    warm_start,
)
from banditsrl.problems import FiniteProblem, Stream, make_problem, read_problem
from banditsrl.representations import Diagnosis, Fourier, Network, diagnose

__version__ = "0.2.0"

__all__ = [
    "GLRT",
    "IGW",
    "OFUL",
    "Agent",
    "BanditSRL",
    "Choice",
    "Diagnosis",
    "EpsilonGreedy",
    "FiniteProblem",
    "Fourier",
    "Greedy",
    "Leader",
    "LinTS",
    "LinUCB",
    "NNBanditSRL",
    "Network",
    "NeuralUCB",
    "Policy",
    "Result",
    "Stream",
    "Training",
    "Uniform",
    "check_policy",
    "compiled",
    "diagnose",
    "errors",
    "glr",
    "load_state",
    "make_policy",
    "make_problem",
    "measured_times",
    "policies",
    "problems",
    "read_problem",
    "representations",
    "save_state",
    "simulate",
    "theory",
    "warm_start",
]
