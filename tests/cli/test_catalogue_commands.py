"""The commands that tell what there is, as a person would use them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from banditsrl.cli import commands as cli
from banditsrl.errors import UnknownName
from banditsrl.policies.linucb import LinUCB


def call(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_name_has_one_line_of_description_within_80_columns() -> None:
    lines = call("list").splitlines()
    assert max(map(len, lines)) <= 80
    (line,) = [line for line in lines if line.startswith("  tree-linucb ")]
    assert line.endswith("LinUCB on the leaves of boosted trees.")


def test_show_prints_settings_with_default_and_help() -> None:
    shown = json.loads(call("show", "linucb", "--json"))["policies"]["settings"]
    field = LinUCB.__dataclass_fields__["ucb_scale"]
    assert shown["ucb_scale"] == {"default": field.default, "help": field.metadata["help"]}
    text = call("show", "linucb")
    assert "ucb_scale" in text
    assert "linucb (policy): Optimism" in text


def test_a_name_of_two_kinds_shows_both() -> None:
    text = call("show", "mixing")
    assert "mixing (problem)" in text
    assert "mixing (figure)" in text
    assert "--scale quick" in text


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    result = CliRunner().invoke(cli.app, ["show", "linuc"])
    assert isinstance(result.exception, UnknownName)
    message = "There is no policy, problem or figure named 'linuc'; did you mean 'linucb'?"
    assert str(result.exception) == message


def test_data_says_what_is_present_and_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BANDITSRL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = {line.split()[0]: line for line in call("data").splitlines()}
    assert lines["magic"].endswith("magic04.data.gz")
    assert "not present; `banditsrl data covertype` downloads it (75 MB" in lines["covertype"]
    (tmp_path / "covtype.data").write_text("")
    shown = call("data", "--data-dir", str(tmp_path))
    assert str(tmp_path / "covtype.data") in shown
