"""Representations embed a context, one vector per action."""

from banditsrl.core.representation import Representation
from banditsrl.representations.fourier import Fourier
from banditsrl.representations.network import Network
from banditsrl.representations.table import Coded, Given, Mapped, Table

__all__ = [
    "Coded",
    "Fourier",
    "Given",
    "Mapped",
    "Network",
    "Representation",
    "Table",
]
