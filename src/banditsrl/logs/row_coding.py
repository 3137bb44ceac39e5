"""How do rows as they were written become arrays? Column by column, with a sentence per defect."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.live.loop_columns import LoopColumn
from banditsrl.logs.column_coding import encode_column, encode_numbers
from banditsrl.logs.column_kinds import TEXT_FLAGS, parse_numbers, parse_texts
from banditsrl.logs.log import LogBatch
from banditsrl.logs.raw_blocks import RawBlock


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
            pmf=self._code_laws(block, broken),
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
        known = str(value) if isinstance(value, int) else value
        return self._places.get(known, -1) if isinstance(known, str) else -1

    def _code_column(
        self, column: LoopColumn, block: RawBlock, broken: dict[int, str]
    ) -> NDArray[np.float64]:
        values = block.values.get(column.name, [None] * len(block.rows))
        if block.is_text:
            parsed, odd = parse_texts(column, values)
            _note(broken, odd)
            if column.column.kind == "number":
                return encode_numbers(column, parsed)
            values = parsed
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

    def _code_laws(self, block: RawBlock, broken: dict[int, str]) -> NDArray[np.float64] | None:
        if block.pmf_columns is not None:
            return self._join_laws(block.pmf_columns, len(block.rows), broken)
        if block.pmf is None:
            return None
        stacked = self._stack_laws(block.pmf)
        if stacked is not None:
            return stacked
        coded = np.zeros((len(block.rows), len(self.actions)))
        for at, law in enumerate(block.pmf):
            try:
                self._fill_law(coded[at], law)
            except InvalidArgument as error:
                broken.setdefault(at, str(error))
            except (TypeError, ValueError):
                broken.setdefault(at, f"pmf must hold probabilities, got {law!r}.")
        return coded

    def _join_laws(
        self, columns: Mapping[str, list[Any]], n: int, broken: dict[int, str]
    ) -> NDArray[np.float64]:
        """Return laws that have one column per action."""
        coded = np.zeros((n, len(self.actions)))
        for name, values in columns.items():
            numbers, odd = parse_numbers(f"pmf of {name}", values)
            _note(broken, odd)
            at = self.find_action(name)
            if at >= 0:
                coded[:, at] = np.where([value is None for value in values], 0.0, numbers)
            elif (unknown := np.flatnonzero(np.nan_to_num(numbers))).size:
                says = f"pmf must name known actions, got {name!r}."
                _note(broken, dict.fromkeys(map(int, unknown), says))
        return coded

    def _stack_laws(self, laws: list[Any]) -> NDArray[np.float64] | None:
        """Return laws that are all written alike, or None if they are not."""
        types, n_actions = set(map(type, laws)), len(self.actions)
        if types == {list} and set(map(len, laws)) == {n_actions}:
            order, values = list(range(n_actions)), laws
        elif types == {dict} and len({tuple(law) for law in laws}) == 1:
            order = [self.find_action(name) for name in laws[0]]
            values = [list(law.values()) for law in laws]
        else:
            return None
        if min(order, default=-1) < 0 or {type(p) for law in values for p in law} - {int, float}:
            return None
        coded = np.zeros((len(laws), n_actions))
        coded[:, order] = values
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
        coded = np.ones((len(masks), len(self.actions)), dtype=bool)
        for at, names in enumerate(masks):
            if names is None:
                continue
            found = [self.find_action(name) for name in names] if isinstance(names, list) else [-1]
            if min(found, default=-1) < 0:
                broken.setdefault(at, f"available must list known actions, got {names!r}.")
            coded[at] = False
            coded[at, [place for place in found if place >= 0]] = True
        return coded


def _code_numbers(name: str, values: list[Any], broken: dict[int, str]) -> NDArray[np.float64]:
    numbers, odd = parse_numbers(name, values)
    _note(broken, odd)
    return numbers


def _code_propensities(
    values: list[Any] | None, n: int, broken: dict[int, str]
) -> NDArray[np.float64]:
    """Return propensities; one that is not there is NaN, and one that is NaN is a defect."""
    if values is None:
        return np.full(n, np.nan)
    numbers = _code_numbers("propensity", values, broken)
    says = "propensity must be above 0 and at most 1, got nan."
    nans = [int(at) for at in np.flatnonzero(np.isnan(numbers)) if values[at] is not None]
    _note(broken, dict.fromkeys(nans, says))
    return numbers


def _code_flags(
    name: str, values: list[Any] | None, broken: dict[int, str]
) -> NDArray[np.bool_] | None:
    if values is None:
        return None
    known: dict[Any, bool] = {True: True, False: False, **TEXT_FLAGS, "1": True, "0": False}
    odd = {at: v for at, v in enumerate(values) if not (v is None or _is_among(v, known))}
    _note(broken, {at: f"{name} must be true or false, got {v!r}." for at, v in odd.items()})
    flags = [at not in odd and known.get(value, False) for at, value in enumerate(values)]
    return np.asarray(flags, dtype=bool)


def _is_among(value: Any, known: Mapping[Any, bool]) -> bool:
    return isinstance(value, Hashable) and value in known


def _is_index(name: str) -> bool:
    return name.isdigit()


def _note(broken: dict[int, str], odd: Mapping[int, str]) -> None:
    for at, sentence in odd.items():
        broken.setdefault(at, sentence)
