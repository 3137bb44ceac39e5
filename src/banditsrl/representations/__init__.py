"""Representations embed a context, one vector per action."""

from banditsrl.core.representation import Representation, TrainableRepresentation
from banditsrl.representations.coded import Coded
from banditsrl.representations.conversion import as_representation, as_representations
from banditsrl.representations.fourier import Fourier
from banditsrl.representations.mapped import Given, Mapped
from banditsrl.representations.network import Network
from banditsrl.representations.table import Table

__all__ = [
    "Coded",
    "Fourier",
    "Given",
    "Mapped",
    "Network",
    "Representation",
    "Table",
    "TrainableRepresentation",
    "as_representation",
    "as_representations",
]
