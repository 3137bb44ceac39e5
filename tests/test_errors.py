"""Can every error be caught by the root, by its own name, and by the matching built-in?"""

import inspect

import pytest

from banditsrl import errors

BUILT_IN = {
    "InvalidArgument": ValueError,
    "MissingArgument": ValueError,
    "InvalidType": TypeError,
    "UnknownName": ValueError,
    "InvalidProblem": ValueError,
    "StateFileError": ValueError,
    "ContractViolation": ValueError,
}


def classes() -> dict[str, type]:
    return dict(inspect.getmembers(errors, inspect.isclass))


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_error_is_caught_by_the_root_and_by_the_built_in(name: str) -> None:
    kind = classes()[name]
    for caught in (errors.BanditSRLError, BUILT_IN[name], kind):
        with pytest.raises(caught, match="told in one sentence"):
            raise kind("told in one sentence")


def test_names_and_claims_that_fail_are_invalid_arguments() -> None:
    assert issubclass(errors.UnknownName, errors.InvalidArgument)
    assert issubclass(errors.InvalidProblem, errors.InvalidArgument)
    assert not issubclass(errors.InvalidType, errors.InvalidArgument)


def test_a_bound_that_is_exceeded_is_a_warning_and_no_error() -> None:
    assert issubclass(errors.BoundExceeded, UserWarning)
    assert not issubclass(errors.BoundExceeded, errors.BanditSRLError)


def test_every_class_is_an_error_with_a_root_or_a_warning_and_explains_itself() -> None:
    for kind in classes().values():
        assert issubclass(kind, errors.BanditSRLError | Warning)
        assert inspect.getdoc(kind)
