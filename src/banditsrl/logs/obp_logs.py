"""How does Open Bandit Pipeline describe a log? As a dictionary of arrays, its bandit feedback.

| key | meaning |
|---|---|
| `n_rounds`, `n_actions` | numbers of rounds and of actions |
| `context`, `action`, `reward`, `pscore` | the rounds, with the propensity of the action |
| `pi_b` | probability of every action in every position, (n, A, len_list), if it is known |
| `position` | place in a list in which the action was shown; None if there is only one |

`action_context` and `expected_reward` are not needed. A dictionary is saved as a file of NumPy
arrays (.npz), which is read without unpickling anything.
"""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.logs.array_logs import ArrayRows
from banditsrl.logs.line_blocks import open_file
from banditsrl.logs.log import Log
from banditsrl.logs.log_options import LogOptions

DAMAGES = (
    *(ValueError, KeyError, EOFError, NotImplementedError),
    *(OSError, zipfile.BadZipFile, zlib.error),
)
"""What NumPy raises if a file does not hold arrays, or not only plain ones."""

NEEDED = ("n_rounds", "n_actions", "context", "action", "reward")


def read_feedback(
    feedback: Mapping[str, Any],
    *,
    position: int | None = None,
    name: str = "feedback",
    skip_bad: bool = False,
) -> ArrayRows:
    """Return the log in a feedback dictionary."""
    if not isinstance(feedback, Mapping):
        raise InvalidType(f"feedback must be a dictionary, got {type(feedback).__name__}.")
    for key in NEEDED:
        if key not in feedback:
            raise InvalidArgument(f"{name}: there is no {key!r}; known: {', '.join(feedback)}.")
    n, n_actions = (_read_count(feedback, key, name) for key in ("n_rounds", "n_actions"))
    places = _read_positions(feedback.get("position"), n, name)
    kept = _choose_rows(places, position, name)
    pscore, law = feedback.get("pscore"), _read_laws(feedback.get("pi_b"), places, n, name)
    return ArrayRows(
        contexts=_read_part(feedback, "context", n, name)[kept],
        actions=_read_part(feedback, "action", n, name)[kept],
        rewards=_read_part(feedback, "reward", n, name)[kept],
        propensities=None if pscore is None else _read_part(feedback, "pscore", n, name)[kept],
        pmf=None if law is None else law[kept],
        n_actions=n_actions,
        rows=np.flatnonzero(kept) + 1,
        name=name,
        skip_bad=skip_bad,
    )


def _read_count(feedback: Mapping[str, Any], key: str, name: str) -> int:
    """Return an integer, which a file holds as an array without axes."""
    value = feedback[key]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return count(f"{name}: {key}", value)


def _read_part(feedback: Mapping[str, Any], key: str, n: int, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(feedback[key])
    except ValueError:
        raise InvalidArgument(
            f"{name}: {key} must have rows of one length, got different ones."
        ) from None
    if array.shape[:1] != (n,):
        raise InvalidArgument(f"{name}: {key} must have {n} rows, got shape {array.shape}.")
    return array


def _read_positions(value: Any, n: int, name: str) -> NDArray[np.int64]:
    if value is None or np.asarray(value).dtype == object:
        return np.zeros(n, dtype=np.int64)
    places = np.asarray(value)
    if places.shape != (n,) or places.dtype.kind not in "ui":
        raise InvalidArgument(f"{name}: position must be {n} integers, got shape {places.shape}.")
    return places.astype(np.int64)


def _choose_rows(places: NDArray[np.int64], position: int | None, name: str) -> NDArray[np.bool_]:
    """Return which rounds to keep: those of one position."""
    found = np.unique(places)
    if position is None:
        if len(found) > 1:
            raise InvalidArgument(
                f"{name}: position must be chosen if a log has several, got {found.tolist()}."
            )
        return np.ones(len(places), dtype=bool)
    if position not in found:
        raise InvalidArgument(
            f"{name}: position must be one of {found.tolist()}, got {position!r}."
        )
    return np.asarray(places == position)


def _read_laws(
    value: Any, places: NDArray[np.int64], n: int, name: str
) -> NDArray[np.float64] | None:
    """Return the law of the position that each round has."""
    if value is None:
        return None
    try:
        laws = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"{name}: pi_b must be an array of numbers, got {type(value).__name__}."
        ) from None
    if laws.ndim == 2:
        laws = laws[:, :, None]
    if laws.ndim != 3 or len(laws) != n:
        raise InvalidArgument(
            f"{name}: pi_b must have shape (n_rounds, n_actions, len_list), got {laws.shape}."
        )
    return np.take_along_axis(laws, np.minimum(places, laws.shape[2] - 1)[:, None, None], 2)[
        :, :, 0
    ]


def write_feedback(log: Log) -> dict[str, Any]:
    """Return a log as a feedback dictionary; it must fit into memory."""
    rounds, n_actions = log.collect(), log.schema.n_actions
    if rounds.available is not None and not rounds.available.all():
        row = rounds.rows[int(np.argmin(rounds.available.all(axis=1)))]
        raise InvalidArgument(
            f"{log.name}: row {row}: every action must be available in a feedback dictionary, got "
            "some that are not."
        )
    known = not np.isnan(rounds.propensities).any()
    return {
        "n_rounds": len(rounds.rows),
        "n_actions": n_actions,
        "context": rounds.contexts,
        "action_context": np.eye(n_actions),
        "action": rounds.actions.astype(np.int64),
        "position": None,
        "reward": rounds.rewards,
        "pscore": rounds.propensities if known else None,
        "pi_b": None if rounds.pmf is None else rounds.pmf[:, :, None],
    }


def read_feedback_file(
    path: Path, *, position: int | None = None, skip_bad: bool = False
) -> ArrayRows:
    """Return the log in a feedback dictionary that was saved as arrays."""
    with open_file(path) as stream:
        try:
            arrays = np.load(stream, allow_pickle=False)
            feedback = {key: arrays[key] for key in arrays} if isinstance(arrays, Mapping) else {}
        except DAMAGES as error:
            raise InvalidArgument(
                f"{path}: must hold plain arrays, got others ({error})."
            ) from error
    return read_feedback(feedback, position=position, name=str(path), skip_bad=skip_bad)


def write_feedback_file(stream: BinaryIO, log: Log) -> int:
    """Save a log as the arrays of a feedback dictionary, and return the number of rounds."""
    feedback = write_feedback(log)
    known: dict[str, Any] = {
        key: np.asarray(value) for key, value in feedback.items() if value is not None
    }
    np.savez(stream, **known)
    return int(feedback["n_rounds"])


def check_feedback_options(options: LogOptions) -> None:
    """Refuse options that have no meaning for an Open Bandit log."""
    if options.columns is not None or options.actions is not None:
        raise InvalidArgument(
            "columns and actions must not be given for an Open Bandit log, which numbers its own, "
            "got some."
        )
