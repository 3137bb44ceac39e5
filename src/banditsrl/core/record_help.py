"""What does `help` show of a class whose objects are results? Its attributes, and what it can do.

Nobody builds a `Result` by hand: functions return one. Its long list of parameters would be the
first thing that `help(Result)` prints, and it says less than the section Attributes below it.
"""

from abc import ABCMeta
from inspect import Parameter, Signature

from banditsrl.core.settings import MACHINERY


class RecordMeta(ABCMeta):
    """The type of classes whose `help` leaves out what dataclasses add.

    The signature of a dataclass is shown as `Result(**attributes)`; other classes keep theirs.
    """

    @property
    def __signature__(cls) -> Signature | None:
        """What `inspect.signature` returns; None lets it look at the class as usual."""
        if "__dataclass_fields__" not in vars(cls):
            return None
        return Signature([Parameter("attributes", Parameter.VAR_KEYWORD)])

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in MACHINERY]
