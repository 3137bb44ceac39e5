"""What does a person see on the console? Messages, progress, and the table of final numbers."""

import math
import sys
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from banditsrl.display.numerals import NO_VALUE, format_count, format_share
from banditsrl.engines.jobs import Status
from banditsrl.engines.progress import Display, Snapshot
from banditsrl.simulation.final_numbers import measure_result
from banditsrl.simulation.result import Result

messages = Console(stderr=True)

PLAIN_SECONDS, LIVE_SECONDS = 5.0, 0.5
"""Time between two plain lines, and between two refreshes of a terminal."""

WIDTH, BAR = 80, 12
"""Columns that progress fits into, and the columns of a bar."""


def print_message(text: str, *, error: bool = False) -> None:
    """Print one message on standard error."""
    mark = "[red]error:[/red] " if error else ""
    messages.print(mark, end="", highlight=False)
    messages.print(text, highlight=False, markup=False, soft_wrap=True)


def make_display(*, quiet: bool) -> Display | None:
    """Return the display of progress that suits standard error: a terminal or a file."""
    if quiet:
        return None
    return LiveDisplay() if messages.is_terminal else PlainDisplay()


class PlainDisplay:
    """Prints lines every few seconds, for files and pipes."""

    every = PLAIN_SECONDS

    def show(self, snapshot: Snapshot) -> None:
        """Print a line for the whole, and one per worker."""
        lines = [format_progress(snapshot)]
        for name, status in sorted(snapshot.workers.items()):
            start = f"  worker {name}: "
            lines.append(start + format_status(status, WIDTH - len(start)))
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()

    def end(self, snapshot: Snapshot) -> None:
        """Print the last line."""
        self.show(snapshot)


class LiveDisplay:
    """Draws progress bars that stay in place, for terminals."""

    every = LIVE_SECONDS

    def __init__(self) -> None:
        self._live = Live(console=messages, auto_refresh=False, transient=True)

    def show(self, snapshot: Snapshot) -> None:
        """Draw all bars again."""
        if not self._live.is_started:
            self._live.start()
        self._live.update(draw_progress(snapshot), refresh=True)

    def end(self, snapshot: Snapshot) -> None:
        """Replace the bars by one last line."""
        self._live.stop()
        messages.print(format_progress(snapshot), highlight=False)


def draw_progress(snapshot: Snapshot) -> Group:
    """Return a progress bar for the whole and one for each worker."""
    names = sorted(snapshot.workers)
    room = WIDTH - BAR - 2 - max(len(name) for name in [*names, "all"])
    grid = Table.grid(padding=(0, 1))
    for _ in range(3):
        grid.add_column(no_wrap=True, overflow="ellipsis")
    whole = shorten(format_progress(snapshot), room)
    grid.add_row("all", ProgressBar(100, 100 * snapshot.share, width=BAR), Text(whole))
    for name in names:
        status = snapshot.workers[name]
        share = 100 * status.done / max(status.total, 1)
        bar = ProgressBar(100, share, width=BAR)
        grid.add_row(Text(name), bar, Text(format_status(status, room)))
    return Group(grid)


def format_progress(snapshot: Snapshot) -> str:
    """Return the progress of the whole in one line.

    Example:
        >>> format_progress(Snapshot(3, 10, 0.25, 12_000.0, 41.5, 90.0, {}))
        '3 of 10 runs, 25%, 2 min left, 12 thousand steps/s, regret 41.5'
    """
    parts = [f"{snapshot.n_finished} of {format_count(snapshot.n_jobs, 'run')}"]
    parts.append(f"{snapshot.share:.0%}")
    if math.isfinite(snapshot.seconds_left) and snapshot.n_finished < snapshot.n_jobs:
        parts.append(f"{format_duration(snapshot.seconds_left)} left")
    if snapshot.steps_per_second > 0:
        parts.append(f"{format_amount(snapshot.steps_per_second)} steps/s")
    elif snapshot.workers and not any(status.done for status in snapshot.workers.values()):
        parts.append("compiling")
    if not math.isnan(snapshot.regret):
        parts.append(f"regret {snapshot.regret:.1f}")
    return ", ".join(parts)


def format_status(status: Status, width: int) -> str:
    """Return what a worker is doing, in one line of at most this width.

    Example:
        >>> format_status(Status("r", "wheel: LinUCB", 50, 200, 8.0), 60)
        'wheel: LinUCB, 25%, regret 8.0'
        >>> format_status(Status("r", "wheel: LinUCB", 0, 200, float("nan")), 20)
        'wheel: L…, compiling'
    """
    share = status.done / max(status.total, 1)
    end = f", {share:.0%}, regret {status.regret:.1f}" if status.done else ", compiling"
    return shorten(status.label, width - len(end)) + end


def shorten(text: str, width: int) -> str:
    """Return a text that fits into a width; what is left out is marked by an ellipsis."""
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def format_duration(seconds: float) -> str:
    """Return a time in its largest sensible unit.

    Example:
        >>> [format_duration(seconds) for seconds in (7.2, 200, 7300, 20_000, 134.3 * 3600)]
        ['7 s', '3 min', '2 hours', '5.6 hours', '5.6 days']
    """
    if not math.isfinite(seconds):
        return "unknown time"
    if seconds < 5400:
        return f"{max(seconds, 1):.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
    size, word = (3600, "hours") if seconds < 48 * 3600 else (86_400, "days")
    return f"{seconds / size:.1f}".removesuffix(".0") + f" {word}"


def format_amount(number: float) -> str:
    """Return a large number in words.

    Example:
        >>> format_amount(438), format_amount(12_000)
        ('438', '12 thousand')
    """
    for size, word in ((1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if number >= size:
            return f"{number / size:.3g} {word}"
    return f"{number:.3g}"


def build_summary_table(title: str, rows: list[tuple[str, Result]]) -> Table:
    """Return the final numbers of results, each with its panel, as a table for the terminal."""
    seeds = "/".join(str(n) for n in sorted({result.n_seeds for _, result in rows}))
    horizons = "/".join(f"{n:,}" for n in sorted({result.horizon for _, result in rows}))
    steps = "step" if horizons == "1" else "steps"
    table = Table(
        title=f"{title}: {seeds} {'seed' if seeds == '1' else 'seeds'}, {horizons} {steps}",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        caption_justify="left",
    )
    table.add_column("policy", overflow="fold")
    for name in ("regret ± s.e.", "2nd half", "flat", "cert.", "wrong", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for panel, group in groupby(rows, key=lambda row: row[0]):
        table.add_row(Text(panel, style="bold"))
        for _, result in group:
            table.add_row(Text(f"  {result.policy}"), *_format_row(result))
    table.caption = (
        "regret ± s.e.: final regret, mean over seeds, with its standard error\n"
        "2nd half: regret added after half of the steps\n"
        "flat: number of seeds that added no regret there\n"
        "cert.: share of the rounds of the last tenth that were certified\n"
        "wrong: share of all certified rounds whose action was not the best\n"
        "cost: regret of those wrong rounds, per seed"
    )
    return table


def _format_row(result: Result) -> tuple[str, ...]:
    row = measure_result(result)
    stderr = "" if math.isnan(row.stderr) else f" ± {row.stderr:.1f}"  # nan for a single seed
    wrong = result.wrong_words
    return (
        f"{row.regret:,.1f}{stderr}",
        f"{row.second_half:,.2f}",
        f"{row.flat_seeds}/{row.n_seeds}",
        format_share(row.certified),
        wrong,
        wrong if wrong == NO_VALUE else f"{row.wrong_regret:,.1f}",
    )
