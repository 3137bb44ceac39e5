"""What can go wrong: one root exception and a handful of children, each also a built-in."""


class BanditSRLError(Exception):
    """Root of every exception this package raises on purpose."""


class InvalidArgument(BanditSRLError, ValueError):
    """An argument has a value outside its rule; the message names argument, rule and value."""


class InvalidType(BanditSRLError, TypeError):
    """An argument is of the wrong kind."""


class UnknownName(InvalidArgument):
    """A name that is not in the registry; the message offers the nearest one."""


class InvalidProblem(InvalidArgument):
    """A problem does not hold what it claims (realizable, HLS, unique optimum, positive gap)."""


class StateFileError(InvalidArgument):
    """A state file that is damaged, from another schema version, or from another policy."""


class ContractViolation(BanditSRLError, ValueError):
    """A policy breaks the contract that `check_policy` verifies."""


class BoundExceeded(UserWarning):
    """An observed norm or reward is larger than the bound the user gave."""
