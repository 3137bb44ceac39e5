"""Representations embed a context, one vector per action."""

from banditsrl.representations.fixed import Given, Mapped, Representation, Table
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
from banditsrl.representations.spectrum import Diagnosis, diagnose

__all__ = [
    "LOSSES",
    "BestInClass",
    "Diagnosis",
    "Eig",
    "Evidence",
    "Given",
    "Loss",
    "Mapped",
    "Representation",
    "Span",
    "Table",
    "Weak",
    "WeakNormalised",
    "diagnose",
]
