"""What does `help` show of a plain class? What we wrote, and nothing of what Python adds to it.

Nobody builds a `Result` by hand: functions return one. Its long list of parameters would be the
first thing that `help(Result)` prints, and it says less than the section Attributes below it.
"""

from abc import ABCMeta
from inspect import Parameter, Signature

from banditsrl.core.settings import MACHINERY


class PlainMeta(ABCMeta):
    """The type of classes whose `help` leaves out what Python adds to a class or a dataclass."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in MACHINERY]


class RecordMeta(PlainMeta):
    """The type of classes whose objects are results.

    The signature of a dataclass is shown as `Result(**attributes)`; other classes keep theirs.
    """

    @property
    def __signature__(cls) -> Signature | None:
        """What `inspect.signature` returns; None lets it look at the class as usual."""
        if "__dataclass_fields__" not in vars(cls):
            return None
        return Signature([Parameter("attributes", Parameter.VAR_KEYWORD)])
