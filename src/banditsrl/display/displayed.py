"""What can be asked of everything that has something to show? A summary, a picture, a table."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from banditsrl.core.record_help import RecordMeta
from banditsrl.display.chart_svg import draw_svg
from banditsrl.display.charts import Chart
from banditsrl.display.data_frames import as_pandas
from banditsrl.display.pictures import Picture, draw_picture
from banditsrl.display.summaries import Summary
from banditsrl.errors import InvalidArgument

if TYPE_CHECKING:
    import polars as pl


class Displayed(metaclass=RecordMeta):
    """Something that prints a summary, shows itself in a notebook, and becomes a data frame.

    A subclass owes `summary`, `chart` and `to_polars`. `print` shows the summary; `chart` returns
    None if there is nothing to draw yet.
    """

    @abstractmethod
    def summary(self) -> Summary:
        """Return the most important numbers, which print as a table."""

    @abstractmethod
    def chart(self) -> Chart | None:
        """Return what `plot` draws, as plain data; None if there is nothing to draw."""

    @abstractmethod
    def to_polars(self) -> "pl.DataFrame":
        """Return the numbers as a Polars data frame."""

    def to_pandas(self) -> Any:
        """Return the numbers as a pandas data frame, if pandas is installed."""
        return as_pandas(self.to_polars())

    def plot(self) -> Picture:
        """Return a picture, which shows itself in a notebook; `save` writes it to a file."""
        return draw_picture(require_chart(self.chart(), self))

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        """Return the summary and a small chart as notebooks show them."""
        chart = self.chart()
        table = self.summary()._repr_html_()
        return table if chart is None else f"{table}{draw_svg(chart)}"


def require_chart(chart: Chart | None, thing: object) -> Chart:
    """Return a chart, or refuse to draw where there is none."""
    if chart is None:
        raise InvalidArgument(f"{type(thing).__name__} must have rounds to plot, got none.")
    return chart
