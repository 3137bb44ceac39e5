"""Which exceptions does the package raise? One root and its children, each also a built-in one."""


class BanditSRLError(Exception):
    """Root of every exception that this package raises on purpose."""


class InvalidArgument(BanditSRLError, ValueError):
    """An argument has a value outside its rule; the message names argument, rule and value."""


class MissingArgument(InvalidArgument):
    """An argument that may be left out elsewhere is needed here.

    Attributes:
        argument: Name of the argument; the command line adds the option that sets it.
    """

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


class InvalidType(BanditSRLError, TypeError):
    """An argument has the wrong type."""


class UnknownName(InvalidArgument):
    """A name is not in the registry; the message suggests the nearest one."""


class InvalidProblem(InvalidArgument):
    """A problem is not what it claims to be (realizable, HLS, unique optimum, positive gap)."""


class StateFileError(InvalidArgument):
    """A state file is damaged, from another schema version, or from another policy."""


class ContractViolation(BanditSRLError, ValueError):
    """A policy or a problem breaks the contract that `check_policy` or `check_problem` verifies.

    Attributes:
        defects: One sentence for each rule that is broken.
    """

    def __init__(self, message: str, defects: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.defects = defects or (message,)


class MissingPackage(BanditSRLError, ImportError):
    """Something needs a package that is not installed; the message says how to install it."""


class BoundExceeded(UserWarning):
    """An observed norm or reward is larger than the bound that was given."""


class TooFewSteps(UserWarning):
    """The horizon is too short for a policy to do what it is made for on this problem."""


class LoopError(BanditSRLError):
    """A loop cannot do what it was asked; nothing was changed."""


class NotFound(LoopError, LookupError):
    """No decision, action, model version or loop has this name."""


class Conflict(LoopError, ValueError):
    """The same id was used before with another body, or a name is taken."""


class StoreUnavailable(LoopError, OSError):
    """The store could not be written or read, so nothing was answered."""


class OutcomeUnknown(StoreUnavailable):
    """The store was lost during a commit; asking again with the same id tells what became of it."""


class TrainingFailed(LoopError, RuntimeError):
    """The process that trains ended without an answer, or could not train."""
