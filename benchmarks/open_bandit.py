"""What would Thompson sampling have earned, by a log of random play? The Open Bandit samples.

    python benchmarks/open_bandit.py [--data FOLDER] [--campaigns all men women] [--quick]

The package `obp` contains samples of 10,000 rows each of two logs of the same items: one of even
random play ("random"), and one of Thompson sampling ("bts"). This script reads them as CSV files
and nothing else of the package; FOLDER is its folder `dataset/obd`, and is looked for in an
installed package if it is not given. The law of the Thompson policy is not in the random log. It
changes while the policy learns, so its average is taken: how often each item was shown at each
position in the bts log. What the policy really earned is the mean of its own clicks.
"""

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from banditsrl.estimation.mean_intervals import student_interval
from banditsrl.logs.log import Log, LogBatch
from banditsrl.reports.evaluation_report import evaluate

OUT = Path("benchmarks/results/open_bandit.json")
QUICK_OUT = Path("build/open_bandit.json")
N_POSITIONS = 3


class ShownTarget:
    """Shows items as often as a log did, position by position."""

    def __init__(self, name: str, shares: NDArray[np.float64]) -> None:
        self.name, self._shares = name, shares  # (positions, items)

    def pmf(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return the probability of every item, (n, A)."""
        return np.asarray(batch.contexts @ self._shares)


def find_data() -> Path | None:
    """Return the folder of the samples in an installed package, without importing it."""
    found = importlib.util.find_spec("obp")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "dataset" / "obd"


def read_sample(folder: Path, policy: str, campaign: str) -> pl.DataFrame:
    """Return one sample."""
    columns = ["item_id", "position", "click", "propensity_score"]
    return pl.read_csv(folder / policy / campaign / f"{campaign}.csv", columns=columns)


def measure_shares(sample: pl.DataFrame, n_items: int) -> NDArray[np.float64]:
    """Return how often each item was shown at each position, (positions, items)."""
    counts = np.zeros((N_POSITIONS, n_items))
    np.add.at(counts, (sample["position"].to_numpy() - 1, sample["item_id"].to_numpy()), 1.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def to_log(sample: pl.DataFrame, n_items: int) -> Log:
    """Return a sample as a log whose context is the position."""
    return Log.from_arrays(
        contexts=np.eye(N_POSITIONS)[sample["position"].to_numpy() - 1],
        actions=sample["item_id"].to_numpy(),
        rewards=sample["click"].to_numpy().astype(float),
        propensities=sample["propensity_score"].to_numpy(),
        n_actions=n_items,
        columns=[f"position {k + 1}" for k in range(N_POSITIONS)],
    )


def run(folder: Path, campaign: str) -> dict[str, Any]:
    """Return the estimates of one campaign, and what the policy really earned."""
    random, bts = (read_sample(folder, policy, campaign) for policy in ("random", "bts"))
    n_items = 1 + max(int(sample["item_id"].to_numpy().max()) for sample in (random, bts))
    target = ShownTarget("bts", measure_shares(bts, n_items))
    found = evaluate(to_log(random, n_items), [target], reward_range=(0.0, 1.0))
    clicks = bts["click"].to_numpy().astype(float)
    earned = student_interval(clicks, level=0.05)
    judged, earned_mean = found.targets[0], float(clicks.mean())
    return {
        "campaign": campaign,
        "rows": len(random),
        "clicks_random": int(random["click"].sum()),
        "clicks_bts": int(clicks.sum()),
        "earned": {"value": earned_mean, "low": earned.low, "high": earned.high},
        "evaluation": found.as_dict(),
        "contains": judged.estimates["dr"].low <= earned_mean <= judged.estimates["dr"].high,
    }


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print all numbers in thousandths of a click."""
    print("clicks per thousand rounds; intervals of 95%")
    print("| campaign | estimator | estimated for bts | at all times | really earned | worth |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        real = row["earned"]
        truth = f"{1e3 * real['value']:.1f} ({1e3 * real['low']:.1f} to {1e3 * real['high']:.1f})"
        target = row["evaluation"]["targets"][0]
        for name, found in target["estimates"].items():
            value, low, high, first, last = (
                1e3 * found[key] for key in ("value", "low", "high", "always_low", "always_high")
            )
            print(
                f"| {row['campaign']} | {name} | {value:.1f} ({low:.1f} to {high:.1f}) | "
                f"{first:.1f} to {last:.1f} | {truth} | {found['effective_n']:,.0f} |"
            )
        print(f"  clicks in the random log: {row['clicks_random']}, in bts: {row['clicks_bts']}")


def main() -> None:
    """Judge the Thompson policy in every campaign."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--campaigns", nargs="+", default=["all", "men", "women"])
    parser.add_argument("--quick", action="store_true", help="One campaign only.")
    options = parser.parse_args()
    campaigns = ["all"] if options.quick else options.campaigns
    folder = options.data or find_data()
    if folder is None:
        print("Nothing is judged: the samples are in the package obp (pip install --no-deps obp).")
        return
    rows = [run(folder, campaign) for campaign in campaigns]
    print_table(rows)
    out = QUICK_OUT if options.quick else OUT
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
