"""What is stored of the paper's figures: regret and certificates of every seed at recorded steps.

The tables are in `benchmarks/results/paper`: one Parquet file per figure, with a row per panel,
label, seed and recorded step. The runs of the main figure (`nonlinear`) are kept as they are, one
folder per run, so that `banditsrl reproduce nonlinear --scale full` continues with a copy of them.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from banditsrl.experiments.store import Store
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.simulation.shares import CertificateCounts, increase_after

STORED = Path(__file__).parent / "results" / "paper"

DENSE = 20
"""Recorded steps that are all stored; of the later ones every second is."""

MIN_SEEDS = 3
"""Seeds from which on an interval is shown; with two, Student's t has no useful width."""

BASES = {
    "egreedy": "neural-egreedy",
    "linucb": "neural-linucb",
    "lints": "neural-lints",
    "igw": "igw-nn",
}
"""The policy that each base is without BanditSRL."""

PROBLEMS = ("wheel", "shuttle", "magic", "mushroom", "covertype")

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """The stored seeds of one policy in one panel."""

    panel: str
    label: str
    seeds: list[int]
    steps: NDArray[np.int64]  # (K,)
    regret: Floats  # (S, K), cumulative, like the next two
    certified: Floats
    wrong: Floats
    representation: Floats | None  # (S, K), the candidate in use

    @property
    def counts(self) -> CertificateCounts:
        """The counts from which shares are computed."""
        nothing = np.zeros_like(self.certified)  # stored certified rounds include trivial ones
        horizon = int(self.steps[-1])
        return CertificateCounts(horizon, self.steps, self.certified, nothing, self.wrong)

    @property
    def has_test(self) -> bool:
        """Whether any round was certified."""
        return bool(self.certified[:, -1].any())

    def until(self, horizon: int) -> "Curve":
        """Return the same curve up to an earlier step."""
        k = int(np.searchsorted(self.steps, horizon, side="right"))
        cut = {name: getattr(self, name)[:, :k] for name in ("regret", "certified", "wrong")}
        return self._replace(steps=self.steps[:k], **cut)

    def second_half(self) -> Floats:
        """Return the regret that each seed adds in the second half, (S,)."""
        return increase_after(0.5, self.regret, self.steps, int(self.steps[-1]))

    def last_tenth(self) -> Floats:
        """Return the regret that each seed adds in the last tenth, (S,)."""
        return increase_after(0.9, self.regret, self.steps, int(self.steps[-1]))

    def last_regret(self) -> NDArray[np.int64]:
        """Return the recorded step at which each seed has its final regret, (S,)."""
        return np.asarray(self.steps[(self.regret >= self.regret[:, -1:]).argmax(axis=1)])


def store_figure(figure: str, folder: Path) -> None:
    """Store the tables of a figure that `banditsrl reproduce` has run into a folder."""
    frames = []
    sweep = read_sweep(folder)
    for cell in (cell for cell in sweep.cells if cell.figure == figure):
        table = pl.concat([sweep.store.read_table(run) for run in cell.runs], how="diagonal")
        steps = sorted(set(table["step"]))
        kept = [step for k, step in enumerate(steps, 1) if k <= DENSE or k % 2 == 0]
        in_use = pl.col("representation") if "representation" in table.columns else pl.lit(None)
        frames.append(
            table.filter(pl.col("step").is_in(kept), pl.col("seed").is_in(list(cell.seeds)))
            .sort("seed", "step")
            .select(
                panel=pl.lit(cell.part or cell.panel),
                label=pl.lit(cell.label),
                seed=pl.col("seed").cast(pl.Int32),
                step=pl.col("step").cast(pl.Int32),
                regret=pl.col("regret").cast(pl.Float32),
                certified=(pl.col("certified") + pl.col("trivial")).cast(pl.Int32),
                wrong=pl.col("wrong").cast(pl.Int32),
                representation=in_use.cast(pl.Int8),
            )
        )
    STORED.mkdir(parents=True, exist_ok=True)
    pl.concat(frames).write_parquet(
        STORED / f"{figure}.parquet", compression="zstd", compression_level=19, statistics=False
    )


def read_figure(figure: str) -> list[Curve]:
    """Return the stored curves of a figure, in the order of its panels."""
    table = pl.read_parquet(STORED / f"{figure}.parquet")
    names = table.select("panel", "label").unique(maintain_order=True)
    return [
        _make_curve(panel, label, table.filter(panel=panel, label=label))
        for panel, label in names.iter_rows()
    ]


def read_long_runs() -> list[Curve]:
    """Return the stored runs of the main figure; the panel is the problem, the label the policy."""
    store = Store(STORED)
    runs: dict[tuple[str, str], list[pl.DataFrame]] = {}
    for run in store.runs():
        table = store.read_table(run.hash).select("seed", "step", "regret", "certified", "wrong")
        runs.setdefault((run.spec.problem, run.spec.policy), []).append(table)
    order = [
        (problem, policy)
        for problem in PROBLEMS
        for base, alone in BASES.items()
        for policy in (f"nn-banditsrl-{base}", alone)
    ]
    return [
        _make_curve(*names, pl.concat(runs[names]).sort("seed", "step"))
        for names in order
        if names in runs
    ]


def _make_curve(panel: str, label: str, table: pl.DataFrame) -> Curve:
    seeds = table["seed"].unique(maintain_order=True).to_list()

    def take(name: str) -> Floats:
        return np.asarray(table[name].to_numpy(), dtype=np.float64).reshape(len(seeds), -1)

    steps = table["step"].to_numpy()[: table.height // len(seeds)].astype(np.int64)
    known = "representation" in table.columns and table["representation"].null_count() == 0
    in_use = take("representation") if known else None
    columns = (take("regret"), take("certified"), take("wrong"), in_use)
    return Curve(panel, label, seeds, steps, *columns)
