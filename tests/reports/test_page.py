"""Does the report say what the tables say? Numbers computed again, one table at a time."""

import csv
import json
import math
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from banditsrl.display.numerals import format_number, format_share
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.sweep import SweepCell
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.reports.colours import DARK, LIGHT, assign_styles
from banditsrl.reports.curves import MAX_POINTS, build_panels, thin_positions
from banditsrl.reports.measurements import SEED_POINTS, measure_sweep
from banditsrl.reports.page import write_report
from banditsrl.reports.paired_tables import (
    build_every_pair_table,
    build_paired_table,
    compare_final_regret,
)
from banditsrl.reports.panel_tables import build_final_table
from banditsrl.reports.sweep_problems import SweepProblems
from banditsrl.reports.theory_comparison import TheoryComparer


class Reader(HTMLParser):
    """Visible words, tags that must be closed, and everything that points outside."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.plots: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.addresses += [found[k] or "" for k in ("src", "href") if k in found]
        if "data-plot" in found:
            self.plots.append(found)
        if tag not in {"meta", "link", "line"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "line":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.words.append(data)


def read(page: Path) -> tuple[Reader, str]:
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    assert reader.open == []
    return reader, " ".join(" ".join(reader.words).split())


def per_seed(store: Path, cell: SweepCell) -> dict[int, pl.DataFrame]:
    """The tables of a cell, one after another, by seed."""
    frames = [pl.read_parquet(store / "runs" / run / "table.parquet") for run in cell.runs]
    return {int(frame["seed"][0]): frame for frame in frames}


@pytest.fixture(scope="module")
def page(store: Path) -> Path:
    return write_report(store)


def test_curves_are_means_and_standard_errors_over_seeds(store: Path) -> None:
    sweep = read_sweep(store)
    for panel in build_panels(sweep, measure_sweep(sweep)):
        for curve in panel.curves:
            tables = list(per_seed(store, curve.cell).values())
            regret = np.array([t["regret"].to_numpy() for t in tables])
            np.testing.assert_allclose(curve.mean, regret.mean(axis=0))
            np.testing.assert_allclose(curve.stderr, regret.std(axis=0, ddof=1) / 2.0)
            late = curve.steps > 2100
            stops = {"BanditSRL-LinUCB": 1.0, "BanditSRL-ε-greedy": 1.0}
            assert curve.certified[late] == pytest.approx(stops.get(curve.name, 0.0))


def test_the_final_table_adds_up_what_came_late(store: Path) -> None:
    sweep = read_sweep(store)
    panel = build_panels(sweep, measure_sweep(sweep))[0]
    rows = {row[0]: row for row in build_final_table(panel).rows}
    assert [rows[name][6] for name in ("BanditSRL-LinUCB", "LEADER")] == ["100%", "0%"]
    assert [rows[name][5] for name in ("BanditSRL-LinUCB", "LEADER")] == ["4 of 4", "0 of 4"]
    leader = next(curve for curve in panel.curves if curve.name == "LEADER")
    late = []
    for table in per_seed(store, leader.cell).values():
        early = [r for s, r in zip(table["step"], table["regret"], strict=True) if s <= 2048]
        late.append(table["regret"][-1] - early[-1])
    assert rows["LEADER"][4] == format_number(sum(late) / 4)
    wrong = rows["BanditSRL-ε-greedy"]
    assert (wrong[7], wrong[8]) == (format_share(20 / 2096), "10")  # of 4096 - 2000 certified


def test_a_tuned_group_is_shown_by_its_best_cell_only(store: Path) -> None:
    sweep = read_sweep(store)
    first = build_panels(sweep, measure_sweep(sweep))[0]
    assert [curve.name for curve in first.curves].count("IGW") == 1
    assert first.tuned[0].best.label == "IGW 10"
    assert set(first.tuned[0].final) == {"IGW 1", "IGW 10"}


def test_pairs_are_compared_seed_by_seed(store: Path) -> None:
    sweep = read_sweep(store)
    panel = build_panels(sweep, measure_sweep(sweep))[0]
    curve = panel.curves[0]
    base = panel.base_of(curve)
    assert base is not None
    assert base.name == "LinUCB"
    ours, theirs = per_seed(store, curve.cell), per_seed(store, base.cell)
    gains = [ours[s]["regret"][-1] - theirs[s]["regret"][-1] for s in ours]
    found = compare_final_regret(curve, base)
    assert found is not None
    assert found.difference == pytest.approx(sum(gains) / 4)
    assert found.stderr == pytest.approx(float(np.std(gains, ddof=1)) / 2)
    assert found.n_better == sum(gain < 0 for gain in gains) == 4
    table = build_paired_table(panel)
    assert table is not None
    assert [row[:2] for row in table.rows] == [("BanditSRL-LinUCB", "LinUCB")]
    assert table.rows[0][-1] == "lower regret"


def test_every_pair_is_compared_once_with_the_lower_mean_first(store: Path) -> None:
    sweep = read_sweep(store)
    panel = build_panels(sweep, measure_sweep(sweep))[0]
    table = build_every_pair_table(panel)
    assert table is not None
    finals = {curve.name: curve.mean[-1] for curve in panel.curves}
    wanted = {frozenset((a, b)) for a in finals for b in finals if a != b}
    assert len(table.rows) == len(wanted) == 10
    assert {frozenset(row[:2]) for row in table.rows} == wanted
    assert all(finals[row[0]] <= finals[row[1]] for row in table.rows)
    assert "Of 10 comparisons, about 0.5 would look clear by chance" in table.caption


def test_the_table_of_final_regret_is_exported(page: Path, store: Path) -> None:
    sweep = read_sweep(store)
    panel = build_panels(sweep, measure_sweep(sweep))[0]
    lines = (store / "tables" / "realizable.csv").read_text(encoding="utf-8").splitlines()
    rows = {row["algorithm"]: row for row in csv.DictReader(lines)}
    for curve in panel.curves:
        finals = [t["regret"][-1] for t in per_seed(store, curve.cell).values()]
        assert float(rows[curve.name]["regret"]) == pytest.approx(np.mean(finals))
        assert float(rows[curve.name]["stderr"]) == pytest.approx(np.std(finals, ddof=1) / 2)
    latex = (store / "tables" / "wheel-co.tex").read_text(encoding="utf-8")
    assert r"wheel \& $<$co$>$" in latex
    assert r"BanditSRL-$\varepsilon$-greedy" in latex
    body = latex.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == len(panel.curves)
    assert all(line.count(" & ") == 8 and line.endswith(r" \\") for line in body)
    assert not re.search(r"[^\x00-\x7f]", latex)


def test_measured_times_are_the_last_changes_in_the_table(store: Path) -> None:
    sweep = read_sweep(store)
    curve = build_panels(sweep, measure_sweep(sweep))[0].curves[0]
    for seed, table in per_seed(store, curve.cell).items():
        row = curve.seeds.row(by_predicate=pl.col("seed") == seed, named=True)
        steps, regret = table["step"].to_list(), table["regret"].to_list()
        assert row["last_regret"] == steps[regret.index(regret[-1])]
        chosen = table["representation"].to_list()
        others = [s for s, k in zip(steps, chosen, strict=True) if k != chosen[-1]]
        since = min(s for s in steps if s > max(others)) if others else 0
        assert (row["chosen"], row["chosen_since"]) == (0, since)
        assert row["last_elimination"] == min(s for s in steps if s >= 512)
        assert row["last_uncertified"] == min(s for s in steps if s >= 1000)


def test_the_theory_stands_next_to_the_measurement_where_it_applies(store: Path) -> None:
    sweep = read_sweep(store)
    linear, other = build_panels(sweep, measure_sweep(sweep))
    comparison = TheoryComparer(SweepProblems(sweep)).compare(linear)
    assert comparison.table is not None
    events = {(row[0], row[1]): row[2:] for row in comparison.table.rows}
    promised, median, _, seeds = events["BanditSRL-LinUCB", "no more regret"]
    assert promised == "1.7 × 10¹⁰"  # tau_opt of vardim-realizable
    table = next(iter(per_seed(store, linear.curves[0].cell).values()))
    assert median == format_number(min(step for step in table["step"].to_list() if step >= 1000))
    assert seeds == "4 of 4"
    assert any("Gaussian noise" in text for text in comparison.remarks)
    assert TheoryComparer(SweepProblems(sweep)).compare(other).table is None


def test_the_page_holds_everything_and_points_nowhere(page: Path, store: Path) -> None:
    reader, words = read(page)
    for address in reader.addresses:
        assert address.startswith(("#", "data:,", "figures/", "tables/", "regret.csv"))
        if address.startswith(("figures/", "tables/", "regret")):
            assert (store / address).stat().st_size > 100
    assert "realizable: BanditSRL-LinUCB stopped exploring by step" in words
    assert "Complete: all 48 runs are finished." in words
    assert "wheel & <co>" in words  # escaped in the source, as written on the screen
    assert "banditsrl reproduce vardim --scale quick" in words
    assert "0.10.1" in words
    assert "by Student's t" in words
    assert '<html lang="en">' in page.read_text(encoding="utf-8")
    assert all(plot["role"] == "img" and plot["aria-label"] for plot in reader.plots)


def test_every_plot_has_data_and_a_place(page: Path) -> None:
    reader, _ = read(page)
    text = page.read_text(encoding="utf-8")
    found = re.search(r'id="plots">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    plots = json.loads(found[1])
    assert set(plots) == {plot["data-plot"] for plot in reader.plots}
    assert len(plots) == 2 + 2 + 4  # regret, certificates, chosen representations
    for plot in plots.values():
        for line in plot.get("lines", [plot]):
            assert 1 < len(line["x"]) <= MAX_POINTS
            assert len(line.get("y", line["x"])) == len(line["x"])


def test_lines_of_single_seeds_are_their_tables(page: Path, store: Path) -> None:
    found = re.search(r'id="plots">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    line = json.loads(found[1])["regret-0"]["lines"][0]
    (group,) = line["seeds"]
    cell = next(c for c in read_sweep(store).cells if c.label == line["name"])
    tables = list(per_seed(store, cell).values())
    assert len(group["ys"]) == len(tables) == 4
    for values, table in zip(group["ys"], tables, strict=True):
        known = dict(zip(table["step"], table["regret"], strict=True))
        assert len(group["x"]) <= SEED_POINTS
        assert group["x"][-1] == 4096
        assert values == pytest.approx([known[step] for step in group["x"]], rel=1e-3)


def test_the_page_is_far_below_two_megabytes(
    tmp_path: Path, make_store: Callable[..., Path]
) -> None:
    make_store(tmp_path, seeds=25)  # more seeds than are drawn as single lines
    assert write_report(tmp_path).stat().st_size < 500_000


def test_the_csv_holds_every_recorded_step(page: Path, store: Path) -> None:
    rows = list(csv.DictReader((store / "regret.csv").read_text(encoding="utf-8").splitlines()))
    cell = next(c for c in read_sweep(store).cells if c.label == "LEADER")
    assert len(rows) == len(read_sweep(store).cells) * len(per_seed(store, cell)[0])
    last = next(row for row in rows if row["label"] == "LEADER" and row["step"] == "4096")
    finals = [table["regret"][-1] for table in per_seed(store, cell).values()]
    assert float(last["regret"]) == pytest.approx(sum(finals) / 4)
    assert int(last["n_seeds"]) == 4


def test_figures_are_written_as_png_and_pdf(page: Path, store: Path) -> None:
    names = {path.name for path in (store / "figures").iterdir()}
    assert names == {"realizable.png", "realizable.pdf", "wheel-co.png", "wheel-co.pdf"}
    assert (store / "figures" / "realizable.pdf").read_bytes().startswith(b"%PDF")


def test_an_unfinished_sweep_says_what_is_missing_and_shows_no_empty_panel(
    tmp_path: Path, make_store: Callable[..., Path]
) -> None:
    unfinished = {f"{cell:02d}{seed:02d}" for cell in range(6, 12) for seed in range(4)} | {"0003"}
    make_store(tmp_path, skip=unfinished.__contains__)
    (tmp_path / "runs" / "0003" / "error.txt").write_text("Traceback\nValueError: no luck\n")
    (tmp_path / "runs" / "0102" / "table.parquet").write_bytes(b"PAR1 but not really")
    reader, words = read(write_report(tmp_path))
    assert "Incomplete: 22 of 48 runs are finished." in words
    assert (
        "realizable, BanditSRL-LinUCB: 3 of 4 runs finished; 1 failed: ValueError: no luck" in words
    )
    assert "wheel & <co>, LEADER: 0 of 4 runs finished" in words
    assert "panels without a finished run are left out: wheel & <co>" in words
    assert "the table of run 0102 cannot be read" in words
    assert "3 to 4 seeds" in words
    assert not any("wheel" in (plot["aria-label"] or "") for plot in reader.plots)
    names = [plot["data-plot"] for plot in reader.plots]
    assert names == ["regret-0", "certificates-0", "choices-0-0", "choices-0-2"]


def test_a_sweep_without_any_finished_run_still_has_a_page(
    tmp_path: Path, make_store: Callable[..., Path]
) -> None:
    make_store(tmp_path, skip=lambda run: True)
    reader, words = read(write_report(tmp_path))
    assert "Incomplete: 0 of 48 runs are finished." in words
    assert reader.plots == []


def test_one_seed_has_no_band_and_no_interval(
    tmp_path: Path, make_store: Callable[..., Path]
) -> None:
    make_store(tmp_path, seeds=1)
    _, words = read(write_report(tmp_path))
    assert "One seed, so there is no band." in words
    assert "1 seed planned for each curve" in words
    assert "one seed: no verdict" in words
    assert "nan" not in words.lower()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "directory must hold a sweep.json that can be read, got .*No such file"),
        ("{", "must hold valid JSON"),
        ('{"schema": 2}', "must be of schema 1, got schema 2"),
        ('{"schema": 1, "cells": []}', "must list at least one cell"),
        ('{"schema": 1, "cells": [{"panel": "a"}]}', r"cells\[0\] must have label, problem"),
    ],
)
def test_a_wrong_folder_is_one_sentence(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(InvalidArgument, match=message):
        write_report(tmp_path)


def test_a_thousand_runs_take_seconds(tmp_path: Path, make_store: Callable[..., Path]) -> None:
    """The report may take 20 seconds; processor time, so that busy neighbours do not count."""
    make_store(tmp_path, seeds=84)
    assert len(list((tmp_path / "runs").iterdir())) == 1008
    begin = time.process_time()
    write_report(tmp_path)
    assert time.process_time() - begin < 20.0


def test_every_algorithm_has_a_colour_of_its_own_while_they_last() -> None:
    found = assign_styles(["A", "B+", "B", "A", "C1", "C2", "C"])
    assert list(found) == ["A", "B+", "B", "C1", "C2", "C"]
    assert [style.colour for style in found.values()] == list(range(6))
    assert {style.dash for style in found.values()} == {"solid"}
    many = assign_styles([str(k) for k in range(20)])
    assert len(set(many.values())) == 20
    assert len(LIGHT) == len(DARK)


@pytest.mark.parametrize(("n", "most"), [(1, 200), (7, 200), (200, 200), (201, 200), (5000, 200)])
def test_thinning_keeps_both_ends(n: int, most: int) -> None:
    kept = thin_positions(n, most)
    assert kept[0] == 0
    assert kept[-1] == n - 1
    assert len(kept) == min(n, most)


def test_numbers_are_written_for_people() -> None:
    assert format_number(math.nan) == "\u2013"
    assert format_number(-3.14159) == "\u22123.14"
    assert format_number(2.0, 0.5) == "2.00"
    assert format_share(0.123) == "12.3%"


def test_elimination_is_complete_only_without_misspecified_candidates(
    tmp_path: Path, make_store: Callable[..., Path]
) -> None:
    make_store(tmp_path)  # candidate 2 leaves at step 512, the others stay
    document = json.loads((tmp_path / "sweep.json").read_text())
    for cell in document["cells"]:
        cell["problem"] = "vardim-misspecified"  # where candidate 6 and later ones are wrong
    (tmp_path / "sweep.json").write_text(json.dumps(document))
    for path in tmp_path.glob("runs/*/table.parquet"):
        table = pl.read_parquet(path)
        if "active" in table.columns:
            stays = [True] * 6 + [False] * 6 + ["0000" in str(path)]
            active = pl.Series([stays] * len(table))
            table.with_columns(active=active).write_parquet(path)
    sweep = read_sweep(tmp_path)
    found = TheoryComparer(SweepProblems(sweep)).compare(
        build_panels(sweep, measure_sweep(sweep))[0]
    )
    assert found.table is not None
    rows = {row[0]: row[-1] for row in found.table.rows if "eliminated" in row[1]}
    assert rows == {"BanditSRL-LinUCB": "3 of 4", "BanditSRL-ε-greedy": "4 of 4"}
