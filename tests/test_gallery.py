"""Does the gallery show what is stored? Its tables are those that the script prints."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ROOT
from typer.testing import CliRunner

from banditsrl.cli.commands import app
from banditsrl.experiments.store import Store

GALLERY = (ROOT / "docs" / "gallery.md").read_text()


@pytest.fixture(autouse=True)
def _find_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


@pytest.mark.parametrize("figure", ["vardim", "vardim-weak-losses", "mixing", "nonlinear"])
def test_the_gallery_has_every_table_of_a_stored_figure(figure: str) -> None:
    tables = importlib.import_module("paper").build_tables(figure)
    assert tables
    for table in tables:
        assert table in GALLERY


def test_a_stored_figure_has_the_numbers_of_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper_curves = importlib.import_module("paper_curves")
    folder = tmp_path / "results"
    size = ["--horizon", "300", "--seeds", "3", "--workers", "1"]
    words = ["reproduce", "mixing", *size, "--quiet", "--out", str(folder)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    monkeypatch.setattr(paper_curves, "STORED", tmp_path)
    paper_curves.store_figure("mixing", folder)
    curves = paper_curves.read_figure("mixing")
    assert [curve.label for curve in curves] == ["BanditSRL-LinUCB", "BanditSRL-ε-greedy", "LEADER"]
    store = Store(folder)
    for run in store.runs():
        table = store.read_table(run.hash)
        (curve,) = (curve for curve in curves if _is_run_of(curve.label, run.spec.policy))
        for k, seed in enumerate(curve.seeds):
            kept = table.filter(seed=seed, step=300)
            np.testing.assert_allclose(curve.regret[k, -1], kept["regret"][0], rtol=1e-6)
            expected = kept["certified"][0] + kept["trivial"][0]
            assert curve.certified[k, -1] == expected


def _is_run_of(label: str, policy: str) -> bool:
    return label.lower().replace("ε-", "e") == policy


@pytest.mark.parametrize("suffix", ["", "-dark", "-narrow", "-narrow-dark"])
def test_the_trust_picture_is_drawn_from_what_is_stored(suffix: str) -> None:
    page = (ROOT / "benchmarks" / "results" / "trust" / "README.md").read_text()
    (kept,) = (line for line in page.splitlines() if line.startswith("In short: "))
    picture = (ROOT / "docs" / "images" / f"trust{suffix}.svg").read_text()
    words = "run `python docs/figures/make.py trust` after a measurement"
    assert f"<dc:description>{kept.removeprefix('In short: ')}</dc:description>" in picture, words


@pytest.mark.parametrize("narrow", [False, True])
def test_dots_beyond_a_limit_have_the_other_colour(narrow: bool) -> None:
    page, picture = (importlib.import_module(f"trust_{name}") for name in ("page", "picture"))
    lines = page.read_lines(ROOT / "benchmarks" / "results" / "trust", "banditsrl-auto", 10_000)
    look = picture.Look(good="#000001", bad="#000002", narrow=narrow)
    panels = picture.draw(lines, title="", look=look).axes
    found = [
        sum(len(dots.get_offsets()) for dots in panel.collections if _is_beyond(dots, size=26))
        for panel in (panels[0], panels[2])
    ]
    assert found == [
        sum(line.loss is not None and line.loss > 0.01 for line in lines),
        sum(line.ratio is not None and line.ratio > 1.1 for line in lines),
    ]
    assert found[0]


def _is_beyond(dots: Any, *, size: int) -> bool:
    """Return whether dots are large and have the colour #000002."""
    return dots.get_sizes()[0] == size and round(255 * dots.get_facecolor()[0][2]) == 2
