"""What came of a cell? Its finished runs as one `Result`, and as JSON for other programs."""

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


def read_result(planned: PlannedCell, store: Store) -> Result | None:
    """Read the finished seeds of a cell from the store; None if there is none.

    Times (`last_regret`, `last_uncertified`) are recorded steps, at or after the true ones. What a
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
    uncertified = steps - counts["certified"] - counts["trivial"]
    return Result(
        problem=planned.spec.problem,
        policy=planned.cell.label,
        horizon=planned.spec.horizon,
        seeds=np.asarray(rows["seed"].unique(maintain_order=True).to_numpy()),
        steps=steps,
        last_regret=_find_last_increase(counts["regret"], steps),
        last_uncertified=_find_last_increase(uncertified, steps),
        largest_reward=np.full(len(rows) // len(steps), np.nan),
        phases=np.zeros(0, dtype=np.int64),
        reports={},
        state=None,
        pmf_draws=0,
        seconds=float(seconds),
        **counts,
    )


def result_to_json(planned: PlannedCell, result: Result) -> dict[str, Any]:
    """Return a cell and its result as plain JSON.

    `regret.mean` and `regret.stderr` are over seeds at each of `steps` (null for one seed);
    `regret.final` is the last value of every seed. `certified.last_decile` is the share of rounds
    of the last tenth that were certified; `certified.wrong` is the share of all certified rounds
    whose action was not the best (see `simulation.shares`).
    """
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
            "last_decile": result.certificates.certified_in_last_tenth,
            "wrong": result.certificates.wrong_overall,
        },
        "seconds": result.seconds,
        "version": dict(read_versions())["banditsrl"],
    }


def _find_last_increase(counts: Floats, steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the recorded step at which each row reaches its final value; zero if that is zero."""
    reached = steps[(counts >= counts[:, -1:]).argmax(axis=1)]
    return np.where(counts[:, -1] > 0, reached, 0)
