"""Representations embed a context, one vector per action."""

from banditsrl.representations.fourier import Fourier
from banditsrl.representations.network import Network
from banditsrl.representations.table import Coded, Given, Mapped, Representation, Table

__all__ = [
    "Coded",
    "Fourier",
    "Given",
    "Mapped",
    "Network",
    "Representation",
    "Table",
]
