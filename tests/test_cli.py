"""The command line and the examples, as a person would run them."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import banditsrl
from banditsrl import cli
from banditsrl.experiments.paper import FIGURES, Figure, Scale

EXAMPLES = Path(__file__).parents[1] / "examples"


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
    monkeypatch.setitem(FIGURES._entries, "vardim", tiny)
    arguments = ["reproduce", "vardim", "--panel", "realizable", "--out", str(tmp_path)]
    monkeypatch.setattr(cli, "console", Console(width=160))
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    for word in ("BanditSRL-ε-greedy", "LinUCB, worst candidate", "±"):
        assert word in result.output
    assert (tmp_path / "vardim-realizable.png").stat().st_size > 10_000
    assert (tmp_path / "vardim-realizable.pdf").read_bytes().startswith(b"%PDF")


def test_names_are_listed() -> None:
    result = CliRunner().invoke(cli.app, ["list", "problems"])
    assert "vardim-weak-hls" in result.output
    assert "mixing" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "vardin"], "no figure named 'vardin'; did you mean 'vardim'"),
        (["reproduce", "vardim", "--scale", "qick"], "no scale of vardim named 'qick'"),
        (["reproduce", "vardim", "--panel", "x"], "no panel of vardim named 'x'"),
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
