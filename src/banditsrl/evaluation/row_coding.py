"""How do values as they were written become arrays? Column by column, like `encode_rows` does.

A list of one type is coded at once. A list with anything odd in it is coded value by value, which
gives the same numbers, and a sentence about every value that cannot be coded.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.evaluation.column_kinds import TEXT_FLAGS, is_nan, parse_numbers, parse_texts
from banditsrl.evaluation.log import LogBatch
from banditsrl.evaluation.raw_blocks import RawBlock
from banditsrl.live.loop_columns import LoopColumn

NUMBERS = {int, float, type(None)}


class RowCoder:
    """Turns the rows of one log into batches.

    Args:
        columns: The columns of a context.
        actions: Names of the actions, in the order of their indices.
    """

    def __init__(self, columns: Sequence[LoopColumn], actions: Sequence[str]) -> None:
        self.columns, self.actions = tuple(columns), tuple(actions)
        self._places: dict[Any, int] = {name: at for at, name in enumerate(actions)}
        if not any(_is_index(name) for name in actions):  # then integers can only be indices
            self._places |= {str(at): at for at in range(len(actions))}

    def code(self, block: RawBlock) -> tuple[LogBatch, dict[int, str]]:
        """Return the rows as arrays, and what is wrong with those that cannot be coded."""
        broken = dict(block.broken)
        contexts = [self._code_column(column, block, broken) for column in self.columns]
        n = len(block.rows)
        batch = LogBatch(
            rows=np.asarray(block.rows, dtype=np.int64),
            contexts=np.concatenate([np.zeros((n, 0)), *contexts], axis=1),
            actions=self._code_actions(block.actions, broken),
            rewards=_code_numbers("reward", block.rewards, broken),
            propensities=_code_propensities(block.propensities, n, broken),
            pmf=None if block.pmf is None else self._code_laws(block.pmf, broken),
            available=None
            if block.available is None
            else self._code_masks(block.available, broken),
            certified=_code_flags("certified", block.certified, broken),
            audited=_code_flags("audited", block.audited, broken),
        )
        return batch, broken

    def find_action(self, value: Any) -> int:
        """Return the index of an action, or -1."""
        if isinstance(value, bool):
            return -1
        if isinstance(value, float) and value.is_integer():  # tables often store integers so
            value = int(value)
        return self._places.get(str(value) if isinstance(value, int) else value, -1)

    def _code_column(
        self, column: LoopColumn, block: RawBlock, broken: dict[int, str]
    ) -> NDArray[np.float64]:
        values = block.values.get(column.name, [None] * len(block.rows))
        if block.is_text:
            values, odd = parse_texts(column, values)
            _note(broken, odd)
        return encode_column(column, values, broken)

    def _code_actions(self, values: list[Any], broken: dict[int, str]) -> NDArray[np.int32]:
        plain = set(map(type, values)) <= {int, str}
        seen = {value: self.find_action(value) for value in set(values)} if plain else {}
        codes = [seen[v] if plain else self.find_action(v) for v in values]
        if -1 in codes:
            known = ", ".join(self.actions[:8]) + (", ..." if len(self.actions) > 8 else "")
            odd = {at: values[at] for at, code in enumerate(codes) if code < 0}
            got = {at: "none" if v is None else repr(v) for at, v in odd.items()}
            _note(broken, {at: f"action must be one of {known}, got {v}." for at, v in got.items()})
        return np.asarray(codes, dtype=np.int32)

    def _code_laws(self, laws: list[Any], broken: dict[int, str]) -> NDArray[np.float64]:
        coded = np.zeros((len(laws), len(self.actions)))
        for at, law in enumerate(laws):
            if at in broken:
                continue
            try:
                self._fill_law(coded[at], _read_json("pmf", law))
            except (InvalidArgument, InvalidType, TypeError, ValueError) as error:
                broken[at] = str(error)
        return coded

    def _fill_law(self, row: NDArray[np.float64], law: Any) -> None:
        if isinstance(law, Mapping):
            for name, probability in law.items():
                at = self.find_action(name)
                if at < 0 and probability:
                    raise InvalidArgument(f"pmf must name known actions, got {name!r}.")
                if at >= 0:
                    row[at] = 0.0 if probability is None else probability
            return
        if not isinstance(law, list) or len(law) != len(row):
            got = len(law) if isinstance(law, list) else "none" if law is None else repr(law)
            raise InvalidArgument(f"pmf must have {len(row)} probabilities, got {got}.")
        row[:] = law

    def _code_masks(self, masks: list[Any], broken: dict[int, str]) -> NDArray[np.bool_]:
        coded = np.zeros((len(masks), len(self.actions)), dtype=bool)
        for at, mask in enumerate(masks):
            names = _read_json("available", mask) if isinstance(mask, str) else mask
            if names is None:
                coded[at] = True
                continue
            found = [self.find_action(name) for name in names]
            if min(found, default=-1) < 0 and at not in broken:
                broken[at] = f"available must name known actions, got {names!r}."
            coded[at, [place for place in found if place >= 0]] = True
        return coded


def encode_column(
    column: LoopColumn, values: list[Any], broken: dict[int, str]
) -> NDArray[np.float64]:
    """Return the part of the vectors that the values of a column become, (n, width)."""
    types = set(map(type, values))
    kind = column.column.kind
    if kind == "number" and types <= NUMBERS and not _has_huge(values, types):
        return _encode_numbers(column, np.asarray(values, dtype=np.float64))
    if kind == "flag" and types <= {bool, type(None)}:
        return _encode_numbers(column, np.asarray(values, dtype=np.float64))
    if kind == "category" and types <= {str, int, bool, type(None)}:
        return _encode_category(column, values)
    return _encode_each(column, values, broken)


def _has_huge(values: list[Any], types: set[type]) -> bool:
    """Return whether an integer is too large for a float."""
    return int in types and any(isinstance(v, int) and abs(v) > 2**1000 for v in values)


def _encode_numbers(column: LoopColumn, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    missing = np.isnan(numbers)
    if column.low is not None:
        numbers = np.clip(numbers, column.low, column.high)
    default = column.column.default
    if default is not None:
        return np.where(missing, default, numbers)[:, None]
    return np.stack([np.where(missing, 0.0, numbers), missing.astype(np.float64)], axis=1)


def _encode_category(column: LoopColumn, values: list[Any]) -> NDArray[np.float64]:
    known = column.column.values
    places: dict[Any, int] = {value: at for at, value in enumerate(known)} | {None: len(known)}
    codes = np.asarray([places.get(value, -1) for value in values], dtype=np.int64)
    coded = np.zeros((len(values), len(known) + 1))
    hits = np.flatnonzero(codes >= 0)
    coded[hits, codes[hits]] = 1.0
    return coded


def _encode_each(
    column: LoopColumn, values: list[Any], broken: dict[int, str]
) -> NDArray[np.float64]:
    coded = np.zeros((len(values), column.width))
    for at, value in enumerate(values):
        try:
            coded[at] = column.encode(value)
        except (InvalidArgument, InvalidType) as error:
            broken.setdefault(at, str(error))
    return coded


def _code_numbers(name: str, values: list[Any], broken: dict[int, str]) -> NDArray[np.float64]:
    numbers, odd = parse_numbers(name, values)
    _note(broken, odd)
    return np.asarray(numbers, dtype=np.float64)


def _code_propensities(
    values: list[Any] | None, n: int, broken: dict[int, str]
) -> NDArray[np.float64]:
    """Return propensities; one that is not there is NaN, and one that is NaN is a defect."""
    if values is None:
        return np.full(n, np.nan)
    numbers, odd = parse_numbers("propensity", values)
    nans = [at for at, number in enumerate(numbers) if is_nan(number)]
    says = "propensity must be above 0 and at most 1, got nan."
    _note(broken, {**odd, **dict.fromkeys(nans, says)})
    return np.asarray(numbers, dtype=np.float64)


def _code_flags(
    name: str, values: list[Any] | None, broken: dict[int, str]
) -> NDArray[np.bool_] | None:
    if values is None:
        return None
    known: dict[Any, bool] = {True: True, False: False, **TEXT_FLAGS, "1": True, "0": False}
    odd = {at: v for at, v in enumerate(values) if v is not None and v not in known}
    _note(broken, {at: f"{name} must be true or false, got {v!r}." for at, v in odd.items()})
    return np.asarray([known.get(value, False) for value in values], dtype=bool)


def _read_json(name: str, value: Any) -> Any:
    """Return a value that may be written as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise InvalidArgument(f"{name} must be a list or an object, got {value!r}.") from None


def _is_index(name: str) -> bool:
    return name.isdigit()


def _note(broken: dict[int, str], odd: Mapping[int, str]) -> None:
    for at, sentence in odd.items():
        broken.setdefault(at, sentence)
