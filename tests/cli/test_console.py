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
    assert "1 of 2 runs, 50%, 10 s left, 2 thousand steps/s, regret 6.0" in text
    assert "worker 17: wheel: LinUCB, 25%, regret 8.0" in text
    monkeypatch.setattr(console, "messages", Console(stderr=True, force_terminal=True, width=120))
    display = console.make_display(quiet=False)
    assert isinstance(display, console.LiveDisplay)
    display.show(half)
    display.end(half._replace(n_finished=2, workers={}))
    shown = capsys.readouterr().err
    assert "wheel: LinUCB" in shown
    assert "2 of 2 runs" in shown
    assert console.make_display(quiet=True) is None


def test_progress_fits_80_columns_and_says_compiling(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    label = "wheel, [50, 50, 50, 50, 10]: NN-BanditSRL-ε-greedy with a very long name of its curve"
    workers = {
        "1234567": Status("r", label, 0, 200, float("nan")),
        "89": Status("s", label, 150, 200, 123456.7),
    }
    busy = Snapshot(1000, 1345, 0.5, 123_456.0, 123456.7, 4e5, workers)
    console.PlainDisplay().show(busy)
    monkeypatch.setattr(console, "messages", Console(stderr=True, width=80))
    console.messages.print(console.draw_progress(busy))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert max(map(len, lines)) <= 80
    assert lines[1].endswith("…, compiling")
    assert lines[2].endswith("…, 75%, regret 123456.7")
    first = busy._replace(n_finished=0, workers={"1": workers["1234567"]}, regret=float("nan"))
    assert console.format_progress(
        first._replace(share=0.0, seconds_left=float("inf"), steps_per_second=0.0)
    ) == ("0 of 1,345 runs, 0%, compiling")
