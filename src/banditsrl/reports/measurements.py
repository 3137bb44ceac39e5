"""What do the tables of a sweep say? One lazy scan over all finished runs, summed up per cell.

This file is the only one that reads the tables. Whatever the number of runs, what leaves it is
small: means per recorded step, one row per seed, and the share of seeds per representation.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from banditsrl.reports.sweep import Sweep

if TYPE_CHECKING:
    import polars as pl

COUNTS = ("regret", "certified", "trivial", "wrong", "wrong_regret")
"""Columns that add up over the steps; every table has them."""

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
    """Read every finished run of a sweep once."""
    import polars as pl  # noqa: PLC0415

    frames, damaged = _scans(sweep)
    cells = pl.LazyFrame(
        [
            {"run": run, "cell": k, "horizon": cell.horizon}
            for k, cell in enumerate(sweep.cells)
            for run in dict.fromkeys(cell.runs)
        ],
        schema={"run": pl.String, "cell": pl.Int64, "horizon": pl.Int64},
    )
    if not frames:
        frames = [pl.LazyFrame(schema=_schema())]
    rows = pl.concat(frames, how="diagonal").join(cells, on="run", how="inner")
    means, seeds, choices = pl.collect_all([_means(rows), _seeds(rows), _choices(rows)])
    return Measurements(means, seeds, choices, damaged)


def _schema() -> dict[str, Any]:
    import polars as pl  # noqa: PLC0415

    numbers = dict.fromkeys((*COUNTS, "seconds"), pl.Float64)
    whole = dict.fromkeys(("seed", "step", "representation", "n_candidates"), pl.Int64)
    return {"run": pl.String, **whole, **numbers, "active": pl.UInt64}


def _scans(sweep: Sweep) -> tuple[list["pl.LazyFrame"], tuple[str, ...]]:
    """One lazy frame for each kind of table, and the runs whose table is damaged."""
    import polars as pl  # noqa: PLC0415

    kinds: dict[tuple[tuple[str, Any], ...], list[str]] = defaultdict(list)
    damaged = []
    for run in (run for run in sweep.planned if run in sweep.finished):
        try:
            schema = pl.read_parquet_schema(sweep.table(run))
        except (OSError, pl.exceptions.PolarsError):
            damaged.append(run)
            continue
        if {"seed", "step", *COUNTS} <= set(schema):
            kinds[tuple(schema.items())].append(run)
        else:
            damaged.append(run)
    return [_scan(sweep, dict(kind), runs) for kind, runs in kinds.items()], tuple(damaged)


def _scan(sweep: Sweep, schema: dict[str, Any], runs: list[str]) -> "pl.LazyFrame":
    """Tables of one schema as one frame with the columns of `_schema`, null where absent."""
    import polars as pl  # noqa: PLC0415

    paths = [sweep.table(run) for run in runs]
    names = pl.LazyFrame({"path": [str(path) for path in paths], "run": runs})
    columns = {
        name: pl.col(name).cast(kind) if name in schema else pl.lit(None, dtype=kind)
        for name, kind in _schema().items()
        if name not in {"run", "active"}
    }
    if isinstance(schema.get("active"), pl.List):
        columns["active"] = pl.col("active").hash()  # the set as one number
        columns["n_candidates"] = pl.col("active").list.len().cast(pl.Int64)
    else:
        columns["active"] = pl.lit(None, dtype=pl.UInt64)
    frame = pl.scan_parquet(paths, glob=False, include_file_paths="path").join(names, on="path")
    return frame.select("run", **columns)


def _means(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    import polars as pl  # noqa: PLC0415

    return (
        rows.group_by("cell", "step")
        .agg(
            n_seeds=pl.col("seed").n_unique(),
            deviation=pl.col("regret").std(),
            **{name: pl.col(name).mean() for name in COUNTS},
        )
        .filter(pl.col("n_seeds") == pl.col("n_seeds").max().over("cell"))
        .sort("cell", "step")
    )


def _seeds(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    """One row per (cell, seed); times are recorded steps, null for what has not happened."""
    import polars as pl  # noqa: PLC0415

    step, representation, active = (pl.col(n) for n in ("step", "representation", "active"))
    horizon = pl.col("horizon").first()
    regret, certified = pl.col("regret"), pl.col("certified")
    open_rounds = step - certified - pl.col("trivial")
    before = step <= TAIL * horizon  # what follows was added in the last tenth, or a little more
    other = step.filter(representation != representation.last()).max()
    return (
        rows.sort("cell", "seed", "step")
        .group_by("cell", "seed", maintain_order=True)
        .agg(
            step=step.last(),
            second_half=regret.last() - _last(regret.filter(step <= HALF * horizon)),
            tail_certified=certified.last() - _last(certified.filter(before)),
            tail_steps=step.last() - _last(step.filter(before)),
            last_regret=step.filter((regret == regret.max()) & (regret > 0)).min().fill_null(0),
            open_until=step.filter(open_rounds == open_rounds.max()).min(),
            chosen=representation.last(),
            chosen_since=step.filter(step > other).min().fill_null(0),
            last_elimination=step.filter(active != active.shift(1)).max().fill_null(0),
            n_candidates=pl.col("n_candidates").max(),
            reports_active=active.is_not_null().any(),
            seconds=pl.col("seconds").max(),
            **{name: pl.col(name).last() for name in COUNTS},
        )
    )


def _last(counts: "pl.Expr") -> "pl.Expr":
    """The last of some cumulative counts; they all begin at zero."""
    return counts.last().fill_null(0)


def _choices(rows: "pl.LazyFrame") -> "pl.LazyFrame":
    import polars as pl  # noqa: PLC0415

    counted = (
        rows.filter(pl.col("representation").is_not_null())
        .group_by("cell", "step", "representation")
        .agg(n=pl.len())
    )
    share = pl.col("n") / pl.col("n").sum().over("cell", "step")
    return counted.with_columns(share=share).sort("cell", "step", "representation")
