"""The console: progress in plain lines and on a terminal."""

import pytest
from rich.console import Console

from banditsrl.cli import console
from banditsrl.engines.jobs import Status
from banditsrl.engines.progress import Snapshot


def test_progress_is_shown_in_plain_lines_and_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status = Status("r", "wheel: LinUCB", 50, 200, 8.0)
    half = Snapshot(1, 2, 0.5, 2_000.0, 6.0, 10.0, {"17": status})
    console.PlainDisplay().show(half)
    text = capsys.readouterr().err
    assert "1 of 2 runs, 50%, 2 thousand steps/s, regret so far 6.0, 10 s left" in text
    assert "worker 17: wheel: LinUCB, 25%, regret so far 8.0" in text
    monkeypatch.setattr(console, "messages", Console(stderr=True, force_terminal=True, width=120))
    display = console.make_display(quiet=False)
    assert isinstance(display, console.LiveDisplay)
    display.show(half)
    display.end(half._replace(n_finished=2, workers={}))
    shown = capsys.readouterr().err
    assert "wheel: LinUCB" in shown
    assert "2 of 2 runs" in shown
    assert console.make_display(quiet=True) is None
