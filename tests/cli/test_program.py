"""The program around the commands: its version, its errors, and how it ends."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import banditsrl
from banditsrl.cli import commands
from banditsrl.cli.program import Program, run_program


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setattr("sys.argv", ["banditsrl", *arguments])
    with pytest.raises(SystemExit) as stop:
        commands.main()
    return stop.value.code


def test_the_version_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"banditsrl {banditsrl.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--version"], 0, f"banditsrl {banditsrl.__version__}"),
        (["rum"], 2, "error: No such command 'rum'. Did you mean 'run'?"),
    ],
)
def test_the_package_runs_as_a_module(arguments: list[str], status: int, said: str) -> None:
    words = [sys.executable, "-m", "banditsrl", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, (done.stdout + done.stderr).strip()) == (status, said)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rum"], "error: No such command 'rum'. Did you mean 'run'?"),
        (["run"], "error: Missing argument 'problem'. See `banditsrl run --help`."),
        (["list", "--jsn"], "error: No such option: --jsn"),
        (["run", "mixing", "--seeds", "0"], "error: Invalid value for '--seeds'"),
        (
            ["run", "mixing", "--horizon", "abc"],
            "error: --horizon must be a whole number, got 'abc'. See `banditsrl run --help`.",
        ),
        (["run", "mixin"], "error: There is no problem named 'mixin'"),
    ],
)
def test_every_error_is_one_line_of_one_style(
    arguments: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(sentence)
    assert shown.count("\n") == 1


def test_h_is_short_for_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "run", "-h") == 0
    assert "Run one policy on one problem" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["run"], ["loop"], ["loop", "show"], ["token", "new"]])
def test_help_shows_no_type_for_options_without_a_value(words: list[str]) -> None:
    done = CliRunner().invoke(commands.app, [*words, "--help"])
    assert done.exit_code == 0
    assert "--help" in done.output
    assert "bool" not in done.output.lower()


@pytest.mark.parametrize("words", [[], ["loop"]])
def test_without_a_command_there_is_help_and_no_error_sentence(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *words) == 2
    shown = "".join(capsys.readouterr())
    assert "Commands" in shown
    assert "error:" not in shown


def test_a_curve_is_named_by_the_settings_of_its_policy_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--set", "n_contexts=9", "--set", "ucb_scale=2"]
    assert run(monkeypatch, "run", "wheel", "linucb", *settings, "--dry-run") == 0
    assert "wheel: linucb (ucb_scale=2):" in "".join(capsys.readouterr())


CONFIG = {"actions": ["red", "green"], "columns": {"age": "number"}, "policy": "linucb-disjoint"}


def test_the_option_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store, table = str(tmp_path / "two.db"), tmp_path / "table.csv"
    for name in ("first", "second"):
        banditsrl.Loop.create(store, {"name": name, **CONFIG}, warm_up=False).close()
    table.write_text("size,kind\n1,a\n2,b\n")
    for words, option in (
        (["loop", "verify", store], "--name NAME"),
        (["evaluate", store, "--target", "uniform"], "--loop NAME"),
        (["run", str(table), "linucb", "--horizon", "5"], "--set label=COLUMN"),
    ):
        assert run(monkeypatch, *words) == 2
        shown = capsys.readouterr().err
        assert shown.endswith(f" ({option}).\n")
        assert shown.count("\n") == 1


def test_the_library_names_no_option(tmp_path: Path) -> None:
    with pytest.raises(banditsrl.errors.MissingArgument) as refusal:
        banditsrl.make_problem(str(tmp_path / "table.csv"))
    assert str(refusal.value) == "label must name the column that holds the class, got none."
    again = pickle.loads(pickle.dumps(refusal.value))  # noqa: S301 (made here)
    assert (str(again), again.argument) == (str(refusal.value), "label")


def test_without_a_command_the_help_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 2
    captured = capsys.readouterr()
    assert "reproduce" in captured.out + captured.err


def test_ctrl_c_ends_any_command_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer(cls=Program)

    @app.command("wait")
    def wait() -> None:
        raise KeyboardInterrupt

    app.callback()(lambda: None)
    monkeypatch.setattr("sys.argv", ["banditsrl", "wait"])
    with pytest.raises(SystemExit) as stop:
        run_program(app)
    assert (stop.value.code, capsys.readouterr().err) == (130, "Stopped.\n")


DURING_THE_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "banditsrl.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""

IN_A_CALLBACK = """
import gc, os, signal, time
import banditsrl.cli.commands
def interrupt(phase, info):
    gc.callbacks.remove(interrupt)
    os.kill(os.getpid(), signal.SIGINT)
def run():
    gc.callbacks.append(interrupt)
    gc.collect()
    time.sleep(60)
banditsrl.cli.commands.main = run
"""

AFTER_THE_END = """
import atexit, os, signal
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
import banditsrl.cli.commands
banditsrl.cli.commands.main = lambda: None
"""


@pytest.mark.parametrize(
    ("before", "status", "sentence"),
    [
        (DURING_THE_IMPORT, 130, "Stopped.\n"),
        (IN_A_CALLBACK, 130, "Stopped.\n"),
        (AFTER_THE_END, 0, ""),
    ],
    ids=["during the import", "in a callback", "after the end"],
)
def test_ctrl_c_is_answered_at_every_moment(before: str, status: int, sentence: str) -> None:
    script = f"{before}\nfrom banditsrl.cli import main\nmain()"
    ended = subprocess.run(  # noqa: S603  (our own interpreter and script)
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stderr) == (status, sentence)


def test_shells_are_offered_completion() -> None:
    shown = CliRunner().invoke(commands.app, ["--help"], env={"COLUMNS": "120"}).output
    assert "--install-completion" in shown


def test_names_are_completed() -> None:
    asked = {"_BANDITSRL_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    words = {"COMP_WORDS": "banditsrl reproduce vard"}
    result = CliRunner().invoke(commands.app, [], env=asked | words, prog_name="banditsrl")
    assert result.stdout.split() == ["vardim", "vardim-weak-losses"]
