"""Problems deal contexts and pay rewards."""

from banditsrl.problems.catalogue import PROBLEMS, make_problem
from banditsrl.problems.files import read_problem, write_problem
from banditsrl.problems.finite import Candidate, FiniteProblem
from banditsrl.problems.synthetic import mixing, vardim

__all__ = [
    "PROBLEMS",
    "Candidate",
    "FiniteProblem",
    "make_problem",
    "mixing",
    "read_problem",
    "vardim",
    "write_problem",
]
