"""Tables: one row per seed and step, with what the policy reported."""

import io

import numpy as np
import polars as pl
from sweeps import same_tables

import banditsrl
from banditsrl.experiments.run_tables import COUNTS, encode_table, make_table


def test_a_table_has_a_row_per_seed_and_step_and_what_was_in_force(
    result: banditsrl.Result,
) -> None:
    table = make_table(result)
    assert table.columns[:7] == ["seed", "step", *COUNTS]
    assert table.columns[-1] == "seconds"
    assert table.height == 2 * 4
    for seed in (0, 1):
        for k, step in enumerate(result.steps):
            row = table.filter((pl.col("seed") == seed) & (pl.col("step") == step))
            assert row["regret"][0] == result.regret[seed, k]
            before = sum(end < step for end in result.phases)  # phases that ended before the step
            assert row["representation"][0] == result.reports["representation"][seed, before]
            assert row["active"][0].to_list() == result.reports["active"][seed, before].tolist()
    assert table.schema["active"] == pl.List(pl.Boolean)


def test_tables_are_the_same_but_for_wall_time(result: banditsrl.Result) -> None:
    one, other = make_table(result), make_table(result, seconds=7.0)
    assert same_tables(one, pl.read_parquet(io.BytesIO(encode_table(other))))
    changed = other.with_columns(regret=pl.col("regret") * (1.0 + np.spacing(1.0)))
    assert not same_tables(one, changed)
