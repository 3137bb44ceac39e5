"""What is known about an application before its first round? Enough to make a policy for it."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count, positive_or_none
from banditsrl.core.problem import Task
from banditsrl.errors import InvalidArgument
from banditsrl.problems.stream_columns import Column, check_columns, encode_rows
from banditsrl.representations.coded import Coded


class Stream(Task):
    """Rounds that come from outside: a context is a vector, and rewards are observed, not drawn.

    A stream takes the place of a problem in `make_policy`. It cannot be simulated.

    Args:
        n_columns: Length of the vector that describes a context; columns should be of order one.
        n_actions: Number of actions A.
        columns: Named columns instead of `n_columns`. `encode` then turns a row of named values
            into the vector; missing and unseen values have a meaning there (see `Column`).
        sigma: Noise level of the rewards; 0.5 is right for rewards in [0, 1], None estimates it.

    Example:
        >>> stream = Stream(
        ...     columns=[
        ...         Column("age", "number", default=40),
        ...         Column("city", "category", values=("rome", "oslo")),
        ...         Column("member", "flag"),
        ...     ],
        ...     n_actions=3,
        ... )
        >>> stream.vector_names
        ('age', 'city=rome', 'city=oslo', 'city is missing', 'member', 'member is missing')
        >>> stream.encode({"age": 31, "city": "oslo", "member": True}).tolist()
        [31.0, 0.0, 1.0, 0.0, 1.0, 0.0]
        >>> stream.encode({"city": "lima"}).tolist()  # age is missing, lima was never declared
        [40.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    representations: tuple[Coded, ...]
    sigma: float | None = eqx.field(static=True)
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    columns: tuple[Column, ...] = eqx.field(static=True)

    def __init__(
        self,
        n_columns: int | None = None,
        n_actions: int | None = None,
        *,
        columns: Sequence[Column] | None = None,
        sigma: float | None = 0.5,
    ) -> None:
        if (n_columns is None) == (columns is None):
            raise InvalidArgument(
                f"one of n_columns and columns must be given, got {n_columns} and {columns}."
            )
        self.columns = () if columns is None else check_columns(columns)
        width = n_columns if columns is None else len(self.vector_names)
        inputs = Coded(n_actions=count("n_actions", n_actions), code="blocks", n_columns=width)
        self.representations = (inputs,)
        self.n_actions = inputs.n_actions
        self.sigma = positive_or_none("sigma", sigma)
        self.name = "stream"

    def describe_contexts(self) -> str:
        """Return the number of columns, or their names."""
        if self.columns:
            return f"columns {', '.join(column.name for column in self.columns)}"
        return f"{self.representations[0].n_columns} columns"

    @property
    def vector_names(self) -> tuple[str, ...]:
        """Names of the columns of the vector, if the stream has named columns."""
        return tuple(name for column in self.columns for name in column.vector_names)

    def encode(self, rows: Any) -> NDArray[np.float64]:
        """Return the vector of a row of named values, which `Agent.act` takes as a context.

        Args:
            rows: A mapping of names to values gives one vector, (n_columns,). A list of mappings,
                or a mapping of names to lists, gives one per row, (n, n_columns), for
                `Agent.from_log`.
        """
        if not self.columns:
            raise InvalidArgument("encode needs named columns, got a Stream with n_columns only.")
        return encode_rows(self.columns, rows)
