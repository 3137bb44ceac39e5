"""BanditSRL's mechanisms: the certificate, elimination, representation losses and training."""

from banditsrl.selection.evidence import Evidence
from banditsrl.selection.losses import (
    LOSSES,
    BestInClass,
    Eig,
    Loss,
    Span,
    Weak,
    WeakNormalised,
)

__all__ = [
    "LOSSES",
    "BestInClass",
    "Eig",
    "Evidence",
    "Loss",
    "Span",
    "Weak",
    "WeakNormalised",
]
