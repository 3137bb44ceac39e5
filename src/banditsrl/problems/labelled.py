"""How does a labelled table become a bandit? A policy is paid if it guesses the class of a row.

A context is a row, the actions are the classes, and the reward is Bernoulli, with a high
probability for the row's own class and a low one for the others. Regret counts expected rewards.
Columns are standardised by the mean and the standard deviation of the whole table, and constant
columns become zero. `datasets.columns` turns the columns of a file into numbers.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import at_least, finite_array, real
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context
from banditsrl.datasets.columns import as_labels, as_numbers, read_frame
from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.coded import Coded

TABLE_FORMATS = (".csv", ".parquet")
P_RIGHT, P_WRONG = 0.9, 0.1


class TableProblem(Problem):
    """A labelled table as a contextual bandit; a context is the index of a row.

    The standardised columns are kept once, in float32, in `representations[0].table`.

    Args:
        columns: Numbers, (n_contexts, n_columns).
        labels: The class of each row, words or whole numbers, (n_contexts,).
        name: Name in tables and figures.
        p_right: Probability of a reward for the row's own class.
        p_wrong: Probability of a reward for any other class, below `p_right`.

    Example:
        >>> problem = TableProblem([[1.0], [3.0], [5.0]], ["no", "yes", "no"])
        >>> problem.classes, problem.means(1).tolist()
        (('no', 'yes'), [0.1, 0.9])
    """

    labels: Array
    representations: tuple[Coded, ...]
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    sigma: float = eqx.field(static=True)
    classes: tuple[str, ...] = eqx.field(static=True)
    p_right: float = eqx.field(static=True)
    p_wrong: float = eqx.field(static=True)

    def __init__(
        self,
        columns: Any,
        labels: Any,
        *,
        name: str = "table",
        p_right: float = P_RIGHT,
        p_wrong: float = P_WRONG,
    ) -> None:
        table = jnp.asarray(standardise(columns))
        classes, codes = _number_classes(labels, table.shape[0])
        self.labels = jnp.asarray(codes.astype(np.int32))
        self.classes = tuple(str(value) for value in classes)
        self.representations = (Coded(n_actions=len(classes), code="blocks", table=table),)
        self.name, self.n_actions = name, len(classes)
        self.sigma = 0.5  # the sub-Gaussian constant of Bernoulli rewards
        self.p_right, self.p_wrong = real("p_right", p_right), at_least("p_wrong", p_wrong, 0.0)
        if not self.p_wrong < self.p_right <= 1.0:
            raise InvalidArgument(
                f"p_right must be above p_wrong and at most 1, got {p_right!r} and {p_wrong!r}."
            )

    @property
    def n_contexts(self) -> int:
        """Number of rows."""
        return int(self.labels.shape[0])

    def describe_contexts(self) -> str:
        """Return the numbers of rows and columns."""
        return f"{self.n_contexts:,} rows, {self.n_columns} columns"

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.representations[0].n_columns

    def contexts(self, key: Array, n: int) -> Array:
        """Deal n contexts, (n,) indices of rows."""
        return jax.random.randint(key, (n,), 0, self.n_contexts, dtype=jnp.int32)

    @in_float64
    def noises(self, key: Array, n: int) -> Array:
        """Draw the randomness of n rewards, (n,)."""
        return jax.random.uniform(key, (n,), dtype=jnp.float64)

    @in_float64
    def means(self, context: Context) -> Array:
        """Return the mean rewards of a row, (A,)."""
        right = jnp.arange(self.n_actions) == self.labels[context]
        return jnp.where(right, self.p_right, self.p_wrong).astype(jnp.float64)

    def mask(self, context: Context) -> Array:  # noqa: ARG002 - every row offers every class
        """Return which actions are available, (A,): all of them."""
        return jnp.ones(self.n_actions, dtype=bool)

    @in_float64
    def reward(self, mean: Array, noise: Array) -> Array:
        """Return one with probability `mean`, else zero; `noise` is uniform on [0, 1)."""
        return (noise < mean).astype(jnp.float64)


def read_table(
    path: str | Path,
    *,
    label: str,
    name: str | None = None,
    drop: Sequence[str] = (),
    separator: str = ",",
    p_right: float = P_RIGHT,
    p_wrong: float = P_WRONG,
) -> TableProblem:
    """Read a labelled table from CSV (with a header) or Parquet.

    Text and categories are coded as integers in sorted order, and missing ones are a category of
    their own. Missing or non-finite numbers and columns of dates are refused.

    Args:
        path: File that ends in .csv or .parquet.
        label: Column that holds the class: text, whole numbers or true/false.
        name: Name in tables and figures; the name of the file by default.
        drop: Columns to leave out, for example an identifier.
        separator: Character between the fields of a CSV file.
        p_right: Probability of a reward for the row's own class.
        p_wrong: Probability of a reward for any other class.
    """
    path = Path(path)
    if path.suffix.lower() not in TABLE_FORMATS:
        raise InvalidProblem(f"{path}: must end in {' or '.join(TABLE_FORMATS)}.")
    if len(separator.encode()) != 1:
        raise InvalidArgument(f"separator must be one character, got {separator!r}.")
    dropped = [drop] if isinstance(drop, str) else list(drop)
    frame = read_frame(path, separator)
    for setting, column in [("label", label), *[("drop", column) for column in dropped]]:
        _check_column(setting, column, frame.columns, path)
    features = [c for c in frame.columns if c != label and c not in dropped]
    if not features or label in dropped:
        raise InvalidProblem(f"{path}: must hold a label and another column, got {frame.columns}.")
    labels = as_labels(frame[label], str(path))
    if len(np.unique(labels)) < 2:
        raise InvalidProblem(
            f"{path}: label {label!r} must hold at least two classes, got {str(labels[0])!r} only."
        )
    columns = np.stack([as_numbers(frame[c], str(path)) for c in features], axis=1)
    return TableProblem(columns, labels, name=name or path.stem, p_right=p_right, p_wrong=p_wrong)


def standardise(columns: Any) -> NDArray[np.float32]:
    """Scale columns to mean zero and (population) standard deviation one; constant ones to zero."""
    given = np.asarray(columns) if isinstance(columns, np.ndarray | Array) else None
    if given is None or given.ndim != 2 or given.dtype.kind not in "iuf" or not given.size:
        given = finite_array("columns", columns, "(n_contexts, n_columns)")
    table = np.zeros(given.shape, dtype=np.float32)
    for i in range(given.shape[1]):  # one by one, since a copy of all in float64 would be large
        column = given[:, i].astype(np.float64)
        _check_finite(column, i)
        if column.min() < column.max():
            column /= np.abs(column).max()  # so that squares of huge numbers stay finite
            column -= column.mean()
            table[:, i] = column / np.sqrt(np.mean(column**2))
    return table


def _check_finite(column: NDArray[np.float64], i: int) -> None:
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise InvalidArgument(f"columns must be finite, got {column[row]} at index ({row}, {i}).")


def _number_classes(labels: Any, n_contexts: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes in sorted order, and the number of each row's class."""
    values = np.asarray(labels)
    if values.shape != (n_contexts,):
        raise InvalidArgument(f"labels must have shape ({n_contexts},), got shape {values.shape}.")
    if values.dtype.kind not in "biuU":
        raise InvalidType(f"labels must be words or whole numbers, got {values.dtype}.")
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise InvalidArgument(f"labels must hold at least two classes, got {classes.tolist()}.")
    return classes, codes


def _check_column(setting: str, column: str, known: Iterable[str], path: Path) -> None:
    names = list(known)
    if column not in names:
        near = get_close_matches(str(column), names, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InvalidArgument(
            f"{path}: {setting} must be a column, got {column!r}{hint} "
            f"The columns are {', '.join(names)}."
        )
