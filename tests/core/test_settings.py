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
