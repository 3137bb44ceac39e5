"""What does a person see while it runs? Progress on a terminal, or plain lines without one."""

import math
import sys
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from banditsrl.engines.jobs import Status
from banditsrl.engines.progress import Display, Snapshot
from banditsrl.reports.summary import Row

messages = Console(stderr=True)

PLAIN_SECONDS, LIVE_SECONDS = 5.0, 0.5
"""Between two plain lines, and between two refreshes of a terminal."""


def say(text: str, *, error: bool = False) -> None:
    """One message on standard error."""
    mark = "[red]error:[/red] " if error else ""
    messages.print(mark, end="", highlight=False)
    messages.print(text, highlight=False, markup=False, soft_wrap=True)


def make_display(*, quiet: bool) -> Display | None:
    """The display that fits where standard error goes."""
    if quiet:
        return None
    return LiveDisplay() if messages.is_terminal else PlainDisplay()


class PlainDisplay:
    """One line every few seconds, for files and pipes."""

    every = PLAIN_SECONDS

    def show(self, snapshot: Snapshot) -> None:
        """Print a line, and one per worker."""
        lines = [overall(snapshot)]
        lines += [f"  worker {name}: {doing(s)}" for name, s in sorted(snapshot.workers.items())]
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()

    def end(self, snapshot: Snapshot) -> None:
        """Print the last line."""
        self.show(snapshot)


class LiveDisplay:
    """Bars that stay in place."""

    every = LIVE_SECONDS

    def __init__(self) -> None:
        self._live = Live(console=messages, auto_refresh=False, transient=True)

    def show(self, snapshot: Snapshot) -> None:
        """Draw everything again."""
        if not self._live.is_started:
            self._live.start()
        self._live.update(drawing(snapshot), refresh=True)

    def end(self, snapshot: Snapshot) -> None:
        """Leave one line on the screen."""
        self._live.stop()
        messages.print(overall(snapshot), highlight=False)


def drawing(snapshot: Snapshot) -> Group:
    """A bar for the whole and one for each worker."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row("all", ProgressBar(100, 100 * snapshot.share, width=30), overall(snapshot))
    for name, status in sorted(snapshot.workers.items()):
        share = 100 * status.done / max(status.total, 1)
        grid.add_row(Text(name), ProgressBar(100, share, width=30), Text(doing(status)))
    return Group(grid)


def overall(snapshot: Snapshot) -> str:
    """The whole in one line.

    Example:
        >>> overall(Snapshot(3, 10, 0.25, 12_000.0, 41.5, 90.0, {}))
        '3 of 10 runs, 25%, 12 thousand steps/s, regret so far 41.5, 2 min left'
    """
    parts = [
        f"{snapshot.n_finished} of {counted(snapshot.n_jobs, 'run')}",
        f"{snapshot.share:.0%}",
        f"{amount(snapshot.steps_per_second)} steps/s",
    ]
    if not math.isnan(snapshot.regret):
        parts.append(f"regret so far {snapshot.regret:.1f}")
    if snapshot.n_finished < snapshot.n_jobs:
        parts.append(f"{duration(snapshot.seconds_left)} left")
    return ", ".join(parts)


def doing(status: Status) -> str:
    """What a worker does, in one line."""
    share = status.done / max(status.total, 1)
    return f"{status.label}, {share:.0%}, regret so far {status.regret:.1f}"


def duration(seconds: float) -> str:
    """A time for people.

    Example:
        >>> duration(7.2), duration(200), duration(7300), duration(float("inf"))
        ('7 s', '3 min', '2.0 h', 'some time')
    """
    if not math.isfinite(seconds):
        return "some time"
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def counted(number: int, word: str) -> str:
    """A number of things."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def amount(number: float) -> str:
    """A large number in words."""
    for size, word in ((1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if number >= size:
            return f"{number / size:.3g} {word}"
    return f"{number:.3g}"


def summary_table(title: str, rows: list[Row]) -> Table:
    """The final figures of every curve."""
    seeds = sorted({row.n_seeds for row in rows})
    horizons = sorted({row.horizon for row in rows})
    table = Table(
        title=f"{title}: {'/'.join(map(str, seeds))} seeds, "
        f"{'/'.join(f'{horizon:,}' for horizon in horizons)} steps",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        caption_justify="left",
    )
    table.add_column("policy", overflow="fold")
    for name in ("regret ± s.e.", "2nd half", "flat", "cert.", "wrong", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for panel, group in groupby(rows, key=lambda row: row.panel):
        table.add_row(Text(panel, style="bold"))
        for row in group:
            table.add_row(Text(f"  {row.policy}"), *_numbers(row))
    table.caption = (
        "2nd half: regret added after half of the steps\n"
        "flat: seeds that added none\n"
        "cert.: share certified in the last tenth\n"
        "wrong, cost: share certified wrongly, and its regret"
    )
    return table


def _numbers(row: Row) -> tuple[str, ...]:
    error = "" if math.isnan(row.stderr) else f" ± {row.stderr:.1f}"  # one seed has none
    return (
        f"{row.regret:.1f}{error}",
        f"{row.second_half:.2f}",
        f"{row.flat_seeds}/{row.n_seeds}",
        f"{row.certified:.1%}",
        f"{row.wrong:.2%}",
        f"{row.wrong_regret:.1f}",
    )
