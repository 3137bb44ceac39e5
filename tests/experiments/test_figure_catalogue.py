"""Figures: those of the paper, and those described in a person's own file."""

from pathlib import Path

import pytest

import banditsrl
from banditsrl.experiments.figure_catalogue import FIGURES, read_figure
from banditsrl.experiments.planning import list_cells
from banditsrl.experiments.run_spec import parse_settings
from banditsrl.experiments.store import Store
from banditsrl.policies.policy_catalogue import POLICIES
from banditsrl.problems.problem_catalogue import PROBLEMS

PAPER = Path(__file__).parents[2] / "benchmarks" / "results" / "paper"


def test_every_figure_names_policies_and_problems_that_exist() -> None:
    expected = {
        "vardim": 4,
        "vardim-weak-losses": 4,
        "mixing": 1,
        "nonlinear": 5,
        "ablation-bases": 10,
        "ablation-igw": 5,
        "ablation-glrt": 25,
        "ablation-losses": 25,
        "wheel-networks": 6,
    }
    assert {name: len(FIGURES[name].panels) for name in FIGURES} == expected
    for name in FIGURES:
        figure = FIGURES[name]
        assert list(figure.scales) == ["quick", "standard", "full"]
        for panel in figure.panels:
            assert panel.problem in PROBLEMS
            names = {curve.tuned or curve.label for curve in panel.curves}
            for curve in panel.curves:
                assert curve.policy in POLICIES
                assert curve.base is None or curve.base in names


def test_the_paper_s_scales_and_grids() -> None:
    linear, networks = FIGURES["vardim"].find_scale("full"), FIGURES["nonlinear"].find_scale("full")
    assert linear.n_seeds == 40
    assert (networks.horizon, networks.n_seeds) == (500_000, 20)
    cells = list_cells(FIGURES["nonlinear"], "full")
    assert {c.horizon for c in cells if c.problem == "covertype"} == {1_000_000}
    wheel = [cell for cell in cells if cell.problem == "wheel"]
    igw = {tuple(c.settings.values()) for c in wheel if c.tuned == "IGW"}
    assert igw == {(a, b) for a in (1, 10, 50, 100) for b in (1 / 3, 1 / 2)}
    bonus = [c.settings["ucb_scale"] for c in wheel if c.tuned == "NeuralUCB"]
    assert bonus == [0.1, 1, 2, 5]
    assert {c.settings["rff_dim"] for c in wheel if c.policy.startswith("rff")} == {100, 300}
    layers = {tuple(c.settings["layers"]) for c in list_cells(FIGURES["wheel-networks"], "quick")}
    assert layers == {
        (1000,),
        (100, 100),
        (50, 50, 10),
        (50, 50, 50),
        (50, 50, 50, 50, 10),
        (50, 50, 50, 50, 50),
    }
    losses = {
        (c.settings["loss"], c.settings["glrt_scale"])
        for c in list_cells(FIGURES["ablation-losses"], "quick")
    }
    assert losses == {(a, b) for a in ("none", "weak", "rayleigh") for b in (0, 5)}


def test_the_main_figure_continues_with_the_runs_that_are_kept_in_the_repository() -> None:
    cells = {cell.spec.cell_hash: cell for cell in list_cells(FIGURES["nonlinear"], "full")}
    kept = list(Store(PAPER).runs())
    assert len(kept) == len(list((PAPER / "runs").iterdir()))
    for run in kept:
        assert run.finished
        assert set(run.spec.seeds) <= set(cells[run.spec.cell_hash].seeds)


def test_a_sweep_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "horizon: 50\nseeds: 3\nproblems: [mixing, {title: T, problem: t.csv, set: {label: y}}]\n"
        "curves:\n- greedy\n- {policy: linucb, grid: {ucb_scale: [1/2, 1]}, tuned: LinUCB}\n"
    )
    figure = read_figure(file)
    cells = list_cells(figure, "only", n_seeds=2, first_seed=7)
    assert [cell.label for cell in cells[:3]] == [
        "greedy",
        "LinUCB, ucb_scale=1/2",
        "LinUCB, ucb_scale=1",
    ]
    assert cells[1].settings == {"ucb_scale": 0.5}
    assert cells[0].seeds == (7, 8)
    assert cells[3].panel == "T"
    assert cells[3].problem == str(tmp_path / "t.csv")
    assert cells[3].settings == {"label": "y"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("problems: [mixing]", "curves must be a list with an entry"),
        ("curves: [greedy]", "problems must be a list with an entry"),
        (
            "problems: [mixing]\ncurvs: []",
            r"line 2: There is no key named 'curvs'; did you mean 'curves'",
        ),
        ("problems: [mixing]\ncurves: [greedy, greedy]", "labels must differ"),
        ("problems: [mixing]\ncurves: [{label: x}]", "must name a policy"),
        ("a: [", "is not valid YAML"),
        ("problems: [mixing]\ncurves:\n  - policy: [greedy\n", "line 4: is not valid YAML"),
        (
            "problems: [mixing]\ncurves: [greedy, {policy: linucb, base: gredy}]",
            r"wrong\.yaml, line 2: There is no curve for a base named 'gredy'; did you mean 'gre",
        ),
        ("- 1", "must hold names with values"),
        ("problems: [mixing]\ncurves: [greedy]\nhorizon: -3", "line 3: horizon must be at least 1"),
    ],
)
def test_a_wrong_sweep_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(banditsrl.errors.BanditSRLError, match=message):
        read_figure(file)


def test_a_file_and_the_command_line_mean_the_same_by_none_and_by_fractions(tmp_path: Path) -> None:
    words = {
        "noise": "none",
        "loss": "none",
        "refit": "none",
        "glrt_scale": "none",
        "gamma2": "1/3",
    }
    values = ", ".join(f"{name}: {word}" for name, word in words.items())
    grids = ", ".join(f"{name}: [{word}]" for name, word in words.items())
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"set: {{{values}}}\n"
        f"problems: [{{problem: mixing, set: {{{values}}}}}]\n"
        f"curves: [{{label: a, policy: greedy, set: {{{values}}}}}, greedy,"
        f" {{label: b, policy: greedy, grid: {{{grids}}}}}]\n"
    )
    typed = parse_settings([f"{name}={word}" for name, word in words.items()])
    (panel,) = read_figure(file).panels
    assert panel.settings == typed
    assert [curve.settings for curve in panel.curves] == [typed] * 3
    assert typed == {**words, "glrt_scale": None, "gamma2": 1 / 3}
