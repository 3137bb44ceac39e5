"""Representations embed a context, one vector per action."""

from banditsrl.representations.fixed import Coded, Given, Mapped, Representation, Table
from banditsrl.representations.fourier import Fourier
from banditsrl.representations.losses import (
    LOSSES,
    BestInClass,
    Eig,
    Evidence,
    Loss,
    Span,
    Weak,
    WeakNormalised,
)
from banditsrl.representations.neural import Network
from banditsrl.representations.spectrum import Diagnosis, diagnose

__all__ = [
    "LOSSES",
    "BestInClass",
    "Coded",
    "Diagnosis",
    "Eig",
    "Evidence",
    "Fourier",
    "Given",
    "Loss",
    "Mapped",
    "Network",
    "Representation",
    "Span",
    "Table",
    "Weak",
    "WeakNormalised",
    "diagnose",
]
