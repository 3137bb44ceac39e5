"""What do the errors of estimators on simulated logs say? Tables of errors, coverage and wins."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.estimation.estimator_formulas import ESTIMATORS

PERFECT = "dr, true means"
"""Doubly robust with a reward model without error."""

FAMILY = ("dr", "sndr", "switch-dr")
"""Forms of doubly robust."""

N_DRAWS = 1000
"""Draws of the bootstrap."""

ROUNDED = 18
"""Digits of squared errors; estimators that are the same differ by rounding only."""

Row = dict[str, Any]
SETTING = ("family", "logging", "target", "n")


def share(rows: list[Row], key: str) -> float:
    """Return how often something is true, among the rows that know."""
    found = [row[key] for row in rows if key in row]
    return float(np.mean(found)) if found else math.nan


def root_mean_square(rows: list[Row], name: str) -> float:
    """Return the root mean square error of an estimator."""
    return float(np.sqrt(np.mean([row[name] ** 2 for row in rows])))


def group(rows: list[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by the values of some keys."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def coverage_table(rows: list[Row]) -> list[str]:
    """Return the lines of the table of coverage, in percent."""
    names = [*ESTIMATORS]
    lines = [
        "| logs | " + " | ".join(names) + " | Bernstein (dr) | violated |",
        "|---" * (len(names) + 3) + "|",
    ]
    parts = {"all": rows}
    for key in ("n", "logging", "family", "target"):
        parts |= {f"{key} {label[0]}": some for label, some in group(rows, key).items()}
    for label, some in parts.items():
        shares = [share(some, f"{name} covers") for name in [*names, "bernstein"]]
        cells = [f"{100 * value:.1f}" for value in [*shares, share(some, "violated")]]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def error_table(rows: list[Row]) -> tuple[list[str], dict[str, int]]:
    """Return the lines of the table of errors, and how many settings each estimator wins.

    Doubly robust with the true means competes with the others in the place of "dr".
    """
    names = [*ESTIMATORS, PERFECT]
    lines = ["| setting | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    wins = dict.fromkeys([*ESTIMATORS, "dr without sndr", "a form of dr", PERFECT, "settings"], 0)
    values = [row for row in rows if row["target"] != "difference"]
    for label, some in group(values, *SETTING).items():
        errors = {name: root_mean_square(some, name) for name in ESTIMATORS}
        least, perfect = min(errors.values()), root_mean_square(some, PERFECT)
        wins[PERFECT] += perfect <= min(e for name, e in errors.items() if name != "dr")
        best = [name for name, error in errors.items() if error <= least * (1 + 1e-12)]
        for name in best:
            wins[name] += 1
        wins["dr without sndr"] += errors["dr"] <= min(
            error for name, error in errors.items() if name != "sndr"
        )
        wins["a form of dr"] += bool({*FAMILY} & set(best))
        wins["settings"] += 1
        cells = [f"**{e:.4f}**" if name in best else f"{e:.4f}" for name, e in errors.items()]
        cells.append(f"{perfect:.4f}")
        lines.append(f"| {', '.join(map(str, label))} | " + " | ".join(cells) + " |")
    return lines, wins


def ratio_table(rows: list[Row]) -> list[str]:
    """Return the lines of a table of errors, as shares of that of "dr" (geometric means)."""
    names = [name for name in [*ESTIMATORS, PERFECT] if name != "dr"]
    lines = ["| settings | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    values = [row for row in rows if row["target"] != "difference"]
    parts = {"all": values}
    for key in ("family", "logging", "n"):
        parts |= {str(label[0]): some for label, some in group(values, key).items()}
    for label, some in parts.items():
        settings = group(some, *SETTING).values()
        logs = {
            name: [
                math.log(root_mean_square(s, name) / root_mean_square(s, "dr")) for s in settings
            ]
            for name in names
        }
        cells = [f"{math.exp(np.mean(logs[name])):.2f}" for name in names]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def largest_ratios(rows: list[Row]) -> dict[str, float]:
    """Return the largest error of each estimator, as a multiple of the smallest of the setting."""
    largest = dict.fromkeys([*ESTIMATORS, PERFECT], 0.0)
    values = [row for row in rows if row["target"] != "difference"]
    for some in group(values, *SETTING).values():
        least = min(root_mean_square(some, name) for name in ESTIMATORS)
        for name in largest:
            largest[name] = max(largest[name], root_mean_square(some, name) / least)
    return {name: round(ratio, 2) for name, ratio in largest.items()}


def count_beyond_chance(rows: list[Row], own: Sequence[str]) -> dict[str, int]:
    """Return in how many settings the best of some forms beats all others, and is beaten by one."""
    rng, counts = np.random.default_rng(0), {"better than all others": 0, "worse than another": 0}
    values = [row for row in rows if row["target"] != "difference"]
    for some in group(values, *SETTING).values():
        errors = draw_errors(some, rng)
        best = min(own, key=lambda name: root_mean_square(some, name))
        others = [name for name in ESTIMATORS if name not in own and name != best]
        others = [name for name in others if (errors[name] != errors[best]).any()]
        better = [float((errors[best] < errors[name]).mean()) for name in others]
        worse = [float((errors[best] > errors[name]).mean()) for name in others]
        counts["better than all others"] += min(better) >= 0.975
        counts["worse than another"] += max(worse) >= 0.975
    return counts


def draw_errors(rows: list[Row], rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Return mean squared errors, (N_DRAWS,), with problems and logs within them drawn again."""
    problems = list(group(rows, "block").values())
    first = rng.integers(0, len(problems), (N_DRAWS, len(problems), 1))
    n_logs = len(problems[0])
    second = rng.integers(0, n_logs, (N_DRAWS, len(problems), n_logs))
    squares = {
        name: np.array([[row[name] ** 2 for row in problem] for problem in problems])
        for name in ESTIMATORS
    }
    return {
        name: np.round(square, ROUNDED)[first, second].mean(axis=(1, 2))
        for name, square in squares.items()
    }


def print_tables(rows: list[Row], out: Path | None) -> None:
    """Print the tables of all rows so far, and write them to a file."""
    errors, wins = error_table(rows)
    result = {
        "logs": sum(row["target"] == "greedy" for row in rows),
        "coverage": [] if rows[0]["errors only"] else coverage_table(rows),
        "errors": errors,
        "ratios": ratio_table(rows),
        "largest error over the smallest of its setting": largest_ratios(rows),
        "wins": wins,
        "beyond chance, dr": count_beyond_chance(rows, ["dr"]),
        "beyond chance, a form of dr": count_beyond_chance(rows, FAMILY),
    }
    for title, found in result.items():
        print(f"\n{title}:", *(found if isinstance(found, list) else [found]), sep="\n")
    print(flush=True)
    if out:
        out.write_text(json.dumps(result, indent=1))
