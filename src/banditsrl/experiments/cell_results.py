"""What came of a cell? Its finished runs as one `Result`, and as numbers for other programs."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.experiments.environment import read_versions
from banditsrl.experiments.planning import PlannedCell
from banditsrl.experiments.run_spec import settings_to_dict
from banditsrl.experiments.run_tables import COUNTS, REQUIRED
from banditsrl.experiments.store import Store
from banditsrl.simulation.result import Result

Floats = NDArray[np.float64]


def stored_result(planned: PlannedCell, store: Store) -> Result | None:
    """The finished seeds of a cell; None if there is none.

    Times (`last_regret`, `last_uncertified`) are recorded steps, at or after the true ones; what a
    table does not hold (state, largest reward, phases and reports) is left empty.
    """
    import polars as pl

    finished = [run for run in planned.runs if store.is_finished(run)]
    if not finished:
        return None
    steps = np.asarray(planned.spec.steps)
    rows = store.read_tables(finished, REQUIRED)
    sizes = [len(planned.runs[run]) * len(steps) for run in finished]
    seconds = rows["seconds"].gather(np.cumsum(sizes) - 1).sum()
    rows = rows.filter(pl.col("seed").is_in(list(planned.cell.seeds))).sort("seed", "step")
    counts = {name: rows[name].to_numpy().reshape(-1, len(steps)) for name in COUNTS}
    undecided = steps - counts["certified"] - counts["trivial"]
    return Result(
        problem=planned.spec.problem,
        policy=planned.cell.label,
        horizon=planned.spec.horizon,
        seeds=np.asarray(rows["seed"].unique(maintain_order=True).to_numpy()),
        steps=steps,
        last_regret=_settled(counts["regret"], steps),
        last_uncertified=_settled(undecided, steps),
        largest_reward=np.full(len(rows) // len(steps), np.nan),
        phases=np.zeros(0, dtype=np.int64),
        reports={},
        state=None,
        pmf_draws=0,
        seconds=float(seconds),
        **counts,
    )


def as_numbers(planned: PlannedCell, result: Result) -> dict[str, Any]:
    """A cell and its result as plain JSON.

    `regret.mean` and `regret.stderr` are over seeds at each of `steps` (null for one seed);
    `regret.final` is the last value of every seed. `certified.last_decile` is the share of
    certified rounds in the last tenth, `certified.wrong` the share of all certified rounds whose
    action was not the best.
    """
    first = int(np.searchsorted(result.steps, 0.9 * result.horizon))
    width = max(int(result.steps[-1] - result.steps[first]), 1)
    last = (result.certified[:, -1] - result.certified[:, first]) / width
    decided = result.certified[:, -1].sum() + result.trivial[:, -1].sum()
    return {
        "problem": planned.spec.problem,
        "policy": planned.spec.policy,
        "preset": planned.spec.preset,
        "settings": {
            **settings_to_dict(planned.spec.problem_settings),
            **settings_to_dict(planned.spec.settings),
        },
        "horizon": result.horizon,
        "seeds": result.n_seeds,
        "steps": result.steps.tolist(),
        "regret": {
            "mean": result.mean.tolist(),
            "stderr": [None if math.isnan(value) else value for value in result.stderr.tolist()],
            "final": result.regret[:, -1].tolist(),
        },
        "certified": {
            "last_decile": float(last.mean()),
            "wrong": float(result.wrong[:, -1].sum() / decided) if decided else 0.0,
        },
        "seconds": result.seconds,
        "version": dict(read_versions())["banditsrl"],
    }


def _settled(values: Floats, steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first recorded step at which a growing count has its last value; zero if that is zero."""
    reached = steps[(values >= values[:, -1:]).argmax(axis=1)]
    return np.where(values[:, -1] > 0, reached, 0)
