"""What do the tables of a sweep say? One lazy scan over all finished runs, summed up per cell.

This is the only file of this room that reads tables. Whatever the number of runs, its results are
small: means per recorded step, one row per seed, and the share of seeds per representation.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditsrl.experiments.run_tables import COUNTS
from banditsrl.experiments.sweep import Sweep
from banditsrl.simulation.shares import HALF

if TYPE_CHECKING:
    import polars as pl

MAX_SEED_LINES, SEED_POINTS = 20, 60
"""Seeds of a cell that can be shown as single lines, and points of each such line."""

Schema = tuple[tuple[str, Any], ...]
"""Names and types of the columns of a table."""


@dataclass(frozen=True)
class Measurements:
    """The tables of a sweep, summed up; `cell` is a position in `Sweep.cells`.

    Attributes:
        means: Per (cell, step): n_seeds, regret, deviation (of regret over seeds), and the means
            of the other cumulative counts. Steps that some finished seed lacks are left out.
        seeds: Per (cell, seed): the values at its last step, the regret added by the second half,
            the recorded steps at which things changed for the last time, and the final choice
            (`chosen`) and candidates (`active`), null where the policy reports none.
        choices: Per (cell, step, representation): the share of seeds that used it.
        lines: Per (cell, seed, step): regret, for the first seeds and for few steps.
        damaged: Runs whose table cannot be read.
    """

    means: "pl.DataFrame"
    seeds: "pl.DataFrame"
    choices: "pl.DataFrame"
    lines: "pl.DataFrame"
    damaged: tuple[str, ...]


def measure_sweep(sweep: Sweep) -> Measurements:
    """Read every finished run of a sweep once for each cell that it belongs to."""
    import polars as pl

    schemas, damaged = _read_schemas(sweep)
    frames = [pl.LazyFrame(schema=_common_schema())]
    for k, cell in enumerate(sweep.cells):
        paths: dict[Schema, list[Path]] = defaultdict(list)
        for run in dict.fromkeys(cell.runs):
            if run in schemas:
                paths[schemas[run]].append(sweep.store.table_path(run))
        frames += [_scan(files, dict(found), k, cell.horizon) for found, files in paths.items()]
    rows = pl.concat(frames)
    queries = [_mean_over_seeds(rows), _summarise_seeds(rows), _count_choices(rows)]
    means, seeds, choices, lines = pl.collect_all([*queries, _thin_seeds(rows)])
    return Measurements(means, seeds, choices, lines, damaged)


def _common_schema() -> dict[str, Any]:
    import polars as pl

    numbers = dict.fromkeys((*COUNTS, "seconds"), pl.Float64)
    names = ("cell", "horizon", "seed", "step", "representation", "n_candidates")
    active = {"active": pl.List(pl.Boolean), "active_hash": pl.UInt64}
    return {**dict.fromkeys(names, pl.Int64), **numbers, **active}


def _read_schemas(sweep: Sweep) -> tuple[dict[str, Schema], tuple[str, ...]]:
    """Return the columns of every table by run, and the runs whose table is damaged."""
    import polars as pl

    schemas: dict[str, Schema] = {}
    damaged = []
    for run in (run for run in sweep.runs if run in sweep.finished):
        try:
            schema = pl.read_parquet_schema(sweep.store.table_path(run))
        except (OSError, pl.exceptions.PolarsError):
            schema = {}
        if {"seed", "step", *COUNTS} <= set(schema):
            schemas[run] = tuple(schema.items())
        else:
            damaged.append(run)
    return schemas, tuple(damaged)


def _scan(paths: list[Path], schema: dict[str, Any], cell: int, horizon: int) -> "pl.LazyFrame":
    """Scan tables of one cell and one schema; columns of `_common_schema` they lack are null."""
    import polars as pl

    columns = {
        name: pl.col(name).cast(kind) if name in schema else pl.lit(None, dtype=kind)
        for name, kind in _common_schema().items()
    }
    if isinstance(schema.get("active"), pl.List):
        columns["active_hash"] = pl.col("active").hash()  # one number is enough to see a change
        columns["n_candidates"] = pl.col("active").list.len().cast(pl.Int64)
    else:
        columns["active"] = pl.lit(None, dtype=pl.List(pl.Boolean))
    columns |= {"cell": pl.lit(cell, pl.Int64), "horizon": pl.lit(horizon, pl.Int64)}
    return pl.scan_parquet(paths, glob=False).select(**columns)


def _mean_over_seeds(rows: "pl.LazyFrame") -> "pl.LazyFrame":
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


def _summarise_seeds(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    """One row per (cell, seed); times are recorded steps, null for what has not happened.

    Conditions are evaluated over all rows at once, so that each seed only needs maxima.
    """
    import polars as pl

    step, regret = pl.col("step"), pl.col("regret")
    in_first_half = step <= HALF * pl.col("horizon")
    changes = {
        "last_regret": _detect_change(regret, start=0),
        "last_uncertified": _detect_change(step - pl.col("certified") - pl.col("trivial"), start=0),
        "chosen_since": _detect_change(pl.col("representation")),
        "last_elimination": _detect_change(pl.col("active_hash")),
    }
    prepared = rows.with_columns(
        first_half=pl.when(in_first_half).then(regret).otherwise(0),
        **{name: pl.when(changed).then(step).otherwise(0) for name, changed in changes.items()},
    )
    return (
        prepared.group_by("cell", "seed")
        .agg(
            pl.col("step", *COUNTS, *changes, "n_candidates", "seconds").max(),
            second_half=regret.max() - pl.col("first_half").max(),
            chosen=pl.col("representation").last(),
            active=pl.col("active").last(),
        )
        .sort("cell", "seed")
    )


def _detect_change(values: "pl.Expr", start: int | None = None) -> "pl.Expr":
    """Whether a value differs from the previous one of the same seed, or at first from `start`.

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


def _count_choices(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    import polars as pl

    counts = (
        rows.filter(pl.col("representation").is_not_null())
        .group_by("cell", "step", "representation")
        .agg(n=pl.len())
    )
    share = pl.col("n") / pl.col("n").sum().over("cell", "step")
    return counts.with_columns(share=share).sort("cell", "step", "representation")


def _thin_seeds(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    """Keep the first seeds of every cell, and of each about equally many steps from end to end."""
    import polars as pl

    group = ("cell", "seed")
    place, n = pl.int_range(pl.len()).over(group), pl.len().over(group)
    bucket = place * (SEED_POINTS - 1) // (n - 1).clip(1)
    before = (place - 1) * (SEED_POINTS - 1) // (n - 1).clip(1)
    return (
        rows.select("cell", "seed", "step", "regret")
        .filter(pl.col("seed").rank("dense").over("cell") <= MAX_SEED_LINES)
        .sort("cell", "seed", "step")
        .filter((place == 0) | (bucket > before))
    )
