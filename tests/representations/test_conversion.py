"""Does what people hand over become a representation, and is anything else refused?"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.representation import Representation
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.problems.labelled import TableProblem
from banditsrl.representations.coded import Coded
from banditsrl.representations.conversion import as_representation, as_representations
from banditsrl.representations.mapped import Given
from banditsrl.representations.table import Table

FEATURES = np.random.default_rng(0).standard_normal((4, 3, 2))


def test_a_representation_stands_for_itself() -> None:
    table = Table(FEATURES)
    assert as_representation(table) is table


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray, lambda f: f.tolist(), tuple])
def test_an_array_or_nested_lists_become_a_table(convert: Any) -> None:
    table = as_representation(convert(FEATURES))
    assert isinstance(table, Table)
    np.testing.assert_allclose(table.features, FEATURES, rtol=1e-6)


def test_what_every_problem_offers_is_a_representation_already() -> None:
    labelled = TableProblem([[1.0], [2.0], [4.0]], [0, 1, 0])
    fresh = banditsrl.make_problem("wheel", n_contexts=None)
    for problem in (banditsrl.make_problem("mixing"), fresh, labelled, banditsrl.Stream(3, 2)):
        assert problem.representations
        for representation in problem.representations:
            assert as_representation(representation) is representation
    found = (labelled.representations[0], fresh.representations[0])
    assert all(isinstance(representation, Coded) for representation in found)
    assert [(r.n_actions, r.dim, r.L, r.B) for r in found] == [
        (2, 2, None, None),
        (5, 7, None, None),
    ]


@pytest.mark.parametrize(("source", "kind"), [("phi", "str"), (3, "int"), (None, "NoneType")])
def test_something_else_is_no_representation(source: Any, kind: str) -> None:
    message = (
        "representation must be a Representation or an array of shape "
        rf"\(n_contexts, n_actions, dim\), got {kind}"
    )
    with pytest.raises(InvalidType, match=message):
        as_representation(source)


def test_a_set_may_mix_kinds_and_dimensions() -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    extra = [Given(n_actions=5, dim=4), np.ones((20, 5, 3))]
    found = as_representations([*problem.representations, *extra])
    assert [r.dim for r in found] == [6, 2, 3, 4, 5, 6, 4, 3]
    assert all(isinstance(r, Representation) for r in found)


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one candidate, got an empty set"):
        as_representations([])


def test_a_set_over_different_actions_is_refused() -> None:
    message = r"representations must share the number of actions, got \[3, 4\]"
    with pytest.raises(InvalidArgument, match=message):
        as_representations([FEATURES, np.ones((4, 4, 2)), FEATURES])
