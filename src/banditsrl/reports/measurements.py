"""What do the tables of a sweep say? One lazy scan over all finished runs, summed up per cell.

This file is the only one that reads the tables. Whatever the number of runs, what leaves it is
small: means per recorded step, one row per seed, and the share of seeds per representation.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditsrl.reports.sweep import Sweep

if TYPE_CHECKING:
    import polars as pl

COUNTS = ("regret", "certified", "trivial", "wrong", "wrong_regret")
"""Columns that add up over the steps; every table has them."""

Kind = tuple[tuple[str, Any], ...]
"""Names and types of the columns of a table."""

HALF, TAIL = 0.5, 0.9
"""The second half, and the last tenth, begin after these shares of the horizon."""


@dataclass(frozen=True)
class Measurements:
    """The tables of a sweep, summed up; `cell` is a position in `Sweep.cells`.

    Attributes:
        means: Per (cell, step): n_seeds, regret, deviation (of regret over seeds), and the means
            of the other cumulative counts. Steps that some finished seed lacks are left out.
        seeds: Per (cell, seed): the values at its last step, what the second half and the last
            tenth added, and when things happened for the last time.
        choices: Per (cell, step, representation): the share of seeds that used it.
        damaged: Runs whose table cannot be read.
    """

    means: "pl.DataFrame"
    seeds: "pl.DataFrame"
    choices: "pl.DataFrame"
    damaged: tuple[str, ...]


def measure(sweep: Sweep) -> Measurements:
    """Read every finished run of a sweep once for each cell that it belongs to."""
    import polars as pl

    kinds, damaged = _kinds(sweep)
    frames = [pl.LazyFrame(schema=_schema())]
    for k, cell in enumerate(sweep.cells):
        alike: dict[Kind, list[Path]] = defaultdict(list)
        for run in dict.fromkeys(cell.runs):
            if run in kinds:
                alike[kinds[run]].append(sweep.table(run))
        frames += [_scan(paths, dict(kind), k, cell.horizon) for kind, paths in alike.items()]
    rows = pl.concat(frames)
    means, seeds, choices = pl.collect_all([_means(rows), _seeds(rows), _choices(rows)])
    return Measurements(means, seeds, choices, damaged)


def _schema() -> dict[str, Any]:
    import polars as pl

    numbers = dict.fromkeys((*COUNTS, "seconds"), pl.Float64)
    names = ("cell", "horizon", "seed", "step", "representation", "n_candidates")
    whole = dict.fromkeys(names, pl.Int64)
    return {**whole, **numbers, "active": pl.UInt64}


def _kinds(sweep: Sweep) -> tuple[dict[str, Kind], tuple[str, ...]]:
    """The columns of every table, and the runs whose table is damaged."""
    import polars as pl

    kinds: dict[str, Kind] = {}
    damaged = []
    for run in (run for run in sweep.planned if run in sweep.finished):
        try:
            schema = pl.read_parquet_schema(sweep.table(run))
        except (OSError, pl.exceptions.PolarsError):
            schema = {}
        if {"seed", "step", *COUNTS} <= set(schema):
            kinds[run] = tuple(schema.items())
        else:
            damaged.append(run)
    return kinds, tuple(damaged)


def _scan(paths: list[Path], schema: dict[str, Any], cell: int, horizon: int) -> "pl.LazyFrame":
    """Tables of a cell, of one schema, with the columns of `_schema`; null where absent."""
    import polars as pl

    columns = {
        name: pl.col(name).cast(kind) if name in schema else pl.lit(None, dtype=kind)
        for name, kind in _schema().items()
        if name != "active"
    }
    if isinstance(schema.get("active"), pl.List):
        columns["active"] = pl.col("active").hash()  # the set as one number
        columns["n_candidates"] = pl.col("active").list.len().cast(pl.Int64)
    else:
        columns["active"] = pl.lit(None, dtype=pl.UInt64)
    columns |= {"cell": pl.lit(cell, pl.Int64), "horizon": pl.lit(horizon, pl.Int64)}
    return pl.scan_parquet(paths, glob=False).select(**columns)


def _means(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    import polars as pl

    return (
        rows.group_by("cell", "step")
        .agg(
            n_seeds=pl.len(),
            deviation=pl.col("regret").std(),
            **{name: pl.col(name).mean() for name in COUNTS},
        )
        .filter(pl.col("n_seeds") == pl.col("n_seeds").max().over("cell"))
        .sort("cell", "step")
    )


def _seeds(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    """One row per (cell, seed); times are recorded steps, null for what has not happened.

    Conditions are evaluated over all rows at once, so that a seed needs only maxima.
    """
    import polars as pl

    step, regret, certified = pl.col("step"), pl.col("regret"), pl.col("certified")
    half, before_tail = step <= HALF * pl.col("horizon"), step <= TAIL * pl.col("horizon")
    changes = {
        "last_regret": _changed(regret, start=0),
        "open_until": _changed(step - certified - pl.col("trivial"), start=0),
        "chosen_since": _changed(pl.col("representation")),
        "last_elimination": _changed(pl.col("active")),
    }
    prepared = rows.with_columns(
        regret_in_half=pl.when(half).then(regret).otherwise(0),
        certified_before=pl.when(before_tail).then(certified).otherwise(0),
        steps_before=pl.when(before_tail).then(step).otherwise(0),
        **{name: pl.when(changed).then(step).otherwise(0) for name, changed in changes.items()},
    )
    return (
        prepared.group_by("cell", "seed")
        .agg(
            pl.col("step", *COUNTS, *changes, "n_candidates", "seconds").max(),
            second_half=regret.max() - pl.col("regret_in_half").max(),
            tail_certified=certified.max() - pl.col("certified_before").max(),
            tail_steps=step.max() - pl.col("steps_before").max(),
            chosen=pl.col("representation").last(),
            reports_active=pl.col("active").is_not_null().any(),
        )
        .sort("cell", "seed")
    )


def _changed(values: "pl.Expr", start: int | None = None) -> "pl.Expr":
    """Whether a value differs from the one before it of the same seed; of the first, from `start`.

    A table has its seeds one after the other, each with its steps in order.
    """
    import polars as pl

    step = pl.col("step")
    first = (step <= step.shift(1)).fill_null(value=True)
    return (
        pl.when(first)
        .then(values != start if start is not None else False)
        .otherwise(values != values.shift(1))
    )


def _choices(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    import polars as pl

    counted = (
        rows.filter(pl.col("representation").is_not_null())
        .group_by("cell", "step", "representation")
        .agg(n=pl.len())
    )
    share = pl.col("n") / pl.col("n").sum().over("cell", "step")
    return counted.with_columns(share=share).sort("cell", "step", "representation")
