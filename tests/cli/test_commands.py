"""The command line and the examples, as a person would run them."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import banditsrl
from banditsrl.cli import commands as cli
from banditsrl.experiments.figure import Figure, FigureCurve, Scale
from banditsrl.experiments.figure_catalogue import FIGURES
from banditsrl.simulation import step_timing as timing

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reproduce_prints_a_table_and_writes_both_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = FIGURES["vardim"]
    panel = replace(original.panels[0], curves=original.panels[0].curves[1:3])
    tiny = Figure(original.name, original.title, (panel,), {"quick": Scale(300, 3)})
    arguments = [
        "reproduce",
        "vardim",
        "--panel",
        "realizable",
        "--out",
        str(tmp_path),
        "--workers",
        "1",
    ]
    monkeypatch.setattr(cli, "console", Console(width=160))
    with FIGURES.temporary("vardim", tiny):
        result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    for word in ("BanditSRL-ε-greedy", "LinUCB, worst candidate", "±"):
        assert word in result.output
    assert (tmp_path / "vardim-realizable.png").stat().st_size > 10_000
    assert (tmp_path / "vardim-realizable.pdf").read_bytes().startswith(b"%PDF")


def test_reproduce_again_does_nothing_but_print(tmp_path: Path) -> None:
    original = FIGURES["mixing"]
    panel = replace(
        original.panels[0], curves=(FigureCurve("Greedy", "greedy"), FigureCurve("U", "uniform"))
    )
    tiny = Figure("mixing", "Mixing", (panel,), {"quick": Scale(100, 2)})
    arguments = ["reproduce", "mixing", "--out", str(tmp_path), "--workers", "1"]
    with FIGURES.temporary("mixing", tiny):
        first = CliRunner().invoke(cli.app, arguments)
        again = CliRunner().invoke(cli.app, arguments)
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "2 runs, 0 already done, about" in " ".join(first.stderr.split())
    assert "2 runs, 2 already done, nothing to do" in " ".join(again.stderr.split())
    assert first.stdout == again.stdout
    assert (tmp_path / "report.html").exists()
    assert CliRunner().invoke(cli.app, ["report", str(tmp_path)]).exit_code == 0


def test_run_prints_one_json_object_and_nothing_else() -> None:
    arguments = ["run", "vardim-realizable", "greedy", "--horizon", "100", "--seeds", "3"]
    more = ["--first-seed", "2", "--set", "lam=2", "--set", "seed=1", "--json"]
    result = CliRunner().invoke(cli.app, [*arguments, *more])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    keys = "problem policy preset settings horizon seeds steps regret certified seconds version"
    assert list(found) == keys.split()
    assert list(found["regret"]) == ["mean", "stderr", "final"]
    assert list(found["certified"]) == ["last_decile", "wrong"]
    problem = banditsrl.make_problem("vardim-realizable", seed=1)
    policy = banditsrl.make_policy("greedy", problem, lam=2)
    direct = banditsrl.simulate(problem, policy, horizon=100, seeds=[2, 3, 4])
    assert found["regret"]["final"] == direct.regret[:, -1].tolist()
    assert found["regret"]["mean"] == direct.mean.tolist()
    assert found["settings"] == {"lam": 2, "seed": 1}
    assert "0 already done" in result.stderr


def test_one_seed_has_no_standard_error() -> None:
    arguments = ["run", "mixing", "greedy", "--horizon", "20", "--seeds", "1", "--json", "--quiet"]
    result = CliRunner().invoke(cli.app, arguments)
    assert json.loads(result.stdout)["regret"]["stderr"] == [None] * 20
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("curves:\n  - greedy\n  - linucbb\n", "line 4: There is no policy named 'linucbb'"),
        ("curves:\n  - {policy: linucb, set: {lam: -2}}\n", "line 3: lam must be"),
    ],
)
def test_what_is_wrong_in_a_sweep_file_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(f"problems: [mixing]\n{text}")
    result = CliRunner().invoke(cli.app, ["sweep", str(file), "--dry-run"])
    assert f"sweep.yaml, {message}" in str(result.exception)


@pytest.mark.usefixtures("broken")
def test_a_failed_run_gives_status_one_and_the_others_are_kept(tmp_path: Path) -> None:
    file, out = tmp_path / "sweep.yaml", tmp_path / "out"
    file.write_text("horizon: 20\nseeds: 2\nproblems: [mixing]\ncurves: [broken, greedy]\n")
    arguments = ["sweep", str(file), "--out", str(out), "--workers", "1", "--json"]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 1
    assert "no idea what to play" in result.stderr
    assert [cell["policy"] for cell in json.loads(result.stdout)["cells"]] == ["greedy"]
    assert len(list(out.glob("runs/*/table.parquet"))) == 1
    assert len(list(out.glob("runs/*/error.txt"))) == 1


def test_a_damaged_folder_is_named_and_gives_status_one(tmp_path: Path) -> None:
    arguments = ["run", "mixing", "greedy", "--horizon", "20", "--seeds", "2", "--quiet"]
    arguments += ["--out", str(tmp_path)]
    assert CliRunner().invoke(cli.app, arguments).exit_code == 0
    (spec,) = tmp_path.glob("runs/*/spec.json")
    spec.write_text("{}")
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 1
    assert str(spec) in result.stderr.replace("\n", "")
    assert spec.read_text() == "{}"


def test_a_dry_run_says_what_would_run_and_writes_nothing(tmp_path: Path) -> None:
    file, out = tmp_path / "sweep.yaml", tmp_path / "out"
    file.write_text("horizon: 20\nseeds: 2\nproblems: [mixing]\ncurves: [uniform, greedy]\n")
    result = CliRunner().invoke(cli.app, ["sweep", str(file), "--out", str(out), "--dry-run"])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("mixing: uniform: 1 of 1 run, 20 steps, ")
    assert lines[1].startswith("mixing: greedy: 1 of 1 run, 20 steps, ")
    assert lines[2].startswith("sweep: 2 curves, 2 runs, 0 already done, about ")
    assert not out.exists()


def test_names_are_listed() -> None:
    result = CliRunner().invoke(cli.app, ["list", "problems"])
    assert "vardim-weak-hls" in result.output
    assert "mixing" in result.output
    everything = json.loads(CliRunner().invoke(cli.app, ["list", "--json"]).stdout)
    assert list(everything) == ["problems", "policies", "figures"]
    assert "nonlinear" in everything["figures"]
    figures = json.loads(CliRunner().invoke(cli.app, ["list", "figures", "--json"]).stdout)
    assert figures == everything["figures"]


def test_the_speed_of_a_step_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "CASES", (timing.TimedCase("vardim-realizable", "greedy", 50, 2),))
    result = CliRunner().invoke(cli.app, ["bench", "--json"])
    found = json.loads(result.stdout)
    assert list(found) == ["numpy", "greedy"]
    assert found["greedy"]["ratio"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "vardin"], "no figure named 'vardin'; did you mean 'vardim'"),
        (["reproduce", "vardim", "--scale", "qick"], "no scale of vardim named 'qick'"),
        (["reproduce", "vardim", "--panel", "x"], "no panel of vardim named 'x'"),
        (["run", "mixin"], "no problem named 'mixin'; did you mean 'mixing'"),
        (["run", "mixing", "linuc"], "no policy named 'linuc'; did you mean 'linucb'"),
        (["run", "mixing", "linucb", "--set", "ucb_scal=2"], "did you mean 'ucb_scale'"),
        (
            ["run", "mixing", "linucb", "--set", "nois_std=1"],
            "The problem mixing has a setting 'noise_std'.",
        ),
        (
            ["run", "wheel", "linucb", "--set", "n_context=50"],
            "named 'n_context'. The problem wheel has a setting 'n_contexts'.",
        ),
        (["reproduce", "fig1"], "no figure named 'fig1'; known: vardim, "),
        (
            ["run", "mine.txt"],
            "a file that ends in .json, .csv or .parquet, got 'mine.txt'.",
        ),
        (
            ["run", "vardim"],
            "did you mean 'vardim-realizable', 'vardim-misspecified', 'vardim-no-hls' or ",
        ),
        (["run", "mixing", "linucb", "--set", "q=1"], "The settings of the problem mixing are "),
        (["run", "mixing", "linucb", "--set", "ucb_scale"], "--set must be NAME=VALUE"),
        (["run", "mixing", "linucb", "--preset", "papr"], "no preset named 'papr'"),
        (["run", "mixing", "linucb", "--engine", "slurm"], "engine must be one of local, ray"),
        (["run", "nowhere.json", "linucb"], "nowhere.json: cannot be read"),
        (["sweep", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["report", "nowhere"], "nowhere"),
        (["run", "mixing", "greedy", "--horizon", "1" + 20 * "0"], "at most 2^63 - 1"),
        (
            ["run", "mixing", "banditsrl-linucb", "--set", "warm_start=no"],
            "True or False, got 'no'",
        ),
        (["run", "mixing", "greedy", "--out", __file__], "out must be a folder that exists or can"),
        (["list", "problem"], "no list named 'problem'; did you mean 'problems'"),
    ],
)
def test_a_wrong_command_is_one_sentence_and_status_two(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("sys.argv", ["banditsrl", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_an_unknown_policy_or_setting_offers_the_nearest() -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    with pytest.raises(banditsrl.errors.UnknownName, match="did you mean 'banditsrl-linucb'"):
        banditsrl.make_policy("banditsrl-linuc", problem)
    with pytest.raises(banditsrl.errors.UnknownName, match="did you mean 'glrt_scale'"):
        banditsrl.make_policy("banditsrl-linucb", problem, glrt_scal=2)
    with pytest.raises(banditsrl.errors.UnknownName, match="did you mean 'mixing'"):
        banditsrl.make_problem("mixin")


def test_one_s_own_base_runs_compiled_under_banditsrl(capsys: Any) -> None:
    result = load("own_base").main(horizon=4_000, n_seeds=5)
    assert result.certified_share[:, -1].mean() > 0.5
    assert "regret" in capsys.readouterr().out


def test_the_application_saves_and_loads(capsys: Any) -> None:
    load("application").main(n_rounds=60)
    lines = capsys.readouterr().out.splitlines()
    before, after = lines[0].split(" before saving, ")
    assert before.split()[-1] == after.split()[0]


def test_the_researcher_gets_a_figure(tmp_path: Path, capsys: Any) -> None:
    paths = load("researcher").main(horizon=300, n_seeds=3, folder=tmp_path)
    assert [path.suffix for path in paths] == [".png", ".pdf"]
    assert all(path.exists() for path in paths)
    assert "banditsrl-linucb" in capsys.readouterr().out
