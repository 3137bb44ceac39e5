"""What are the results of the benchmark? Tables, a figure and a file of numbers, from the records.

    python benchmarks/peers/report.py [--folder build/peers] [--out benchmarks/results] [--steps N]
        [--keep calvera vw]

`--keep` names libraries that were not run again. Their rows are those that `peers.json` in the
folder of results has already. That is right while their versions and the streams stay the same.

Each peer is shown with its best setting per problem, which is the one with the least mean regret at
the end. Ours has one line per setting, and the same settings on all problems. Intervals are 95%
intervals of the mean over seeds (Student's t).
"""

import argparse
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from figure import draw
from provenance import read_provenance
from settings import SETTINGS, TITLES
from streams import PROBLEMS

from banditsrl.display.intervals import student_factor


class Row(NamedTuple):
    """One setting of one library on one problem, over its seeds."""

    problem: str
    runner: str
    setting: str
    n_seeds: int
    regret: dict[int, tuple[float, float]]  # step: mean, half width of the interval
    microseconds: float
    clock_microseconds: float
    memory_mb: float
    compile_seconds: float | None
    best: bool

    @property
    def final(self) -> float:
        """Mean regret at the last checkpoint."""
        return self.regret[max(self.regret)][0]


def main() -> None:
    """Read the records and write the three files."""
    parser = argparse.ArgumentParser(description="Report the comparison with other libraries.")
    parser.add_argument("--folder", type=Path, default=Path("build/peers"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument(
        "--steps", type=int, help="Length of the runs to report; by default the longest."
    )
    parser.add_argument(
        "--keep", nargs="*", default=(), help="Libraries whose published rows are kept."
    )
    arguments = parser.parse_args()
    published = _read_published(arguments.out / "peers.json", arguments.keep)
    records = [
        json.loads(path.read_text()) for path in sorted(arguments.folder.glob("runs/*.json"))
    ]
    steps = arguments.steps or max((record["steps"] for record in records), default=0)
    records = [record for record in records if record["steps"] == steps]
    rows = summarise(records, _to_rows(published))
    if not rows:
        raise SystemExit(f"{arguments.folder}: there are no finished runs of {steps} steps.")
    arguments.out.mkdir(parents=True, exist_ok=True)
    made = _add_published(read_provenance(arguments.folder), published)
    words = format_report(rows, records, made)
    numbers = collect_numbers(rows, records, published)
    (arguments.out / "peers.md").write_text(words)
    (arguments.out / "peers.json").write_text(json.dumps({**made, **numbers}, indent=1) + "\n")
    draw(rows, arguments.out / "peers.png")
    print(words)


def _read_published(path: Path, libraries: Sequence[str]) -> dict[str, Any]:
    """Return what was published of some libraries: their rows, curves, versions and commands."""
    if not libraries:
        return {"rows": [], "curves": [], "versions": {}, "commands": []}
    numbers = json.loads(path.read_text())
    for name in ("rows", "curves"):
        numbers[name] = [one for one in numbers[name] if one["runner"] in libraries]
    missing = set(libraries) - {row["runner"] for row in numbers["rows"]}
    if missing:
        raise SystemExit(f"{path}: there are no rows of {', '.join(sorted(missing))}.")
    return dict(numbers)


def _to_rows(published: dict[str, Any]) -> list[Row]:
    """Return published rows as `Row`s."""
    rows = []
    for found in published["rows"]:
        regret = {
            int(step): (one["mean"], math.nan if one["half_width"] is None else one["half_width"])
            for step, one in found["regret"].items()
        }
        rows.append(Row(**{**found, "regret": regret}))
    return rows


def _add_published(made: dict[str, Any], published: dict[str, Any]) -> dict[str, Any]:
    """Return the provenance with the commands of the rows that were kept."""
    kept = sorted({row["runner"] for row in published["rows"]})
    commands = [*published["commands"], *made["commands"]]
    return {**made, "commands": list(dict.fromkeys(commands)), "kept": kept}


def summarise(records: Iterable[dict[str, Any]], kept: Sequence[Row] = ()) -> list[Row]:
    """Return one row per problem, library and setting, in the order of the settings."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record["status"] == "done" and record["regret"]:
            groups[record["problem"], record["runner"], record["setting"]].append(record)
    order = [(p, r, s) for p in PROBLEMS for r, names in SETTINGS.items() for s in names]
    made = {key: _make_row(key, groups[key]) for key in order if groups[key]}
    made |= {row[:3]: row for row in kept}
    rows = [made[key] for key in order if key in made]
    best = {
        min(alike, key=lambda row: row.final)[:3]
        for alike in _group(rows)
        if alike[0].runner != "ours"
    }
    return [row._replace(best=row[:3] in best) for row in rows]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95% interval, which is nan for one value."""
    n = len(values)
    if n == 1:
        return values[0], math.nan
    return statistics.fmean(values), student_factor(n) * statistics.stdev(values) / math.sqrt(n)


def format_report(rows: list[Row], records: list[dict[str, Any]], made: dict[str, Any]) -> str:
    """Return the report: one table per problem, then all settings, then the failed runs."""
    steps = sorted(rows[0].regret)
    lines = ["# banditsrl and its peers", "", *_format_preamble(rows, made), ""]
    for problem in PROBLEMS:
        here = [row for row in rows if row.problem == problem]
        shown = [row for row in here if row.best or row.runner == "ours"]
        if shown:
            lines += [f"## {problem}", "", *_format_table(shown, steps), ""]
    lines += ["## All settings", ""]
    lines += _format_table(rows, steps[-1:], with_problem=True)
    lines += ["", *_format_failures(records)]
    return "\n".join(lines).rstrip() + "\n"


def collect_numbers(
    rows: list[Row], records: list[dict[str, Any]], published: dict[str, Any]
) -> dict[str, Any]:
    """Return all numbers of the tables, the versions, and the curves of the mean regret."""
    versions = {name: v for record in records for name, v in record.get("versions", {}).items()}
    kept = {row["runner"] for row in published["rows"]}
    curves = [_make_curve(row, records) for row in rows if row.runner not in kept]
    return {
        "versions": {**published["versions"], **versions},
        "rows": [
            {**row._asdict(), "regret": {str(s): _to_json(m) for s, m in row.regret.items()}}
            for row in rows
        ],
        "curves": [*curves, *published["curves"]],
        "not_done": [record for record in records if record["status"] != "done"],
    }


def _make_row(key: tuple[str, str, str], records: list[dict[str, Any]]) -> Row:
    def median(name: str) -> float:
        return float(statistics.median(record[name] for record in records))

    ours = "compile_seconds" in records[0]
    return Row(
        *key,
        n_seeds=len(records),
        regret={
            int(step): interval([record["regret"][step] for record in records])
            for step in records[0]["regret"]
        },
        microseconds=median("microseconds"),
        clock_microseconds=median("clock_microseconds"),
        memory_mb=max(record["memory_mb"] for record in records),
        compile_seconds=median("compile_seconds") if ours else None,
        best=False,
    )


def _group(rows: list[Row]) -> list[list[Row]]:
    """Return the rows in groups of one library and problem."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.problem, row.runner].append(row)
    return list(groups.values())


def _format_preamble(rows: list[Row], made: dict[str, Any]) -> list[str]:
    seeds = sorted({row.n_seeds for row in rows})
    seed_range = " to ".join(
        str(n) for n in ([seeds[0]] if len(seeds) == 1 else [seeds[0], seeds[-1]])
    )
    how = (
        f"Regret is the mean ± half the width of its 95% interval over {seed_range} seeds. All "
        "libraries have the same contexts and the same reward noise. Every other library has its "
        "best setting for each problem (marked *), and banditsrl has the same settings on all "
        "problems. Time is the processor time of act and learn per step, without compilation, "
        "which has a column of its own. Memory is what a run adds to the process after imports "
        "and data."
    )
    if made["kept"]:
        kept = " and ".join(TITLES[name] for name in made["kept"])
        how += (
            f" The rows of {kept} were made earlier, with the same contexts and noise. Their times "
            "are those of that day."
        )
    cpu, cores = made["machine"].get("cpu", "an unknown machine"), made["machine"].get("cores", "?")
    where = (
        f"These results were made on {cpu} ({cores} cores, one thread per run) by the following "
        "commands and by `report.py`:"
    )
    commands = [f"- `{command}`" for command in made["commands"]]
    return [where, "", *commands, "", how]


def _format_table(rows: list[Row], steps: list[int], *, with_problem: bool = False) -> list[str]:
    heads = ["library", "setting", *[f"regret at {step:,}" for step in steps]]
    heads += ["us per step", "compile s", "peak MB", "seeds"]
    if with_problem:
        heads.insert(0, "problem")
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    most = max(row.n_seeds for row in rows)
    least = min(row.final for row in rows if row.n_seeds == most)
    for row in rows:
        bold = not with_problem and row.final == least and row.n_seeds == most
        cells = [TITLES[row.runner], row.setting + (" *" if row.best else "")]
        cells += [
            _format_number(row.regret[step], bold=bold and step == steps[-1]) for step in steps
        ]
        cells += [f"{row.microseconds:,.0f}"]
        cells += ["" if row.compile_seconds is None else f"{row.compile_seconds:.1f}"]
        cells += [f"{row.memory_mb:.0f}", str(row.n_seeds)]
        lines.append(f"| {' | '.join([row.problem, *cells] if with_problem else cells)} |")
    return lines


def _format_number(value: tuple[float, float], *, bold: bool) -> str:
    mean, half = value
    word = f"{mean:,.0f}" if math.isnan(half) else f"{mean:,.0f} ± {half:,.0f}"
    return f"**{word}**" if bold else word


def _format_failures(records: list[dict[str, Any]]) -> list[str]:
    failed = [record for record in records if record["status"] != "done"]
    if not failed:
        return []
    lines = ["## Not done", ""]
    for record in failed:
        why = str(record.get("error", record.get("reason"))).splitlines()[-1]
        name = f"{TITLES[record['runner']]}, {record['setting']}"
        lines.append(f"- {name} on {record['problem']}, seed {record['seed']}: {why}")
    return lines


def _make_curve(row: Row, records: list[dict[str, Any]]) -> dict[str, Any]:
    alike = [
        record["curve"]
        for record in records
        if record["status"] == "done"
        and (record["problem"], record["runner"], record["setting"]) == row[:3]
    ]
    steps = [step for step, _ in alike[0]]
    columns = zip(*[[value for _, value in curve] for curve in alike], strict=True)
    means = [statistics.fmean(values) for values in columns]
    names = {"problem": row.problem, "runner": row.runner, "setting": row.setting}
    return {**names, "steps": steps, "regret": [round(value, 3) for value in means]}


def _to_json(value: tuple[float, float]) -> dict[str, float | None]:
    """Return the mean and the half width, with None for nan, which JSON does not have."""
    return {"mean": value[0], "half_width": None if math.isnan(value[1]) else value[1]}


if __name__ == "__main__":
    main()
