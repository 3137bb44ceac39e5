"""Fixtures of the tests of live loops.

Most policies train after two rounds, in a process that takes seconds to start. Tests that are
not about training leave it out.
"""

from collections.abc import Iterator

import pytest

from banditsrl.live.fold import Fold

TRAINS = ("test_learner", "test_replay", "test_kills")
"""Modules whose loops train."""


@pytest.fixture(scope="module", autouse=True)
def trainings(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__.rpartition(".")[2] not in TRAINS:
            patch.setattr(Fold, "wants_training", lambda *_: False)
        yield
