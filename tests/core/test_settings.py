"""Does `help` show what we wrote, and nothing of the libraries underneath?"""

import dataclasses
import pydoc
from typing import Any

import pytest

import banditsrl

CLASSES = [banditsrl.LinUCB, banditsrl.BanditSRL, banditsrl.GLRT, banditsrl.Training]


def read_help(thing: Any) -> str:
    return pydoc.plain(pydoc.render_doc(thing))


@pytest.mark.parametrize("cls", CLASSES)
def test_help_lists_every_setting_with_its_default_and_its_line(cls: Any) -> None:
    text = read_help(cls)
    fields = [field for field in dataclasses.fields(cls) if "help" in field.metadata]
    assert fields
    for field in fields:
        assert f"{field.name} = {field.default!r}: {field.metadata['help']}" in text


@pytest.mark.parametrize("cls", [*CLASSES, banditsrl.FiniteProblem, banditsrl.Table])
def test_help_shows_no_machinery(cls: Any) -> None:
    text = read_help(cls)
    for word in ("__dataclass_fields__", "__abstractvars__", "inherited from equinox"):
        assert word not in text


def test_help_of_a_loss_still_shows_how_it_is_called() -> None:
    assert "__call__(self, evidence" in read_help(banditsrl.Eig)


def test_an_outside_subclass_inherits_the_list() -> None:
    class Mine(banditsrl.LinUCB):
        """My own optimism."""

    assert "ucb_scale = 1.0: " in read_help(Mine)
    assert Mine().ucb_scale == 1.0


RECORDS = [
    *(banditsrl.Result, banditsrl.Theory, banditsrl.Diagnosis),
    *(banditsrl.Evaluation, banditsrl.Trust),
]


PLAIN = [banditsrl.Decision, banditsrl.Claim, banditsrl.Agent, banditsrl.Column, banditsrl.Log]


@pytest.mark.parametrize("cls", [*RECORDS, *PLAIN, banditsrl.Picture])
def test_help_shows_nothing_that_dataclasses_add(cls: Any) -> None:
    text = read_help(cls)
    for word in ("__dataclass_", "__setattr__", "Return self==value", "accurate signature"):
        assert word not in text
    assert "__post_init__" not in text


@pytest.mark.parametrize("cls", RECORDS)
def test_help_of_what_functions_return_opens_with_a_short_line(cls: Any) -> None:
    lines = read_help(cls).splitlines()
    assert lines[3] == f" |  {cls.__name__}(**attributes)"
    shown = [line.removeprefix(" |      ").partition(":")[0] for line in lines]
    assert {field.name for field in dataclasses.fields(cls)} <= set(shown)


def test_help_of_what_people_build_still_shows_the_parameters() -> None:
    assert " |  Column(name: str, kind: str, " in read_help(banditsrl.Column)
    assert " |  Agent(policy: " in read_help(banditsrl.Agent)
    assert " |  Claim(theta: Any, realizable: bool, name: str = '')" in read_help(banditsrl.Claim)
